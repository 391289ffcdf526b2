/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/by_ids.h"

#include "explain/flow/flow.h"
#include "roce/psn.h"

/* The packet left before others that are in the capture: the copy before it, if there is one, left later. */
static bool is_late(const struct explain_ids *ids, uint16_t id, const struct explain_sent *before)
{
    return explain_ids_order(ids, id) == EXPLAIN_ORDER_EARLIER &&
           (!before || (int16_t)(uint16_t)(id - before->ip_id) < 0);
}

static void tell_ids(struct explain_why *why, uint16_t id, uint16_t other)
{
    why->has_ip_id = true;
    why->ip_id[0] = id;
    why->ip_id[1] = other;
}

/* The packet behind it left before it: it was not sent in its turn, and the counter may be that of the QPN's
 * connection before. */
static bool is_behind_next(const struct explain_half *half, uint32_t psn, uint16_t id)
{
    const struct explain_sent *next = explain_sent_find(half, roce_psn_add(psn, 1));
    return next && (int16_t)(uint16_t)(id - next->ip_id) > 0;
}

bool explain_tell_by_ids(const struct explain_half *half, const struct explain_ids *ids,
                         const struct explain_packet *packet, const struct explain_sent *before,
                         enum explain_again *again, struct explain_why *why)
{
    uint16_t id = explain_ip_id(packet);
    enum explain_sure counts = explain_ids_count(ids);
    if (packet->roce.l3_kind != ROCE_L3_IPV4 || counts == EXPLAIN_SURE_UNKNOWN)
        return false;
    bool is_copy = before && before->opcode == packet->roce.bth.opcode && before->ip_id == id;
    if (!is_copy && !is_late(ids, id, before))
        return false;
    *again = is_copy ? EXPLAIN_AGAIN_COPY : EXPLAIN_AGAIN_OVERTAKEN;
    *why = (struct explain_why){.cause = is_copy ? EXPLAIN_CAUSE_COPIED : EXPLAIN_CAUSE_OVERTAKEN,
                                .sure = counts};
    if (!before && is_behind_next(half, packet->roce.bth.psn, id))
        why->sure = EXPLAIN_SURE_LIKELY;
    explain_why_prove(why, before ? before->number : 0,
                      is_copy ? "the same identification" : "a copy that was sent later");
    tell_ids(why, id, before ? before->ip_id : ids->newest);
    return true;
}

bool explain_is_sent_for_sure(const struct explain_ids *ids, const struct explain_packet *packet,
                              const struct explain_sent *before)
{
    uint16_t id = explain_ip_id(packet);
    if (before && (before->ip_id != id || before->ack_req != packet->roce.bth.ack_req ||
                   before->opcode != packet->roce.bth.opcode))
        return true;
    return explain_ids_count(ids) == EXPLAIN_SURE_SHOWN && explain_ids_order(ids, id) == EXPLAIN_ORDER_LATER;
}

bool explain_is_next_id(const struct explain_ids *ids, const struct explain_packet *packet)
{
    return packet->roce.l3_kind == ROCE_L3_IPV4 && explain_ids_count(ids) != EXPLAIN_SURE_UNKNOWN &&
           (uint16_t)(explain_ip_id(packet) - ids->newest) == 1;
}
