/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments of DDP and the messages of RDMAP that they make: what each is, and whether it is the next of
 * its kind (RFC 5041 4, RFC 5040 4). */
#include "explain/iwarp/ddp.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "explain/iwarp/answer.h"
#include "explain/iwarp/done.h"
#include "explain/iwarp/terminate.h"
#include "explain/iwarp/words.h"

#define SEQUENCE EXPLAIN_FIND_IWARP_SEQUENCE
#define OPCODE   EXPLAIN_FIND_IWARP_OPCODE

/* --- what every segment has --- */

/* Versions, opcode, and whether the opcode goes that way. False: no more is to be said of it. */
static bool judge_control(struct iwarp_view *v, const struct iwarp_fpdu *f)
{
    const char *name = iwarp_opcode_name(f->ctrl.opcode);
    if (f->ctrl.dv != IWARP_DDP_VERSION) {
        explain_iwarp_tell(v, "segment of DDP version %u", f->ctrl.dv);
        explain_remark(v->m, OPCODE, "IWARP-DDP-02", 0, 0, "DDP version %u: there is only 1", f->ctrl.dv);
        return false;
    }
    if (!iwarp_is_rdmap_version(f->ctrl.rv)) {
        explain_iwarp_tell(v, "segment of RDMAP version %u", f->ctrl.rv);
        explain_remark(v->m, OPCODE, "IWARP-RDMAP-01", 0, 0, "RDMAP version %u: 0 and 1 are valid",
                       f->ctrl.rv);
        return false;
    }
    if (!f->op) {
        explain_iwarp_tell(v, "segment with the reserved opcode %u", f->ctrl.opcode);
        explain_remark(v->m, OPCODE, "IWARP-RDMAP-01", 0, 0, "opcode %u is reserved", f->ctrl.opcode);
        return false;
    }
    if (iwarp_is_tagged(f->op) != f->ctrl.t) {
        explain_iwarp_tell(v, "%s, %s", name, f->ctrl.t ? "tagged" : "untagged");
        explain_remark(v->m, OPCODE, "IWARP-RDMAP-01", 0, 0, "a %s may not be %s", name,
                       f->ctrl.t ? "tagged" : "untagged");
        return false;
    }
    return true;
}

/* Before the first FPDU of the other side only the side that asked may send (IWARP-MPA-02, -03); the first
 * one is the RTR, where the Reply asked for it (IWARP-ECE-06). */
static void judge_turn(struct iwarp_view *v, struct iwarp_fpdu *f)
{
    struct iwarp_conn *c = v->conn;
    const struct iwarp_half *other = iwarp_other_half(v);
    if (c->shown.fpdus[v->side] || c->shown.is_older || !other->is_heard)
        return;
    bool is_unheard = !c->shown.fpdus[!v->side] && !explain_stream_hole(&other->stream) && !other->is_holey;
    bool has_reply =
        other->framing.has_begun || other->stream.acked > 0 || explain_stream_there(&other->stream);
    if (v->side == 0 && !has_reply)
        explain_remark(v->m, EXPLAIN_FIND_IWARP_EARLY, "IWARP-MPA-02", 0, 0, "an FPDU before the Reply");
    else if (v->side == 1 && is_unheard)
        explain_remark(v->m, EXPLAIN_FIND_IWARP_EARLY, "IWARP-MPA-03", 0, 0,
                       "the side that was asked sends an FPDU before the other sent one");
    if (v->side != 0 || !c->is_rtr_due)
        return;
    c->is_rtr_due = false;
    const struct iwarp_mpa_enhanced *e = &other->enhanced;
    bool is_wanted = (e->c && f->ctrl.opcode == IWARP_OP_WRITE) ||
                     (e->b && f->ctrl.opcode == IWARP_OP_SEND) ||
                     (e->d && f->ctrl.opcode == IWARP_OP_READ_REQUEST);
    f->is_rtr = is_wanted && (f->op->header_bytes || f->payload == 0);
    c->shown.has_rtr = f->is_rtr;
    if (!f->is_rtr)
        explain_remark(v->m, EXPLAIN_FIND_IWARP_SETUP, "IWARP-ECE-06", 0, other->frame_number,
                       "the first FPDU is no RTR of a kind that the Reply names");
}

static void judge_end(struct iwarp_view *v)
{
    uint64_t number = iwarp_half_of(v)->terminate_number;
    if (number)
        explain_remark(v->m, EXPLAIN_FIND_IWARP_AFTER_END, "IWARP-RDMAP-30", 0, number,
                       "a Terminate is the last message of a side: #%" PRIu64 " was one", number);
}

