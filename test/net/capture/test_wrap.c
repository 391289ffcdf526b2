/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/memory.h"
#include "net/wire/parse.h"
#include "net/pcap_file.h"
#include "test/net/frames.h"
#include "test/net/memfile.h"

#define MTU      1500
#define EPOCH_NS 1700000000000000000ull
#define SECOND   1000000000ull

/* `near` is captured into `file`, `far` is the other end of the cable. */
struct rig {
    struct memfile file;
    struct net_port *near, *far;
};

static struct rig rig_open(void)
{
    struct memfile file = memfile_create();
    struct net_port *ends[2], *near;
    cr_assert_eq(net_memory_pair(MTU, 64, ends), 0);
    cr_assert_eq(net_pcap_capture_wrap(ends[0], file.path, EPOCH_NS, &near, NULL), 0);
    return (struct rig){.file = file, .near = near, .far = ends[1]};
}

static void rig_close(struct rig *rig)
{
    if (rig->near)
        net_port_close(rig->near);
    net_port_close(rig->far);
    memfile_close(&rig->file);
}

static uint32_t len_of(uint32_t number)
{
    return 70 + number % 90;
}

static enum test_frame_kind kind_of(uint32_t number)
{
    return (enum test_frame_kind)(number % 3);
}

static void send_one(struct net_port *port, uint32_t number, uint64_t now_ns)
{
    struct net_frame f;
    cr_assert_eq(net_port_tx_reserve(port, &f, 1), 1);
    test_frame_build(f.data, len_of(number), kind_of(number), number);
    f.len_bytes = len_of(number);
    net_port_tx_flush(port, &f, 1, now_ns);
}

static void receive_one(struct net_port *port, uint32_t number, uint64_t now_ns)
{
    struct net_frame f;
    cr_assert_eq(net_port_rx_burst(port, &f, 1, now_ns), 1);
    cr_assert_eq(test_frame_number(f.data, f.len_bytes), number);
    net_port_rx_release(port, &f, 1);
}

/* Even frames leave the captured end, odd ones come to it; frame i at i * 1001 ns. */
static void exchange(struct rig *rig, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        send_one(i % 2 ? rig->far : rig->near, i, i * 1001ull);
        receive_one(i % 2 ? rig->near : rig->far, i, i * 1001ull);
    }
}

/* How many whole records the file has now; each is what was sent. */
static unsigned count_records(const char *path)
{
    struct net_capture *capture;
    struct net_capture_record r;
    struct nornic_error why;
    unsigned count = 0;
    int rc;
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    for (; (rc = net_capture_next(capture, &r, &why)) == 1; count++) {
        uint8_t expected[200];
        test_frame_build(expected, len_of(count), kind_of(count), count);
        cr_assert_eq(r.len_bytes, len_of(count));
        cr_assert_eq(r.wire_bytes, len_of(count));
        cr_assert_arr_eq(r.data, expected, r.len_bytes);
        cr_assert_eq(r.time_ns, EPOCH_NS + count * 1001ull, "record %u", count);
    }
    cr_assert_eq(rc, 0, "%s", why.text);
    net_capture_close(capture);
    return count;
}

Test(capture_wrap, what_crosses_the_port_is_read_back_the_same)
{
    struct rig rig = rig_open();
    exchange(&rig, 500);
    cr_assert_eq(rig.near->counters.tx_frames, 250);
    cr_assert_eq(rig.near->counters.rx_frames, 250);
    net_port_close(rig.near);
    rig.near = NULL;
    cr_assert_eq(count_records(rig.file.path), 500);
    rig_close(&rig);
}

static uint64_t clock_ns;

static uint64_t read_clock(void)
{
    return clock_ns;
}

/* A round is interrupted between its look at the clock and its look at the port. */
Test(capture_wrap, records_have_the_time_of_the_clock_not_of_the_round)
{
    struct rig rig = rig_open();
    net_pcap_capture_clock(rig.near, read_clock);
    for (uint32_t i = 0; i < 100; i++) {
        clock_ns = i * 1001ull;
        send_one(i % 2 ? rig.far : rig.near, i, 0);
        receive_one(i % 2 ? rig.near : rig.far, i, 0);
    }
    net_port_close(rig.near);
    rig.near = NULL;
    cr_assert_eq(count_records(rig.file.path), 100);
    rig_close(&rig);
}

