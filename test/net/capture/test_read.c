/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/pcap_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test/net/frames.h"
#include "test/net/memfile.h"

#define ETHERNET 1
#define WLAN     105
#define T0       1700000000123456789ull

/* An image of `n` numbered frames, a microsecond and a nanosecond apart. */
static struct pcap_image *numbered_image(int big_endian, int nano, unsigned n)
{
    static struct pcap_image image;
    pcap_image_init(&image, big_endian, nano, ETHERNET);
    for (unsigned i = 0; i < n; i++) {
        uint8_t frame[200];
        test_frame_build(frame, 100 + i % 100, TEST_FRAME_IPV4, i);
        pcap_image_add(&image, T0 + i * 1001, frame, 100 + i % 100, 100 + i % 100);
    }
    return &image;
}

/* Reads on until the end or a failure. Returns what the last read said. */
static int read_all(struct net_capture *capture, unsigned *count, struct nornic_error *why)
{
    struct net_capture_record record;
    int rc;
    for (*count = 0; (rc = net_capture_next(capture, &record, why)) == 1; ++*count)
        cr_assert_eq(test_frame_number(record.data, record.len_bytes), *count);
    return rc;
}

Test(capture_read, pcap_of_both_byte_orders_and_precisions)
{
    for (int variant = 0; variant < 4; variant++) {
        int nano = variant & 1;
        struct memfile file = memfile_create();
        struct pcap_image *image = numbered_image(variant >> 1, nano, 10);
        memfile_set(&file, image->bytes, image->len_bytes);
        struct net_capture *capture;
        struct net_capture_record r;
        cr_assert_eq(net_capture_open(file.path, &capture, NULL), 0);
        for (unsigned i = 0; i < 10; i++) {
            uint8_t frame[200];
            test_frame_build(frame, 100 + i, TEST_FRAME_IPV4, i);
            cr_assert_eq(net_capture_next(capture, &r, NULL), 1);
            cr_assert_eq(r.len_bytes, 100 + i);
            cr_assert_eq(r.wire_bytes, 100 + i);
            cr_assert_arr_eq(r.data, frame, 100 + i);
            uint64_t time_ns = T0 + i * 1001;
            cr_assert_eq(r.time_ns, nano ? time_ns : time_ns / 1000 * 1000);
        }
        cr_assert_eq(net_capture_next(capture, &r, NULL), 0);
        cr_assert_eq(net_capture_next(capture, &r, NULL), 0, "the end stays the end");
        net_capture_close(capture);
        memfile_close(&file);
    }
}

Test(capture_read, standard_input)
{
    struct memfile file = memfile_create();
    struct pcap_image *image = numbered_image(0, 1, 5);
    memfile_set(&file, image->bytes, image->len_bytes);
    lseek(file.fd, 0, SEEK_SET);
    cr_assert_eq(dup2(file.fd, STDIN_FILENO), STDIN_FILENO);
    struct net_capture *capture;
    unsigned count;
    cr_assert_eq(net_capture_open("-", &capture, NULL), 0);
    cr_assert_eq(read_all(capture, &count, NULL), 0);
    cr_assert_eq(count, 5);
    net_capture_close(capture);
    memfile_close(&file);
}

Test(capture_read, record_cut_by_a_snap_length_tells_its_length_on_the_wire)
{
    struct memfile file = memfile_create();
    static struct pcap_image image;
    uint8_t frame[200];
    test_frame_build(frame, 200, TEST_FRAME_IPV6, 0);
    pcap_image_init(&image, 0, 1, ETHERNET);
    pcap_image_add(&image, T0, frame, 66, 200);
    memfile_set(&file, image.bytes, image.len_bytes);
    struct net_capture *capture;
    struct net_capture_record r;
    cr_assert_eq(net_capture_open(file.path, &capture, NULL), 0);
    cr_assert_eq(net_capture_next(capture, &r, NULL), 1);
    cr_assert(r.len_bytes == 66 && r.wire_bytes == 200);
    net_capture_close(capture);
    memfile_close(&file);
}

