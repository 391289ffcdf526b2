/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers of FPDUs as layers of the frame that they lie in. One that goes on in the next segment, or behind a
 * marker, is shown as far as it goes. */
#include "explain/iwarp/layers.h"

#include "base/base.h"

/* A place in the stream. */
struct place {
    struct iwarp_view *v;
    const struct iwarp_half *h;
    uint64_t at;
};

/* Bytes at..at + n - 1 of the stream are a header of that kind, or its beginning. */
static void put(const struct place *p, enum explain_layer_id id, uint64_t at, uint32_t n)
{
    const struct iwarp_view *v = p->v;
    struct explain_packet *packet = v->packet;
    uint64_t end = v->from + v->segment.captured;
    if (at < v->from || at >= end || packet->layer_count == EXPLAIN_LAYERS_MAX)
        return;
    packet->layers[packet->layer_count++] =
        (struct explain_layer){.kind = &explain_layer_kinds[id],
                               .offset = v->segment.offset + (uint32_t)(at - v->from),
                               .len_bytes = (uint16_t)min_u64(n, end - at)};
}

static uint32_t room_of(const struct place *p)
{
    uint32_t behind = (uint32_t)((p->at - p->h->framing.origin) % IWARP_MARKER_INTERVAL);
    if (!p->h->framing.has_markers)
        return UINT32_MAX;
    return behind ? IWARP_MARKER_INTERVAL - behind : 0;
}

static void pass_marker(struct place *p)
{
    if (room_of(p))
        return;
    put(p, EXPLAIN_LAYER_MPA_MARKER, p->at, IWARP_MARKER_BYTES);
    p->at += IWARP_MARKER_BYTES;
}

/* Goes over `n` bytes; those up to the first marker in them are shown as `id`. */
static void pass(struct place *p, enum explain_layer_id id, uint32_t n)
{
    bool is_first = true;
    while (n) {
        pass_marker(p);
        uint32_t part = min_u32(n, room_of(p));
        if (is_first && id != EXPLAIN_LAYER_COUNT)
            put(p, id, p->at, part);
        is_first = false;
        p->at += part;
        n -= part;
    }
}

static void pass_header(struct place *p, enum explain_layer_id id)
{
    pass(p, id, explain_layer_kinds[id].header->len_bytes);
}

static void pass_ddp(struct place *p, bool is_tagged)
{
    pass_header(p, EXPLAIN_LAYER_DDP);
    pass_header(p, is_tagged ? EXPLAIN_LAYER_DDP_TAGGED : EXPLAIN_LAYER_DDP_UNTAGGED);
}

/* What a Terminate brings of the segment that was refused (IWARP-RDMAP-29); `left` bytes of it are there. The
 * headers are there or not: that the length says, as siw has the flags in other bits. */
static void pass_refused(struct place *p, const struct iwarp_fpdu *f, uint32_t left)
{
    uint32_t at = f->header_at + IWARP_TERM_BYTES + IWARP_TERM_LENGTH_BYTES;
    if (left < IWARP_TERM_LENGTH_BYTES)
        return;
    pass_header(p, EXPLAIN_LAYER_RDMAP_TERM_LENGTH);
    left -= IWARP_TERM_LENGTH_BYTES;
    if (left < IWARP_DDP_TAGGED_BYTES || f->known < at + IWARP_CTRL_BYTES)
        return;
    struct iwarp_ctrl refused;
    iwarp_ctrl_get(&refused, f->plain + at);
    uint32_t ddp_bytes = refused.t ? IWARP_DDP_TAGGED_BYTES : IWARP_DDP_UNTAGGED_BYTES;
    if (left < ddp_bytes)
        return;
    pass_ddp(p, refused.t);
    if (left - ddp_bytes >= IWARP_READ_REQ_BYTES)
        pass_header(p, EXPLAIN_LAYER_RDMAP_READ_REQ);
}

