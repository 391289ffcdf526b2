/* SPDX-License-Identifier: BSD-2-Clause */
/* SMC-R in captures: a Linux peer's (version 2 on TCP, CDC messages on the link), and the worked examples of
 * version 1 in frames of our own. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "explain/analysis.h"
#include "net/bytes.h"
#include "net/ipv4.h"
#include "net/wire/ether.h"
#include "net/wire/tcp.h"
#include "roce/wire/frame.h"
#include "smcr/wire/clc2.h"
#include "smcr/wire/llc2.h"
#include "test/explain/pcap.h"
#include "test/support/smcr_examples.h"

static uint8_t frame[400];

static void expect(unsigned len_bytes, enum explain_kind kind, const char *key, const char *words)
{
    struct net_capture_record record = {.data = frame, .len_bytes = len_bytes, .wire_bytes = len_bytes};
    struct explain_analysis *a = explain_analysis_create(&(struct explain_analysis_config){0});
    struct explain_packet p;
    struct explain_meaning m;
    explain_dissect(&p, &record, 1);
    explain_analysis_next(a, &p, &m);
    cr_expect_eq(p.kind, kind, "%s: kind %d", key, p.kind);
    bool found = false;
    for (unsigned i = 0; i < p.layer_count; i++)
        found |= strcmp(p.layers[i].kind->key, key) == 0;
    cr_expect(found, "no layer %s", key);
    cr_expect_str_eq(m.words, words, "%s", m.words);
    explain_analysis_destroy(a);
}

/* Ethernet, IPv4 and TCP with `option_bytes` of options and `data_bytes` of data behind them; returns where
 * the options begin. */
static uint8_t *tcp_frame(unsigned option_bytes, unsigned data_bytes)
{
    struct net_ether ether = {.ethertype = NET_ETHERTYPE_IPV4};
    struct net_ipv4 ip = {.version = 4, .ihl = 5, .protocol = NET_IP_PROTO_TCP};
    struct net_tcp tcp = {.data_offset = (uint8_t)(5 + option_bytes / 4)};
    ip.total_len = (uint16_t)(NET_IPV4_BYTES + NET_TCP_BYTES + option_bytes + data_bytes);
    memset(frame, 0, sizeof frame);
    return net_tcp_put(net_ipv4_put(net_ether_put(frame, &ether), &ip), &tcp);
}

static void expect_clc(const char *name, const char *key, const char *words)
{
    uint8_t bytes[256];
    unsigned n = smcr_example(name, bytes);
    memcpy(tcp_frame(0, n), bytes, n);
    expect(NET_ETHER_BYTES + NET_IPV4_BYTES + NET_TCP_BYTES + n, EXPLAIN_SMC_TCP, key, words);
}

Test(smc, clc)
{
    expect_clc("PROP4", "clc_subnet", "SMC CLC Proposal: offers SMC-Rv1 only; GID 192.0.2.2");
    expect_clc("PROP6", "clc_prefix", "SMC CLC Proposal: offers SMC-Rv1 only; GID fe80::5eff:fe10:2");
    expect_clc(
        "ACC_F", "clc_accept",
        "SMC CLC Accept (first contact): QP 0x000012, RMBE 1 of 64 KiB at 0x7f5c6d5d2000, R_Key 0x000004f0, "
        "token 0xa1b20001");
    expect_clc("CONF", "clc_confirm",
               "SMC CLC Confirm: QP 0x000040, RMBE 1 of 32 KiB at 0x7fe9af841000, R_Key 0x0000040b, "
               "token 0xc3d40001");
    expect_clc("DECL_S", "clc_decline", "SMC CLC Decline, 0x04000000: out of sync, out of sync");
}

Test(smc, the_option)
{
    static const uint8_t options[] = {1, 1, 3, 3, 7, 254, 6, 0xe2, 0xd4, 0xc3, 0xd9, 0};
    memcpy(tcp_frame(sizeof options, 0), options, sizeof options);
    expect(NET_ETHER_BYTES + NET_IPV4_BYTES + NET_TCP_BYTES + sizeof options, EXPLAIN_SMC_TCP, "smc_option",
           "SYN that offers SMC-R");
}

