/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain/iwarp_reel.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "iwarp/wire/crc.h"
#include "iwarp/wire/opcode.h"
#include "iwarp/wire/wire.h"
#include "net/bytes.h"
#include "net/ipv4.h"
#include "net/wire/ether.h"
#include "net/wire/tcp.h"

#define TCP_SYN 0x02
#define TCP_ACK 0x10
#define HEADERS (NET_ETHER_BYTES + NET_IPV4_BYTES + NET_TCP_BYTES)

void reel_begin(struct iwarp_reel *f)
{
    memset(f, 0, offsetof(struct iwarp_reel, frame));
    memset(f->found, 0, sizeof f->found);
    memset(f->crcs, 0, sizeof f->crcs);
    f->fpdus = 0;
    f->port = 4000;
    f->seq[0] = UINT32_MAX - 100; /* it wraps */
    f->seq[1] = 5000;
    f->analysis = explain_analysis_create(&(struct explain_analysis_config){0});
    cr_assert(f->analysis);
}

void reel_end(struct iwarp_reel *f)
{
    explain_analysis_destroy(f->analysis);
}

static void explain_one(struct iwarp_reel *f, uint32_t len_bytes)
{
    uint32_t captured = f->snap_bytes ? min_u32(f->snap_bytes, len_bytes) : len_bytes;
    struct net_capture_record record = {
        .data = f->frame, .len_bytes = captured, .wire_bytes = len_bytes, .time_ns = f->time_ns};
    f->time_ns += NS_PER_MS;
    if (f->is_off_air)
        return;
    explain_dissect(&f->p, &record, ++f->number);
    explain_analysis_next(f->analysis, &f->p, &f->m);
    for (unsigned i = 0; i < f->m.remark_count; i++)
        f->found[f->m.remarks[i].kind]++;
    f->fpdus += f->m.iwarp.fpdus;
    for (unsigned crc = 0; crc < array_len(f->crcs); crc++)
        f->crcs[crc] += f->m.iwarp.crcs[crc];
}

void reel_segment(struct iwarp_reel *f, unsigned side, uint32_t seq, uint8_t flags, const uint8_t *data,
                  uint32_t n)
{
    const uint8_t addr[2][4] = {{10, 0, 0, 1}, {10, 0, 0, 2}};
    const uint16_t port[2] = {f->port, 5000};
    struct net_ether ether = {.ethertype = NET_ETHERTYPE_IPV4};
    struct net_ipv4 ip = {.version = 4,
                          .ihl = 5,
                          .total_len = (uint16_t)(NET_IPV4_BYTES + NET_TCP_BYTES + n),
                          .id = (uint16_t)(f->number + 1),
                          .ttl = 64,
                          .protocol = NET_IP_PROTO_TCP};
    struct net_tcp tcp = {.src_port = port[side],
                          .dst_port = port[!side],
                          .seq = seq,
                          .ack_seq = f->seq[!side],
                          .data_offset = NET_TCP_BYTES / 4,
                          .ack = !!(flags & TCP_ACK),
                          .rst = flags >> 2 & 1,
                          .syn = flags >> 1 & 1,
                          .fin = flags & 1};
    memcpy(ip.src, addr[side], sizeof ip.src);
    memcpy(ip.dst, addr[!side], sizeof ip.dst);
    uint8_t *at = net_ether_put(f->frame, &ether);
    at = net_ipv4_put(at, &ip);
    at = net_tcp_put(at, &tcp);
    cr_assert_leq(HEADERS + n, sizeof f->frame);
    if (n)
        memcpy(at, data, n);
    explain_one(f, HEADERS + n);
}

void reel_open(struct iwarp_reel *f)
{
    reel_segment(f, 0, f->seq[0]++, TCP_SYN, NULL, 0);
    reel_segment(f, 1, f->seq[1]++, TCP_SYN | TCP_ACK, NULL, 0);
}

void reel_send(struct iwarp_reel *f, unsigned side, const uint8_t *data, uint32_t n)
{
    uint32_t seq = f->seq[side];
    f->seq[side] += n;
    reel_segment(f, side, seq, TCP_ACK, data, n);
}

void reel_ack(struct iwarp_reel *f, unsigned side)
{
    reel_segment(f, side, f->seq[side], TCP_ACK, NULL, 0);
}

void reel_example(struct iwarp_reel *f, unsigned side, enum iwarp_example_name name)
{
    uint8_t bytes[IWARP_EXAMPLE_MAX_BYTES];
    reel_send(f, side, bytes, (uint32_t)iwarp_example_bytes(name, bytes));
}

void reel_set_up(struct iwarp_reel *f)
{
    for (unsigned side = 0; side < 2; side++) {
        uint8_t bytes[IWARP_MPA_FRAME_BYTES + IWARP_MPA_ENHANCED_BYTES] = {0};
        struct iwarp_mpa_frame frame = {.m = f->has_markers[!side],
                                        .c = !f->has_no_crc,
                                        .s = 1,
                                        .rev = 2,
                                        .pd_len = IWARP_MPA_ENHANCED_BYTES};
        memcpy(frame.key, side ? IWARP_MPA_KEY_REPLY : IWARP_MPA_KEY_REQUEST, sizeof frame.key);
        iwarp_mpa_enhanced_put(iwarp_mpa_frame_put(bytes, &frame),
                               &(struct iwarp_mpa_enhanced){.ird = 2, .ord = 2});
        reel_send(f, side, bytes, sizeof bytes);
        f->place[side] = 0;
    }
}

