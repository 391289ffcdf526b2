/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/sniff/count.h"
#include "cli/sniff/files.h"
#include "cli/sniff/live.h"
#include "cli/sniff/smc.h"
#include "net/bytes.h"
#include "net/wire/ether.h"

#define FRAME_BYTES 200

/* A TCP segment over IPv4 or IPv6, tagged or not, with these options and this payload. Returns its length. */
static size_t make_tcp(uint8_t *frame, bool v6, bool tagged, uint8_t flags, const char *options,
                       size_t options_bytes, const char *payload, size_t payload_bytes)
{
    uint8_t *p = frame + 12;
    size_t tcp_bytes = 20 + options_bytes, l4_bytes = tcp_bytes + payload_bytes;
    memset(frame, 0, FRAME_BYTES);
    if (tagged)
        p = put_be16(put_be16(p, 0x8100), 5);
    p = put_be16(p, v6 ? 0x86dd : 0x0800);
    if (v6) {
        p[0] = 0x60;
        put_be16(p + 4, (uint16_t)l4_bytes);
        p[6] = 6;
        p += 40;
    } else {
        p[0] = 0x45;
        put_be16(p + 2, (uint16_t)(20 + l4_bytes));
        p[9] = 6;
        p += 20;
    }
    p[12] = (uint8_t)(tcp_bytes / 4 << 4);
    p[13] = flags;
    memcpy(p + 20, options, options_bytes);
    memcpy(p + tcp_bytes, payload, payload_bytes);
    return (size_t)(p - frame) + l4_bytes;
}

static const struct {
    const char *options;
    size_t options_bytes;
    const char *payload;
    size_t payload_bytes;
    uint8_t flags;
    bool is_smc;
} segments[] = {
    {"\xfe\6\xe2\xd4\xc3\xd9\0\0", 8, "", 0, 0x02, true},
    {"\2\4\5\xb4\1\1\xfe\6\xe2\xd4\xc3\xd9", 12, "", 0, 0x12, true},
    {"\1\1\0\0\xfe\6\xe2\xd4\xc3\xd9\0\0", 12, "", 0, 0x02, false}, /* behind the end of the options */
    {"\xfe\6\xe2\xd4\xc3\xc4\0\0", 8, "", 0, 0x02, false},          /* SMC-D */
    {"\xfe\4\xe2\xd4\xc3\xd9\0\0", 8, "", 0, 0x02, false},          /* its length ends before the name */
    {"\1\1\xfe\6\xe2\xd4\xc3\xd9", 8, "", 0, 0x02, true},
    {"\1\1\1\xfe\6\xe2\xd4\xc3", 8, "\xd9", 1, 0x02, false}, /* longer than the options are */
    {"\2\0\0\0", 4, "", 0, 0x02, false},
    {"\xfe\6\xe2\xd4\xc3\xd9\0\0", 8, "", 0, 0x10, false}, /* no SYN */
    {"", 0, "\xe2\xd4\xc3\xd9\1", 5, 0x18, true},
    {"\1\1\1\1", 4, "\xe2\xd4\xc3\xd9", 4, 0x10, true},
    {"", 0, "\xe2\xd4\xc3", 3, 0x18, false},
    {"", 0, "x\xe2\xd4\xc3\xd9", 5, 0x18, false},
};

Test(sniff, the_handshake_of_smc_r_among_tcp_segments)
{
    uint8_t frame[FRAME_BYTES];
    for (size_t i = 0; i < array_len(segments); i++)
        for (unsigned form = 0; form < 4; form++) {
            size_t n = make_tcp(frame, form & 1, form & 2, segments[i].flags, segments[i].options,
                                segments[i].options_bytes, segments[i].payload, segments[i].payload_bytes);
            cr_expect_eq(sniff_is_smc_handshake(frame, n), segments[i].is_smc, "segment %zu, form %u", i,
                         form);
        }
}

Test(sniff, a_cut_segment_is_not_read_beyond_its_end)
{
    uint8_t frame[FRAME_BYTES];
    size_t n = make_tcp(frame, false, false, 0x02, "\1\1\xfe\6\xe2\xd4\xc3\xd9", 8, "", 0);
    for (size_t len = 0; len <= n; len++) {
        uint8_t *exact = malloc(len ? len : 1); /* so that the sanitizer sees a byte too many */
        memcpy(exact, frame, len);
        cr_expect_eq(sniff_is_smc_handshake(exact, len), len == n, "%zu bytes", len);
        free(exact);
    }
}

