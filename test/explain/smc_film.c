/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain/smc_film.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "net/bytes.h"
#include "net/ipv4.h"
#include "net/wire/ether.h"
#include "net/wire/tcp.h"
#include "roce/wire/frame.h"
#include "test/support/smcr_examples.h"

static const uint8_t addrs[3][2][4] = {
    {{192, 0, 2, 2}, {192, 0, 2, 1}}, {{192, 0, 2, 2}, {192, 0, 2, 1}}, {{192, 0, 2, 4}, {192, 0, 2, 3}}};
static const uint32_t qpns[3][2] = {{0, 0}, {0x40, 0x12}, {0x41, 0x13}};
static uint8_t frame[8192];
static unsigned frame_bytes;

static void feed(struct film *f, unsigned n)
{
    f->time_ns += 100000;
    uint32_t kept = f->snap_bytes && f->snap_bytes < n ? f->snap_bytes : n;
    uint8_t *captured = malloc(kept); /* whatever reads behind it is found out */
    cr_assert_not_null(captured);
    memcpy(captured, frame, kept);
    struct net_capture_record record = {
        .data = captured, .len_bytes = kept, .wire_bytes = n, .time_ns = f->time_ns};
    struct explain_packet p;
    frame_bytes = n;
    explain_dissect(&p, &record, ++f->number);
    explain_analysis_next(f->analysis, &p, &f->m);
    for (unsigned i = 0; i < f->m.remark_count; i++)
        f->counts[f->m.remarks[i].kind]++;
    free(captured);
}

void film_begin(struct film *f)
{
    *f = (struct film){.analysis = explain_analysis_create(&(struct explain_analysis_config){0}),
                       .psn = {{0, 0}, {0xdc4011, 0x1a4e94}, {0x00beef, 0xbc9255}}};
    cr_assert_not_null(f->analysis);
}

void film_end(struct film *f)
{
    struct explain_finding found[16];
    unsigned n;
    while ((n = explain_analysis_end(f->analysis, found, 16)) > 0)
        for (unsigned i = 0; i < n; i++)
            f->counts[found[i].kind]++;
    explain_analysis_destroy(f->analysis);
}

void film_clc_bytes(struct film *f, unsigned side, const uint8_t *bytes, unsigned n)
{
    struct net_ether ether = {.ethertype = NET_ETHERTYPE_IPV4};
    struct net_ipv4 ip = {.version = 4, .ihl = 5, .protocol = NET_IP_PROTO_TCP};
    struct net_tcp tcp = {.data_offset = 5,
                          .ack_seq = f->tcp_ack_seq,
                          .src_port = side ? 5001 : 40000,
                          .dst_port = side ? 40000 : 5001};
    ip.total_len = (uint16_t)(NET_IPV4_BYTES + NET_TCP_BYTES + n);
    memcpy(ip.src, addrs[0][side], 4);
    memcpy(ip.dst, addrs[0][!side], 4);
    memset(frame, 0, sizeof frame);
    uint8_t *p = net_tcp_put(net_ipv4_put(net_ether_put(frame, &ether), &ip), &tcp);
    memcpy(p, bytes, n);
    feed(f, (unsigned)(p - frame) + n);
}

void film_clc(struct film *f, unsigned side, const char *example)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    film_clc_bytes(f, side, bytes, smcr_example(example, bytes));
}

static void request(struct film *f, unsigned link, unsigned side, uint8_t opcode,
                    const struct roce_reth *reth, const uint8_t *data, uint32_t n)
{
    struct roce_path path = {.vlan_tci = -1,
                             .src = nornic_addr_from_v4(addrs[link][side]),
                             .dst = nornic_addr_from_v4(addrs[link][!side]),
                             .hop_limit = 64,
                             .src_port = 0xc000};
    uint32_t pad = -n & 3, bytes = ROCE_BTH_BYTES + (reth ? ROCE_RETH_BYTES : 0) + n + pad;
    struct roce_frame_template t;
    struct roce_bth bth = {.opcode = opcode,
                           .pkey = 0xffff,
                           .pad_count = (uint8_t)pad,
                           .dest_qpn = qpns[link][!side],
                           .psn = f->psn[link][side]};
    f->psn[link][side] = (f->psn[link][side] + 1) & 0xffffff;
    memset(frame, 0, sizeof frame);
    roce_frame_template_init(&t, &path);
    uint8_t *p = roce_bth_put(roce_frame_begin(&t, frame, bytes, (uint16_t)f->number), &bth);
    p = reth ? roce_reth_put(p, reth) : p;
    if (data)
        memcpy(p, data, n);
    feed(f, roce_frame_seal(&t, frame, bytes));
}

void film_send_of(struct film *f, unsigned link, unsigned side, const uint8_t *bytes, uint32_t n)
{
    request(f, link, side, ROCE_OP_SEND_ONLY, NULL, bytes, n);
}

void film_send(struct film *f, unsigned link, unsigned side, const uint8_t message[44])
{
    film_send_of(f, link, side, message, 44);
}

void film_llc(struct film *f, unsigned link, unsigned side, const char *example)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    cr_assert_eq(smcr_example(example, bytes), 44);
    film_send(f, link, side, bytes);
}

