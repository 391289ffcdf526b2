/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/describe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void explain_add_words(struct explain_meaning *m, const char *format, ...)
{
    size_t used = strlen(m->words);
    va_list args;
    va_start(args, format);
    vsnprintf(m->words + used, sizeof m->words - used, format, args);
    va_end(args);
}

static const char *place(uint32_t flags)
{
    if (flags & ROCE_PKT_FIRST)
        return "first";
    if (flags & ROCE_PKT_MIDDLE)
        return "middle";
    return flags & ROCE_PKT_LAST ? "last" : "only";
}

/* What the operation is, with what it carries, and which packet of its message: "RDMA WRITE with immediate
 * last". A READ and an atomic are one packet each. */
static void put_name(const struct roce_pkt *pkt, char *words, size_t size)
{
    uint32_t flags = pkt->op->flags;
    if (!(flags & ROCE_PKT_DEFINED))
        snprintf(words, size, "request with the %s opcode 0x%02x",
                 pkt->bth.opcode >= ROCE_OPCODE(ROCE_SERVICE_VENDOR, 0) ? "manufacturer's" : "reserved",
                 pkt->bth.opcode);
    else if (flags & ROCE_PKT_READ)
        snprintf(words, size, "RDMA READ request");
    else if (flags & ROCE_PKT_ATOMIC)
        snprintf(words, size, "%s", pkt->op->name);
    else
        snprintf(words, size, "%s%s %s", flags & ROCE_PKT_SEND ? "SEND" : "RDMA WRITE",
                 flags & ROCE_PKT_IMMDT  ? " with immediate"
                 : flags & ROCE_PKT_IETH ? " with invalidate"
                                         : "",
                 place(flags));
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

/* Which piece of the message it is, and how far the message is with it. */
static void add_piece(const struct explain_packet *packet, struct explain_meaning *m)
{
    char of[24] = "";
    if (!m->piece) {
        explain_add_words(m, " of message %" PRIu64 ", whose beginning is not in this capture, %u bytes",
                          m->message, packet->roce.payload_bytes);
        return;
    }
    if (m->pieces)
        snprintf(of, sizeof of, "/%u", m->pieces);
    explain_add_words(m, " %u%s of message %" PRIu64 ", %" PRIu64, m->piece, of, m->message, m->bytes_done);
    if (m->bytes_total)
        explain_add_words(m, " of %" PRIu64, m->bytes_total);
    explain_add_words(m, " bytes");
}

void explain_describe(const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t flags = pkt->op->flags;
    put_name(pkt, m->words, sizeof m->words);
    if (flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE | ROCE_PKT_LAST)) {
        add_piece(packet, m);
        return;
    }
    explain_add_words(m, ", message %" PRIu64, m->message);
    if (packet->is_operand_cut)
        explain_add_words(m, ", its operands cut off");
    else if (flags & ROCE_PKT_ATOMIC)
        add_atomic(pkt, m);
    else
        explain_add_words(m, ", %u bytes", flags & ROCE_PKT_READ ? pkt->reth.dma_len : pkt->payload_bytes);
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

static void add_reason(struct explain_meaning *m, const struct explain_why *why)
{
    switch (why->cause) {
    case EXPLAIN_CAUSE_TIMEOUT:
        add_silence(m, why);
        break;
    case EXPLAIN_CAUSE_NAK_SEQUENCE:
        explain_add_words(m, "%sNAK #%" PRIu64 " asks for it", perhaps(why), why->trigger);
        break;
    case EXPLAIN_CAUSE_RNR:
        explain_add_words(m, "%sthe wait of RNR NAK #%" PRIu64 " is over", perhaps(why), why->trigger);
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

void explain_describe_again(struct explain_meaning *m, const struct explain_why *why, uint64_t before)
{
    if (before)
        explain_add_words(m, ", sent again (before: #%" PRIu64 "; ", before);
    else
        explain_add_words(m, ", sent again (not in this capture before; ");
    add_reason(m, why);
    explain_add_words(m, ")");
}
