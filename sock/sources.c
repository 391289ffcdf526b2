/* SPDX-License-Identifier: BSD-2-Clause */
/* What the descriptors of the runtime's epoll tell. */
#include <unistd.h>

#include "sock/socket/state.h"
#include "sock/ports.h"

static void read_timer(void)
{
    if (smcr_rt.lookers == 0 && smcr_rt.lease_end_ns <= host_now_ns())
        smcr_rt_arm_ports(true);
    uint64_t times;
    ssize_t got = read(smcr_rt.timer_fd, &times, sizeof times);
    (void)got; /* EAGAIN: it was set anew meanwhile */
    smcr_rt.planned_ns = NET_TIME_NONE;
}

static void read_news(void)
{
    if (net_news_read(smcr_rt.news, NULL, NULL) != 0) /* what changed is found by looking */
        smcr_rt_follow_interfaces();
}

void smcr_rt_on_source(struct smcr_rt_source *source, uint32_t events)
{
    struct smcr_sock *s;
    switch (source->kind) {
    case SMCR_RT_TIMER:
        read_timer();
        break;
    case SMCR_RT_DEV:
        smcr_rt_port_ready(source->of);
        break;
    case SMCR_RT_NEWS:
        read_news();
        break;
    case SMCR_RT_TCP:
        s = source->of;
        if (s->life != SMCR_SOCK_DEAD)
            smcr_sock_on_tcp(s, events);
        break;
    case SMCR_RT_INNER:
        s = source->of;
        smcr_sock_on_inner(s, events);
        break;
    case SMCR_RT_OTHER:
        break;
    }
}
