/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "cli/sniff/count.h"

#include <inttypes.h>
#include <string.h>

#include "cli/report/json.h"
#include "roce/wire.h"

static const struct kind_name {
    const char *key, *words;
} kind_names[SNIFF_KIND_COUNT] = {
#define SNIFF_KIND_NAME_(id, key, words) [SNIFF_##id] = {key, words},
    SNIFF_KINDS(SNIFF_KIND_NAME_)
#undef SNIFF_KIND_NAME_
};

/* In the order in which they are tried: a response is never a request. */
static const struct kind_flag {
    uint32_t flag;
    enum sniff_kind kind;
} kind_flags[] = {
    {ROCE_PKT_CNP, SNIFF_CNP},
    {ROCE_PKT_READ_RESP, SNIFF_READ_RESPONSE},
    {ROCE_PKT_READ, SNIFF_READ},
    {ROCE_PKT_ATOMICACKETH, SNIFF_ATOMIC_ACK},
    {ROCE_PKT_ATOMIC, SNIFF_ATOMIC},
    {ROCE_PKT_WRITE, SNIFF_WRITE},
    {ROCE_PKT_DETH, SNIFF_DATAGRAM},
    {ROCE_PKT_SEND, SNIFF_SEND},
    {ROCE_PKT_SACKETH, SNIFF_SELECTIVE_ACK},
};

static enum sniff_kind kind_of_ack(const struct explain_packet *packet)
{
    switch (roce_syndrome_kind(packet->roce.aeth.syndrome)) {
    case ROCE_SYN_ACK:
        return SNIFF_ACK;
    case ROCE_SYN_RNR:
        return SNIFF_RNR_NAK;
    case ROCE_SYN_NAK:
        return SNIFF_NAK;
    case ROCE_SYN_RESERVED:
        break;
    }
    return SNIFF_OTHER;
}

/* Returns the kind of a RoCE packet that the parser took. */
static enum sniff_kind kind_by_headers(const struct explain_packet *packet)
{
    if (packet->kind == EXPLAIN_CM)
        return SNIFF_CM;
    uint32_t flags = packet->roce.op->flags;
    for (size_t i = 0; i < array_len(kind_flags); i++)
        if (flags & kind_flags[i].flag)
            return kind_flags[i].kind;
    return flags & ROCE_PKT_AETH ? kind_of_ack(packet) : SNIFF_OTHER;
}

enum sniff_kind sniff_kind_of(const struct explain_packet *packet)
{
    bool is_taken = packet->verdict == ROCE_RX_TAKEN;
    switch (explain_soundness_of(packet)) {
    case EXPLAIN_SOUND_NOT_ROCE:
        return SNIFF_SMC;    /* the filters let nothing else through */
    case EXPLAIN_SOUND_GOOD: /* a header of another version may mean anything */
        return is_taken ? kind_by_headers(packet) : SNIFF_OTHER;
    case EXPLAIN_SOUND_CUT:
        return is_taken ? kind_by_headers(packet) : SNIFF_CUT;
    case EXPLAIN_SOUND_CHECKSUM:
    case EXPLAIN_SOUND_ICRC:
    case EXPLAIN_SOUND_MALFORMED:
        break;
    }
    return SNIFF_BAD;
}

static bool says_sent_again(enum explain_finding_kind kind)
{
    return kind == EXPLAIN_FIND_RETRANSMISSION || kind == EXPLAIN_FIND_READ_REPLAY ||
           kind == EXPLAIN_FIND_TIMEOUT;
}

/* Explain calls a packet with a wrong UDP checksum malformed, too: that has a number of its own. */
static bool is_counted(enum explain_finding_kind kind, enum explain_soundness soundness)
{
    return kind != EXPLAIN_FIND_MALFORMED || soundness == EXPLAIN_SOUND_MALFORMED;
}

