/* SPDX-License-Identifier: BSD-2-Clause */
/* What the analysis finds in the golden captures of Linux peers: what pcaps/MANIFEST.md says was done to
 * them, and nothing in those that were left alone. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "explain/analysis.h"
#include "net/bytes.h"
#include "roce/icrc.h"
#include "test/explain/pcap.h"
#include "test/explain/story.h"

struct result {
    unsigned findings[EXPLAIN_FINDING_COUNT];
    unsigned at_end;
    uint32_t flows;
};

struct reading {
    struct net_capture *capture;
    struct explain_analysis *analysis;
    uint64_t number;
    struct explain_packet packet;
    struct explain_meaning meaning;
};

static void begin(struct reading *r, const char *name)
{
    *r = (struct reading){.capture = pcap_open(name),
                          .analysis = explain_analysis_create(&(struct explain_analysis_config){0})};
    cr_assert_not_null(r->analysis);
}

static bool next(struct reading *r)
{
    struct net_capture_record record;
    struct nornic_error why;
    if (net_capture_next(r->capture, &record, &why) != 1)
        return false;
    explain_dissect(&r->packet, &record, ++r->number);
    explain_analysis_next(r->analysis, &r->packet, &r->meaning);
    return true;
}

static void end(struct reading *r)
{
    net_capture_close(r->capture);
    explain_analysis_destroy(r->analysis);
}

static struct result read_all(const char *name)
{
    struct reading r;
    struct result result = {0};
    struct explain_finding findings[16];
    unsigned n;
    begin(&r, name);
    while (next(&r))
        for (unsigned i = 0; i < r.meaning.remark_count; i++)
            result.findings[r.meaning.remarks[i].kind]++;
    while ((n = explain_analysis_end(r.analysis, findings, 16)) > 0)
        result.at_end += n;
    result.flows = explain_analysis_flow_count(r.analysis);
    end(&r);
    return result;
}

/* The line of the n-th packet. */
static void expect_words(const char *name, uint64_t number, const char *words)
{
    struct reading r;
    begin(&r, name);
    while (next(&r) && r.number < number)
        continue;
    cr_assert_eq(r.number, number);
    cr_assert_str_eq(r.meaning.words, words, "%s #%u: %s", name, (unsigned)number, r.meaning.words);
    end(&r);
}

Test(analysis, captures_that_were_left_alone_show_nothing)
{
    static const char *const names[] = {
        "rc_atomic",
        "rc_ipv6_atomic",
        "rc_ipv6_read_1024",
        "rc_ipv6_send_1024",
        "rc_ipv6_write_1024",
        "rc_long",
        "rc_mix",
        "rc_read_1024",
        "rc_read_256",
        "rc_send_1024",
        "rc_send_256",
        "rc_send_4096",
        "rc_vlan",
        "rc_write_1024",
        "routed_rc_ipv4",
        "routed_rc_ipv6",
        "stock_pingpong",
        "uc",
        "ud_4",
        "ud_6",
        "cm_rping",
        "cm_disc",
        "cm_udaddy",
        "cm_ipv6_rping",
    };
    for (unsigned i = 0; i < array_len(names); i++) {
        struct result result = read_all(names[i]);
        for (unsigned kind = 0; kind < EXPLAIN_FINDING_COUNT; kind++)
            cr_assert_eq(result.findings[kind], 0, "%s: %s", names[i],
                         explain_finding_key((enum explain_finding_kind)kind));
        cr_assert_eq(result.at_end, 0, "%s", names[i]);
    }
}

Test(analysis, loss)
{
    struct result r = read_all("lossy_loss");
    cr_assert_eq(r.flows, 1);
    cr_assert_eq(r.findings[EXPLAIN_FIND_PSN_GAP], 5);
    cr_assert_eq(r.findings[EXPLAIN_FIND_NAK_SEQUENCE], 4);
    /* every packet that is sent again is so within 5 ms of a NAK: none by a timer, which takes 67 ms */
    cr_assert_eq(r.findings[EXPLAIN_FIND_TIMEOUT], 0);
    cr_assert_eq(r.findings[EXPLAIN_FIND_DUPLICATE], 0);
    cr_assert_eq(r.at_end, 0);
}

Test(analysis, lost_acks_show_as_timeouts)
{
    struct result r = read_all("lossy_ackloss");
    cr_assert_gt(r.findings[EXPLAIN_FIND_TIMEOUT], 0);
    cr_assert_eq(r.findings[EXPLAIN_FIND_NAK_SEQUENCE], 0);
    cr_assert_eq(r.findings[EXPLAIN_FIND_PSN_GAP], 2, "answers to READs");
    cr_assert_eq(r.findings[EXPLAIN_FIND_READ_REPLAY], 2);
}