/* A SYN or SYN-ACK between the same two ends; returns what is told of it. */
static const char *handshake(struct explain_analysis *a, uint8_t flags, bool has_option,
                             struct explain_packet *p, struct explain_meaning *m)
{
    static const uint8_t offer[] = {254, 6, 0xe2, 0xd4, 0xc3, 0xd9, 1, 1}, none[] = {1, 1, 1, 1, 1, 1, 1, 1};
    bool is_answer = flags & 0x10;
    uint8_t *options = tcp_frame(sizeof offer, 0), *tcp = options - NET_TCP_BYTES;
    unsigned n = (unsigned)(options - frame) + sizeof offer;
    memcpy(options, has_option ? offer : none, sizeof offer);
    put_be16(tcp, is_answer ? 5001 : 40000);
    put_be16(tcp + 2, is_answer ? 40000 : 5001);
    tcp[13] = flags;
    struct net_capture_record record = {.data = frame, .len_bytes = n, .wire_bytes = n};
    explain_dissect(p, &record, p->number + 1);
    explain_analysis_next(a, p, m);
    return m->words;
}

/* covers: SMCR-REN-05 */
Test(smc, SMCR_REN_05_a_server_that_does_not_answer_the_offer_is_plain_TCP)
{
    struct explain_analysis *a = explain_analysis_create(&(struct explain_analysis_config){0});
    struct explain_packet p = {.number = 0};
    struct explain_meaning m;
    handshake(a, 0x02, true, &p, &m);
    cr_expect_str_eq(handshake(a, 0x12, false, &p, &m),
                     "SYN-ACK: the server does not speak SMC-R: plain TCP");
    cr_expect_eq(p.kind, EXPLAIN_SMC_TCP, "it is shown");
    cr_expect_eq(m.answers, 1);
    cr_assert_eq(m.remark_count, 1);
    cr_expect_eq(m.remarks[0].kind, EXPLAIN_FIND_SMC_DECLINE);
    cr_expect_str_eq(m.remarks[0].rule, "SMCR-REN-05");
    handshake(a, 0x02, true, &p, &m);
    cr_expect_str_eq(handshake(a, 0x12, true, &p, &m), "SYN-ACK: the server speaks SMC-R too");
    cr_expect_eq(m.remark_count, 0);
    explain_analysis_destroy(a);
}

Test(smc, a_handshake_of_TCP_that_offers_nothing_is_none_of_SMC_R)
{
    struct explain_analysis *a = explain_analysis_create(&(struct explain_analysis_config){0});
    struct explain_packet p = {.number = 0};
    struct explain_meaning m;
    cr_expect_str_eq(handshake(a, 0x02, false, &p, &m), "");
    cr_expect_str_eq(handshake(a, 0x12, false, &p, &m), "");
    cr_expect_eq(p.kind, EXPLAIN_OTHER);
    explain_analysis_destroy(a);
}

/* A message as an RC SEND. */
static void expect_send_of(uint16_t bytes, const uint8_t *message, const char *key, const char *words)
{
    struct roce_path path = {.vlan_tci = -1,
                             .src = nornic_addr_from_v4((uint8_t[]){10, 0, 0, 1}),
                             .dst = nornic_addr_from_v4((uint8_t[]){10, 0, 0, 2}),
                             .hop_limit = 64,
                             .src_port = 0xc000};
    struct roce_frame_template t;
    struct roce_bth bth = {.opcode = ROCE_OP_SEND_ONLY, .pkey = 0xffff, .dest_qpn = 18};
    memset(frame, 0, sizeof frame);
    roce_frame_template_init(&t, &path);
    uint8_t *p = roce_bth_put(roce_frame_begin(&t, frame, ROCE_BTH_BYTES + bytes, 1), &bth);
    memcpy(p, message, bytes);
    expect(roce_frame_seal(&t, frame, ROCE_BTH_BYTES + bytes), EXPLAIN_ROCE, key, words);
}

static void expect_send(const uint8_t *message, const char *key, const char *words)
{
    expect_send_of(44, message, key, words);
}

static void expect_message(const char *name, const char *key, const char *words)
{
    uint8_t message[SMCR_EXAMPLE_MAX_BYTES];
    cr_assert_eq(smcr_example(name, message), 44);
    expect_send(message, key, words);
}

#define SEND  "SMC "
#define SEND2 "SMCv2 "

