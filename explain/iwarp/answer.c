/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads and atomics with their answers, which come in the order of the requests (RFC 5040 5.2, 5.5; RFC 7306
 * 5.2), and how many are under way (IWARP-FLOW-01). */
#include "explain/iwarp/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "explain/iwarp/done.h"
#include "explain/iwarp/words.h"

#define RESPONSE     EXPLAIN_FIND_IWARP_RESPONSE
#define ATOMIC_BYTES 8

/* --- requests --- */

static struct iwarp_asked *asked_at(const struct iwarp_half *h, uint32_t i)
{
    return &h->asked.list[(h->asked.first + i) % IWARP_ASKED_MAX];
}

static void forget_first(struct iwarp_half *h)
{
    h->asked.first = (h->asked.first + 1) % IWARP_ASKED_MAX;
    h->asked.count--;
}

/* How many Reads and atomics the side may have under way, as both frames say; UINT32_MAX: they do not. An RTR
 * that is a Read needs one (IWARP-ECE-07). */
static uint32_t limit_of(const struct iwarp_view *v)
{
    const struct explain_iwarp_conn *c = &v->conn->shown;
    uint16_t ord = c->frame[v->side].ord, ird = c->frame[!v->side].ird;
    if (!c->frame[0].is_enhanced || !c->frame[1].is_enhanced)
        return UINT32_MAX;
    uint32_t most = ord == IWARP_DEPTH_OPEN ? UINT32_MAX : ord;
    most = min_u32(most, ird == IWARP_DEPTH_OPEN ? UINT32_MAX : ird);
    return max_u32(most, 1);
}

void explain_iwarp_ask(struct iwarp_view *v, const struct iwarp_fpdu *f, struct iwarp_asked *asked)
{
    struct iwarp_half *h = iwarp_half_of(v);
    if (!h->asked.list)
        h->asked.list = calloc(IWARP_ASKED_MAX, sizeof *h->asked.list);
    if (!h->asked.list) {
        h->asked.has_forgotten = true;
        return;
    }
    if (h->asked.count == IWARP_ASKED_MAX) {
        forget_first(h);
        h->asked.has_forgotten = true;
    }
    asked->number = v->packet->number;
    asked->time_ns = v->packet->time_ns;
    asked->is = (struct explain_iwarp_done){.conn = v->conn->shown.id,
                                            .side = (uint8_t)v->side,
                                            .opcode = f->ctrl.opcode,
                                            .fpdus = 1,
                                            .message = f->message,
                                            .bytes = asked->is_atomic ? ATOMIC_BYTES : asked->size,
                                            .first_number = f->origin.number,
                                            .begin_ns = f->origin.time_ns};
    *asked_at(h, h->asked.count++) = *asked;
    uint32_t limit = limit_of(v);
    bool is_sure = !h->is_holey && !h->asked.has_forgotten && !iwarp_other_half(v)->is_holey &&
                   !explain_stream_hole(&iwarp_other_half(v)->stream);
    if (h->asked.count > limit && is_sure)
        explain_remark(v->m, EXPLAIN_FIND_IWARP_LIMIT, "IWARP-FLOW-01", 0, asked_at(h, 0)->number,
                       "%" PRIu32 " Reads and atomics are under way: ORD and IRD allow %" PRIu32,
                       h->asked.count, limit);
}

/* --- answers --- */

/* Whether it can be told that nothing was asked for. */
static bool is_sure(const struct iwarp_view *v)
{
    const struct iwarp_half *asker = iwarp_other_half(v);
    return !asker->is_holey && !asker->asked.has_forgotten && !explain_stream_hole(&asker->stream) &&
           !asker->framing.is_lost && asker->framing.has_begun && !v->conn->shown.is_older &&
           !iwarp_half_of(v)->is_holey;
}

static void judge_unasked(struct iwarp_view *v, const struct iwarp_fpdu *f)
{
    if (is_sure(v))
        explain_remark(v->m, RESPONSE, f->ctrl.t ? "IWARP-RDMAP-14" : "IWARP-ATOM-06", 0, 0,
                       "nothing that is under way asked for it");
    explain_iwarp_go_on(v, is_sure(v) ? ", which nobody asked for"
                                      : ", for a request that this capture does not show");
}

static void say_how_long(struct iwarp_view *v, const struct iwarp_asked *a)
{
    explain_iwarp_go_on(v, ", %sfor #%" PRIu64 " (MSN %" PRIu32 ")", is_sure(v) ? "" : "most likely ",
                        a->number, a->msn);
    v->m->answers = a->number;
    if (is_sure(v) && v->packet->time_ns >= a->time_ns)
        explain_iwarp_go_on(v, " %.3f ms before", (double)(v->packet->time_ns - a->time_ns) / 1e6);
}

/* Its answer is there as a whole. If others may be in a hole of the capture it may be that of another
 * request, and how long it took is not told. */