/* What is on the wire are the packets, not the train. */
Test(capture_wrap, train_is_one_record_a_packet)
{
    struct rig rig = {.file = memfile_create()};
    struct net_port *ends[2];
    struct net_frame tx, rx;
    const struct net_memory_trains trains = {
        .mtu_bytes = MTU, .ring_frames = 64, .train_bytes = 30000, .train_pkts = 20};
    cr_assert_eq(net_memory_pair_trains(&trains, ends), 0);
    rig.far = ends[1];
    cr_assert_eq(net_pcap_capture_wrap(ends[0], rig.file.path, EPOCH_NS, &rig.near, NULL), 0);
    cr_assert_eq(rig.near->limits.train_tx_bytes, 30000);
    for (int inbound = 0; inbound < 2; inbound++) {
        struct net_port *from = inbound ? rig.far : rig.near, *to = inbound ? rig.near : rig.far;
        cr_assert_eq(net_port_tx_reserve_trains(from, &tx, 1, 30000), 1);
        cr_assert_eq(tx.train_pkts, 20);
        test_frame_build(tx.data, 142, TEST_FRAME_IPV4, 1);
        memset(tx.data + 142, 0x5a, 950);
        tx.len_bytes = 142 + 950;
        tx.seg_bytes = 100;
        net_port_tx_flush(from, &tx, 1, 0);
        cr_assert_eq(net_port_rx_burst(to, &rx, 1, 0), 1);
        cr_assert_eq(rx.data[142 + 949], 0x5a, "the records were made in place, and nothing shows it");
        net_port_rx_release(to, &rx, 1);
    }
    net_port_close(rig.near);
    rig.near = NULL;
    struct net_capture *capture;
    struct net_capture_record r;
    cr_assert_eq(net_capture_open(rig.file.path, &capture, NULL), 0);
    for (uint32_t i = 0; i < 22; i++) {
        struct net_parsed at;
        cr_assert_eq(net_capture_next(capture, &r, NULL), 1);
        cr_assert_eq(r.len_bytes, i % 11 == 10 ? 42 + 50 : 142);
        cr_assert_eq(net_parse(&at, r.data, r.len_bytes), NET_PARSE_UDP);
        cr_assert_eq(at.l3_offset + at.l3_bytes, r.len_bytes);
        cr_assert(net_checksum_ipv4_is_ok(r.data + at.l3_offset, 20));
        cr_assert_eq(get_be16(r.data + at.l3_offset + 4), i % 11);
    }
    cr_assert_eq(net_capture_next(capture, &r, NULL), 0);
    net_capture_close(capture);
    rig_close(&rig);
}

Test(capture_wrap, port_properties_are_those_below)
{
    struct memfile file = memfile_create();
    struct net_port *ends[2], *near;
    cr_assert_eq(net_memory_pair(MTU, 64, ends), 0);
    cr_assert_eq(net_pcap_capture_wrap(ends[0], file.path, 0, &near, NULL), 0);
    cr_assert_eq(net_port_fd(near), net_port_fd(ends[0]));
    cr_assert_eq(near->limits.mtu_bytes, MTU);
    cr_assert(nornic_mac_equal(&near->mac, &ends[0]->mac));
    cr_assert_str_eq(near->name, ends[0]->name);
    cr_assert_str_eq(near->mode, ends[0]->mode);
    cr_assert_eq(net_port_deadline_ns(near), NET_TIME_NONE);
    cr_assert_eq(net_pcap_capture_flush(near), 0);
    net_port_close(near);
    net_port_close(ends[1]);
    memfile_close(&file);
}

/* Larger than the writer's buffer, and every record is whole whenever one looks. */
Test(capture_wrap, file_is_readable_at_any_time)
{
    struct rig rig = rig_open();
    cr_assert_eq(count_records(rig.file.path), 0, "the file's head is there from the start");
    unsigned before = 0;
    for (uint32_t i = 0; i < 20000; i++) {
        send_one(rig.near, i, i * 1001ull);
        receive_one(rig.far, i, 0);
        if (i % 4000 == 3999) {
            unsigned now = count_records(rig.file.path);
            cr_assert(now >= before && now <= i + 1);
            before = now;
        }
    }
    cr_assert_gt(before, 0);
    net_port_close(rig.near);
    rig.near = NULL;
    cr_assert_eq(count_records(rig.file.path), 20000);
    rig_close(&rig);
}

Test(capture_wrap, records_reach_the_file_within_a_second)
{
    struct rig rig = rig_open();
    struct net_frame f;
    send_one(rig.near, 0, 0);
    cr_assert_eq(count_records(rig.file.path), 0);
    cr_assert_eq(net_port_deadline_ns(rig.near), SECOND);
    cr_assert_eq(net_port_rx_burst(rig.near, &f, 1, SECOND - 1), 0);
    cr_assert_eq(count_records(rig.file.path), 0);
    cr_assert_eq(net_port_rx_burst(rig.near, &f, 1, SECOND), 0);
    cr_assert_eq(count_records(rig.file.path), 1);
    cr_assert_eq(net_port_deadline_ns(rig.near), NET_TIME_NONE);
    rig_close(&rig);
}

