/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain/story.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "net/ipv4.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "nornic/device.h"
#include "roce/wire/frame.h"

static void feed(struct story *s)
{
    uint32_t captured = s->snap_bytes ? min_u32(s->snap_bytes, s->len_bytes) : s->len_bytes;
    struct net_capture_record record = {
        .data = s->frame, .len_bytes = captured, .wire_bytes = s->len_bytes, .time_ns = s->time_ns};
    s->time_ns += 10 * NS_PER_US;
    s->number++;
    if (s->tape) {
        cr_assert_eq(explain_tape_add(s->tape, &record), 0);
        return;
    }
    explain_dissect(&s->p, &record, s->number);
    explain_analysis_next(s->analysis, &s->p, &s->m);
}

/* Puts an IP header in front of the datagram: 20 bytes more, of another network. */
static void wrap(struct story *s)
{
    struct net_ipv4 outer = {.version = 4,
                             .ihl = 5,
                             .total_len = (uint16_t)(s->len_bytes - NET_ETHER_BYTES + NET_IPV4_BYTES),
                             .ttl = 64,
                             .protocol = NET_IP_PROTO_IPV4,
                             .src = {172, 16, 0, 1},
                             .dst = {172, 16, 0, 2}};
    uint8_t *datagram = s->frame + NET_ETHER_BYTES;
    memmove(datagram + NET_IPV4_BYTES, datagram, s->len_bytes - NET_ETHER_BYTES);
    net_ipv4_put(datagram, &outer);
    outer.checksum = net_checksum_ipv4(datagram, NET_IPV4_BYTES);
    net_ipv4_put(datagram, &outer);
    s->len_bytes += NET_IPV4_BYTES;
}

static void send(struct story *s, bool is_request, struct roce_bth bth, const uint8_t *ext,
                 uint32_t ext_bytes, uint32_t bytes)
{
    const uint8_t addr[2][4] = {{10, s->net, 0, 1}, {10, s->net, 0, 2}};
    bool from_a = is_request != s->is_b_asking;
    struct roce_path path = {.vlan_tci = -1,
                             .src = nornic_addr_from_v4(addr[!from_a]),
                             .dst = nornic_addr_from_v4(addr[from_a]),
                             .hop_limit = 64,
                             .src_port = s->src_port ? s->src_port : 0xc000};
    struct roce_frame_template t;
    uint32_t pad = -bytes & 3, transport = ROCE_BTH_BYTES + ext_bytes + bytes + pad;
    bth.pkey = NORNIC_PKEY_DEFAULT;
    bth.pad_count = (uint8_t)pad;
    bth.dest_qpn = (from_a ? STORY_B_QPN : STORY_A_QPN) + s->more_qpn;
    memset(s->frame, 0, sizeof s->frame);
    roce_frame_template_init(&t, &path);
    uint8_t *p = roce_bth_put(
        roce_frame_begin(&t, s->frame, transport, s->has_id ? s->ip_id : STORY_IP_ID(s->number + 1)), &bth);
    if (ext_bytes)
        memcpy(p, ext, ext_bytes);
    for (uint32_t i = 0; i < bytes; i++)
        p[ext_bytes + i] = (uint8_t)(s->shape + i);
    s->len_bytes = roce_frame_seal(&t, s->frame, transport);
    if (s->is_tunnelled)
        wrap(s);
    feed(s);
}

void story_begin(struct story *s)
{
    *s = (struct story){.analysis = explain_analysis_create(&(struct explain_analysis_config){0}),
                        .time_ns = 1000 * NS_PER_S};
    cr_assert_not_null(s->analysis);
}

void story_begin_strict(struct story *s)
{
    *s =
        (struct story){.analysis = explain_analysis_create(&(struct explain_analysis_config){.strict = true}),
                       .time_ns = 1000 * NS_PER_S};
    cr_assert_not_null(s->analysis);
}

void story_begin_calm(struct story *s)
{
    story_begin(s);
    for (uint32_t i = 0; i < 4; i++) {
        story_send(s, 6 + i);
        story_ack(s, 6 + i, i + 1);
    }
}

