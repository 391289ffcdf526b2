/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/half/timers.h"

#include "base/base.h"

#define CODE_NS 4096

uint64_t explain_timeout_of_code(unsigned code)
{
    return (uint64_t)CODE_NS << code;
}

bool explain_is_alike(uint64_t a_ns, uint64_t b_ns)
{
    uint64_t least = min_u64(a_ns, b_ns), most = max_u64(a_ns, b_ns);
    return most - least <= least / 16 + NS_PER_MS / 4;
}

const struct explain_host_timer *explain_timers_find(const struct explain_timers *timers,
                                                     const struct nornic_addr *addr, uint32_t flow)
{
    for (unsigned i = 0; i < EXPLAIN_TIMER_HOSTS_MAX && timers->hosts[i].ns; i++)
        if (nornic_addr_equal(&timers->hosts[i].addr, addr))
            return timers->hosts[i].flow != flow ? &timers->hosts[i] : NULL;
    return NULL;
}

void explain_timers_note(struct explain_timers *timers, const struct explain_host_timer *timer)
{
    unsigned i = 0;
    while (i < EXPLAIN_TIMER_HOSTS_MAX && timers->hosts[i].ns &&
           !nornic_addr_equal(&timers->hosts[i].addr, &timer->addr))
        i++;
    bool is_known = i < EXPLAIN_TIMER_HOSTS_MAX && timers->hosts[i].flow != timer->flow &&
                    explain_is_alike(timers->hosts[i].ns, timer->ns);
    if (is_known)
        return;
    if (i == EXPLAIN_TIMER_HOSTS_MAX)
        i = timers->next++ % EXPLAIN_TIMER_HOSTS_MAX;
    timers->hosts[i] = *timer;
}
