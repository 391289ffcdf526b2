/* SPDX-License-Identifier: BSD-2-Clause */
/* FPDUs, one behind the other (RFC 5044 4): lengths, markers, CRC. Their places follow from lengths alone;
 * behind a hole of the capture, the next one is looked for. */
#include "explain/iwarp/fpdu.h"

#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "explain/iwarp/ddp.h"
#include "explain/iwarp/layers.h"
#include "explain/iwarp/words.h"
#include "iwarp/wire/crc.h"
#include "net/bytes.h"

#define TAGGED_LEAST   IWARP_DDP_TAGGED_BYTES
#define UNTAGGED_LEAST IWARP_DDP_UNTAGGED_BYTES
/* ULPDU_Length, and the longest headers behind it */
#define PREFIX_BYTES (IWARP_MPA_LENGTH_BYTES + IWARP_DDP_UNTAGGED_BYTES + IWARP_ATOMIC_REQ_BYTES)

/* --- one FPDU --- */

static const struct iwarp_opcode *op_of(const struct iwarp_ctrl *ctrl)
{
    return ctrl->opcode < IWARP_OP_DEFINED ? &iwarp_opcodes[ctrl->opcode] : NULL;
}

void explain_iwarp_parse(struct iwarp_fpdu *f)
{
    const uint8_t *at = f->plain + IWARP_MPA_LENGTH_BYTES;
    uint32_t known = f->known > IWARP_MPA_LENGTH_BYTES ? f->known - IWARP_MPA_LENGTH_BYTES : 0;
    known = min_u32(known, f->ulpdu_len);
    f->has_ctrl = known >= IWARP_CTRL_BYTES;
    if (!f->has_ctrl)
        return;
    at = iwarp_ctrl_get(&f->ctrl, at);
    f->op = op_of(&f->ctrl);
    uint32_t ddp_bytes = f->ctrl.t ? IWARP_DDP_TAGGED_BYTES : IWARP_DDP_UNTAGGED_BYTES;
    f->header_at = IWARP_MPA_LENGTH_BYTES + ddp_bytes;
    f->payload = f->ulpdu_len > ddp_bytes ? f->ulpdu_len - ddp_bytes : 0;
    f->has_ddp = known >= ddp_bytes;
    if (!f->has_ddp)
        return;
    if (f->ctrl.t)
        iwarp_tagged_get(&f->tagged, at);
    else
        iwarp_untagged_get(&f->untagged, at);
    f->has_header = f->op && f->op->header_bytes && known >= ddp_bytes + f->op->header_bytes;
}

bool explain_iwarp_is_plausible(const uint8_t *bytes, uint32_t n)
{
    struct iwarp_fpdu f = {.plain = bytes, .known = n};
    if (n < IWARP_MPA_LENGTH_BYTES + IWARP_CTRL_BYTES)
        return false;
    f.ulpdu_len = get_be16(bytes);
    explain_iwarp_parse(&f);
    if (!f.has_ctrl || !f.op || f.ctrl.dv != IWARP_DDP_VERSION || !iwarp_is_rdmap_version(f.ctrl.rv) ||
        f.ctrl.resv4 || f.ctrl.resv2 || iwarp_is_tagged(f.op) != f.ctrl.t)
        return false;
    if (f.ulpdu_len < (f.ctrl.t ? TAGGED_LEAST : UNTAGGED_LEAST))
        return false;
    return f.ctrl.t || !f.has_ddp || f.untagged.qn == f.op->qn;
}

bool explain_iwarp_is_proven(const uint8_t *bytes, uint32_t n)
{
    if (!explain_iwarp_is_plausible(bytes, n))
        return false;
    uint32_t covered = iwarp_fpdu_bytes(get_be16(bytes)) - IWARP_MPA_CRC_BYTES;
    return n >= covered + IWARP_MPA_CRC_BYTES &&
           iwarp_crc(0, bytes, covered) == iwarp_crc_get(bytes + covered);
}

/* --- markers --- */

/* Bytes before the next marker from position `at` on; 0: one is there. */
static uint32_t until_marker(const struct iwarp_half *h, uint64_t at)
{
    uint32_t behind = (uint32_t)((at - h->framing.origin) % IWARP_MARKER_INTERVAL);
    if (!h->framing.has_markers)
        return UINT32_MAX;
    return behind ? IWARP_MARKER_INTERVAL - behind : 0;
}