Test(capture_wrap, file_that_cannot_be_made_is_named_and_the_port_below_closed)
{
    static const struct {
        const char *path;
        int errno_value;
    } cases[] = {{"/nonexistent/x.pcapng", ENOENT}, {"/proc", EISDIR}, {"/dev/full", ENOSPC}};
    for (size_t i = 0; i < array_len(cases); i++) {
        struct net_port *ends[2], *out;
        struct nornic_error why;
        cr_assert_eq(net_memory_pair(MTU, 64, ends), 0);
        cr_assert_eq(net_pcap_capture_wrap(ends[0], cases[i].path, 0, &out, &why), -cases[i].errno_value);
        cr_assert(strstr(why.text, cases[i].path), "%s", why.text);
        for (uint32_t k = 0; k < 200; k++) /* more than the ring holds: the other end is gone */
            send_one(ends[1], k, 0);
        net_port_close(ends[1]);
    }
}

/* The disk is full in the middle: the traffic goes on, the capture says so. */
Test(capture_wrap, write_error_stops_the_capture_and_not_the_traffic)
{
    struct rig rig = rig_open();
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {.rlim_cur = 4096, .rlim_max = 4096};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    exchange(&rig, 20000);
    cr_assert_eq(net_pcap_capture_flush(rig.near), -EFBIG);
    cr_assert_eq(net_port_deadline_ns(rig.near), NET_TIME_NONE, "nothing waits to be written any more");
    cr_assert_eq(rig.near->counters.tx_frames + rig.near->counters.rx_frames, 20000);
    rig_close(&rig);
}

/* tshark, or a skip. */
static FILE *tshark(const char *path, const char *options)
{
    if (system("command -v tshark >/dev/null 2>&1") != 0)
        cr_skip("tshark is not installed");
    char command[300];
    snprintf(command, sizeof command, "tshark -r %s %s 2>&1", path, options);
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    return pipe;
}

Test(capture_wrap, tshark_reads_times_interface_and_direction, .timeout = 60)
{
    struct rig rig = rig_open();
    exchange(&rig, 60);
    net_port_close(rig.near);
    rig.near = NULL;
    FILE *pipe = tshark(rig.file.path, "-d udp.port==4791,data -o udp.check_checksum:TRUE -T fields"
                                       " -e frame.time_epoch -e frame.len -e frame.interface_name"
                                       " -e frame.packet_flags_direction -e udp.checksum.status"
                                       " -e frame.file_off");
    char line[300];
    unsigned count = 0;
    while (fgets(line, sizeof line, pipe)) {
        if (strstr(line, "Running as user"))
            continue;
        uint64_t s, ns;
        unsigned len, checksum_status;
        char name[32], direction[32];
        cr_assert_eq(sscanf(line, "%" SCNu64 ".%9" SCNu64 " %u %31s %31s %u", &s, &ns, &len, name, direction,
                            &checksum_status),
                     6, "tshark says: %s", line);
        cr_assert_eq(s * SECOND + ns, EPOCH_NS + count * 1001ull);
        cr_assert_eq(len, len_of(count));
        cr_assert_str_eq(name, "memory:0");
        cr_assert_eq(strtoul(direction, NULL, 0), count % 2 ? 1 : 2, "frame %u: %s", count, direction);
        cr_assert_eq(checksum_status, 1, "frame %u: the UDP checksum is good", count);
        count++;
    }
    cr_assert_eq(pclose(pipe), 0);
    cr_assert_eq(count, 60);
    rig_close(&rig);
}

static void restore_id(uint8_t *frame, uint32_t len_bytes)
{
    cr_assert_geq(len_bytes, 20);
    put_be16(frame + 18, 0x1234);
}

/* What is judged does not depend on whether it is recorded. */
Test(capture_wrap, what_is_restored_stands_in_the_file_only)
{
    struct rig rig = rig_open();
    struct net_frame f;
    struct net_capture *capture;
    struct net_capture_record r;
    struct nornic_error why;
    uint8_t expected[200];
    net_pcap_capture_restore(rig.near, restore_id);
    send_one(rig.far, 1, 0);
    test_frame_build(expected, len_of(1), kind_of(1), 1);
    cr_assert_eq(net_port_rx_burst(rig.near, &f, 1, 0), 1);
    cr_expect_arr_eq(f.data, expected, len_of(1));
    net_port_rx_release(rig.near, &f, 1);
    cr_assert_eq(net_pcap_capture_flush(rig.near), 0);
    put_be16(expected + 18, 0x1234);
    cr_assert_eq(net_capture_open(rig.file.path, &capture, &why), 0, "%s", why.text);
    cr_assert_eq(net_capture_next(capture, &r, &why), 1);
    cr_expect_arr_eq(r.data, expected, len_of(1));
    net_capture_close(capture);
    rig_close(&rig);
}