/* What the kernel would pass on of the same segments: all that count, and no TCP without either. */
Test(sniff, the_kernels_filter_lets_every_handshake_through)
{
    pcap_t *pcap = pcap_open_dead(DLT_EN10MB, SNIFF_SNAP_BYTES);
    struct bpf_program program;
    cr_assert_eq(pcap_compile(pcap, &program, sniff_live_filter, 1, PCAP_NETMASK_UNKNOWN), 0);
    uint8_t frame[FRAME_BYTES];
    for (size_t i = 0; i < array_len(segments); i++)
        for (unsigned v6 = 0; v6 < 2; v6++) {
            size_t n = make_tcp(frame, v6, false, segments[i].flags, segments[i].options,
                                segments[i].options_bytes, segments[i].payload, segments[i].payload_bytes);
            struct pcap_pkthdr header = {.caplen = (bpf_u_int32)n, .len = (bpf_u_int32)n};
            bool may_pass = segments[i].is_smc || (segments[i].flags & 2 && segments[i].options_bytes);
            cr_expect_eq(pcap_offline_filter(&program, &header, frame) != 0, may_pass, "segment %zu", i);
        }
    pcap_freecode(&program);
    pcap_close(pcap);
}

static void count_file(struct sniff_count *count, const char *path)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    struct explain_analysis *analysis = explain_analysis_create(&(struct explain_analysis_config){0});
    *count = (struct sniff_count){0};
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    while (net_capture_next(capture, &record, &why) > 0) {
        struct explain_packet packet;
        struct explain_meaning meaning;
        explain_dissect(&packet, &record, count->packets + 1);
        explain_analysis_next(analysis, &packet, &meaning);
        if (packet.kind != EXPLAIN_OTHER)
            sniff_count_add(count, &packet, &meaning);
    }
    net_capture_close(capture);
    explain_analysis_destroy(analysis);
}

/* The numbers are those of pcaps/MANIFEST.md. */
Test(sniff, kinds_are_those_of_the_manifest)
{
    struct sniff_count c;
    count_file(&c, "pcaps/rc_mix.pcap");
    cr_expect_eq(c.packets, 91);
    cr_expect_eq(c.kinds[SNIFF_ACK], 23);
    cr_expect_eq(c.kinds[SNIFF_ATOMIC_ACK], 4);
    cr_expect_eq(c.kinds[SNIFF_ATOMIC], 4);
    cr_expect_eq(c.kinds[SNIFF_READ], 4);
    cr_expect_eq(c.kinds[SNIFF_READ_RESPONSE], 14);
    cr_expect_eq(c.kinds[SNIFF_SEND], 33);
    cr_expect_eq(c.kinds[SNIFF_WRITE], 9);
    cr_expect_eq(c.resent, 0);
    count_file(&c, "pcaps/cm_udaddy.pcap");
    cr_expect_eq(c.kinds[SNIFF_CM] + c.kinds[SNIFF_DATAGRAM], 16);
    cr_expect_eq(c.kinds[SNIFF_DATAGRAM], 12);
    count_file(&c, "pcaps/rc_rnr.pcap");
    cr_expect_eq(c.kinds[SNIFF_RNR_NAK], 10); /* as tshark decodes the syndromes */
    cr_expect_eq(c.kinds[SNIFF_ACK], 3);
    cr_expect_eq(c.kinds[SNIFF_NAK], 3);
    cr_expect_gt(c.resent, 0);
    count_file(&c, "pcaps/rc_nak.pcap");
    cr_expect_eq(c.kinds[SNIFF_NAK] + c.kinds[SNIFF_ACK], 6);
    cr_expect_gt(c.kinds[SNIFF_NAK], 0);
}

/* Counts a capture in which each packet comes `times` times, `gap_ns` behind the one before it. */
static struct sniff_count count_at_speed(const char *path, unsigned times, uint64_t gap_ns)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    struct sniff_count count = {0};
    struct explain_analysis *analysis =
        explain_analysis_create(&(struct explain_analysis_config){.copies = EXPLAIN_COPIES_NONE});
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    for (uint64_t number = 0; net_capture_next(capture, &record, &why) > 0;)
        for (unsigned i = 0; i < times; i++) {
            struct explain_packet packet;
            struct explain_meaning meaning;
            record.time_ns = NS_PER_S + number++ * gap_ns;
            explain_dissect(&packet, &record, number);
            explain_analysis_next(analysis, &packet, &meaning);
            if (packet.kind != EXPLAIN_OTHER)
                sniff_count_add(&count, &packet, &meaning);
        }
    net_capture_close(capture);
    explain_analysis_destroy(analysis);
    return count;
}

