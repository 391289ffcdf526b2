/* SPDX-License-Identifier: BSD-2-Clause */
/* The pace of management datagrams: figures, and several senders to one receiver. */
#include <criterion/criterion.h>

#include "net/port.h"
#include "roce/cm/pace.h"

#define TICK ROCE_CM_PACE_TICK_NS

/* Sends as many as may leave now, `most` at most. */
static unsigned send(struct roce_cm_pace *pace, bool is_request, unsigned most, uint64_t now_ns)
{
    unsigned sent = 0;
    while (sent < most && roce_cm_pace_allows(pace, is_request, now_ns)) {
        roce_cm_pace_sent(pace, is_request);
        sent++;
    }
    return sent;
}

Test(cm_pace, a_burst_then_so_many_each_tick)
{
    struct roce_cm_pace pace = {0};
    cr_expect_eq(send(&pace, false, 1000, 100), ROCE_CM_PACE_BURST);
    cr_expect_eq(roce_cm_pace_next_ns(&pace), TICK);
    cr_expect_eq(send(&pace, false, 1000, TICK - 1), 0);
    cr_expect_eq(send(&pace, false, 1000, TICK), ROCE_CM_PACE_PER_TICK);
    cr_expect_eq(send(&pace, false, 1000, 1000 * TICK), ROCE_CM_PACE_BURST, "no more after a long pause");
}

Test(cm_pace, requests_wait_for_answers_or_are_forgotten)
{
    struct roce_cm_pace pace = {0};
    cr_expect_eq(send(&pace, true, 1000, 0), ROCE_CM_PACE_AWAITED);
    cr_expect_eq(send(&pace, true, 1000, TICK), ROCE_CM_PACE_FORGET);
    roce_cm_pace_answered(&pace);
    cr_expect_eq(send(&pace, true, 1000, TICK), 1);
    cr_expect_eq(send(&pace, false, 1000, TICK), ROCE_CM_PACE_PER_TICK - ROCE_CM_PACE_FORGET - 1);
}

/* --- several senders, a receiver that answers as its own pace allows --- */

#define SENDERS_MAX 5
#define STEPS       16 /* of a tick */
#define TICKS       400

struct senders {
    struct roce_cm_pace paces[SENDERS_MAX];
    unsigned confirmations[SENDERS_MAX]; /* of answers that came */
    unsigned count;
    unsigned arrived; /* at the receiver, in the step */
};

static void send_all(struct senders *senders, unsigned *requests, uint64_t now_ns)
{
    senders->arrived = 0;
    for (unsigned i = 0; i < senders->count; i++) {
        unsigned confirmed = send(&senders->paces[i], false, senders->confirmations[i], now_ns);
        senders->confirmations[i] -= confirmed;
        requests[i] = send(&senders->paces[i], true, UINT32_MAX, now_ns);
        senders->arrived += confirmed + requests[i];
    }
}

/* Answers up to `pending` requests of each sender in turn. */
static void answer(struct senders *senders, struct roce_cm_pace *receiver, unsigned *pending, uint64_t now_ns)
{
    for (unsigned idle = 0, i = 0; idle < senders->count; i = (i + 1) % senders->count) {
        idle = pending[i] && send(receiver, false, 1, now_ns) ? 0 : idle + 1;
        if (idle)
            continue;
        pending[i]--;
        senders->confirmations[i]++;
        roce_cm_pace_answered(&senders->paces[i]);
    }
}

/* REQs without end, each with a REP and an RTU: no window of the receiver's gate is too short for them, at
 * whatever time it begins. */
static void expect_fit(unsigned count, bool answers)
{
    enum { WINDOW = (unsigned)(NET_STEER_WINDOW_NS / TICK) * STEPS };
    static unsigned arrived[TICKS * STEPS];
    struct senders senders = {.count = count};
    struct roce_cm_pace receiver = {0};
    unsigned pending[SENDERS_MAX] = {0}, requests[SENDERS_MAX], in_window = 0, total = 0;
    for (unsigned step = 0; step < TICKS * STEPS; step++) {
        const uint64_t now_ns = TICK + step * (TICK / STEPS);
        send_all(&senders, requests, now_ns);
        arrived[step] = senders.arrived;
        total += senders.arrived;
        in_window += senders.arrived - (step >= WINDOW ? arrived[step - WINDOW] : 0);
        cr_assert_leq(in_window, NET_STEER_LIMIT, "step %u: %u datagrams in a window", step, in_window);
        for (unsigned i = 0; answers && i < count; i++)
            pending[i] += requests[i];
        answer(&senders, &receiver, pending, now_ns);
    }
    cr_expect_geq(total, TICKS * (answers ? 2 : count) * ROCE_CM_PACE_FORGET, "and they get on");
}

Test(cm_pace, four_senders_fit_a_receiver_that_answers)
{
    expect_fit(4, true);
}

Test(cm_pace, five_senders_fit_a_receiver_that_is_silent)
{
    expect_fit(5, false);
}
