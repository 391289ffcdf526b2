/* SPDX-License-Identifier: BSD-2-Clause */
/* What breaks a rule of the standard is named by its requirement: packets of real peers with a byte
 * changed, and everything that guards it (ICRC, checksums) made good again. The captures as they are
 * break nothing. And each kind of finding: what shows it, and what does not. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/analysis.h"
#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "test/explain/pcap.h"
#include "test/explain/skew.h"

#define UDP_CHECKSUM_AT 40
#define AS_IT_IS        0
#define LAST_BYTE       0x10000 /* an offset from the end of what the ICRC covers */

struct change {
    const char *capture;
    uint64_t number; /* of the packet that is changed */
    uint32_t at;     /* the byte, from the frame's start; AS_IT_IS: nothing is changed */
    uint8_t value;
    const char *rule; /* that is then broken */
};

static void mend_ip(uint8_t *frame)
{
    uint32_t sum = 0;
    put_be16(frame + 24, 0);
    for (unsigned i = 14; i < 34; i += 2)
        sum += get_be16(frame + i);
    sum = (sum & 0xffff) + (sum >> 16);
    put_be16(frame + 24, (uint16_t) ~((sum & 0xffff) + (sum >> 16)));
}

static void apply(const struct change *change, uint8_t *frame, uint32_t len)
{
    struct roce_pkt pkt;
    const unsigned flags = ROCE_PARSE_ALLOW_NO_DF | ROCE_PARSE_SKIP_ICRC;
    if (change->at == LAST_BYTE)
        frame[len - ROCE_ICRC_BYTES - 1] = change->value;
    else if (change->at != UDP_CHECKSUM_AT)
        frame[change->at] = change->value;
    mend_ip(frame);
    roce_pkt_parse(&pkt, frame, len, flags);
    put_le32(frame + len - ROCE_ICRC_BYTES, pkt.icrc_expected);
    if (change->at == UDP_CHECKSUM_AT) /* outside the ICRC, and over it */
        put_be16(frame + UDP_CHECKSUM_AT, net_checksum_udp(frame + 14, frame + 34, get_be16(frame + 38)));
}

struct outcome {
    unsigned kinds[EXPLAIN_FINDING_COUNT];
    bool is_named; /* the rule that was looked for */
    char others[320];
};

static void note(struct outcome *o, const struct explain_finding *f, const char *rule)
{
    o->kinds[f->kind]++;
    if (f->kind != EXPLAIN_FIND_VIOLATION)
        return;
    if (rule && strcmp(f->rule, rule) == 0)
        o->is_named = true;
    snprintf(o->others, sizeof o->others, "#%u %s: %s", (unsigned)f->number, f->rule, f->words);
}

/* Explains the capture with the change; `cut`: the changed packet is cut to so many bytes (0: not). */
static struct outcome run(const struct change *change, uint32_t cut)
{
    struct outcome o = {0};
    struct net_capture_record record;
    struct nornic_error why;
    struct explain_finding last[8];
    struct explain_analysis *analysis =
        explain_analysis_create(&(struct explain_analysis_config){.strict = true});
    struct net_capture *capture = pcap_open(change->capture);
    for (uint64_t number = 1; net_capture_next(capture, &record, &why) == 1; number++) {
        struct explain_packet packet;
        struct explain_meaning meaning;
        uint8_t *frame = malloc(record.len_bytes);
        memcpy(frame, record.data, record.len_bytes);
        record.data = frame;
        if (number == change->number && change->at)
            apply(change, frame, record.len_bytes);
        if (number == change->number && cut)
            record.len_bytes = cut;
        explain_dissect(&packet, &record, number);
        explain_analysis_next(analysis, &packet, &meaning);
        for (unsigned i = 0; i < meaning.remark_count; i++)
            note(&o, &meaning.remarks[i], change->rule);
        free(frame);
    }
    for (unsigned n; (n = explain_analysis_end(analysis, last, 8)) > 0;)
        for (unsigned i = 0; i < n; i++)
            note(&o, &last[i], change->rule);
    net_capture_close(capture);
    explain_analysis_destroy(analysis);
    return o;
}