Test(analysis, copies_of_the_network_are_no_retransmissions)
{
    struct result r = read_all("lossy_duplicate");
    /* 14 copies, and a READ that the copy of its request had answered twice */
    cr_assert_eq(r.findings[EXPLAIN_FIND_DUPLICATE], 15);
    cr_assert_eq(r.findings[EXPLAIN_FIND_RETRANSMISSION], 0);
}

Test(analysis, receivers_that_are_not_ready)
{
    struct result r = read_all("rc_rnr");
    cr_assert_eq(r.findings[EXPLAIN_FIND_RNR], 10);
    cr_assert_gt(r.findings[EXPLAIN_FIND_RETRANSMISSION], 0);
    cr_assert_eq(r.findings[EXPLAIN_FIND_TIMEOUT], 0);
}

Test(analysis, fatal_naks_and_rejects)
{
    cr_assert_eq(read_all("rc_nak").findings[EXPLAIN_FIND_NAK_FATAL], 4);
    cr_assert_eq(read_all("cm_reject").findings[EXPLAIN_FIND_CM_REJECT], 5);
}

Test(analysis, what_happened_at_once)
{
    struct result r = read_all("lossy_all");
    cr_assert_gt(r.findings[EXPLAIN_FIND_REORDERED], 0);
    cr_assert_gt(r.findings[EXPLAIN_FIND_DUPLICATE], 0);
    cr_assert_gt(r.findings[EXPLAIN_FIND_READ_REPLAY], 0);
    cr_assert_gt(r.findings[EXPLAIN_FIND_NAK_SEQUENCE], 0);
    cr_assert_gt(r.findings[EXPLAIN_FIND_TIMEOUT], 0);
    cr_assert_eq(r.findings[EXPLAIN_FIND_GHOST_ACK], 0);
    cr_assert_eq(r.findings[EXPLAIN_FIND_ICRC] + r.findings[EXPLAIN_FIND_MALFORMED], 0);
    cr_assert_eq(r.at_end, 0, "in the end everything arrived");
}

/* A NAK that ends the connection answers what came behind it; to a QP that is gone nothing is answered. */
Test(analysis, an_answer_that_never_came)
{
    cr_assert_eq(read_all("rc_nak").at_end, 1);
    cr_assert_eq(read_all("rc_sendinv").at_end, 0);
    cr_assert_eq(read_all("rc_rnr").at_end, 0);
}

/* covers: ROCE-CM-30, ROCE-CM-34 */
Test(analysis, connections_are_followed)
{
    struct result r = read_all("cm_lossy");
    cr_assert_eq(r.findings[EXPLAIN_FIND_CM_RETRY], 1, "the DREQ");
    cr_assert_eq(r.findings[EXPLAIN_FIND_PSN_GAP], 1, "the first PSN is known from the REP");
    cr_assert_eq(r.findings[EXPLAIN_FIND_RETRANSMISSION], 2);
    cr_assert_eq(r.findings[EXPLAIN_FIND_TIMEOUT], 0);
    cr_assert_eq(r.flows, 3);
    expect_words("cm_lossy", 21, "CM DREQ, connection 2");
    cr_assert_eq(read_all("cm_reject").findings[EXPLAIN_FIND_CM_RETRY], 0);
}

/* covers: ROCE-CM-30 */
Test(analysis, REQ_and_REP_name_the_queue_pairs)
{
    struct reading r;
    begin(&r, "cm_disc");
    while (next(&r) && r.number < 3)
        continue;
    const struct explain_flow *flow = explain_analysis_flow(r.analysis, r.meaning.flow);
    cr_assert_not_null(flow, "the RTU belongs to the flow");
    cr_assert_eq(flow->qpn[0], 0x20);
    cr_assert_eq(flow->qpn[1], 0x20);
    cr_assert_eq(flow->pmtu_bytes, 1024);
    cr_assert_eq(r.meaning.answers, 2, "to the REP");
    end(&r);
}

Test(analysis, datagrams_have_flows)
{
    cr_assert_eq(read_all("ud_4").flows, 1);
    cr_assert_eq(read_all("cm_udaddy").flows, 2);
}