static void end_asked(struct iwarp_view *v, const struct iwarp_asked *a)
{
    if (is_sure(v) && v->packet->time_ns >= a->is.begin_ns)
        explain_iwarp_answered(v, a);
    else
        v->conn->shown.untimed[!v->side]++;
    forget_first(iwarp_other_half(v));
}

/* Returns whether an answer to `like` may be one to it: by the place of its data, or by its identifier. */
static bool is_like(const struct iwarp_asked *a, const struct iwarp_asked *like)
{
    return a->is_atomic ? a->request_id == like->request_id
                        : a->stag == like->stag && like->to - a->to <= a->size;
}

/* The oldest of its kind that is still open; one of the other kind before it has no answer, though answers
 * come in order. If the capture has holes it is the oldest that the answer fits. */
static struct iwarp_asked *oldest(struct iwarp_view *v, const struct iwarp_asked *like)
{
    struct iwarp_half *asker = iwarp_other_half(v);
    bool is_any = is_sure(v);
    uint32_t i = 0;
    while (i < asker->asked.count && (asked_at(asker, i)->is_atomic != like->is_atomic ||
                                      !(is_any || is_like(asked_at(asker, i), like))))
        i++;
    if (i == asker->asked.count)
        return NULL;
    if (i && is_any)
        explain_remark(v->m, RESPONSE, "IWARP-ATOM-05", 0, asked_at(asker, 0)->number,
                       "answers come in the order of the requests: #%" PRIu64 " has none yet",
                       asked_at(asker, 0)->number);
    while (i--)
        forget_first(asker);
    return asked_at(asker, 0);
}

/* IWARP-RDMAP-14: its place, and its size. */
static void judge_place(struct iwarp_view *v, const struct iwarp_fpdu *f, const struct iwarp_asked *a)
{
    if (!is_sure(v))
        return;
    if (f->tagged.stag != a->stag)
        explain_remark(v->m, RESPONSE, "IWARP-RDMAP-14", 0, a->number,
                       "STag 0x%08" PRIx32 ", where #%" PRIu64 " asked for 0x%08" PRIx32, f->tagged.stag,
                       a->number, a->stag);
    else if (f->tagged.to != a->to + a->done)
        explain_remark(v->m, RESPONSE, "IWARP-RDMAP-14", 0, a->number,
                       "TO 0x%" PRIx64 ", where 0x%" PRIx64 " is next", f->tagged.to, a->to + a->done);
    else if (a->done + f->payload > a->size || (f->ctrl.l && a->done + f->payload != a->size))
        explain_remark(v->m, RESPONSE, "IWARP-RDMAP-14", 0, a->number,
                       "%" PRIu64 " bytes, where #%" PRIu64 " asked for %" PRIu32, a->done + f->payload,
                       a->number, a->size);
}

void explain_iwarp_read_response(struct iwarp_view *v, struct iwarp_fpdu *f)
{
    struct iwarp_half *h = iwarp_half_of(v);
    struct iwarp_asked *a = oldest(v, &(struct iwarp_asked){.stag = f->tagged.stag, .to = f->tagged.to});
    bool is_first = !h->response.is_open;
    if (is_first)
        h->response =
            (struct iwarp_open){.message = ++v->conn->shown.messages[v->side], .number = v->packet->number};
    f->message = h->response.message;
    h->response.is_open = !f->ctrl.l;
    v->conn->shown.bytes[v->side] += f->payload;
    explain_iwarp_tell(v, "RDMA Read Response %s, message %" PRIu64 ": %u bytes",
                       is_first    ? f->ctrl.l ? "only" : "first"
                       : f->ctrl.l ? "last"
                                   : "middle",
                       f->message, f->payload);
    if (!a) {
        judge_unasked(v, f);
        return;
    }
    judge_place(v, f, a);
    a->done += f->payload;
    if (!is_first || !f->ctrl.l)
        explain_iwarp_go_on(v, ", %" PRIu64 " of %" PRIu32, a->done, a->size);
    say_how_long(v, a);
    if (f->ctrl.l)
        end_asked(v, a);
}

void explain_iwarp_atomic_response(struct iwarp_view *v, struct iwarp_fpdu *f)
{
    struct iwarp_atomic_rsp r;
    iwarp_atomic_rsp_get(&r, f->plain + f->header_at);
    struct iwarp_asked *a = oldest(v, &(struct iwarp_asked){.is_atomic = true, .request_id = r.request_id});
    explain_iwarp_tell(v, "Atomic Response, message %" PRIu64 " (MSN %" PRIu32 "): it was 0x%" PRIx64,
                       f->message, f->untagged.msn, r.original);
    if (!a) {
        judge_unasked(v, f);
        return;
    }
    if (r.request_id != a->request_id && is_sure(v))
        explain_remark(v->m, RESPONSE, "IWARP-ATOM-06", 0, a->number,
                       "Request Identifier 0x%08" PRIx32 ", where #%" PRIu64 " has 0x%08" PRIx32,
                       r.request_id, a->number, a->request_id);
    say_how_long(v, a);
    end_asked(v, a);
}