/* One byte of an FPDU, behind a marker where one is due (IWARP-MARK-01..03). */
static uint8_t *put_byte(struct iwarp_reel *f, unsigned side, uint8_t byte, uint8_t *at, uint64_t begin)
{
    if (f->has_markers[side] && f->place[side] % 512 == 0) {
        bool is_lead = f->place[side] + 4 == begin || f->place[side] == begin;
        put_be32(at, is_lead ? 0 : (uint32_t)(f->place[side] - begin));
        at += 4;
        f->place[side] += 4;
    }
    *at = byte;
    f->place[side]++;
    return at + 1;
}

uint32_t reel_put_fpdu(struct iwarp_reel *f, unsigned side, const uint8_t *ulpdu, uint32_t n, uint8_t *out)
{
    uint8_t *at = out;
    uint32_t whole = 2 + n + (-(2 + n) & 3);
    uint64_t begin = f->place[side] + (f->has_markers[side] && f->place[side] % 512 == 0 ? 4 : 0);
    for (uint32_t i = 0; i < whole; i++)
        at = put_byte(f, side,
                      i == 0      ? (uint8_t)(n >> 8)
                      : i == 1    ? (uint8_t)n
                      : i < n + 2 ? ulpdu[i - 2]
                                  : 0,
                      at, begin);
    if (f->has_markers[side] && f->place[side] % 512 == 0) {
        put_be32(at, (uint32_t)(f->place[side] - begin));
        at += 4;
        f->place[side] += 4;
    }
    uint32_t crc = f->has_no_crc ? 0 : iwarp_crc(0, out, (size_t)(at - out));
    at = iwarp_crc_put(at, crc);
    f->place[side] += IWARP_MPA_CRC_BYTES;
    return (uint32_t)(at - out);
}

uint32_t reel_untagged(uint8_t *ulpdu, uint8_t opcode, bool is_last, uint32_t qn, uint32_t msn, uint32_t mo,
                       const uint8_t *payload, uint32_t n)
{
    struct iwarp_ctrl ctrl = {.l = is_last, .dv = 1, .rv = 1, .opcode = opcode};
    memset(ulpdu, 0, IWARP_CTRL_BYTES);
    uint8_t *at = iwarp_ctrl_put(ulpdu, &ctrl);
    at = iwarp_untagged_put(at, &(struct iwarp_untagged){.qn = qn, .msn = msn, .mo = mo});
    if (n)
        memmove(at, payload, n);
    return IWARP_DDP_UNTAGGED_BYTES + n;
}

uint32_t reel_tagged(uint8_t *ulpdu, uint8_t opcode, bool is_last, uint32_t stag, uint64_t to, uint32_t n)
{
    struct iwarp_ctrl ctrl = {.t = 1, .l = is_last, .dv = 1, .rv = 1, .opcode = opcode};
    memset(ulpdu, 0, IWARP_CTRL_BYTES);
    uint8_t *at = iwarp_ctrl_put(ulpdu, &ctrl);
    at = iwarp_tagged_put(at, &(struct iwarp_tagged){.stag = stag, .to = to});
    for (uint32_t i = 0; i < n; i++)
        at[i] = (uint8_t)(7 * i + 1);
    return IWARP_DDP_TAGGED_BYTES + n;
}

uint32_t reel_read(uint8_t *ulpdu, uint32_t msn, uint32_t n)
{
    uint8_t header[IWARP_READ_REQ_BYTES];
    iwarp_read_req_put(header,
                       &(struct iwarp_read_req){
                           .sink_stag = 9, .sink_to = 0x900, .size = n, .src_stag = 7, .src_to = 0x700});
    return reel_untagged(ulpdu, IWARP_OP_READ_REQUEST, true, 1, msn, 0, header, sizeof header);
}

void reel_ulpdu(struct iwarp_reel *f, unsigned side, const uint8_t *ulpdu, uint32_t n)
{
    static uint8_t fpdu[REEL_BYTES_MAX];
    reel_send(f, side, fpdu, reel_put_fpdu(f, side, ulpdu, n, fpdu));
}

unsigned reel_errors(const struct iwarp_reel *f)
{
    unsigned n = 0;
    for (unsigned kind = 0; kind < EXPLAIN_FINDING_COUNT; kind++)
        n += explain_finding_severity(kind) == 2 ? f->found[kind] : 0;
    return n;
}

void reel_begin_full(struct iwarp_reel *f)
{
    reel_begin(f);
    reel_open(f);
    reel_set_up(f);
    cr_assert_eq(reel_errors(f), 0);
}

void reel_expect_words(const struct iwarp_reel *f, const char *part)
{
    cr_assert(strstr(f->m.words, part), "\"%s\" is not in \"%s\"", part, f->m.words);
}

const struct explain_finding *reel_finding(const struct iwarp_reel *f, enum explain_finding_kind kind)
{
    for (unsigned i = 0; i < f->m.remark_count; i++)
        if (f->m.remarks[i].kind == kind)
            return &f->m.remarks[i];
    return NULL;
}

void reel_expect_finding(const struct iwarp_reel *f, enum explain_finding_kind kind, const char *rule)
{
    const struct explain_finding *found = reel_finding(f, kind);
    cr_assert(found, "no %s: %s", explain_finding_key(kind), f->m.words);
    cr_assert_str_eq(found->rule, rule, "%s", found->words);
}