Test(analysis, words)
{
    expect_words("rc_write_1024", 30, "RDMA WRITE middle 2/3 of message 14, 2048 of 2049 bytes");
    expect_words("rc_write_1024", 32, "ACK up to PSN 0x001011, MSN 14");
    expect_words("lossy_loss", 15, "NAK: PSN sequence error, expects 0x003001");
    expect_words("lossy_loss", 17,
                 "SEND last 3 of message 1, 3000 bytes, sent again (before: #2; goes along behind #16)");
    expect_words("lossy_loss", 37, "RDMA READ response 2/5 to #8, 2048 of 4500 bytes");
    expect_words("rc_rnr", 2, "RNR NAK for PSN 0x001000: wait 10.24 ms");
    expect_words("rc_read_256", 24, "RDMA READ response 1/2 to #23, 256 of 257 bytes");
    expect_words("rc_read_256", 25, "RDMA READ response 2/2 to #23, 257 of 257 bytes");
}

Test(analysis, the_room_for_flows_is_bounded)
{
    struct reading r;
    begin(&r, "cm_disc");
    explain_analysis_destroy(r.analysis);
    r.analysis = explain_analysis_create(&(struct explain_analysis_config){.max_flow_bytes = 1});
    while (next(&r))
        continue;
    uint32_t kept = 0;
    for (uint32_t i = 1; i <= explain_analysis_flow_count(r.analysis); i++)
        kept += explain_analysis_flow(r.analysis, i) != NULL;
    cr_assert_eq(kept, 1);
    const struct explain_forgotten *forgotten = explain_analysis_forgotten(r.analysis);
    cr_expect_eq(forgotten->count, explain_analysis_flow_count(r.analysis) - 1);
    cr_expect_eq(forgotten->first, 1);
    cr_expect_eq(forgotten->last, forgotten->count);
    cr_assert_null(explain_analysis_flow(r.analysis, 0));
    cr_assert_null(explain_analysis_flow(r.analysis, 1000));
    end(&r);
}

/* A service id of the RDMA CM is a port, and the PSN in a REQ is that which its sender wants. */
Test(analysis, a_req_names_the_port_and_the_psns_that_are_wanted)
{
    expect_words("cm_rping", 1,
                 "CM REQ for TCP port 7174: QP 0x000011, RC, wants PSNs to it from 0xf0a097, "
                 "path MTU 1024, connection 1");
}

/* A frame of a capture whose message, a CM's, is changed before it is explained. */
struct changed {
    uint8_t frame[400];
    uint8_t *message;
    struct net_capture_record record;
};

static void next_to_change(struct reading *r, struct changed *c)
{
    struct nornic_error why;
    cr_assert_eq(net_capture_next(r->capture, &c->record, &why), 1);
    cr_assert_leq(c->record.len_bytes, sizeof c->frame);
    memcpy(c->frame, c->record.data, c->record.len_bytes);
    c->message = c->frame + 86;
}

static void explain_changed(struct reading *r, struct changed *c)
{
    uint32_t len_bytes = c->record.len_bytes;
    put_le32(c->frame + len_bytes - 4, roce_icrc(c->frame + 14, ROCE_L3_IPV4, len_bytes - 14 - 4));
    c->record.data = c->frame;
    explain_dissect(&r->packet, &c->record, ++r->number);
    explain_analysis_next(r->analysis, &r->packet, &r->meaning);
}

/* covers: ROCE-XRC-4 */
Test(analysis, ROCE_XRC_4_the_handshake_of_xrc_names_both_queue_pairs)
{
    struct reading r;
    struct changed c;
    begin(&r, "cm_rping");
    next_to_change(&r, &c);
    c.message[43] |= 3 << 1; /* the extended transport, */
    c.message[51] |= 1;      /* which is XRC */
    explain_changed(&r, &c);
    cr_expect_str_eq(r.meaning.words, "CM REQ for TCP port 7174: QP 0x000011, XRC, wants PSNs to it from "
                                      "0xf0a097, path MTU 1024, connection 1");
    next_to_change(&r, &c);
    memcpy(c.message + 16, c.message + 12, 3); /* where a target has its number */
    memset(c.message + 12, 0, 3);
    explain_changed(&r, &c);
    cr_expect_str_eq(r.meaning.words, "CM REP: QP 0x000011, wants PSNs to it from 0xbadeee, connection 1");
    cr_expect_eq(explain_analysis_flow_count(r.analysis), 1);
    end(&r);
}

/* All of three messages arrives, out of order: the piece of the third that came first counts for itself
 * until the MSN says how many there are. */
