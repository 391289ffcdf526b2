/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/again/case.h"

#include "explain/packet/sender.h"
#include "roce/psn.h"

/* Returns whether it is no copy that the network made: it left later, or differs in a way that no copy
 * can. */
static bool is_sent_for_sure(const struct explain_case *c)
{
    uint16_t id = explain_ip_id(c->packet);
    const struct roce_bth *bth = &c->packet->roce.bth;
    if (c->before &&
        (c->before->ip_id != id || c->before->ack_req != bth->ack_req || c->before->opcode != bth->opcode))
        return true;
    return explain_ids_count(c->ids) == EXPLAIN_SURE_SHOWN &&
           explain_ids_order(c->ids, id) == EXPLAIN_ORDER_LATER;
}

/* Returns whether nothing that this end has sent just before is missing here: a missing packet could be
 * the one with which it went back, and this one goes along behind it. Without identifications that count,
 * a packet that the sender went back to before, and that is not here, may come only now. */
static bool is_directly_behind(const struct explain_case *c)
{
    if (explain_ids_count(c->ids) == EXPLAIN_SURE_UNKNOWN || c->packet->roce.l3_kind != ROCE_L3_IPV4)
        return !explain_is_passed_unseen(c->half, c->psn, c->before);
    return c->is_next;
}

/* Returns the answer that the silence counts from, if it does not count from the copy before. */
static const struct explain_progress *newest_answer(const struct explain_case *c, uint64_t *from_ns)
{
    *from_ns = c->before ? c->before->time_ns : explain_sent_about_ns(&c->half->history, c->psn);
    const struct explain_progress *newest = explain_acks_short_of(&c->half->acks, c->psn, *from_ns);
    *from_ns = newest ? newest->time_ns : *from_ns;
    return newest;
}

/* Returns for how long the sender has heard nothing, as far as it still asks for this PSN. */
static uint64_t silence_ns(const struct explain_case *c)
{
    uint64_t from_ns;
    newest_answer(c, &from_ns);
    return from_ns && c->now_ns > from_ns ? c->now_ns - from_ns : 0;
}

struct explain_case explain_case_of(struct explain_half *half, const struct explain_ids *ids,
                                    const struct explain_packet *packet, const struct explain_sent *before,
                                    uint32_t end_psn)
{
    struct explain_case c = {.half = half,
                             .ids = ids,
                             .packet = packet,
                             .before = before,
                             .psn = packet->roce.bth.psn,
                             .end_psn = end_psn,
                             .now_ns = packet->time_ns};
    c.silence_ns = silence_ns(&c);
    c.is_proved = is_sent_for_sure(&c);
    c.is_next = c.is_proved && explain_ids_is_next(ids, packet);
    c.is_direct = c.is_proved && is_directly_behind(&c);
    c.is_late = packet->roce.l3_kind == ROCE_L3_IPV4 &&
                explain_ids_order(ids, explain_ip_id(packet)) == EXPLAIN_ORDER_EARLIER;
    return c;
}

struct explain_why explain_case_why(const struct explain_case *c)
{
    struct explain_why why = {.cause = EXPLAIN_CAUSE_UNKNOWN, .silence_ns = c->silence_ns};
    uint64_t from_ns;
    const struct explain_progress *newest = newest_answer(c, &from_ns);
    explain_why_prove(&why, c->before ? c->before->number : 0, "the copy before");
    explain_why_prove(&why, newest ? newest->number : 0, "the newest answer before that");
    return why;
}

bool explain_case_may_be_first(const struct explain_case *c, bool is_sent)
{
    const struct roce_pkt *pkt = &c->packet->roce;
    struct explain_why missing = {.cause = EXPLAIN_CAUSE_UNKNOWN};
    if (c->before || is_sent)
        return false;
    explain_weather_tell(c->half->weather,
                         &(struct explain_missing){.qpn = pkt->bth.dest_qpn, .psn = pkt->bth.psn, .count = 1},
                         &missing);
    return missing.cause != EXPLAIN_CAUSE_DAMAGED;
}

enum explain_cause explain_case_unless_sent(const struct explain_case *c)
{
    if (c->is_proved)
        return EXPLAIN_CAUSE_NONE;
    return c->before ? EXPLAIN_CAUSE_COPIED : EXPLAIN_CAUSE_OVERTAKEN;
}
