/* SPDX-License-Identifier: BSD-2-Clause */
/* MPA Request and Reply (RFC 5044 7.1, RFC 6581): the wishes of each side, and their outcome. */
#include "explain/iwarp/setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/iwarp/layers.h"
#include "explain/iwarp/words.h"

#define KEY_BYTES (sizeof IWARP_MPA_KEY_REQUEST - 1)
#define SET_UP    EXPLAIN_FIND_IWARP_SETUP

bool explain_iwarp_is_key(const uint8_t *bytes, uint32_t n)
{
    uint32_t most = min_u32(n, KEY_BYTES);
    return memcmp(bytes, IWARP_MPA_KEY_REQUEST, most) == 0 || memcmp(bytes, IWARP_MPA_KEY_REPLY, most) == 0;
}

/* --- words --- */

static const char *depth(uint16_t value, char text[8])
{
    snprintf(text, 8, value == IWARP_DEPTH_OPEN ? "open" : "%u", value);
    return text;
}

/* "RTR by Write or Read" */
static void say_rtr(struct iwarp_view *v, const struct iwarp_mpa_enhanced *e)
{
    static const char *const kinds[] = {"Send", "Write", "Read"};
    const bool offers[] = {e->b, e->c, e->d};
    const char *part = ", peer-to-peer with RTR by ";
    if (!e->a)
        return;
    if (!e->b && !e->c && !e->d)
        explain_iwarp_say(v, ", peer-to-peer without any RTR");
    for (unsigned i = 0; i < array_len(kinds); i++) {
        if (!offers[i])
            continue;
        explain_iwarp_say(v, "%s%s", part, kinds[i]);
        part = " or ";
    }
}

static void say_frame(struct iwarp_view *v, const struct iwarp_half *h, bool is_request, bool is_enhanced)
{
    const struct iwarp_mpa_frame *f = &h->frame;
    char ird[8], ord[8];
    unsigned private_bytes = f->pd_len - (is_enhanced ? IWARP_MPA_ENHANCED_BYTES : 0u);
    explain_iwarp_say(v, "MPA %s, revision %u: %s, %s", is_request ? "Request" : "Reply", f->rev,
                      f->c ? "CRC" : "no CRC", f->m ? "wants markers" : "no markers");
    if (f->r)
        explain_iwarp_say(v, ", refused");
    if (is_enhanced)
        explain_iwarp_say(v, ", IRD %s, ORD %s", depth(h->enhanced.ird, ird), depth(h->enhanced.ord, ord));
    say_rtr(v, &h->enhanced);
    if (private_bytes)
        explain_iwarp_say(v, ", %u byte%s of private data", private_bytes, private_bytes == 1 ? "" : "s");
}

/* --- its errors --- */

static void judge_frame(struct iwarp_view *v, const struct iwarp_half *h)
{
    const struct iwarp_mpa_frame *f = &h->frame;
    if (f->rev == 0 || f->rev > 2)
        explain_remark(v->m, SET_UP, "IWARP-MPA-12", 0, 0, "revision %u: there are 1 and 2", f->rev);
    if (f->pd_len > IWARP_MPA_PRIVATE_BYTES)
        explain_remark(v->m, SET_UP, "IWARP-MPA-10", 0, 0, "%u bytes of private data: at most %u may be",
                       f->pd_len, IWARP_MPA_PRIVATE_BYTES);
    if (f->rev == 2 && f->s && f->pd_len < IWARP_MPA_ENHANCED_BYTES)
        explain_remark(v->m, SET_UP, "IWARP-ECE-01", 0, 0,
                       "S is set, and %u byte%s of private data have no room for IRD and ORD", f->pd_len,
                       f->pd_len == 1 ? "" : "s");
}

static void judge_request(struct iwarp_view *v, const struct iwarp_half *h)
{
    if (h->frame.r)
        explain_remark(v->m, SET_UP, "IWARP-MPA-08", 0, 0, "a Request with R set: only a Reply refuses");
}

