/* SPDX-License-Identifier: BSD-2-Clause */
/* What the recorded end must have had: regions that its peer reached, receives that took messages, a place
 * for each of its own messages. What its Terminate is about it did not have. */
#include "explain/replay/iwarp/learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/iwarp/messages.h"
#include "explain/replay/iwarp/streams.h"
#include "iwarp/wire/opcode.h"
#include "net/bytes.h"

#define REGION_BYTES_MAX (UINT64_C(64) << 20)
#define TERM_COPY_AT     (IWARP_TERM_BYTES + IWARP_TERM_LENGTH_BYTES)
#define SLACK_BYTES      64
/* Control, and STag or Queue Number: what siw's copy of a header has as it was. MSN and MO may be others. */
#define TERM_COPY_SURE_BYTES 10

struct iwr_region *explain_iwr_region(struct iwr_end *e, uint32_t stag)
{
    for (size_t i = 0; i < e->region_count; i++)
        if (e->regions[i].stag == stag)
            return &e->regions[i];
    return NULL;
}

/* The peer reached that range. 0 or -ENOMEM. */
static int learn_range(struct iwr_end *e, uint32_t stag, uint64_t from, uint64_t len, uint32_t access)
{
    struct iwr_region *r = explain_iwr_region(e, stag);
    if (len == 0 || len > REGION_BYTES_MAX || from + len < from)
        return 0;
    if (!r) {
        struct iwr_region *grown = reallocarray(e->regions, e->region_count + 1, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        e->regions = grown;
        r = &e->regions[e->region_count++];
        *r = (struct iwr_region){.stag = stag, .from = from, .to = from + len};
    }
    uint64_t low = min_u64(r->from, from), high = max_u64(r->to, from + len);
    r->access |= access;
    if (high - low > REGION_BYTES_MAX)
        return 0;
    r->from = low;
    r->to = high;
    return 0;
}

/* A message on queue 0 reaches so far. */
static int learn_receive(struct iwr_end *e, const struct iwarp_untagged *u, uint32_t len, bool is_refused)
{
    size_t at = u->msn - 1u; /* it counts from 1, and so many came before */
    if (is_refused) {        /* nor does it take what comes behind */
        e->recv_count = min_u64(e->recv_count, at);
        e->has_refused_message = true;
    }
    if (at > e->recv_count || (at == e->recv_count && e->has_refused_message))
        return 0;
    if (at == e->recv_count) {
        uint32_t *grown = reallocarray(e->recv_bytes, at + 1, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        e->recv_bytes = grown;
        grown[e->recv_count++] = 0;
    }
    e->recv_bytes[at] = max_u32(e->recv_bytes[at], u->mo + len);
    return 0;
}

static int learn_untagged(struct iwr_end *e, const uint8_t *ulpdu, uint32_t len, uint8_t opcode,
                          bool is_refused)
{
    struct iwarp_untagged u;
    struct iwarp_read_req read;
    const struct iwarp_opcode *op = explain_iwr_opcode(opcode);
    iwarp_untagged_get(&u, ulpdu + IWARP_CTRL_BYTES);
    len -= IWARP_DDP_UNTAGGED_BYTES;
    if (opcode == IWARP_OP_READ_REQUEST && len >= IWARP_READ_REQ_BYTES && !is_refused) {
        iwarp_read_req_get(&read, ulpdu + IWARP_DDP_UNTAGGED_BYTES);
        return learn_range(e, read.src_stag, read.src_to, read.size, NORNIC_ACCESS_REMOTE_READ);
    }
    if (!op || !(op->flags & IWARP_MSG_TAKES_RECV) || u.qn != IWARP_QN_SEND)
        return 0;
    struct iwr_region *r = op->flags & IWARP_MSG_INVALIDATE ? explain_iwr_region(e, u.inv_stag) : NULL;
    if (r)
        r->is_invalidated = true;
    return learn_receive(e, &u, len, is_refused);
}

static int learn_fpdu(struct iwr_end *e, const struct iwr_event *event)
{
    uint32_t len;
    const uint8_t *ulpdu = explain_iwr_ulpdu(event, &len);
    struct iwarp_ctrl ctrl = {0};
    struct iwarp_tagged tagged;
    if (len >= IWARP_DDP_TAGGED_BYTES)
        iwarp_ctrl_get(&ctrl, ulpdu);
    if (event->has_bad_crc || ctrl.dv != IWARP_DDP_VERSION)
        return 0;
    if (!ctrl.t)
        return len < IWARP_DDP_UNTAGGED_BYTES ? 0
                                              : learn_untagged(e, ulpdu, len, ctrl.opcode, event->is_refused);
    iwarp_tagged_get(&tagged, ulpdu + IWARP_CTRL_BYTES);
    if (ctrl.opcode != IWARP_OP_WRITE || event->is_refused)
        return 0;
    return learn_range(e, tagged.stag, tagged.to, len - IWARP_DDP_TAGGED_BYTES, NORNIC_ACCESS_REMOTE_WRITE);
}

/* Which FPDU of the peer the recorded Terminate is about: the last one before it whose header it copies. */
static void learn_refused(struct iwr_end *e, struct iwr_conn *conn)
{
    const struct iwr_message *term = e->recorded.count[IWR_TERM] ? &e->recorded.items[IWR_TERM][0] : NULL;
    if (!term || term->len_bytes < TERM_COPY_AT + TERM_COPY_SURE_BYTES)
        return;
    for (size_t i = term->event; i-- > 0;) {
        struct iwr_event *event = &conn->events[i];
        uint32_t len;
        if (event->side == e->side || event->kind != IWR_FPDU)
            continue;
        const uint8_t *ulpdu = explain_iwr_ulpdu(event, &len);
        if (len >= IWARP_DDP_TAGGED_BYTES &&
            memcmp(ulpdu, term->data + TERM_COPY_AT, TERM_COPY_SURE_BYTES) == 0) {
            event->is_refused = true;
            return;
        }
    }
}

/* Room for what the end sends, and for what comes in. */
static int learn_room(struct iwr_end *e)
{
    const struct iwr_messages *m = &e->recorded;
    e->arena_bytes = SLACK_BYTES;
    for (size_t i = 0; i < m->count[IWR_SOURCE]; i++) {
        const struct iwr_message *s = &m->items[IWR_SOURCE][i];
        bool is_read = s->opcode == IWARP_OP_READ_REQUEST && s->len_bytes >= IWARP_READ_REQ_BYTES;
        e->arena_bytes += is_read ? min_u32(get_be32(s->data + 12), IWR_READ_BYTES_MAX) : s->len_bytes;
        e->sink_count += s->opcode == IWARP_OP_READ_REQUEST;
        e->longest = max_u32(e->longest, s->longest);
    }
    for (size_t i = 0; i < m->count[IWR_ANSWER]; i++)
        e->longest = max_u32(e->longest, m->items[IWR_ANSWER][i].longest);
    for (size_t i = 0; i < e->recv_count; i++)
        e->arena_bytes += e->recv_bytes[i];
    e->arena = e->arena_bytes <= REGION_BYTES_MAX ? calloc(1, e->arena_bytes) : NULL;
    e->sinks = calloc(e->sink_count + 1, sizeof *e->sinks);
    for (size_t i = 0; i < e->region_count; i++) {
        e->regions[i].bytes = calloc(1, e->regions[i].to - e->regions[i].from);
        if (!e->regions[i].bytes)
            return -ENOMEM;
    }
    return e->arena && e->sinks ? 0 : -ENOMEM;
}

/* What the Reply has asked for, the initiator sends before anything else (IWARP-ECE-05). */
static size_t count_rtr(const struct iwr_conn *conn, const struct iwr_messages *recorded, uint8_t side)
{
    struct iwarp_mpa_frame own, reply;
    struct iwarp_mpa_enhanced told;
    const struct iwr_event *frames[2] = {explain_iwr_frame_of(conn, side), explain_iwr_frame_of(conn, !side)};
    if (!frames[0] || !frames[1] || recorded->count[IWR_SOURCE] == 0)
        return 0;
    iwarp_mpa_frame_get(&own, frames[0]->bytes);
    iwarp_mpa_frame_get(&reply, frames[1]->bytes);
    if (memcmp(own.key, IWARP_MPA_KEY_REQUEST, sizeof own.key) != 0 || !reply.s ||
        reply.pd_len < IWARP_MPA_ENHANCED_BYTES)
        return 0;
    iwarp_mpa_enhanced_get(&told, frames[1]->bytes + IWARP_MPA_FRAME_BYTES);
    uint8_t first = recorded->items[IWR_SOURCE][0].opcode;
    return told.a && ((told.c && first == IWARP_OP_WRITE) || (told.d && first == IWARP_OP_READ_REQUEST));
}

int explain_iwr_learn(struct iwr_end *e, struct iwr_conn *conn, uint8_t side)
{
    int err = 0;
    *e = (struct iwr_end){.conn = conn, .side = side};
    for (size_t i = 0; i < conn->event_count; i++) {
        const struct iwr_event *event = &conn->events[i];
        const struct iwr_message like = {
            .number = event->number, .event = i, .has_bad_crc = event->has_bad_crc};
        uint32_t len;
        if (event->side == side && event->kind == IWR_FPDU) {
            const uint8_t *ulpdu = explain_iwr_ulpdu(event, &len);
            if (!explain_iwr_message_add(&e->recorded, ulpdu, len, &like))
                return -ENOMEM;
        }
    }
    learn_refused(e, conn);
    for (size_t i = 0; i < conn->event_count && !err; i++)
        if (conn->events[i].side != side && conn->events[i].kind == IWR_FPDU)
            err = learn_fpdu(e, &conn->events[i]);
    e->rtr = count_rtr(conn, &e->recorded, side);
    return err ? err : learn_room(e);
}

void explain_iwr_end_free(struct iwr_end *e)
{
    explain_iwr_messages_free(&e->recorded);
    explain_iwr_messages_free(&e->engine);
    for (size_t i = 0; i < e->region_count; i++)
        free(e->regions[i].bytes);
    free(e->regions);
    free(e->recv_bytes);
    free(e->arena);
    free(e->sinks);
    free(e->out);
    free(e->frame);
}