void sniff_count_add(struct sniff_count *count, const struct explain_packet *packet,
                     const struct explain_meaning *meaning)
{
    bool sent_again = false;
    enum explain_soundness soundness = explain_soundness_of(packet);
    count->packets++;
    count->bytes += packet->wire_bytes;
    count->kinds[sniff_kind_of(packet)]++;
    explain_sound_add(&count->sound, soundness);
    for (unsigned i = 0; i < meaning->remark_count; i++) {
        enum explain_finding_kind kind = meaning->remarks[i].kind;
        count->findings[kind] += is_counted(kind, soundness);
        sent_again |= says_sent_again(kind);
    }
    count->resent += sent_again;
}

void sniff_count_line(const struct sniff_count *count, char *line, size_t size, unsigned columns)
{
    int used = snprintf(line, size,
                        "%" PRIu64 " packets; resent %" PRIu64 ", NAK %" PRIu64 ", RNR %" PRIu64
                        ", bad ICRC %" PRIu64 ";",
                        count->packets, count->resent, count->kinds[SNIFF_NAK], count->kinds[SNIFF_RNR_NAK],
                        count->sound.icrc_bad);
    for (unsigned i = 0; i < SNIFF_KIND_COUNT && used > 0 && (size_t)used < size; i++)
        if (count->kinds[i] && i != SNIFF_NAK && i != SNIFF_RNR_NAK)
            used += snprintf(line + used, size - (size_t)used, " %s %" PRIu64, kind_names[i].words,
                             count->kinds[i]);
    if (columns > 0 && columns <= size)
        line[columns - 1] = '\0';
}

void sniff_count_print(const struct sniff_count *count, FILE *to)
{
    for (unsigned i = 0; i < SNIFF_KIND_COUNT; i++)
        if (count->kinds[i])
            fprintf(to, "  %10" PRIu64 "  %s\n", count->kinds[i], kind_names[i].words);
    fprintf(to, "sent again %" PRIu64 ", NAKs %" PRIu64 ", RNR NAKs %" PRIu64 ", bad ICRC %" PRIu64,
            count->resent, count->kinds[SNIFF_NAK], count->kinds[SNIFF_RNR_NAK], count->sound.icrc_bad);
    if (count->sound.malformed)
        fprintf(to, ", malformed %" PRIu64, count->sound.malformed);
    if (count->sound.checksum_bad)
        fprintf(to, ", wrong UDP checksum %" PRIu64, count->sound.checksum_bad);
    fputc('\n', to);
}

void sniff_count_json(const struct sniff_count *count, struct json_object *object)
{
    struct json_object *kinds = json_object_new_object(), *findings = json_object_new_object();
    cli_json_add_count(object, "packets", count->packets);
    cli_json_add_count(object, "bytes", count->bytes);
    for (unsigned i = 0; i < SNIFF_KIND_COUNT; i++)
        cli_json_add_count(kinds, kind_names[i].key, count->kinds[i]);
    json_object_object_add(object, "kinds", kinds);
    cli_json_add_count(object, "retransmissions", count->resent);
    cli_json_add_count(object, "naks", count->kinds[SNIFF_NAK]);
    cli_json_add_count(object, "rnr_naks", count->kinds[SNIFF_RNR_NAK]);
    cli_json_add_count(object, "roce", count->sound.roce);
    cli_json_add_count(object, "icrc_ok", count->sound.icrc_ok);
    cli_json_add_count(object, "icrc_bad", count->sound.icrc_bad);
    cli_json_add_count(object, "malformed", count->sound.malformed);
    cli_json_add_count(object, "cut", count->sound.cut);
    cli_json_add_count(object, "udp_checksum_bad", count->sound.checksum_bad);
    for (unsigned i = 0; i < EXPLAIN_FINDING_COUNT; i++)
        if (count->findings[i])
            cli_json_add_count(findings, explain_finding_key((enum explain_finding_kind)i),
                               count->findings[i]);
    json_object_object_add(object, "findings", findings);
}