Test(strict, captures_of_linux_break_no_rule)
{
    glob_t files;
    cr_assert_eq(glob("pcaps/*.pcap", 0, NULL, &files), 0);
    cr_assert_gt(files.gl_pathc, 30);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char name[100];
        snprintf(name, sizeof name, "%s", files.gl_pathv[i] + strlen("pcaps/"));
        *strstr(name, ".pcap") = '\0';
        struct outcome o = run(&(struct change){.capture = name}, 0);
        cr_expect_eq(o.kinds[EXPLAIN_FIND_VIOLATION], 0, "%s: %s", name, o.others);
    }
    globfree(&files);
}

/* Offsets in an IPv4 frame: IP 14, UDP 34, BTH 42, what follows it 54. */
static const struct change changes[] = {
    {"rc_write_1024", 1, 20, 0x00, "ROCE-FRM-16"},           /* DF */
    {"rc_write_1024", 1, 22, 0, "ROCE-FRM-18"},              /* TTL */
    {"rc_write_1024", 1, UDP_CHECKSUM_AT, 0, "ROCE-FRM-43"}, /* a UDP checksum */
    {"rc_write_1024", 3, 35, 0x01, "ROCE-FRM-44"},           /* the UDP source port */
    {"rc_write_1024", 1, 42, 0x1f, "ROCE-OPC-2"},            /* a reserved opcode */
    {"rc_write_1024", 1, 43, 0x80, "ROCE-RC-11"},            /* SE of a WRITE */
    {"rc_write_1024", 29, 43, 0x10, "ROCE-HDR-3"},           /* padding of a FIRST */
    {"rc_write_1024", 3, LAST_BYTE, 9, "ROCE-HDR-3"},        /* pad bytes */
    {"rc_write_1024", 1, 43, 0x01, "ROCE-HDR-1"},            /* TVer */
    {"rc_write_1024", 1, 49, 0x00, "ROCE-RX-11"},            /* DestQP */
    {"rc_write_1024", 1, 46, 0x40, "ROCE-HDR-6"},            /* B */
    {"rc_write_1024", 1, 46, 0x01, "ROCE-GEN-5"},            /* reserved bits */
    {"rc_write_1024", 1, 50, 0x81, "ROCE-GEN-5"},
    {"rc_write_1024", 29, 42, 0x07, "ROCE-RS-2"},  /* MIDDLE where the FIRST was */
    {"rc_write_1024", 30, 42, 0x01, "ROCE-RS-2"},  /* a WRITE goes on as a SEND */
    {"rc_write_1024", 1, 66, 0x90, "ROCE-OPC-4"},  /* DMALen of more than 2^31 */
    {"rc_write_1024", 29, 69, 0x77, "ROCE-OPC-4"}, /* DMALen of another message */
    {"rc_write_1024", 2, 54, 0x9f, "ROCE-HDR-20"}, /* a reserved syndrome */
    {"rc_write_1024", 4, 57, 99, "ROCE-RS-50"},    /* MSN */
    {"rc_write_1024", 1, 42, 0x81, "ROCE-HDR-12"}, /* a CNP with a PSN and data */
    {"lossy_ackloss", 32, 42, 0x04, "ROCE-RC-6"},  /* a FIRST is sent again as an ONLY */
    {"rc_read_256", 58, 42, 0x0d, "ROCE-OPC-3"},   /* FIRST for ONLY */
    {"rc_atomic", 1, 61, 0x04, "ROCE-RS-46"},      /* the address of an atomic */
    {"rc_atomic", 1, 81, 1, "ROCE-HDR-11"},        /* FETCH_ADD compares */
    {"uc", 1, 50, 0x80, "ROCE-UC-1"},              /* AckReq of UC */
    {"ud_4", 1, 58, 1, "ROCE-GEN-5"},              /* reserved byte of the DETH */
    {"cm_disc", 1, 81, 1, "ROCE-GEN-5"},           /* of the MAD */
};