Test(sniff, equal_packets_count_alike_at_any_speed)
{
    static const char *const paths[] = {"pcaps/rc_mix.pcap",
                                        "pcaps/rc_ipv6_send_1024.pcap",
                                        "pcaps/rc_ipv6_read_1024.pcap",
                                        "pcaps/cm_udaddy.pcap",
                                        "pcaps/rc_nak.pcap",
                                        "pcaps/rc_rnr.pcap",
                                        "pcaps/lossy_all.pcap",
                                        "pcaps/uc.pcap"};
    static const uint64_t gaps_ns[] = {100,       NS_PER_US,      100 * NS_PER_US,
                                       NS_PER_MS, 20 * NS_PER_MS, 300 * NS_PER_MS};
    for (size_t i = 0; i < array_len(paths); i++) {
        struct sniff_count once = count_at_speed(paths[i], 1, 1), first = count_at_speed(paths[i], 2, 1);
        for (unsigned k = 0; k < SNIFF_KIND_COUNT; k++)
            cr_expect_eq(first.kinds[k], 2 * once.kinds[k], "%s, kind %u", paths[i], k);
        for (size_t g = 0; g < array_len(gaps_ns); g++) {
            struct sniff_count c = count_at_speed(paths[i], 2, gaps_ns[g]);
            cr_expect_eq(memcmp(c.kinds, first.kinds, sizeof c.kinds), 0, "%s, %lu ns", paths[i], gaps_ns[g]);
            cr_expect_eq(memcmp(&c.sound, &first.sound, sizeof c.sound), 0, "%s, %lu ns", paths[i],
                         gaps_ns[g]);
            /* where packets are missing, times tell whether one that comes late was overtaken */
            bool is_told_by_time = strstr(paths[i], "lossy");
            cr_expect(is_told_by_time || c.resent == first.resent, "%s, %lu ns: %lu, not %lu", paths[i],
                      gaps_ns[g], c.resent, first.resent);
        }
    }
}

/* Counts one damaged packet `times` times: with a VLAN tag and without, in turn. */
static struct sniff_count count_damaged(unsigned times, uint64_t gap_ns)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    struct sniff_count count = {0};
    uint8_t frame[2048], tagged[2048];
    struct explain_analysis *analysis =
        explain_analysis_create(&(struct explain_analysis_config){.copies = EXPLAIN_COPIES_NONE});
    cr_assert_eq(net_capture_open("pcaps/rc_send_1024.pcap", &capture, &why), 0, "%s", why.text);
    cr_assert_gt(net_capture_next(capture, &record, &why), 0);
    uint32_t len_bytes = record.len_bytes;
    cr_assert_leq(len_bytes + NET_VLAN_BYTES, sizeof tagged);
    memcpy(frame, record.data, len_bytes);
    frame[len_bytes - 1] ^= 1;
    memcpy(tagged, frame, 12);
    put_be16(put_be16(tagged + 12, NET_ETHERTYPE_VLAN), 5);
    memcpy(tagged + 12 + NET_VLAN_BYTES, frame + 12, len_bytes - 12);
    for (unsigned i = 1; i <= times; i++) {
        struct explain_packet packet;
        struct explain_meaning meaning;
        record.data = i % 2 ? frame : tagged;
        record.len_bytes = record.wire_bytes = i % 2 ? len_bytes : len_bytes + NET_VLAN_BYTES;
        record.time_ns = NS_PER_S + i * gap_ns;
        explain_dissect(&packet, &record, i);
        explain_analysis_next(analysis, &packet, &meaning);
        sniff_count_add(&count, &packet, &meaning);
    }
    net_capture_close(capture);
    explain_analysis_destroy(analysis);
    return count;
}

Test(sniff, equal_damaged_packets_count_each)
{
    static const uint64_t gaps_ns[] = {0, NS_PER_US, 100 * NS_PER_US, 20 * NS_PER_MS, NS_PER_S};
    for (size_t g = 0; g < array_len(gaps_ns); g++) {
        struct sniff_count c = count_damaged(5, gaps_ns[g]);
        cr_expect_eq(c.kinds[SNIFF_BAD], 5, "%lu ns", gaps_ns[g]);
        cr_expect_eq(c.sound.icrc_bad, 5, "%lu ns: %lu", gaps_ns[g], c.sound.icrc_bad);
        cr_expect_eq(c.findings[EXPLAIN_FIND_ICRC], 5, "%lu ns: %lu", gaps_ns[g],
                     c.findings[EXPLAIN_FIND_ICRC]);
    }
}