static enum explain_layer_id layer_of(uint8_t opcode)
{
    switch ((enum iwarp_op)opcode) {
    case IWARP_OP_READ_REQUEST:
        return EXPLAIN_LAYER_RDMAP_READ_REQ;
    case IWARP_OP_TERMINATE:
        return EXPLAIN_LAYER_RDMAP_TERM;
    case IWARP_OP_IMM:
    case IWARP_OP_IMM_SE:
        return EXPLAIN_LAYER_RDMAP_IMM;
    case IWARP_OP_ATOMIC_REQUEST:
        return EXPLAIN_LAYER_RDMAP_ATOMIC_REQ;
    case IWARP_OP_ATOMIC_RESPONSE:
        return EXPLAIN_LAYER_RDMAP_ATOMIC_RSP;
    case IWARP_OP_WRITE:
    case IWARP_OP_READ_RESPONSE:
    case IWARP_OP_SEND:
    case IWARP_OP_SEND_INV:
    case IWARP_OP_SEND_SE:
    case IWARP_OP_SEND_SE_INV:
    case IWARP_OP_DEFINED:
        break;
    }
    return EXPLAIN_LAYER_COUNT;
}

/* The header of RDMAP. Where the segment is shorter than it, nothing is shown. */
static void pass_rdmap(struct place *p, const struct iwarp_fpdu *f)
{
    enum explain_layer_id id = f->ctrl.t ? EXPLAIN_LAYER_COUNT : layer_of(f->ctrl.opcode);
    if (id == EXPLAIN_LAYER_COUNT || f->payload < explain_layer_kinds[id].header->len_bytes)
        return;
    pass_header(p, id);
    if (id == EXPLAIN_LAYER_RDMAP_TERM)
        pass_refused(p, f, f->payload - IWARP_TERM_BYTES);
}

/* Of the first FPDU that has any: its payload, up to the first marker in it or the end of the frame. */
static void note_payload(const struct place *p, const struct iwarp_fpdu *f)
{
    const struct iwarp_view *v = p->v;
    uint32_t header_bytes = f->op ? f->op->header_bytes : 0;
    uint64_t end = v->from + v->segment.captured;
    if (!f->has_ddp || header_bytes || !f->payload || v->packet->payload_bytes || f->at < v->from ||
        p->at >= end)
        return;
    v->packet->payload_offset = v->segment.offset + (uint32_t)(p->at - v->from);
    v->packet->payload_bytes = (uint32_t)min_u64(min_u32(f->payload, room_of(p)), end - p->at);
}

void explain_iwarp_show(struct iwarp_view *v, const struct iwarp_fpdu *f)
{
    struct place p = {.v = v, .h = iwarp_half_of(v), .at = f->at};
    pass_header(&p, EXPLAIN_LAYER_MPA);
    if (f->has_ctrl && f->ulpdu_len >= (f->ctrl.t ? IWARP_DDP_TAGGED_BYTES : IWARP_DDP_UNTAGGED_BYTES)) {
        pass_ddp(&p, f->ctrl.t);
        pass_rdmap(&p, f);
    } else if (f->has_ctrl) {
        pass_header(&p, EXPLAIN_LAYER_DDP);
    }
    note_payload(&p, f);
    uint64_t crc_at = f->at + f->raw_bytes - IWARP_MPA_CRC_BYTES;
    while (p.at < crc_at) {
        uint32_t room = room_of(&p);
        if (room == 0)
            pass_marker(&p);
        else
            p.at += min_u64(room, crc_at - p.at);
    }
    put(&p, EXPLAIN_LAYER_MPA_CRC, crc_at, IWARP_MPA_CRC_BYTES);
}

void explain_iwarp_show_frame(struct iwarp_view *v, uint64_t at, bool is_enhanced)
{
    struct place p = {.v = v, .h = iwarp_half_of(v)};
    put(&p, EXPLAIN_LAYER_MPA_FRAME, at, IWARP_MPA_FRAME_BYTES);
    if (is_enhanced)
        put(&p, EXPLAIN_LAYER_MPA_ENHANCED, at + IWARP_MPA_FRAME_BYTES, IWARP_MPA_ENHANCED_BYTES);
}
