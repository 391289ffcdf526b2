/* SPDX-License-Identifier: BSD-2-Clause */
/* Names for the end's memory, between the recorded ones and the engine's. */
#include "explain/replay/iwarp/turn.h"

#include "explain/replay/iwarp/learn.h"
#include "explain/replay/iwarp/messages.h"
#include "iwarp/wire/crc.h"
#include "iwarp/wire/opcode.h"
#include "iwarp/wire/size.h"
#include "net/bytes.h"

/* Where names of the sink's memory stand in a ULPDU. */
#define STAG_AT        IWARP_CTRL_BYTES
#define TO_AT          (STAG_AT + 4)
#define SOURCE_STAG_AT (IWARP_DDP_UNTAGGED_BYTES + 16)
#define ATOMIC_STAG_AT (IWARP_DDP_UNTAGGED_BYTES + 8)

static void turn_key(struct iwr_end *e, uint8_t *at)
{
    const struct iwr_region *r = explain_iwr_region(e, get_be32(at));
    if (r && r->mr)
        put_be32(at, r->mr->rkey);
}

static void turn_response(struct iwr_end *e, uint8_t *ulpdu, bool is_last)
{
    const struct iwr_sink *s = e->sinks_done < e->sink_count ? &e->sinks[e->sinks_done] : NULL;
    if (s && s->is_asked) {
        put_be32(ulpdu + STAG_AT, s->engine_stag);
        put_be64(ulpdu + TO_AT, get_be64(ulpdu + TO_AT) - s->recorded_to + s->engine_to);
    }
    e->sinks_done += is_last;
}

/* Where the STag of its memory stands, but of a Read Response; 0: there is none. */
static uint32_t key_at(const struct iwarp_ctrl *ctrl, uint32_t len)
{
    const struct iwarp_opcode *op = explain_iwr_opcode(ctrl->opcode);
    if (ctrl->t)
        return ctrl->opcode == IWARP_OP_WRITE ? STAG_AT : 0;
    if (ctrl->opcode == IWARP_OP_READ_REQUEST)
        return len >= IWARP_DDP_UNTAGGED_BYTES + IWARP_READ_REQ_BYTES ? SOURCE_STAG_AT : 0;
    if (ctrl->opcode == IWARP_OP_ATOMIC_REQUEST)
        return len >= IWARP_DDP_UNTAGGED_BYTES + IWARP_ATOMIC_REQ_BYTES ? ATOMIC_STAG_AT : 0;
    return op && op->flags & IWARP_MSG_INVALIDATE ? STAG_AT : 0;
}

void explain_iwr_turn(struct iwr_end *e, const struct iwr_event *event, uint8_t *bytes)
{
    uint8_t *ulpdu = bytes + IWARP_MPA_LENGTH_BYTES;
    uint32_t len = get_be16(bytes);
    struct iwarp_ctrl ctrl;
    if (len < IWARP_DDP_TAGGED_BYTES || event->has_bad_crc)
        return;
    iwarp_ctrl_get(&ctrl, ulpdu);
    uint32_t at = key_at(&ctrl, len);
    if (at)
        turn_key(e, ulpdu + at);
    else if (ctrl.t && ctrl.opcode == IWARP_OP_READ_RESPONSE)
        turn_response(e, ulpdu, ctrl.l);
    if (e->conn->has_crc) {
        uint8_t *crc = bytes + event->len_bytes - IWARP_MPA_CRC_BYTES;
        iwarp_crc_put(crc, iwarp_crc(0, bytes, (size_t)(crc - bytes)));
    }
}

void explain_iwr_turn_back(const struct iwr_end *e, struct iwr_message *t)
{
    uint32_t at = IWARP_TERM_BYTES + IWARP_TERM_LENGTH_BYTES;
    if (t->len_bytes < at + IWARP_DDP_TAGGED_BYTES)
        return;
    bool is_read = t->len_bytes >= at + IWARP_DDP_UNTAGGED_BYTES + IWARP_READ_REQ_BYTES;
    uint8_t *stag = t->data + at + (is_read ? SOURCE_STAG_AT : STAG_AT);
    for (size_t i = 0; i < e->region_count; i++)
        if (e->regions[i].mr && e->regions[i].mr->rkey == get_be32(stag)) {
            put_be32(stag, e->regions[i].stag);
            return;
        }
}