/* How long `body` bytes are with the markers that fall into them. */
static uint32_t with_markers(const struct iwarp_half *h, uint64_t at, uint32_t body)
{
    uint32_t raw = 0;
    while (body) {
        uint32_t room = until_marker(h, at + raw);
        if (room == 0) {
            raw += IWARP_MARKER_BYTES;
            continue;
        }
        uint32_t n = min_u32(room, body);
        raw += n;
        body -= n;
    }
    return raw;
}

/* Copies `n` raw bytes without their markers to `plain`; returns how many those are. With `v` each marker is
 * held against the FPDU that it is in (IWARP-MARK-03). */
static uint32_t strip(struct iwarp_view *v, const struct iwarp_half *h, uint64_t at, const uint8_t *raw,
                      uint32_t n, uint8_t *plain)
{
    uint32_t used = 0, lead = until_marker(h, at) ? 0 : IWARP_MARKER_BYTES;
    for (uint32_t i = 0; i < n;) {
        uint32_t room = until_marker(h, at + i);
        if (room == 0 && n - i < IWARP_MARKER_BYTES)
            break;
        if (room == 0) {
            struct iwarp_marker marker;
            iwarp_marker_get(&marker, raw + i);
            uint32_t wanted = i < lead ? 0 : i - lead, found = marker.fpdu_ptr & ~3u;
            if (v && found != wanted && found != wanted + lead) /* AMB-03 */
                explain_remark(v->m, EXPLAIN_FIND_IWARP_FRAMING, "IWARP-MARK-05", 0, 0,
                               "a marker says that its FPDU began %u bytes before it, where it was %u", found,
                               wanted);
            i += IWARP_MARKER_BYTES;
            continue;
        }
        uint32_t part = min_u32(room, n - i);
        memcpy(plain + used, raw + i, part);
        used += part;
        i += part;
    }
    return used;
}

/* --- CRC --- */

static enum explain_crc check(struct iwarp_view *v, const struct iwarp_fpdu *f, const uint8_t *raw,
                              uint32_t raw_known, uint32_t *found, uint32_t *expected)
{
    struct explain_iwarp_conn *shown = &v->conn->shown;
    if (shown->crc_use == EXPLAIN_CRCS_UNUSED)
        return EXPLAIN_CRC_OFF;
    if (raw_known < f->raw_bytes)
        return EXPLAIN_CRC_UNSEEN;
    uint32_t covered = f->raw_bytes - IWARP_MPA_CRC_BYTES;
    *found = iwarp_crc_get(raw + covered);
    *expected = iwarp_crc(0, raw, covered);
    if (*found == *expected) {
        shown->crc_use = EXPLAIN_CRCS_USED; /* one that is good by chance is not to be feared */
        return EXPLAIN_CRC_GOOD;
    }
    return shown->crc_use == EXPLAIN_CRCS_USED ? EXPLAIN_CRC_BAD : EXPLAIN_CRC_UNSEEN;
}

/* As the four bytes travel. */
static uint32_t on_wire(uint32_t crc)
{
    return __builtin_bswap32(crc);
}

/* --- the walk --- */

static void count(struct iwarp_view *v, const struct iwarp_fpdu *f)
{
    struct explain_iwarp_conn *shown = &v->conn->shown;
    struct explain_iwarp_meaning *m = &v->m->iwarp;
    shown->fpdus[v->side]++;
    shown->crcs[v->side][f->crc]++;
    m->crcs[f->crc]++;
    if (m->fpdus++ >= EXPLAIN_IWARP_FPDUS_MAX)
        return;
    v->m->fpdus[m->fpdus - 1] =
        (struct explain_iwarp_fpdu){.at = f->at,
                                    .message = f->message,
                                    .ulpdu_len = f->ulpdu_len,
                                    .msn = f->has_ddp && !f->ctrl.t ? f->untagged.msn : 0,
                                    .opcode = f->has_ctrl ? f->ctrl.opcode : UINT8_MAX,
                                    .crc = (uint8_t)f->crc,
                                    .is_tagged = f->has_ctrl && f->ctrl.t,
                                    .is_last = f->has_ctrl && f->ctrl.l};
}