/* A message begins while another of its side is half out (IWARP-DDP-09). Where it is one of the same kind,
 * the state of that kind says so; a Terminate may come at any time. */
static void judge_interleaving(struct iwarp_view *v, const struct iwarp_fpdu *f)
{
    const struct iwarp_half *half = iwarp_half_of(v);
    const struct iwarp_open *opens[] = {&half->write, &half->response, &half->order[IWARP_QN_SEND].open};
    const struct iwarp_open *own = f->ctrl.opcode == IWARP_OP_WRITE           ? opens[0]
                                   : f->ctrl.opcode == IWARP_OP_READ_RESPONSE ? opens[1]
                                   : f->op->qn == IWARP_QN_SEND               ? opens[2]
                                                                              : NULL;
    if (half->is_holey || f->ctrl.opcode == IWARP_OP_TERMINATE || (own && own->is_open))
        return;
    for (size_t i = 0; i < array_len(opens); i++)
        if (opens[i] != own && opens[i]->is_open)
            explain_remark(v->m, SEQUENCE, "IWARP-DDP-09", 0, opens[i]->number,
                           "message %" PRIu64 " is not at its end: none may begin before that",
                           opens[i]->message);
}

/* "only", "first", "middle", "last" */
static const char *part_of(bool is_first, bool is_last)
{
    return is_first ? is_last ? "only" : "first" : is_last ? "last" : "middle";
}

static uint64_t begin_message(struct iwarp_view *v)
{
    return ++v->conn->shown.messages[v->side];
}

/* --- tagged --- */

/* Whether the segment goes on with the open message; else that is given up, with a word. */
static bool goes_on(struct iwarp_view *v, struct iwarp_open *open, const struct iwarp_fpdu *f)
{
    if (!open->is_open)
        return false;
    if (open->stag == f->tagged.stag && open->to == f->tagged.to)
        return true;
    if (!iwarp_half_of(v)->is_holey)
        explain_remark(
            v->m, SEQUENCE, open->stag == f->tagged.stag ? "IWARP-DDP-06" : "IWARP-DDP-03", 0, open->number,
            "message %" PRIu64 " is not at its end: it goes on at TO 0x%" PRIx64 " of STag 0x%08" PRIx32,
            open->message, open->to, open->stag);
    open->is_open = false;
    return false;
}

static void take_write(struct iwarp_view *v, struct iwarp_fpdu *f)
{
    struct explain_iwarp_conn *shown = &v->conn->shown;
    struct iwarp_open *open = &iwarp_half_of(v)->write;
    bool is_first = !goes_on(v, open, f);
    if (is_first) {
        *open = (struct iwarp_open){.stag = f->tagged.stag,
                                    .to = f->tagged.to,
                                    .message = begin_message(v),
                                    .number = v->packet->number,
                                    .origin = f->origin,
                                    .is_doubtful = iwarp_half_of(v)->is_holey};
        shown->writes[v->side]++;
    }
    f->message = open->message;
    open->is_open = !f->ctrl.l;
    open->to += f->payload;
    open->bytes += f->payload;
    open->fpdus++;
    shown->bytes[v->side] += f->payload;
    if (f->ctrl.l)
        explain_iwarp_sent(v, f, open);
    if (f->is_rtr)
        explain_iwarp_tell(v, "RTR: an empty RDMA Write, after which the other side may send");
    else if (is_first)
        explain_iwarp_tell(
            v, "RDMA Write %s, message %" PRIu64 ": %u bytes to STag 0x%08" PRIx32 ", TO 0x%" PRIx64,
            part_of(true, f->ctrl.l), f->message, f->payload, f->tagged.stag, f->tagged.to);
    else
        explain_iwarp_tell(v, "RDMA Write %s, message %" PRIu64 ": %u bytes, %" PRIu64 "%s",
                           part_of(false, f->ctrl.l), f->message, f->payload, open->bytes,
                           f->ctrl.l ? " in all" : " so far");
}

/* --- untagged --- */

/* Which MSN is next. What the capture lacks explains a gap. */
static void judge_msn(struct iwarp_view *v, const struct iwarp_order *order, const struct iwarp_fpdu *f)
{
    if (!order->is_known || iwarp_half_of(v)->is_holey || f->untagged.msn == order->next_msn)
        return;
    explain_remark(v->m, SEQUENCE, "IWARP-DDP-04", 0, 0,
                   "MSN %" PRIu32 " of the %s queue, where %" PRIu32 " is next", f->untagged.msn,
                   iwarp_queue_name(f->untagged.qn), order->next_msn);
}

