/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes as a capture file: the reader gives records of sound lengths, then ends or says why it cannot go
 * on, and the replay port shows the same frames. */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/wire/parse.h"
#include "net/pcap_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(int holds)
{
    if (!holds)
        abort();
}

/* How many frames a replay may show. */
static uint64_t read_file(const char *path, int *rc)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    uint64_t whole = 0;
    if (net_capture_open(path, &capture, &why) != 0)
        return 0;
    while ((*rc = net_capture_next(capture, &record, &why)) == 1) {
        struct net_parsed at;
        net_parse(&at, record.data, record.len_bytes); /* reads to the last byte that there is */
        check(record.len_bytes <= record.wire_bytes);
        check(at.l3_offset + at.l3_bytes <= record.len_bytes);
        whole += record.len_bytes == record.wire_bytes && record.link == NET_LINK_ETHERNET;
    }
    check(net_capture_next(capture, &record, &why) == *rc);
    net_capture_close(capture);
    return whole;
}

static void replay_file(const char *path, uint64_t whole, int rc)
{
    struct net_port *port;
    struct net_frame frames[NET_BURST];
    unsigned n;
    if (net_pcap_replay_open(path, &port, NULL) != 0)
        return;
    while ((n = net_port_rx_burst(port, frames, NET_BURST, 0)) > 0)
        net_port_rx_release(port, frames, n);
    check(port->counters.rx_frames + port->counters.rx_too_long == whole);
    check((net_pcap_replay_error(port) != NULL) == (rc < 0));
    net_port_close(port);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
    static int fd = -1;
    static char path[32];
    if (fd < 0) {
        fd = memfd_create("capture", MFD_CLOEXEC);
        snprintf(path, sizeof path, "/dev/fd/%d", fd);
    }
    check(fd >= 0 && ftruncate(fd, 0) == 0 && pwrite(fd, data, len_bytes, 0) == (ssize_t)len_bytes);
    int rc = 0;
    uint64_t whole = read_file(path, &rc);
    replay_file(path, whole, rc);
    return 0;
}