/* The FPDUs are somewhere else: the bytes that were read there are none. */
static void lose(struct iwarp_half *h)
{
    h->framing.is_lost = true;
    h->framing.is_trusted = false;
    h->write.is_open = h->response.is_open = false;
    for (unsigned qn = 0; qn < IWARP_QN_COUNT; qn++)
        h->order[qn] = (struct iwarp_order){0};
}

static void tell_bad(struct iwarp_view *v, const struct iwarp_fpdu *f, uint32_t found, uint32_t expected)
{
    explain_iwarp_tell(v, "FPDU of %u bytes with a bad CRC", f->raw_bytes);
    explain_remark(v->m, EXPLAIN_FIND_IWARP_CRC, "IWARP-FPDU-10", 0, 0,
                   "CRC %08x of the FPDU at byte %" PRIu64 ", it should be %08x: nothing of it may be placed",
                   on_wire(found), f->at, on_wire(expected));
}

/* Shorter than the header that every segment has (IWARP-FPDU-02). */
static bool is_short(const struct iwarp_fpdu *f)
{
    return f->ulpdu_len < TAGGED_LEAST || (f->has_ctrl && !f->ctrl.t && f->ulpdu_len < UNTAGGED_LEAST);
}

static void tell_short(struct iwarp_view *v, const struct iwarp_fpdu *f)
{
    explain_iwarp_tell(v, "FPDU whose ULPDU has %u byte%s", f->ulpdu_len, f->ulpdu_len == 1 ? "" : "s");
    explain_remark(v->m, EXPLAIN_FIND_IWARP_FRAMING, "IWARP-FPDU-02", 0, 0,
                   "a ULPDU of %u byte%s is shorter than its DDP header", f->ulpdu_len,
                   f->ulpdu_len == 1 ? "" : "s");
}

static void tell_cut(struct iwarp_view *v, const struct iwarp_fpdu *f)
{
    explain_iwarp_tell(v, "FPDU of %u bytes, cut within its headers", f->raw_bytes);
}

/* The FPDU that was begun is not there as a whole: shows the part of its headers that is there. */
static void tell_begun(struct iwarp_view *v, struct iwarp_half *h, struct iwarp_fpdu *f)
{
    uint8_t raw[PREFIX_BYTES + IWARP_MARKER_BYTES], plain[sizeof raw];
    uint64_t there = explain_stream_there(&h->stream);
    uint32_t n = (uint32_t)min_u64(min_u64(there, sizeof raw), f->raw_bytes);
    if (h->framing.begun_at == f->at)
        return;
    n = explain_stream_read(&h->stream, f->at, n, raw);
    f->plain = plain;
    f->known = strip(NULL, h, f->at, raw, n, plain);
    explain_iwarp_parse(f);
    if (h->framing.is_trusted)
        explain_iwarp_show(v, f);
    if (f->has_ctrl && h->framing.is_trusted) {
        h->framing.begun_at = f->at;
        explain_iwarp_tell(v, "%s: %" PRIu64 " of the %u bytes of its FPDU",
                           iwarp_opcode_name(f->ctrl.opcode), there, f->raw_bytes);
    }
    f->plain = NULL;
}

static void take_whole(struct iwarp_view *v, struct iwarp_half *h, struct iwarp_fpdu *f, uint32_t known)
{
    uint32_t found = 0, expected = 0;
    f->crc = check(v, f, v->w->raw, known, &found, &expected);
    f->known = strip(known == f->raw_bytes && f->crc != EXPLAIN_CRC_BAD && h->framing.is_trusted ? v : NULL,
                     h, f->at, v->w->raw, known, v->w->plain);
    explain_iwarp_parse(f);
    if (f->crc == EXPLAIN_CRC_BAD && !h->framing.is_trusted) {
        lose(h);
        return;
    }
    h->framing.is_trusted = true;
    explain_iwarp_show(v, f);
    if (f->crc == EXPLAIN_CRC_BAD)
        tell_bad(v, f, found, expected);
    else if (is_short(f))
        tell_short(v, f);
    else if (!f->has_ddp)
        tell_cut(v, f);
    else
        explain_iwarp_segment(v, f);
    h->is_holey |= f->crc == EXPLAIN_CRC_BAD || !f->has_ddp;
    count(v, f);
}