/* RTR kinds that the Reply names and the Request does not (IWARP-ECE-05). */
static void judge_rtr(struct iwarp_view *v, const struct iwarp_mpa_enhanced *asked,
                      const struct iwarp_mpa_enhanced *answer)
{
    if (!answer->a)
        return;
    if (!asked->a)
        explain_remark(v->m, SET_UP, "IWARP-ECE-05", 0, 0, "A is set, which the Request did not ask for");
    else if ((answer->b && !asked->b) || (answer->c && !asked->c) || (answer->d && !asked->d))
        explain_remark(v->m, SET_UP, "IWARP-ECE-05", 0, 0, "an RTR by %s, which the Request did not offer",
                       answer->b && !asked->b   ? "Send"
                       : answer->c && !asked->c ? "Write"
                                                : "Read");
    else if (!answer->b && !answer->c && !answer->d)
        explain_remark(v->m, SET_UP, "IWARP-ECE-05", 0, 0, "A is set, and no kind of RTR is named");
}

static void judge_reply(struct iwarp_view *v, const struct iwarp_half *asked, const struct iwarp_half *h)
{
    const struct iwarp_mpa_enhanced *e = &h->enhanced;
    v->m->answers = asked->frame_number;
    if (h->frame.r) {
        explain_remark(v->m, EXPLAIN_FIND_IWARP_REFUSED, "IWARP-MPA-08", 0, asked->frame_number,
                       "the Request #%" PRIu64 " is refused", asked->frame_number);
        v->conn->shown.is_refused = true;
        return;
    }
    if (h->frame.rev > asked->frame.rev)
        explain_remark(v->m, SET_UP, "IWARP-MPA-12", 0, asked->frame_number,
                       "revision %u answers revision %u: it may not be higher", h->frame.rev,
                       asked->frame.rev);
    if (!v->conn->shown.frame[0].is_enhanced || !v->conn->shown.frame[1].is_enhanced)
        return;
    judge_rtr(v, &asked->enhanced, e);
    if (e->ord > asked->enhanced.ird && e->ord != IWARP_DEPTH_OPEN)
        explain_remark(v->m, SET_UP, "IWARP-ECE-02", 0, asked->frame_number,
                       "ORD %u is more than the IRD %u of the Request", e->ord, asked->enhanced.ird);
    v->conn->is_rtr_due = e->a && asked->enhanced.a;
}

/* Another key than the side should send: IWARP-MPA-10, -16. */
static void judge_key(struct iwarp_view *v, bool is_request)
{
    if (is_request == (v->side == 0))
        return;
    explain_remark(v->m, SET_UP, is_request ? "IWARP-MPA-16" : "IWARP-MPA-10", 0, 0,
                   is_request ? "both sides send a Request" : "the side that asks sends a Reply");
}

/* --- its outcome --- */

static void agree(struct iwarp_view *v)
{
    struct iwarp_conn *c = v->conn;
    const struct iwarp_half *h = c->half;
    bool are_both_there = c->shown.frame[0].is_there && c->shown.frame[1].is_there;
    c->shown.crc_use = h[0].frame.c || h[1].frame.c ? EXPLAIN_CRCS_USED /* IWARP-MPA-06 */
                       : are_both_there             ? EXPLAIN_CRCS_UNUSED
                                                    : EXPLAIN_CRCS_UNKNOWN;
    c->half[0].framing.has_markers = h[1].frame.m; /* IWARP-MPA-04 */
    c->half[1].framing.has_markers = h[0].frame.m;
}

static void note_frame(struct iwarp_view *v, struct iwarp_half *h, bool is_enhanced)
{
    struct explain_iwarp_conn *shown = &v->conn->shown;
    unsigned side = v->side;
    shown->frame[side].is_there = true;
    shown->frame[side].rev = h->frame.rev;
    shown->frame[side].wants_markers = h->frame.m;
    shown->frame[side].wants_crc = h->frame.c;
    shown->frame[side].is_enhanced = is_enhanced;
    shown->frame[side].ird = h->enhanced.ird;
    shown->frame[side].ord = h->enhanced.ord;
    h->frame_number = v->packet->number;
    for (unsigned qn = 0; qn < IWARP_QN_COUNT; qn++)
        h->order[qn] = (struct iwarp_order){.is_known = true, .next_msn = 1}; /* IWARP-DDP-04 */
    h->framing.has_begun = h->framing.is_trusted = true;
    h->framing.is_lost = false;
}

/* Returns whether the key and all behind it are there, from `at` on; fills frame and enhanced part. False:
 * not yet. */
