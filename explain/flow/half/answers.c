/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/half/answers.h"

#include <stdlib.h>

struct explain_answer *explain_answer_add(struct explain_answers *answers)
{
    if (!answers->kept)
        answers->kept = calloc(EXPLAIN_ANSWERS_MAX, sizeof *answers->kept);
    if (!answers->kept)
        return NULL;
    struct explain_answer *a = &answers->kept[answers->next];
    answers->next = (answers->next + 1) % EXPLAIN_ANSWERS_MAX;
    *a = (struct explain_answer){0};
    return a;
}

size_t explain_answers_bytes(const struct explain_answers *answers)
{
    return answers->kept ? EXPLAIN_ANSWERS_MAX * sizeof *answers->kept : 0;
}

void explain_answers_free(struct explain_answers *answers)
{
    free(answers->kept);
}