/* The next FPDU; false: it is not there as a whole. */
static bool take_one(struct iwarp_view *v, struct iwarp_half *h)
{
    uint8_t length[IWARP_MPA_LENGTH_BYTES];
    struct explain_stream *stream = &h->stream;
    uint64_t there = explain_stream_there(stream);
    uint32_t lead = until_marker(h, stream->next) ? 0 : IWARP_MARKER_BYTES;
    struct iwarp_fpdu f = {.at = stream->next, .plain = v->w->plain};
    if (there < lead + sizeof length)
        return false;
    if (explain_stream_read(stream, f.at + lead, sizeof length, length) < sizeof length) {
        lose(h); /* the capture cut it off */
        h->is_holey = true;
        return there > 0;
    }
    f.origin = explain_stream_origin(stream, f.at);
    f.ulpdu_len = get_be16(length);
    f.raw_bytes = with_markers(h, f.at, iwarp_fpdu_bytes(f.ulpdu_len));
    if (there < f.raw_bytes) {
        tell_begun(v, h, &f);
        return false;
    }
    uint32_t known = explain_stream_read(stream, f.at, f.raw_bytes, v->w->raw);
    take_whole(v, h, &f, known);
    if (!h->framing.is_lost)
        explain_stream_skip(stream, f.at + f.raw_bytes);
    return true;
}

/* Moves *place on to a place at which an FPDU may begin: of a stream with markers as one says
 * (IWARP-MARK-03), else at the beginning of a segment, as senders keep them aligned (RFC 5044 5). False:
 * none does before it. A marker that leads its FPDU says 0, and stands before any other of that FPDU. */
static bool next_place(const struct iwarp_half *h, uint64_t *place)
{
    const struct explain_stream *stream = &h->stream;
    uint8_t bytes[IWARP_MARKER_BYTES];
    struct iwarp_marker marker;
    if (!h->framing.has_markers) {
        *place = explain_stream_segment(stream, *place);
        return *place < stream->reach;
    }
    uint64_t from = *place, at = from + until_marker(h, from);
    for (; at + sizeof bytes <= stream->reach; at += IWARP_MARKER_INTERVAL) {
        *place = at;
        if (explain_stream_read(stream, at, sizeof bytes, bytes) < sizeof bytes)
            continue;
        iwarp_marker_get(&marker, bytes);
        if ((marker.fpdu_ptr & ~3u) > at - from)
            continue;
        *place = at - (marker.fpdu_ptr & ~3u);
        return true;
    }
    return false;
}

/* Whether an FPDU may begin at `next`, as far as its first bytes tell. */
static bool may_be_here(const struct iwarp_half *h)
{
    uint8_t raw[IWARP_MARKER_BYTES + IWARP_MPA_LENGTH_BYTES + IWARP_DDP_UNTAGGED_BYTES], plain[sizeof raw];
    const struct explain_stream *stream = &h->stream;
    uint32_t n = (uint32_t)min_u64(explain_stream_there(stream), sizeof raw);
    n = explain_stream_read(stream, stream->next, n, raw);
    n = strip(NULL, h, stream->next, raw, n, plain);
    return explain_iwarp_is_plausible(plain, n);
}

/* Looks for an FPDU in the bytes that are there; those before it are given up. False: there is none. */
static bool find_again(struct iwarp_view *v, struct iwarp_half *h)
{
    do {
        uint64_t place = max_u64(h->framing.tried, h->stream.next);
        bool is_place = next_place(h, &place);
        explain_stream_skip(&h->stream, place);
        h->framing.tried = place + is_place;
        if (!is_place)
            return false;
    } while (!may_be_here(h));
    h->framing.is_lost = false;
    h->framing.is_trusted = v->conn->shown.crc_use == EXPLAIN_CRCS_UNUSED;
    return true;
}

void explain_iwarp_walk(struct iwarp_view *v)
{
    struct iwarp_half *h = iwarp_half_of(v);
    while (explain_stream_there(&h->stream) && (!h->framing.is_lost || find_again(v, h)))
        if (!take_one(v, h))
            return;
}