static bool get_frame(struct iwarp_half *h, uint32_t *frame_bytes, bool *is_enhanced)
{
    uint8_t bytes[IWARP_MPA_FRAME_BYTES + IWARP_MPA_ENHANCED_BYTES];
    uint64_t there = explain_stream_there(&h->stream);
    uint32_t most = (uint32_t)min_u64(there, sizeof bytes);
    uint32_t n = explain_stream_read(&h->stream, h->stream.next, most, bytes);
    if (n < IWARP_MPA_FRAME_BYTES)
        return false;
    iwarp_mpa_frame_get(&h->frame, bytes);
    uint32_t private_bytes = min_u32(h->frame.pd_len, IWARP_MPA_PRIVATE_BYTES);
    *frame_bytes = IWARP_MPA_FRAME_BYTES + private_bytes;
    if (there < *frame_bytes)
        return false;
    *is_enhanced =
        h->frame.rev == 2 && h->frame.s && h->frame.pd_len >= IWARP_MPA_ENHANCED_BYTES && n == sizeof bytes;
    h->enhanced = (struct iwarp_mpa_enhanced){0};
    if (*is_enhanced)
        iwarp_mpa_enhanced_get(&h->enhanced, bytes + IWARP_MPA_FRAME_BYTES);
    return true;
}

void explain_iwarp_is_older(struct iwarp_view *v)
{
    v->conn->shown.is_older = true;
    explain_remark(v->m, EXPLAIN_FIND_IWARP_OLDER, "", 0, 0,
                   "the set-up is not in this capture: IRD, ORD, markers and private data cannot be told");
}

/* FPDUs of a side with an MPA frame that the capture lacks, or a part of it. */
static bool miss_frame(struct iwarp_view *v, struct iwarp_half *h)
{
    if (!explain_stream_hole_stays(&h->stream))
        return false;
    h->framing.has_begun = h->framing.is_lost = h->is_holey = true;
    explain_iwarp_is_older(v);
    return true;
}

bool explain_iwarp_setup(struct iwarp_view *v)
{
    struct iwarp_half *h = iwarp_half_of(v), *other = iwarp_other_half(v);
    uint8_t key[KEY_BYTES], frame[IWARP_MPA_FRAME_BYTES];
    uint32_t frame_bytes;
    bool is_enhanced;
    uint32_t there = (uint32_t)min_u64(explain_stream_there(&h->stream), sizeof key);
    if (there == 0)
        return miss_frame(v, h);
    uint32_t n = explain_stream_read(&h->stream, h->stream.next, there, key);
    if (n && !explain_iwarp_is_key(key, n)) {
        explain_remark(v->m, SET_UP, "IWARP-MPA-10", 0, 0, "no MPA %s: its key is wrong",
                       v->side ? "Reply" : "Request");
        h->framing.has_begun = h->framing.is_lost = true;
        return true;
    }
    if (explain_stream_there(&h->stream) >= IWARP_MPA_FRAME_BYTES &&
        explain_stream_read(&h->stream, h->stream.next, IWARP_MPA_FRAME_BYTES, frame) <
            IWARP_MPA_FRAME_BYTES) {
        h->framing.has_begun = h->framing.is_lost = h->is_holey = true; /* the capture cut it */
        return true;
    }
    if (!get_frame(h, &frame_bytes, &is_enhanced)) {
        if (miss_frame(v, h))
            return true;
        explain_iwarp_say(v, "%sMPA frame, %" PRIu64 " bytes so far", v->m->words[0] ? "; " : "",
                          explain_stream_there(&h->stream));
        return false;
    }
    bool is_request = memcmp(h->frame.key, IWARP_MPA_KEY_REQUEST, KEY_BYTES) == 0;
    explain_iwarp_show_frame(v, h->stream.next, is_enhanced);
    explain_iwarp_say(v, "%s", v->m->words[0] ? "; " : "");
    say_frame(v, h, is_request, is_enhanced);
    note_frame(v, h, is_enhanced);
    judge_key(v, is_request);
    judge_frame(v, h);
    if (is_request)
        judge_request(v, h);
    else if (other->frame_number)
        judge_reply(v, other, h);
    h->framing.origin = h->stream.next + frame_bytes;
    explain_stream_skip(&h->stream, h->framing.origin);
    agree(v);
    return true;
}