unsigned story_count_at_end(struct story *s, enum explain_finding_kind kind)
{
    struct explain_finding found[4];
    unsigned count = 0;
    for (unsigned n; (n = explain_analysis_end(s->analysis, found, 4)) > 0;)
        for (unsigned i = 0; i < n; i++)
            count += found[i].kind == kind;
    return count;
}

void story_end(struct story *s)
{
    explain_analysis_destroy(s->analysis);
}

void story_request(struct story *s, uint8_t op, uint32_t psn, uint32_t bytes, uint32_t dma_len)
{
    struct roce_bth bth = {.opcode = ROCE_OPCODE(ROCE_SERVICE_RC, op), .psn = psn};
    uint32_t flags = roce_opcodes[bth.opcode].flags;
    uint8_t ext[64] = {0}, *p = ext;
    bth.ack_req = (flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY)) != 0;
    if (flags & ROCE_PKT_RETH)
        p = roce_reth_put(p, &(struct roce_reth){.va = 0x1000, .rkey = 0x77, .dma_len = dma_len});
    if (flags & ROCE_PKT_ATOMICETH)
        p = roce_atomiceth_put(p, &(struct roce_atomiceth){.va = 0x1000, .rkey = 0x77, .swap_add = 1});
    if (flags & ROCE_PKT_IMMDT)
        p = roce_immdt_put(p, &(struct roce_immdt){.imm_data = {1, 2, 3, 4}});
    if (flags & ROCE_PKT_IETH)
        p = roce_ieth_put(p, &(struct roce_ieth){.rkey = 0x77});
    send(s, true, bth, ext, (uint32_t)(p - ext), bytes);
}

void story_answer(struct story *s, uint8_t op, uint32_t psn, uint8_t syndrome, uint32_t msn, uint32_t bytes)
{
    struct roce_bth bth = {.opcode = ROCE_OPCODE(ROCE_SERVICE_RC, op), .psn = psn};
    uint32_t flags = roce_opcodes[bth.opcode].flags;
    uint8_t ext[64] = {0}, *p = ext;
    if (flags & ROCE_PKT_AETH)
        p = roce_aeth_put(p, &(struct roce_aeth){.syndrome = syndrome, .msn = msn});
    if (flags & ROCE_PKT_ATOMICACKETH)
        p = roce_atomicacketh_put(p, &(struct roce_atomicacketh){.original = 5});
    send(s, false, bth, ext, (uint32_t)(p - ext), bytes);
}

void story_send(struct story *s, uint32_t psn)
{
    story_request(s, ROCE_OP_SEND_ONLY, psn, 8, 0);
}

void story_ack(struct story *s, uint32_t psn, uint32_t msn)
{
    story_answer(s, ROCE_OP_ACK, psn, ROCE_SYNDROME_ACK_UNLIMITED, msn, 0);
}

void story_sack(struct story *s, uint32_t psn, uint32_t bitmap, struct roce_sacketh sacketh)
{
    uint8_t ext[64] = {0}, *p = ext;
    p = roce_aeth_put(p, &(struct roce_aeth){.syndrome = ROCE_SYNDROME_NAK_PSN_SEQ, .msn = psn});
    p = roce_sacketh_put(p, &sacketh);
    for (unsigned i = 0; bitmap && i < 4; i++)
        *p++ = (uint8_t)(bitmap >> (24 - 8 * i));
    send(s, sacketh.probe, (struct roce_bth){.opcode = ROCE_OPCODE_SACK, .psn = psn}, ext,
         (uint32_t)(p - ext), 0);
}

static const struct explain_finding *find(const struct story *s, enum explain_finding_kind kind)
{
    for (unsigned i = 0; i < s->m.remark_count; i++)
        if (s->m.remarks[i].kind == kind)
            return &s->m.remarks[i];
    return NULL;
}

const struct explain_finding *story_finding(const struct story *s, enum explain_finding_kind kind)
{
    static const struct explain_finding none;
    const struct explain_finding *f = find(s, kind);
    return f ? f : &none;
}

bool story_has(const struct story *s, enum explain_finding_kind kind)
{
    return find(s, kind);
}