void film_cdc(struct film *f, unsigned link, unsigned side, struct smcr_cdc cdc)
{
    uint8_t bytes[44] = {0};
    cdc.type = SMCR_CDC;
    cdc.length = 44;
    if (!cdc.alert_token)
        cdc.alert_token = side ? FILM_CLIENT_TOKEN : FILM_SERVER_TOKEN;
    if (!cdc.producer_cursor && !cdc.failover_validation)
        cdc.producer_cursor = 4;
    if (!cdc.consumer_cursor && !cdc.failover_validation)
        cdc.consumer_cursor = 4;
    smcr_cdc_put(bytes, &cdc);
    film_send(f, link, side, bytes);
}

void film_write(struct film *f, unsigned link, unsigned side, uint32_t rkey, uint64_t va, uint32_t bytes)
{
    struct roce_reth reth = {.va = va, .rkey = rkey, .dma_len = bytes};
    request(f, link, side, ROCE_OP_WRITE_ONLY, &reth, NULL, bytes);
}

void film_ack(struct film *f, unsigned link, unsigned side, uint32_t psn)
{
    struct roce_path path = {.vlan_tci = -1,
                             .src = nornic_addr_from_v4(addrs[link][side]),
                             .dst = nornic_addr_from_v4(addrs[link][!side]),
                             .hop_limit = 64,
                             .src_port = 0xc000};
    struct roce_frame_template t;
    uint32_t bytes = ROCE_BTH_BYTES + ROCE_AETH_BYTES;
    struct roce_bth bth = {.opcode = ROCE_OP_ACK, .pkey = 0xffff, .dest_qpn = qpns[link][!side], .psn = psn};
    memset(frame, 0, sizeof frame);
    roce_frame_template_init(&t, &path);
    uint8_t *p = roce_bth_put(roce_frame_begin(&t, frame, bytes, 1), &bth);
    roce_aeth_put(p, &(struct roce_aeth){.syndrome = ROCE_SYNDROME_ACK_UNLIMITED});
    feed(f, roce_frame_seal(&t, frame, bytes));
}

void film_next(struct film *f, unsigned link, unsigned side)
{
    film_llc(f, link, side, "TL_REQ");
}

void film_again(struct film *f)
{
    feed(f, frame_bytes);
}

void film_first_contact(struct film *f)
{
    film_clc(f, 0, "PROP4");
    film_clc(f, 1, "ACC_F");
    film_clc(f, 0, "CONF");
    film_llc(f, 1, 1, "CL_REQ");
    film_llc(f, 1, 0, "CL_RSP");
    film_llc(f, 1, 1, "AL_REQ");
    film_llc(f, 1, 0, "AL_REJ");
}

void film_two_links(struct film *f)
{
    uint8_t bytes[256] = {0};
    struct smcr_add_link_cont cont = {.type = SMCR_LLC_ADD_LINK_CONT,
                                      .length = 44,
                                      .response = 1,
                                      .link = 2,
                                      .rtokens_left = 1,
                                      .reference_rkey_1 = FILM_CLIENT_RKEY,
                                      .rkey_1 = 0x50b,
                                      .va_1 = FILM_CLIENT_VA};
    film_clc(f, 0, "PROP4");
    film_clc(f, 1, "ACC_F");
    film_clc(f, 0, "CONF");
    film_llc(f, 1, 1, "CL_REQ");
    film_llc(f, 1, 0, "CL_RSP");
    film_llc(f, 1, 1, "AL_REQ");
    film_llc(f, 1, 0, "AL_RSP");
    film_llc(f, 1, 1, "ALC_REQ");
    smcr_add_link_cont_put(bytes, &cont);
    film_send(f, 1, 0, bytes);
    for (unsigned side = 2; side-- > 0;) { /* CONFIRM LINK of the second one: ..03 and ..04 */
        struct smcr_confirm_link c;
        smcr_example(side ? "CL_REQ" : "CL_RSP", bytes);
        smcr_confirm_link_get(&c, bytes);
        c.mac[5] = c.gid[15] = side ? 3 : 4;
        c.qpn = qpns[2][side];
        c.link = 2;
        smcr_confirm_link_put(bytes, &c);
        film_send(f, 2, side, bytes);
    }
}

bool film_remarks(const struct film *f, enum explain_finding_kind kind, const char *rule)
{
    for (unsigned i = 0; i < f->m.remark_count; i++)
        if (f->m.remarks[i].kind == kind && strcmp(f->m.remarks[i].rule, rule) == 0)
            return true;
    return false;
}

uint64_t film_violations(const struct film *f)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < EXPLAIN_FINDING_COUNT; i++)
        n += explain_finding_severity((enum explain_finding_kind)i) == 2 ? f->counts[i] : 0;
    return n;
}

void film_expect_words(struct film *f, const char *part)
{
    cr_assert(strstr(f->m.words, part), "\"%s\" is not in \"%s\"", part, f->m.words);
}

void film_client_sends(struct film *f, unsigned link, uint32_t at, uint32_t bytes, uint16_t seq)
{
    uint32_t rkey = link == 2 ? 0x644 : FILM_SERVER_RKEY;
    film_write(f, link, 0, rkey, FILM_SERVER_VA + 4 + at, bytes);
    film_cdc(f, link, 0, (struct smcr_cdc){.seq = seq, .producer_cursor = 4 + at + bytes});
}
