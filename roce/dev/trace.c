/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/trace.h"

#include "roce/dev/inner.h"

static const char *const cause_words[ROCE_CAUSE_COUNT] = {
#define ROCE_CAUSE_WORDS_(id, words) [ROCE_CAUSE_##id] = words,
    ROCE_CAUSES(ROCE_CAUSE_WORDS_)
#undef ROCE_CAUSE_WORDS_
};

const char *roce_cause_words(enum roce_cause cause)
{
    return cause_words[cause];
}

void roce_trace_emit(struct roce_dev *dev, const struct roce_trace *event)
{
    if (dev->config.trace)
        dev->config.trace(dev->config.ctx, event);
}
