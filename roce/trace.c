/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/trace.h"

static const char *const cause_words[ROCE_CAUSE_COUNT] = {
#define ROCE_CAUSE_WORDS_(id, words) [ROCE_CAUSE_##id] = words,
    ROCE_CAUSES(ROCE_CAUSE_WORDS_)
#undef ROCE_CAUSE_WORDS_
};

const char *roce_cause_words(enum roce_cause cause)
{
    return cause_words[cause];
}