static void judge_mo(struct iwarp_view *v, uint64_t expected, const struct iwarp_fpdu *f)
{
    if (f->untagged.mo == expected || iwarp_half_of(v)->is_holey)
        return;
    explain_remark(v->m, SEQUENCE, "IWARP-DDP-05", 0, 0, "MO %" PRIu32 ", where %" PRIu64 " is next",
                   f->untagged.mo, expected);
}

/* The segment as the next of its queue; false: it is none of the first of a message. */
static bool follow_queue(struct iwarp_view *v, struct iwarp_fpdu *f)
{
    struct iwarp_order *order = &iwarp_half_of(v)->order[f->untagged.qn];
    struct iwarp_open *open = &order->open;
    bool goes_on = open->is_open && f->untagged.msn == order->next_msn && open->opcode == f->ctrl.opcode;
    if (!goes_on && open->is_open && !iwarp_half_of(v)->is_holey)
        explain_remark(v->m, SEQUENCE, f->untagged.msn == order->next_msn ? "IWARP-DDP-03" : "IWARP-DDP-01",
                       0, open->number, "message %" PRIu64 " (MSN %" PRIu32 ") is not at its end",
                       open->message, order->next_msn);
    else if (!goes_on)
        judge_msn(v, order, f);
    if (!goes_on)
        *open = (struct iwarp_open){.opcode = f->ctrl.opcode,
                                    .message = begin_message(v),
                                    .number = v->packet->number,
                                    .origin = f->origin,
                                    .is_doubtful = f->untagged.mo};
    judge_mo(v, open->to, f);
    f->message = open->message;
    open->to = (uint64_t)f->untagged.mo + f->payload;
    open->bytes += f->payload;
    open->fpdus++;
    open->is_open = !f->ctrl.l;
    order->is_known = true;
    order->next_msn = f->untagged.msn + f->ctrl.l;
    return !goes_on;
}

static void take_send(struct iwarp_view *v, struct iwarp_fpdu *f, bool is_first)
{
    struct explain_iwarp_conn *shown = &v->conn->shown;
    const struct iwarp_open *open = &iwarp_half_of(v)->order[f->untagged.qn].open;
    shown->sends[v->side] += is_first;
    shown->bytes[v->side] += f->payload;
    if (f->is_rtr) {
        explain_iwarp_tell(v, "RTR: an empty Send, after which the other side may send");
        return;
    }
    explain_iwarp_tell(v, "%s %s, message %" PRIu64 " (MSN %" PRIu32 "): %u bytes", f->op->name,
                       part_of(is_first, f->ctrl.l), f->message, f->untagged.msn, f->payload);
    if (!is_first)
        explain_iwarp_go_on(v, ", %" PRIu64 "%s", open->bytes, f->ctrl.l ? " in all" : " so far");
    if (f->op->flags & IWARP_MSG_INVALIDATE && f->ctrl.l)
        explain_iwarp_go_on(v, "; STag 0x%08" PRIx32 " is to be invalidated", f->untagged.inv_stag);
}

static void take_immediate(struct iwarp_view *v, const struct iwarp_fpdu *f)
{
    struct iwarp_imm imm;
    iwarp_imm_get(&imm, f->plain + f->header_at);
    v->conn->shown.immediates[v->side]++;
    explain_iwarp_tell(v, "%s, message %" PRIu64 " (MSN %" PRIu32 "): 0x", f->op->name, f->message,
                       f->untagged.msn);
    for (unsigned i = 0; i < sizeof imm.imm_data; i++)
        explain_iwarp_go_on(v, "%02x", imm.imm_data[i]);
}

static void take_read(struct iwarp_view *v, struct iwarp_fpdu *f)
{
    struct iwarp_read_req r;
    iwarp_read_req_get(&r, f->plain + f->header_at);
    v->conn->shown.reads[v->side]++;
    if (f->is_rtr)
        explain_iwarp_tell(v, "RTR: an RDMA Read Request of %" PRIu32 " bytes (MSN %" PRIu32 ")", r.size,
                           f->untagged.msn);
    else
        explain_iwarp_tell(v,
                           "RDMA Read Request, message %" PRIu64 " (MSN %" PRIu32 "): %" PRIu32
                           " bytes from STag 0x%08" PRIx32 ", TO 0x%" PRIx64 " to STag 0x%08" PRIx32
                           ", TO 0x%" PRIx64,
                           f->message, f->untagged.msn, r.size, r.src_stag, r.src_to, r.sink_stag, r.sink_to);
    explain_iwarp_ask(
        v, f,
        &(struct iwarp_asked){.msn = f->untagged.msn, .stag = r.sink_stag, .to = r.sink_to, .size = r.size});
}