/* Nothing is known of the group: what a message says by itself is told all the same. */
Test(smc, llc_and_cdc)
{
    expect_message("CL_REQ", "llc_confirm_link",
                   SEND "LLC CONFIRM LINK request: link 1, QP 0x000012, user id 0x5a010101, at most 2 links");
    expect_message("AL_REJ", "llc_add_link", SEND "LLC ADD LINK response, refused: no alternate path");
    expect_message("ALC_REQ", "llc_add_link_cont",
                   SEND "LLC ADD LINK CONTINUATION request: link 2, 1 RToken to come");
    expect_message("DL_ALL", "llc_delete_link", SEND "LLC DELETE LINK request: all links, orderly, operator");
    expect_message("CR_NEG", "llc_confirm_rkey",
                   SEND "LLC CONFIRM RKEY response: R_Key 0x000004f1 at 0x7f5c6d600000, and on 1 other link, "
                        "refused");
    expect_message("TL_RSP", "llc_test_link", SEND "LLC TEST LINK response");
    expect_message("DR_REQ", "llc_delete_rkey", SEND "LLC DELETE RKEY request: 2 keys, 0x000004f0, ...");
    expect_message("CDC_FULL", "cdc",
                   SEND "CDC 3, token 0xa1b20001, producer 2/1004, consumer 1/1004, writer blocked");
    expect_message("CDC_F", "cdc", SEND "CDC failover validation, token 0xa1b20001, sequence number 41");
    expect_message("CDC_A", "cdc",
                   SEND "CDC 44, token 0xa1b20001, producer 3/2048, consumer 3/4096, abnormal close");
}

Test(smc, a_client_asks_for_a_link_in_version_2)
{
    uint8_t message[44] = {0};
    struct smcr_gid gid = {.gid = {[10] = 0xff, 0xff, 10, 0, 0, 9}};
    uint8_t *p = smcr_request_add_link2_put(
        message, &(struct smcr_request_add_link2){
                     .type = SMCR_LLC2_REQUEST_ADD_LINK, .length = sizeof message, .gid_count = 1});
    smcr_gid_put(p, &gid);
    expect_send(message, "llc2_request_add_link",
                SEND2 "LLC REQUEST ADD LINK request: the client has further GIDs: 10.0.0.9");
}

/* As in simulated run 130000391: type and length are those of a message, and the parts that it tells of are
 * not there. */
Test(smc, what_a_program_sends_is_no_message_though_it_begins_like_one)
{
    uint8_t data[164] = {SMCR_LLC2_REQUEST_ADD_LINK, 0xa4, 0};
    memset(data + 4, 0x5a, sizeof data - 4); /* 90 GIDs, where 8 are there at the most */
    expect_send_of(sizeof data, data, "bth", "SEND only, message 1, 164 bytes");
    data[0] = SMCR_LLC2_ADD_LINK;
    expect_send_of(sizeof data, data, "bth", "SEND only, message 1, 164 bytes");
    data[0] = SMCR_LLC2_TEST_LINK;
    expect_send_of(sizeof data, data, "bth", "SEND only, message 1, 164 bytes");
    data[1] = 60;
    data[0] = SMCR_LLC2_REQUEST_ADD_LINK;
    data[24] = 2;
    memset(data + 28, 0, sizeof data - 28);
    expect_send_of(60, data, "llc2_request_add_link",
                   SEND2 "LLC REQUEST ADD LINK request: the client has further GIDs: ::, ::");
}

/* The words of the packet with that number. */
static void words_of(const char *path, uint64_t number, struct explain_meaning *m)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    struct explain_analysis *a = explain_analysis_create(&(struct explain_analysis_config){0});
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    for (uint64_t n = 1; n <= number && net_capture_next(capture, &record, &why) == 1; n++) {
        struct explain_packet p;
        explain_dissect(&p, &record, n);
        explain_analysis_next(a, &p, m);
    }
    net_capture_close(capture);
    explain_analysis_destroy(a);
}

/* Linux says that it has no RNIC where the EIDs differ, too. */
/* The codes of Linux, net/smc/smc_clc.h. */
Test(smc, the_codes_with_which_linux_declines_have_words)
{
    cr_expect_str_eq(smcr_clc2_diagnosis_name(0x03030002), "no SMC-R device");
    cr_expect_str_eq(smcr_clc2_diagnosis_name(0x03030000), "no usable RNIC, or no EID in common");
    cr_expect_str_eq(smcr_clc2_diagnosis_name(0x03070000), "no common subnet or prefix");
    cr_expect_null(smcr_clc2_diagnosis_name(0x03039999));
}

