/* SPDX-License-Identifier: BSD-2-Clause */
/* A silence alone does not say what ended it. That it was the sender's ack timer, something else has to tell:
 *
 *   earlier silences   of the same length, before which the sender went back without another reason
 *   the REQ            which names the timeout of the connection: the timer runs out not before it, and at
 *                      most four times as late (ROCE-RC-41). It is the timeout of the end that is asked; the
 *                      end that asks takes the delay of the other instead of its own (ROCE-CM-33), which is
 *                      seldom another
 *   the host           whose other flows showed how long theirs is
 *   that no answer     came for most of it: then nothing else can have prompted the sender
 *
 * Silences that were seen more than once count for more than the REQ: programs may set another timeout. */
#include "explain/flow/timer.h"

#include "base/base.h"
#include "explain/flow/flow.h"
#include "roce/psn.h"

#define SILENCE_RTT 8 /* of so few round trips is no timeout */
#define LATEST      4 /* times the timeout of the REQ */
#define CODE_NS     4096
#define CODE_LEAST  8 /* 4.096 us * 2^8: 1 ms */
#define CODE_MOST   31

uint64_t explain_timeout_of_code(unsigned code)
{
    return (uint64_t)CODE_NS << code;
}

bool explain_is_alike(uint64_t a_ns, uint64_t b_ns)
{
    uint64_t least = min_u64(a_ns, b_ns), most = max_u64(a_ns, b_ns);
    return most - least <= least / 16 + NS_PER_MS / 4;
}

const struct explain_silence *explain_usual_silence(const struct explain_half *half)
{
    const struct explain_recovery *r = half->recovery;
    const struct explain_silence *best = &r->silences.kept[0];
    for (unsigned i = 1; i < EXPLAIN_SILENCES_MAX; i++)
        if (r->silences.kept[i].count > best->count)
            best = &r->silences.kept[i];
    return best;
}

uint64_t explain_known_timeout(const struct explain_half *half)
{
    const struct explain_silence *usual = explain_usual_silence(half);
    if (usual->count)
        return usual->ns;
    return half->timer.agreed_ns ? half->timer.agreed_ns : half->timer.host_ns;
}

void explain_learn_silence(struct explain_half *half, uint64_t ns)
{
    struct explain_silence *silences = half->recovery->silences.kept, *least = &silences[0];
    for (unsigned i = 0; i < EXPLAIN_SILENCES_MAX; i++) {
        struct explain_silence *s = &silences[i];
        if (s->count && explain_is_alike(s->ns, ns)) {
            s->ns = min_u64(s->ns, ns);
            s->count++;
            return;
        }
        if (s->count < least->count)
            least = s;
    }
    *least = (struct explain_silence){ns, 1};
}

/* Senders may double the timeout while nothing comes (ROCE-RC-41). */
static bool is_multiple(uint64_t ns, uint64_t timeout_ns, bool is_in_row)
{
    for (unsigned times = 1; times <= (is_in_row ? 4u : 1u); times *= 2)
        if (timeout_ns && explain_is_alike(ns, times * timeout_ns))
            return true;
    return false;
}

static bool is_agreed(const struct explain_half *half, uint64_t ns)
{
    uint64_t agreed_ns = half->timer.agreed_ns;
    return agreed_ns && ns >= agreed_ns - agreed_ns / 16 && ns <= LATEST * agreed_ns + agreed_ns / 16;
}

/* For most of the silence no answer came. */
static bool is_still(const struct explain_half *half, uint64_t ns, uint64_t now_ns)
{
    return half->acks.newest_ns <= now_ns && now_ns - half->acks.newest_ns >= ns - ns / 4;
}

enum explain_fit explain_fit_of_timer(const struct explain_half *half, uint64_t ns, uint64_t now_ns)
{
    const struct explain_silence *usual = explain_usual_silence(half);
    uint64_t least_ns = max_u64(EXPLAIN_SILENCE_NS, SILENCE_RTT * half->clock.rtt_ns);
    bool is_in_row = half->recovery->silences.in_row;
    if (ns < EXPLAIN_SILENCE_NS && !half->timer.agreed_ns)
        return EXPLAIN_FIT_NOT; /* of silences that are alike each may be shorter than the one before */
    if (usual->count && is_multiple(ns, usual->ns, is_in_row))
        return EXPLAIN_FIT_WELL;
    if (usual->count >= EXPLAIN_SILENCES_SHOW)
        least_ns = usual->ns;
    else if (half->timer.agreed_ns)
        least_ns = half->timer.agreed_ns - half->timer.agreed_ns / 16;
    if (ns < least_ns)
        return EXPLAIN_FIT_NOT;
    if (usual->count < EXPLAIN_SILENCES_SHOW &&
        (is_agreed(half, ns) || is_multiple(ns, half->timer.host_ns, is_in_row)))
        return EXPLAIN_FIT_WELL;
    return is_still(half, ns, now_ns) ? EXPLAIN_FIT_MAY : EXPLAIN_FIT_DOUBT;
}

void explain_prove_timer(const struct explain_half *half, uint64_t ns, struct explain_why *why)
{
    if (is_agreed(half, ns))
        explain_why_prove(why, half->timer.agreed_number, "the REQ, which names the ack timeout");
    else if (half->timer.host_ns && explain_is_alike(ns, half->timer.host_ns))
        explain_why_prove(why, half->timer.host_number, "a timeout of another flow of this host");
}

/* One of the lengths that the standard knows, and a little more, as timers of systems are late. */
static bool is_code(uint64_t ns)
{
    for (unsigned code = CODE_LEAST; code <= CODE_MOST; code++) {
        uint64_t code_ns = explain_timeout_of_code(code);
        if (ns >= code_ns && explain_is_alike(ns, code_ns))
            return true;
    }
    return false;
}

uint64_t explain_stale_timer(struct explain_half *half, uint32_t psn, uint64_t now_ns)
{
    struct explain_recovery *r = half->recovery;
    const struct explain_sent *before = explain_sent_find(half, roce_psn_add(psn, ROCE_PSN_MASK));
    bool is_quiet = explain_weather_is_quiet(half->weather) && !half->capture.is_holey && !half->selective;
    if (!is_quiet || !before || !before->is_answered || now_ns <= before->time_ns)
        return 0; /* where packets are lost, late or acknowledged selectively, other reasons are as good */
    uint64_t ns = now_ns - before->time_ns, known_ns = explain_known_timeout(half);
    bool is_known = (known_ns && explain_is_alike(ns, known_ns)) ||
                    (r->silences.stale_ns && explain_is_alike(ns, r->silences.stale_ns));
    if (is_known || is_code(ns))
        r->silences.stale_ns = ns;
    return is_known ? before->number : 0;
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