/* covers: ROCE-FRM-16, ROCE-FRM-18, ROCE-FRM-43, ROCE-FRM-44, ROCE-OPC-2, ROCE-OPC-3, ROCE-OPC-4 */
/* covers: ROCE-RC-11, ROCE-HDR-3, ROCE-HDR-11, ROCE-HDR-12, ROCE-HDR-20, ROCE-GEN-5, ROCE-RS-2 */
/* covers: ROCE-RS-46, ROCE-RS-50, ROCE-UC-1, ROCE-HDR-1, ROCE-RX-11, ROCE-RC-6 */
Test(strict, each_rule_is_named_when_it_is_broken)
{
    for (unsigned i = 0; i < array_len(changes); i++) {
        struct outcome o = run(&changes[i], 0);
        cr_expect(o.is_named, "%s #%u byte %u: %s is not named; %s", changes[i].capture,
                  (unsigned)changes[i].number, changes[i].at, changes[i].rule, o.others);
    }
}

/* The packet goes on where the QP was: it changed its port, which is told once, and not again of the way
 * back. A packet that does not may be anybody's, as the sending QP is not in it (ROCE-RX-19). */
Test(strict, ROCE_FRM_44_another_port_is_held_against_the_qp_that_surely_sent_it)
{
    struct outcome own = run(&(struct change){"rc_write_1024", 3, 35, 0x01, "ROCE-FRM-44"}, 0);
    cr_expect_eq(own.kinds[EXPLAIN_FIND_VIOLATION], 1, "%s", own.others);
    cr_expect(own.is_named);
    struct outcome foreign = run(&(struct change){"lossy_ackloss", 32, 35, 0x01, "ROCE-FRM-44"}, 0);
    cr_expect_eq(foreign.kinds[EXPLAIN_FIND_VIOLATION], 0, "%s", foreign.others);
}

/* Every kind of finding: shown by the first, not by rc_long. Where no capture of a real peer shows it, a
 * packet of one is changed or cut. */
static const struct kind_shown {
    enum explain_finding_kind kind;
    struct change by;
    uint32_t cut;
} kinds_shown[] = {
    {EXPLAIN_FIND_PSN_GAP, {.capture = "lossy_loss"}, 0},
    {EXPLAIN_FIND_RETRANSMISSION, {.capture = "lossy_loss"}, 0},
    {EXPLAIN_FIND_DUPLICATE, {.capture = "lossy_duplicate"}, 0},
    {EXPLAIN_FIND_REORDERED, {.capture = "lossy_all"}, 0},
    {EXPLAIN_FIND_NAK_SEQUENCE, {.capture = "lossy_loss"}, 0},
    {EXPLAIN_FIND_SELECTIVE_ACK, {.capture = "nornic_sack"}, 0},
    {EXPLAIN_FIND_PROBE, {.capture = "nornic_sack"}, 0},
    {EXPLAIN_FIND_NAK_FATAL, {.capture = "rc_nak"}, 0},
    {EXPLAIN_FIND_RNR, {.capture = "rc_rnr"}, 0},
    {EXPLAIN_FIND_TIMEOUT, {.capture = "lossy_ackloss"}, 0},
    {EXPLAIN_FIND_READ_REPLAY, {.capture = "lossy_ackloss"}, 0},
    {EXPLAIN_FIND_MISSING_ACK, {.capture = "rc_nak"}, 0},
    {EXPLAIN_FIND_GHOST_ACK, {"rc_write_1024", 2, 53, 0x50, NULL}, 0},   /* the PSN of an ACK */
    {EXPLAIN_FIND_CAPTURE_GAP, {"rc_write_1024", 3, 49, 0x33, NULL}, 0}, /* a request to another QP */
    {EXPLAIN_FIND_ICRC, {.capture = "rc_write_1024"}, 0},                /* bad_icrc_findings() */
    {EXPLAIN_FIND_MALFORMED, {"rc_write_1024", 1, 39, 20, NULL}, 0},     /* the UDP length */
    {EXPLAIN_FIND_VIOLATION, {"rc_write_1024", 1, 46, 0x01, NULL}, 0},
    {EXPLAIN_FIND_ECN_MARK, {"rc_write_1024", 1, 15, 0x03, NULL}, 0}, /* the ECN bits */
    {EXPLAIN_FIND_CNP, {"rc_write_1024", 1, 42, 0x81, NULL}, 0},      /* the opcode */
    {EXPLAIN_FIND_PAUSE, {.capture = "links/pause_dcbx"}, 0},
    {EXPLAIN_FIND_PAUSED, {.capture = "links/pause_dcbx"}, 0},
    {EXPLAIN_FIND_DCBX, {.capture = "links/pause_dcbx"}, 0},
    {EXPLAIN_FIND_CM_REJECT, {.capture = "cm_reject"}, 0},
    {EXPLAIN_FIND_CM_RETRY, {.capture = "cm_lossy"}, 0},
    {EXPLAIN_FIND_CAPTURED_TWICE, {.capture = "rc_write_1024"}, 0},
    {EXPLAIN_FIND_CLOCKS, {.capture = "rc_send_1024"}, 0}, /* skew_explain() */
    {EXPLAIN_FIND_CUT, {"rc_write_1024", 1, AS_IT_IS, 0, NULL}, 60},
};