static void take_atomic(struct iwarp_view *v, struct iwarp_fpdu *f)
{
    struct iwarp_atomic_req a;
    iwarp_atomic_req_get(&a, f->plain + f->header_at);
    const char *name = iwarp_atomic_name(a.aopcode);
    v->conn->shown.atomics[v->side]++;
    explain_iwarp_tell(
        v, "%s, message %" PRIu64 " (MSN %" PRIu32 "): 0x%" PRIx64 " at STag 0x%08" PRIx32 ", TO 0x%" PRIx64,
        name ? name : "reserved atomic", f->message, f->untagged.msn, a.data, a.stag, a.to);
    if (a.aopcode == IWARP_CMP_SWAP)
        explain_iwarp_go_on(v, " if it is 0x%" PRIx64, a.compare);
    if (!name)
        explain_remark(v->m, OPCODE, "IWARP-RDMAP-01", 0, 0, "AOpCode %u is reserved", a.aopcode);
    explain_iwarp_ask(
        v, f, &(struct iwarp_asked){.msn = f->untagged.msn, .request_id = a.request_id, .is_atomic = true});
}

/* Messages that are one segment of one length (IWARP-RDMAP-03). False: the header is not there. */
static bool judge_fixed(struct iwarp_view *v, const struct iwarp_fpdu *f)
{
    uint32_t wanted = f->op->header_bytes;
    bool is_terminate = f->ctrl.opcode == IWARP_OP_TERMINATE;
    if (!f->ctrl.l || f->untagged.mo)
        explain_remark(v->m, OPCODE, "IWARP-RDMAP-03", 0, 0, "a %s is one segment, with L set and MO 0",
                       f->op->name);
    if (f->payload == wanted || (is_terminate && f->payload > wanted))
        return f->has_header;
    explain_remark(v->m, OPCODE,
                   f->ctrl.opcode == IWARP_OP_IMM || f->ctrl.opcode == IWARP_OP_IMM_SE ? "IWARP-RDMAP-42"
                                                                                       : "IWARP-RDMAP-03",
                   0, 0, "%u bytes behind the DDP header: a %s has %u", f->payload, f->op->name, wanted);
    return f->has_header && f->payload > wanted;
}

/* Of a request that the capture cut off nobody knows what answers it, nor of an answer what it answers. */
static void note_unread(struct iwarp_view *v, const struct iwarp_fpdu *f)
{
    if (f->ctrl.opcode == IWARP_OP_READ_REQUEST || f->ctrl.opcode == IWARP_OP_ATOMIC_REQUEST)
        iwarp_half_of(v)->asked.has_forgotten = true;
    else if (f->ctrl.opcode == IWARP_OP_ATOMIC_RESPONSE)
        iwarp_other_half(v)->asked.has_forgotten = true;
}

static void take_untagged(struct iwarp_view *v, struct iwarp_fpdu *f)
{
    if (f->untagged.qn != f->op->qn) {
        explain_iwarp_tell(v, "%s for queue %" PRIu32, f->op->name, f->untagged.qn);
        explain_remark(v->m, OPCODE, "IWARP-DDP-20", 0, 0, "a %s belongs to queue %u, not to %" PRIu32,
                       f->op->name, f->op->qn, f->untagged.qn);
        return;
    }
    bool is_first = follow_queue(v, f);
    if (f->ctrl.l && f->op->qn == IWARP_QN_SEND)
        explain_iwarp_sent(v, f, &iwarp_half_of(v)->order[f->op->qn].open);
    if (!f->op->header_bytes) {
        take_send(v, f, is_first);
        return;
    }
    if (!judge_fixed(v, f)) {
        explain_iwarp_tell(v, "%s without its header", f->op->name);
        note_unread(v, f);
        return;
    }
    if (f->ctrl.opcode == IWARP_OP_READ_REQUEST)
        take_read(v, f);
    else if (f->ctrl.opcode == IWARP_OP_ATOMIC_REQUEST)
        take_atomic(v, f);
    else if (f->ctrl.opcode == IWARP_OP_ATOMIC_RESPONSE)
        explain_iwarp_atomic_response(v, f);
    else if (f->ctrl.opcode == IWARP_OP_TERMINATE)
        explain_iwarp_terminate(v, f);
    else
        take_immediate(v, f);
}

void explain_iwarp_segment(struct iwarp_view *v, struct iwarp_fpdu *f)
{
    judge_end(v);
    if (!judge_control(v, f))
        return;
    judge_turn(v, f);
    judge_interleaving(v, f);
    if (f->ctrl.opcode == IWARP_OP_WRITE)
        take_write(v, f);
    else if (f->ctrl.opcode == IWARP_OP_READ_RESPONSE)
        explain_iwarp_read_response(v, f);
    else
        take_untagged(v, f);
}