/* A file of three records, cut at every length. */
Test(capture_read, cut_file_gives_the_whole_records_and_a_sentence_with_file_and_number)
{
    struct memfile file = memfile_create();
    struct pcap_image image = *numbered_image(0, 1, 3);
    const size_t ends[] = {24, 24 + 116, 24 + 116 + 117, 24 + 116 + 117 + 118};
    cr_assert_eq(image.len_bytes, ends[3]);
    for (size_t len = 0; len <= image.len_bytes; len++) {
        memfile_set(&file, image.bytes, len);
        struct net_capture *capture;
        struct nornic_error why = {""};
        int rc = net_capture_open(file.path, &capture, &why);
        if (len < ends[0]) {
            cr_assert_eq(rc, -EINVAL, "%zu bytes", len);
            cr_assert(strstr(why.text, file.path), "%s", why.text);
            continue;
        }
        cr_assert_eq(rc, 0, "%zu bytes: %s", len, why.text);
        unsigned whole = len >= ends[3] ? 3 : len >= ends[2] ? 2 : len >= ends[1] ? 1 : 0, count;
        rc = read_all(capture, &count, &why);
        cr_assert_eq(count, whole, "%zu bytes", len);
        cr_assert_eq(rc, len == ends[whole] ? 0 : -EIO, "%zu bytes", len);
        if (rc) {
            char expected[128];
            snprintf(expected, sizeof expected, "%s is cut off or broken at record %u ", file.path,
                     whole + 1);
            cr_assert(strstr(why.text, expected), "%s", why.text);
            struct nornic_error again;
            struct net_capture_record r;
            cr_assert_eq(net_capture_next(capture, &r, &again), -EIO, "a failure stays one");
            cr_assert_str_eq(again.text, why.text);
        }
        net_capture_close(capture);
    }
    memfile_close(&file);
}

/* Opening must fail with `errno_value` and a sentence that holds `word`. */
static void assert_open_fails(const char *path, int errno_value, const char *word)
{
    struct net_capture *capture;
    struct nornic_error why;
    struct net_port *port;
    cr_assert_eq(net_capture_open(path, &capture, &why), -errno_value, "%s", path);
    cr_assert(strstr(why.text, word), "%s", why.text);
    cr_assert_eq(net_pcap_replay_open(path, &port, &why), -errno_value, "%s", path);
    cr_assert(strstr(why.text, word), "%s", why.text);
}

Test(capture_read, what_is_no_capture_is_named)
{
    assert_open_fails("/nonexistent/x.pcap", ENOENT, "/nonexistent/x.pcap: No such file");
    assert_open_fails("/proc", EISDIR, "/proc is a directory");
    assert_open_fails("/proc/self/mem", EIO, "cannot read /proc/self/mem: Input/output error");
    struct memfile file = memfile_create();
    assert_open_fails(file.path, EINVAL, "give a pcap or pcapng file");
    memfile_set(&file, "This is a text and no capture file at all.", 42);
    assert_open_fails(file.path, EINVAL, "give a pcap or pcapng file");
    static struct pcap_image image;
    pcap_image_init(&image, 0, 0, WLAN);
    memfile_set(&file, image.bytes, image.len_bytes);
    assert_open_fails(file.path, EPROTONOSUPPORT, "IEEE802_11");
    memfile_close(&file);
}