Test(analysis, ROCE_RS_50_the_msn_puts_right_what_was_counted_twice)
{
    struct story s;
    struct explain_finding left[4];
    story_begin(&s);
    s.has_id = true;
    const struct {
        uint8_t op, psn, id;
    } came[] = {{ROCE_OP_SEND_MIDDLE, 1, 2},  {ROCE_OP_WRITE_LAST, 7, 8},  {ROCE_OP_SEND_FIRST, 0, 1},
                {ROCE_OP_SEND_LAST, 2, 3},    {ROCE_OP_SEND_ONLY, 3, 4},   {ROCE_OP_WRITE_FIRST, 4, 5},
                {ROCE_OP_WRITE_MIDDLE, 5, 6}, {ROCE_OP_WRITE_MIDDLE, 6, 7}};
    for (unsigned i = 0; i < array_len(came); i++) {
        s.ip_id = (uint16_t)(100 + came[i].id);
        story_request(&s, came[i].op, came[i].psn, 256, 4 * 256);
    }
    story_answer(&s, ROCE_OP_ACK, 7, ROCE_SYNDROME_ACK_UNLIMITED, 3, 0);
    s.ip_id = 109;
    story_request(&s, ROCE_OP_SEND_ONLY, 8, 256, 0);
    cr_expect_eq(s.m.message, 4);
    cr_expect_eq(explain_analysis_end(s.analysis, left, 4), 0);
    const struct explain_flow *flow = explain_analysis_flow(s.analysis, 1);
    cr_expect_eq(flow->messages[0], 4);
    cr_expect_eq(flow->messages_before[0], 0);
    cr_expect_not(flow->is_begun_before);
    story_end(&s);
}

/* The REQ of this connection names a timeout of 4.096 us * 2^17, 537 ms (tshark: 0x11). The SEND comes again
 * 2.7 ms after the one behind it, and 1.5 ms after a NAK: that was no timer. That it comes for the first time
 * leaves open whether it was lost and sent again, or is late. */
Test(analysis, ROCE_CM_33_the_req_leaves_only_the_nak)
{
    struct reading r;
    unsigned again = 0;
    begin(&r, "cm_lossy");
    while (next(&r))
        for (unsigned i = 0; i < r.meaning.remark_count; i++) {
            const struct explain_finding *f = &r.meaning.remarks[i];
            if (f->kind != EXPLAIN_FIND_RETRANSMISSION || f->number != 28)
                continue;
            again++;
            cr_expect_eq(f->why.cause, EXPLAIN_CAUSE_UNKNOWN);
            cr_expect_eq(f->why.candidate[0], EXPLAIN_CAUSE_NAK_SEQUENCE);
            cr_expect_eq(f->why.candidate[1], EXPLAIN_CAUSE_OVERTAKEN);
            cr_expect_eq(f->why.candidate[2], EXPLAIN_CAUSE_NONE);
        }
    cr_expect_eq(again, 1);
    end(&r);
}

/* Explains cm_disc as if these two were not in it, and the DREQ #36 came so much later. Returns how many
 * findings it has at its end. */
static unsigned left_of_cm_disc(uint64_t missed, uint64_t missed_too, int64_t later_ns,
                                struct explain_finding left[4])
{
    struct reading r;
    struct net_capture_record record;
    struct nornic_error why;
    begin(&r, "cm_disc");
    while (net_capture_next(r.capture, &record, &why) == 1) {
        if (++r.number == missed || r.number == missed_too)
            continue;
        record.time_ns += r.number >= 36 ? (uint64_t)later_ns : 0;
        explain_dissect(&r.packet, &record, r.number);
        explain_analysis_next(r.analysis, &r.packet, &r.meaning);
    }
    unsigned count = explain_analysis_end(r.analysis, left, 4);
    end(&r);
    return count;
}

/* #35 acknowledges #33, and #36 is the DREQ. Without it, what is sent once at the end of a flow may be where
 * the capture's view of it ends. */
Test(analysis, ROCE_CM_16_who_closes_need_not_answer)
{
    struct explain_finding left[4] = {{0}};
    cr_assert_eq(left_of_cm_disc(35, 35, -(int64_t)(48 * NS_PER_MS), left), 1);
    cr_expect_eq(left[0].kind, EXPLAIN_FIND_MISSING_ACK);
    cr_expect_eq(left[0].number, 33);
    cr_expect_eq(left[0].why.cause, EXPLAIN_CAUSE_PEER_GONE);
    cr_expect_not_null(strstr(left[0].words, "DREQ #36"));
    cr_expect_eq(left_of_cm_disc(35, 36, 0, left), 0);
    cr_assert_eq(left_of_cm_disc(35, 35, 0, left), 1);
    cr_expect_eq(left[0].number, 33);
    cr_expect_eq(left[0].why.cause, EXPLAIN_CAUSE_UNKNOWN, "nobody was closing 57 ms earlier");
    cr_expect_null(strstr(left[0].words, "DREQ"), "%s", left[0].words);
}