/* ROCE-FRM-43, ROCE-ICRC-7: which of the counters a packet is in is decided by its bytes. */
Test(sniff, what_is_bad_is_in_the_counters_of_verify)
{
    static const struct {
        struct explain_packet packet;
        enum sniff_kind kind;
        struct explain_sound_count sound;
    } rows[] = {
        {{.verdict = ROCE_RX_DROP_ICRC}, SNIFF_BAD, {.roce = 1, .icrc_bad = 1}},
        {{.verdict = ROCE_RX_DROP_UDP}, SNIFF_BAD, {.roce = 1, .malformed = 1}},
        {{.verdict = ROCE_RX_DROP_UDP, .checksum.is_only_udp = true},
         SNIFF_BAD,
         {.roce = 1, .icrc_ok = 1, .checksum_bad = 1}},
        {{.verdict = ROCE_RX_DROP_UDP, .checksum.is_only_udp = true, .roce = {.icrc_found = 1}},
         SNIFF_BAD,
         {.roce = 1, .icrc_bad = 1}},
        {{.verdict = ROCE_RX_DROP_TVER}, SNIFF_OTHER, {.roce = 1, .icrc_ok = 1}},
        {{.verdict = ROCE_RX_DROP_IP, .len_bytes = 20, .wire_bytes = 90},
         SNIFF_CUT,
         {.roce = 1, .malformed = 1, .cut = 1}},
        {{.verdict = ROCE_RX_TAKEN, .cut.is_end = true, .roce = {.op = &roce_opcodes[4]}},
         SNIFF_SEND,
         {.roce = 1, .malformed = 1, .cut = 1}},
        {{.verdict = ROCE_RX_NOT_ROCE, .kind = EXPLAIN_SMC_TCP}, SNIFF_SMC, {.roce = 0}},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        struct sniff_count c = {0};
        struct explain_meaning meaning;
        explain_meaning_clear(&meaning);
        sniff_count_add(&c, &rows[i].packet, &meaning);
        cr_expect_eq(c.kinds[rows[i].kind], 1, "row %zu", i);
        cr_expect_eq(memcmp(&c.sound, &rows[i].sound, sizeof c.sound), 0, "row %zu", i);
    }
}

Test(sniff, a_selective_acknowledgement_is_no_nak)
{
    struct explain_packet packet = {.verdict = ROCE_RX_TAKEN,
                                    .kind = EXPLAIN_ROCE,
                                    .roce = {.op = &roce_opcodes[ROCE_OPCODE_SACK], .aeth.syndrome = 0x60}};
    cr_expect_eq(sniff_kind_of(&packet), SNIFF_SELECTIVE_ACK);
}

Test(sniff, the_line_fits_the_terminal)
{
    struct sniff_count c = {.packets = 12, .resent = 3, .kinds = {[SNIFF_SEND] = 7, [SNIFF_NAK] = 5}};
    char line[400];
    sniff_count_line(&c, line, sizeof line, 200);
    cr_expect_str_eq(line, "12 packets; resent 3, NAK 5, RNR 0, bad ICRC 0; SEND 7");
    sniff_count_line(&c, line, sizeof line, 20);
    cr_expect_str_eq(line, "12 packets; resent ");
}

Test(sniff, names_of_rotated_files)
{
    static const struct {
        const char *path, *name;
    } cases[] = {{"run.pcapng", "run-00012.pcapng"},
                 {"a.b/run", "a.b/run-00012"},
                 {".hidden", ".hidden-00012"},
                 {"d/.hidden", "d/.hidden-00012"},
                 {"d/x.y.pcapng", "d/x.y-00012.pcapng"}};
    char name[64];
    for (size_t i = 0; i < array_len(cases); i++) {
        struct sniff_files files = {.path = cases[i].path, .rotate_bytes = 1};
        cr_expect(sniff_files_name(&files, 12, name, sizeof name));
        cr_expect_str_eq(name, cases[i].name);
        cr_expect_not(sniff_files_name(&files, 12, name, strlen(cases[i].name)));
        files.rotate_bytes = 0;
        cr_expect(sniff_files_name(&files, 1, name, sizeof name));
        cr_expect_str_eq(name, cases[i].path);
    }
}
