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
    {ROCE_PKT_CNP, SNIFF_CNP},       {ROCE_PKT_READ_RESP, SNIFF_READ_RESPONSE},
    {ROCE_PKT_READ, SNIFF_READ},     {ROCE_PKT_ATOMICACKETH, SNIFF_ATOMIC_ACK},
    {ROCE_PKT_ATOMIC, SNIFF_ATOMIC}, {ROCE_PKT_WRITE, SNIFF_WRITE},
    {ROCE_PKT_DETH, SNIFF_DATAGRAM}, {ROCE_PKT_SEND, SNIFF_SEND},
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

enum sniff_kind sniff_kind_of(const struct explain_packet *packet)
{
    if (packet->kind == EXPLAIN_OTHER || packet->kind == EXPLAIN_SMC_TCP)
        return SNIFF_SMC; /* the filters let nothing else through */
    if (packet->verdict != ROCE_RX_TAKEN)
        return SNIFF_BAD;
    if (packet->kind == EXPLAIN_CM)
        return SNIFF_CM;
    uint32_t flags = packet->roce.op->flags;
    for (size_t i = 0; i < array_len(kind_flags); i++)
        if (flags & kind_flags[i].flag)
            return kind_flags[i].kind;
    return flags & ROCE_PKT_AETH ? kind_of_ack(packet) : SNIFF_OTHER;
}

static bool says_sent_again(enum explain_finding_kind kind)
{
    return kind == EXPLAIN_FIND_RETRANSMISSION || kind == EXPLAIN_FIND_READ_REPLAY ||
           kind == EXPLAIN_FIND_TIMEOUT;
}

void sniff_count_add(struct sniff_count *count, const struct explain_packet *packet,
                     const struct explain_meaning *meaning)
{
    bool sent_again = false;
    count->packets++;
    count->bytes += packet->wire_bytes;
    count->kinds[sniff_kind_of(packet)]++;
    for (unsigned i = 0; i < meaning->remark_count; i++) {
        count->findings[meaning->remarks[i].kind]++;
        sent_again |= says_sent_again(meaning->remarks[i].kind);
    }
    count->resent += sent_again;
}

uint64_t sniff_count_bad_icrc(const struct sniff_count *count)
{
    return count->findings[EXPLAIN_FIND_ICRC];
}

void sniff_count_line(const struct sniff_count *count, char *line, size_t size, unsigned columns)
{
    int used = snprintf(line, size,
                        "%" PRIu64 " packets; resent %" PRIu64 ", NAK %" PRIu64 ", RNR %" PRIu64
                        ", bad ICRC %" PRIu64 ";",
                        count->packets, count->resent, count->kinds[SNIFF_NAK], count->kinds[SNIFF_RNR_NAK],
                        sniff_count_bad_icrc(count));
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
    fprintf(to, "sent again %" PRIu64 ", NAKs %" PRIu64 ", RNR NAKs %" PRIu64 ", bad ICRC %" PRIu64 "\n",
            count->resent, count->kinds[SNIFF_NAK], count->kinds[SNIFF_RNR_NAK], sniff_count_bad_icrc(count));
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
    cli_json_add_count(object, "icrc_bad", sniff_count_bad_icrc(count));
    for (unsigned i = 0; i < EXPLAIN_FINDING_COUNT; i++)
        if (count->findings[i])
            cli_json_add_count(findings, explain_finding_key((enum explain_finding_kind)i),
                               count->findings[i]);
    json_object_object_add(object, "findings", findings);
}