/* A packet with a bad ICRC in its last byte. */
static unsigned bad_icrc_findings(void)
{
    struct net_capture_record record;
    struct nornic_error why;
    struct explain_packet packet;
    struct explain_meaning meaning;
    struct explain_analysis *analysis = explain_analysis_create(&(struct explain_analysis_config){0});
    uint8_t frame[200];
    struct net_capture *capture = pcap_open("rc_write_1024");
    cr_assert_eq(net_capture_next(capture, &record, &why), 1);
    memcpy(frame, record.data, record.len_bytes);
    frame[record.len_bytes - 1] ^= 1;
    record.data = frame;
    explain_dissect(&packet, &record, 1);
    explain_analysis_next(analysis, &packet, &meaning);
    net_capture_close(capture);
    explain_analysis_destroy(analysis);
    return meaning.remark_count == 1 && meaning.remarks[0].kind == EXPLAIN_FIND_ICRC;
}

/* The same place sees each packet twice. */
static unsigned captured_twice_findings(void)
{
    struct net_capture_record record;
    struct nornic_error why;
    struct explain_packet packet;
    struct explain_meaning meaning;
    struct explain_analysis *analysis = explain_analysis_create(&(struct explain_analysis_config){0});
    unsigned count = 0;
    struct net_capture *capture = pcap_open("rc_write_1024");
    for (uint64_t number = 1; net_capture_next(capture, &record, &why) == 1; number += 2)
        for (unsigned i = 0; i < 2; i++) {
            explain_dissect(&packet, &record, number + i);
            explain_analysis_next(analysis, &packet, &meaning);
            for (unsigned k = 0; k < meaning.remark_count; k++)
                count += meaning.remarks[k].kind == EXPLAIN_FIND_CAPTURED_TWICE;
        }
    net_capture_close(capture);
    explain_analysis_destroy(analysis);
    return count;
}

Test(findings, each_kind_is_shown_by_one_capture_and_not_by_another)
{
    bool shown[EXPLAIN_FINDING_COUNT] = {false};
    struct outcome none = run(&(struct change){.capture = "rc_long"}, 0);
    for (unsigned i = 0; i < array_len(kinds_shown); i++) {
        enum explain_finding_kind kind = kinds_shown[i].kind;
        unsigned n = kind == EXPLAIN_FIND_ICRC             ? bad_icrc_findings()
                     : kind == EXPLAIN_FIND_CAPTURED_TWICE ? captured_twice_findings()
                     : kind == EXPLAIN_FIND_CLOCKS
                         ? skew_explain("rc_send_1024", 5 * NS_PER_MS).findings[EXPLAIN_FIND_CLOCKS]
                         : run(&kinds_shown[i].by, kinds_shown[i].cut).kinds[kind];
        cr_expect_gt(n, 0, "%s in %s", explain_finding_key(kind), kinds_shown[i].by.capture);
        cr_expect_eq(none.kinds[kind], 0, "%s in rc_long", explain_finding_key(kind));
        shown[kind] = true;
    }
    /* the others: test/explain/smc/test_flow.c, test/explain/iwarp/test_iwarp.c */
    for (unsigned kind = 0; kind < EXPLAIN_FIND_SMC_DECLINE; kind++)
        cr_expect(shown[kind], "nothing shows %s", explain_finding_key((enum explain_finding_kind)kind));
}
