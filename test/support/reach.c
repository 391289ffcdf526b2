/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/reach.h"

#include <criterion/criterion.h>

void reach_note(struct reach *r, uint32_t qpn, enum roce_reach reach, const struct nornic_addr *peer)
{
    unsigned i = 0;
    r->calls++;
    while (i < r->count && r->rules[i].qpn != qpn)
        i++;
    if (reach != ROCE_REACH_NOBODY) {
        cr_assert_lt(i, REACH_QPS);
        r->count += i == r->count;
        r->rules[i] = (struct reach_rule){qpn, reach, *peer};
    } else if (i < r->count) {
        r->rules[i] = r->rules[--r->count];
    }
}

struct reach_rule reach_of(const struct reach *r, uint32_t qpn)
{
    for (unsigned i = 0; i < r->count; i++)
        if (r->rules[i].qpn == qpn)
            return r->rules[i];
    return (struct reach_rule){.qpn = qpn, .reach = ROCE_REACH_NOBODY};
}

bool reach_admits(const struct reach *r, uint32_t qpn, const struct nornic_addr *src)
{
    struct reach_rule rule = reach_of(r, qpn);
    return rule.reach == ROCE_REACH_ANYBODY ||
           (rule.reach == ROCE_REACH_PEER && nornic_addr_equal(&rule.peer, src));
}
