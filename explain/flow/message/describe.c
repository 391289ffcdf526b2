/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/message/describe.h"

#include <inttypes.h>
#include <string.h>

#include "explain/meaning/words.h"

static const char *place(uint32_t flags)
{
    if (flags & ROCE_PKT_FIRST)
        return "first";
    if (flags & ROCE_PKT_MIDDLE)
        return "middle";
    return flags & ROCE_PKT_LAST ? "last" : "only";
}

/* Writes the operation, with its data, and the packet's place in the message: "RDMA WRITE with immediate
 * last". A READ and an atomic are one packet each. */
static void put_name(const struct roce_pkt *pkt, struct explain_meaning *m, struct explain_words *w)
{
    uint32_t flags = pkt->op->flags;
    if (!(flags & ROCE_PKT_DEFINED)) {
        bool is_vendor = pkt->bth.opcode >= ROCE_OPCODE(ROCE_SERVICE_VENDOR, 0);
        m->words[0] = '\0';
        explain_add_words(m, "request with the %s opcode 0x%02x", is_vendor ? "manufacturer's" : "reserved",
                          pkt->bth.opcode);
        w->at += strlen(w->at);
    } else if (flags & ROCE_PKT_READ) {
        explain_words_put(w, "RDMA READ request");
    } else if (flags & ROCE_PKT_ATOMIC) {
        explain_words_put(w, pkt->op->name);
    } else {
        explain_words_put(w, flags & ROCE_PKT_SEND ? "SEND" : "RDMA WRITE");
        explain_words_put(w, flags & ROCE_PKT_IMMDT  ? " with immediate "
                             : flags & ROCE_PKT_IETH ? " with invalidate "
                                                     : " ");
        explain_words_put(w, place(flags));
    }
}

/* Which values it is about: they are the point of an atomic. */
static void add_atomic(const struct roce_pkt *pkt, struct explain_meaning *m)
{
    const struct roce_atomiceth *a = &pkt->atomiceth;
    if (pkt->op->flags & ROCE_PKT_MASKETH)
        explain_add_words(m, ", at 0x%" PRIx64, a->va);
    else if (ROCE_OPCODE_OP(pkt->bth.opcode) == ROCE_OP_CMP_SWAP)
        explain_add_words(m, ", at 0x%" PRIx64 ": if it is 0x%" PRIx64 ", 0x%" PRIx64 " takes its place",
                          a->va, a->compare, a->swap_add);
    else
        explain_add_words(m, ", at 0x%" PRIx64 ": add 0x%" PRIx64, a->va, a->swap_add);
}

static void put_bytes(struct explain_words *w, uint32_t bytes)
{
    explain_words_put(w, ", ");
    explain_words_u64(w, bytes);
    explain_words_put(w, bytes == 1 ? " byte" : " bytes");
}

static void put_number(const struct explain_meaning *m, struct explain_words *w)
{
    explain_words_put(w, m->is_uncounted ? "a message" : "message ");
    if (!m->is_uncounted)
        explain_words_u64(w, m->message);
}

/* Which piece of the message it is, and how far the message is with it. */
static void put_piece(const struct explain_packet *packet, const struct explain_meaning *m,
                      struct explain_words *w)
{
    if (!m->message) {
        explain_words_put(w, " of a message that is not known yet");
        put_bytes(w, packet->roce.payload_bytes);
        return;
    }
    if (!m->piece) {
        explain_words_put(w, " of ");
        put_number(m, w);
        explain_words_put(w, ", whose beginning is not here so far");
        put_bytes(w, packet->roce.payload_bytes);
        return;
    }
    explain_words_put(w, " ");
    explain_words_u64(w, m->piece);
    if (m->pieces) {
        explain_words_put(w, "/");
        explain_words_u64(w, m->pieces);
    }
    explain_words_put(w, " of ");
    put_number(m, w);
    explain_words_put(w, ", ");
    explain_words_u64(w, m->bytes_done);
    if (m->bytes_total) {
        explain_words_put(w, " of ");
        explain_words_u64(w, m->bytes_total);
    }
    explain_words_put(w, (m->bytes_total ? m->bytes_total : m->bytes_done) == 1 ? " byte" : " bytes");
}