Test(smc, what_a_proposal_of_version_2_offers_and_why_it_is_declined)
{
    struct explain_meaning m;
    words_of("pcaps/smcfb_eid.pcap", 4, &m);
    cr_expect_str_eq(m.words, "SMCv2 CLC Proposal: offers SMC-Rv2 only; EID OTHER.EID, GID 10.77.0.2");
    words_of("pcaps/smcfb_eid.pcap", 6, &m);
    cr_expect_str_eq(m.words, "SMCv2 CLC Decline, 0x03030000: no usable RNIC, or no EID in common");
}

Test(smc, a_linux_peer)
{
    struct net_capture_record record;
    struct nornic_error why;
    unsigned handshakes = 0, cdc = 0;
    struct explain_analysis *a = explain_analysis_create(&(struct explain_analysis_config){0});
    struct net_capture *capture = pcap_open("smc_first");
    for (uint64_t n = 1; net_capture_next(capture, &record, &why) == 1; n++) {
        struct explain_packet p;
        struct explain_meaning m;
        explain_dissect(&p, &record, n);
        explain_analysis_next(a, &p, &m);
        handshakes += p.kind == EXPLAIN_SMC_TCP;
        cdc += strstr(m.words, "SMC CDC") != NULL;
    }
    /* three connections: two SYNs with the option, and Proposal, Accept, Confirm each; the manifest's CDCs */
    cr_assert_eq(handshakes, 15);
    cr_assert_eq(cdc, 76);
    net_capture_close(capture);
    explain_analysis_destroy(a);
}

/* What pcaps/MANIFEST.md says was done is what is found, and nothing else of SMC-R. */
Test(smc, findings_of_linux_peers)
{
    static const struct {
        const char *name;
        uint32_t conns;
        uint64_t decline, gone, moved, abort, urgent, refused;
    } captures[] = {
        {"smc_first", 3, .refused = 1},
        {"smc2_down", 2, .gone = 2, .moved = 2},
        {"smc_half", 2, .gone = 0},
        {"smc_abort", 3, .abort = 2},
        {"smc_oob_stall", 1, .urgent = 1},
        {"smcfb_eid", 0, .decline = 1},
        {"smcr_failover", 1, .gone = 2, .moved = 2, .refused = 1},
    };
    for (unsigned i = 0; i < array_len(captures); i++) {
        struct net_capture_record record;
        struct nornic_error why;
        uint64_t counts[EXPLAIN_FINDING_COUNT] = {0}, all = 0;
        struct explain_analysis *a = explain_analysis_create(&(struct explain_analysis_config){0});
        struct net_capture *capture = pcap_open(captures[i].name);
        for (uint64_t n = 1; net_capture_next(capture, &record, &why) == 1; n++) {
            struct explain_packet p;
            struct explain_meaning m;
            explain_dissect(&p, &record, n);
            explain_analysis_next(a, &p, &m);
            for (unsigned r = 0; r < m.remark_count; r++)
                counts[m.remarks[r].kind]++;
        }
        net_capture_close(capture);
        for (unsigned k = EXPLAIN_FIND_SMC_DECLINE; k < EXPLAIN_FINDING_COUNT; k++)
            all += counts[k];
        cr_expect_eq(explain_analysis_smc_conn_count(a), captures[i].conns, "%s", captures[i].name);
        cr_expect_eq(counts[EXPLAIN_FIND_SMC_DECLINE], captures[i].decline, "%s", captures[i].name);
        cr_expect_eq(counts[EXPLAIN_FIND_SMC_LINK_GONE], captures[i].gone, "%s", captures[i].name);
        cr_expect_eq(counts[EXPLAIN_FIND_SMC_MOVED], captures[i].moved, "%s", captures[i].name);
        cr_expect_eq(counts[EXPLAIN_FIND_SMC_ABORT], captures[i].abort, "%s", captures[i].name);
        cr_expect_eq(counts[EXPLAIN_FIND_SMC_URGENT], captures[i].urgent, "%s", captures[i].name);
        cr_expect_eq(counts[EXPLAIN_FIND_SMC_REFUSED], captures[i].refused, "%s", captures[i].name);
        cr_expect_eq(all,
                     captures[i].decline + captures[i].gone + captures[i].moved + captures[i].abort +
                         captures[i].urgent + captures[i].refused,
                     "%s", captures[i].name);
        for (uint32_t id = 1; id <= captures[i].conns; id++) {
            const struct explain_smc_conn *c = explain_analysis_smc_conn(a, id);
            cr_expect(c && (c->is_closed[0] || c->is_aborted[0]) && (c->is_closed[1] || c->is_aborted[1]),
                      "%s, connection %u", captures[i].name, id);
        }
        explain_analysis_destroy(a);
    }
}
