/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of faults: any bytes as their text. What is taken is within its bounds; what is not says where. */
#include <stdlib.h>
#include <string.h>

#include "verbs/faults/faults.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct verbs_fault_rule *rule)
{
    bool is_of_one = rule->kind == VERBS_FAULT_REQUEST || rule->kind == VERBS_FAULT_ALLOC;
    if (is_of_one && (rule->nth != 0) == (rule->ppm != 0) && (rule->nth || rule->is_every))
        abort();
    if (rule->kind == VERBS_FAULT_REQUEST &&
        (rule->status == NORNIC_WC_SUCCESS || rule->status > NORNIC_WC_GENERAL_ERR ||
         rule->operation > VERBS_FAULT_OP_RECV || rule->qp_num > 0xffffff))
        abort();
    if (rule->kind == VERBS_FAULT_ALLOC && (rule->err <= 0 || rule->object > VERBS_FAULT_OF_CHANNEL))
        abort();
    if (rule->line == 0 || rule->ppm > 1000000 || rule->after_ns + rule->for_ns < rule->after_ns)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct verbs_faults faults;
    struct nornic_error why = {""};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    int err = verbs_faults_parse(text, &faults, &why);
    if (err && !strstr(why.text, "line "))
        abort();
    if (faults.count > VERBS_FAULT_RULES_MAX)
        abort();
    for (unsigned i = 0; !err && i < faults.count; i++)
        check(&faults.rules[i]);
    free(text);
    return 0;
}