void explain_describe(const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t flags = pkt->op->flags;
    struct explain_words w = explain_words_begin(m);
    put_name(pkt, m, &w);
    if (flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE | ROCE_PKT_LAST)) {
        put_piece(packet, m, &w);
        return;
    }
    if (!m->is_uncounted) {
        explain_words_put(&w, ", ");
        put_number(m, &w);
    }
    if (packet->cut.is_operand && flags & ROCE_PKT_ATOMIC) {
        explain_words_put(&w, ", its operands cut off");
    } else if (flags & ROCE_PKT_ATOMIC) {
        add_atomic(pkt, m);
    } else {
        put_bytes(&w, flags & ROCE_PKT_READ ? pkt->reth.dma_len : pkt->payload_bytes);
    }
}

/* --- why again --- */

static const char *perhaps(const struct explain_why *why)
{
    return why->sure == EXPLAIN_SURE_SHOWN ? "" : "probably ";
}

static void add_silence(struct explain_meaning *m, const struct explain_why *why)
{
    explain_add_words(m, "%sits timer, after %.1f ms of silence", perhaps(why),
                      (double)why->silence_ns / 1e6);
}

static void add_selective(struct explain_meaning *m, const struct explain_why *why)
{
    bool is_only = why->trigger != 0;
    explain_add_words(m, "%sselective ACK #%" PRIu64 " lacks it%s", perhaps(why), why->evidence[0].number,
                      is_only ? "" : ", and others");
}

/* The answer that made the sender go back: of several, which one may not be known. */
static void add_trigger(struct explain_meaning *m, const struct explain_why *why)
{
    bool is_rnr = why->cause == EXPLAIN_CAUSE_RNR;
    if (!why->trigger)
        explain_add_words(m, "%s%s", perhaps(why),
                          is_rnr ? "the wait of an RNR NAK is over" : "a NAK asks for it, one of several");
    else
        explain_add_words(
            m, is_rnr ? "%sthe wait of RNR NAK #%" PRIu64 " is over" : "%sNAK #%" PRIu64 " asks for it",
            perhaps(why), why->trigger);
}

static void add_reason(struct explain_meaning *m, const struct explain_why *why)
{
    switch (why->cause) {
    case EXPLAIN_CAUSE_TIMEOUT:
        add_silence(m, why);
        break;
    case EXPLAIN_CAUSE_STALE_TIMER:
        explain_add_words(m, "probably a timer that an answer should have stopped: #%" PRIu64 " started it",
                          why->trigger);
        break;
    case EXPLAIN_CAUSE_NAK_SEQUENCE:
    case EXPLAIN_CAUSE_RNR:
        add_trigger(m, why);
        break;
    case EXPLAIN_CAUSE_SELECTIVE_ACK:
        add_selective(m, why);
        break;
    case EXPLAIN_CAUSE_IMPLIED_NAK:
        if (why->trigger)
            explain_add_words(m, "%sas answer #%" PRIu64 " came, and one before it is missing", perhaps(why),
                              why->trigger);
        else
            explain_add_words(m, "%sas an answer came, and one before it is missing", perhaps(why));
        break;
    case EXPLAIN_CAUSE_RESTART:
        if (why->behind)
            explain_add_words(m, "%sgoes along behind #%" PRIu64, perhaps(why), why->behind);
        else
            explain_add_words(m, "%sgoes along behind another that was", perhaps(why));
        break;
    default:
        explain_add_words(m, "why cannot be told");
    }
    if (why->or_cause != EXPLAIN_CAUSE_NONE)
        explain_add_words(m, ", or %s", explain_cause_words(why->or_cause));
}

/* That it was sent again, as far as that can be told. */
static const char *what_it_is(const struct explain_why *why)
{
    for (unsigned i = 0; i < EXPLAIN_CANDIDATES; i++) {
        if (why->candidate[i] == EXPLAIN_CAUSE_OVERTAKEN)
            return "sent again or overtaken";
        if (why->candidate[i] == EXPLAIN_CAUSE_COPIED)
            return "sent again or copied";
    }
    return "sent again";
}

void explain_describe_again(struct explain_meaning *m, const struct explain_why *why, uint64_t before)
{
    if (before)
        explain_add_words(m, ", %s (before: #%" PRIu64 "; ", what_it_is(why), before);
    else
        explain_add_words(m, ", %s (not in this capture before; ", what_it_is(why));
    add_reason(m, why);
    explain_add_words(m, ")");
}
