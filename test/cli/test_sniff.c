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