Test(capture_replay, frames_of_the_file_are_received_in_order)
{
    struct memfile file = memfile_create();
    struct pcap_image *image = numbered_image(0, 1, 150);
    memfile_set(&file, image->bytes, image->len_bytes);
    struct net_port *port;
    cr_assert_eq(net_pcap_replay_open(file.path, &port, NULL), 0);
    struct pollfd p = {.fd = net_port_fd(port), .events = POLLIN};
    struct net_frame frames[NET_BURST];
    unsigned count = 0, n;
    cr_assert_eq(poll(&p, 1, 0), 1);
    while ((n = net_port_rx_burst(port, frames, NET_BURST, 0)) > 0) {
        cr_assert_eq(poll(&p, 1, 0), count + n == 150 ? 0 : 1);
        for (unsigned i = 0; i < n; i++, count++) {
            uint8_t expected[200];
            test_frame_build(expected, 100 + count % 100, TEST_FRAME_IPV4, count);
            cr_assert_eq(frames[i].len_bytes, 100 + count % 100);
            cr_assert_arr_eq(frames[i].data, expected, frames[i].len_bytes);
            cr_assert_eq(frames[i].time_ns, T0 + count * 1001);
        }
        net_port_rx_release(port, frames, n);
    }
    cr_assert_eq(count, 150);
    cr_assert_eq(port->counters.rx_frames, 150);
    cr_assert_eq(poll(&p, 1, 0), 0);
    cr_assert_null(net_pcap_replay_error(port));
    net_port_close(port);
    memfile_close(&file);
}

Test(capture_replay, cut_and_oversized_frames_are_left_out_and_counted)
{
    struct memfile file = memfile_create();
    static struct pcap_image image;
    static uint8_t frame[70000];
    test_frame_build(frame, 65553, TEST_FRAME_IPV4, 7);
    pcap_image_init(&image, 0, 1, ETHERNET);
    pcap_image_add(&image, T0, frame, 70, 100);
    pcap_image_add(&image, T0, frame, 65554, 65554);
    pcap_image_add(&image, T0, frame, 65553, 65553);
    memfile_set(&file, image.bytes, image.len_bytes);
    struct net_port *port;
    struct net_frame frames[NET_BURST];
    cr_assert_eq(net_pcap_replay_open(file.path, &port, NULL), 0);
    cr_assert_eq(net_port_rx_burst(port, frames, NET_BURST, 0), 1);
    cr_assert_eq(frames[0].len_bytes, 65553);
    cr_assert_arr_eq(frames[0].data, frame, 65553);
    cr_assert_eq(port->counters.rx_dropped, 1);
    cr_assert_eq(port->counters.rx_too_long, 1);
    net_port_rx_release(port, frames, 1);
    net_port_close(port);
    memfile_close(&file);
}

Test(capture_replay, broken_file_ends_with_a_reason)
{
    struct memfile file = memfile_create();
    struct pcap_image *image = numbered_image(0, 1, 3);
    memfile_set(&file, image->bytes, image->len_bytes - 1);
    struct net_port *port;
    struct net_frame frames[NET_BURST];
    cr_assert_eq(net_pcap_replay_open(file.path, &port, NULL), 0);
    cr_assert_eq(net_port_rx_burst(port, frames, NET_BURST, 0), 2);
    net_port_rx_release(port, frames, 2);
    cr_assert_eq(net_port_rx_burst(port, frames, NET_BURST, 0), 0);
    cr_assert(strstr(net_pcap_replay_error(port), "record 3"));
    net_port_close(port);
    memfile_close(&file);
}

Test(capture_replay, what_is_sent_is_swallowed)
{
    struct memfile file = memfile_create();
    struct pcap_image *image = numbered_image(0, 1, 1);
    memfile_set(&file, image->bytes, image->len_bytes);
    struct net_port *port;
    struct net_frame bufs[NET_BURST];
    cr_assert_eq(net_pcap_replay_open(file.path, &port, NULL), 0);
    for (int round = 0; round < 3; round++) {
        cr_assert_eq(net_port_tx_reserve(port, bufs, NET_BURST), NET_BURST);
        for (int i = 0; i < NET_BURST; i++) {
            cr_assert_geq(bufs[i].cap_bytes, port->limits.mtu_bytes + 18);
            memset(bufs[i].data, i, bufs[i].cap_bytes);
            bufs[i].len_bytes = 100;
        }
        net_port_tx_flush(port, bufs, 10, 0);
    }
    cr_assert_eq(port->counters.tx_frames, 30);
    cr_assert_eq(port->counters.tx_bytes, 3000);
    net_port_close(port);
    memfile_close(&file);
}
