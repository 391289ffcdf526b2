/* SPDX-License-Identifier: BSD-2-Clause */
/* Live capture of RDMA traffic through libpcap. */
#ifndef NORNIC_CLI_SNIFF_LIVE_H
#define NORNIC_CLI_SNIFF_LIVE_H

#include <stdbool.h>

#include "net/error.h"
#include "net/pcap_file.h"

/* Longer frames are cut. The longest RoCE packet has 4096 bytes of data and less than 200 of headers; a
 * larger number would cost room for packets in the kernel's buffer. */
#define SNIFF_SNAP_BYTES 4608
/* Of TCP all is kept: on its own host a segment has up to 64 KiB, which the NIC cuts. */
#define SNIFF_SNAP_TCP_BYTES 65700

struct sniff_live;

/* Begins to capture, in both directions, what `filter` (in libpcap's language; NULL: all) lets through, each
 * frame up to `snap_bytes`. 0 or -errno with a sentence in `why`: no such interface, it is down, no
 * privilege, not Ethernet. */
int sniff_live_open(const char *ifname, bool promiscuous, const char *filter, unsigned snap_bytes,
                    struct sniff_live **out, struct nornic_error *why);

/* RDMA, and what may be a handshake of SMC-R. */
extern const char sniff_live_filter[];
/* RDMA and all of TCP, in which iWARP may be: nothing in a segment alone tells. */
extern const char sniff_live_tcp_filter[];

/* To poll for input. */
int sniff_live_fd(const struct sniff_live *live);

/* Takes the next packet that is there; `record` is valid until the next call. 1: one; 0: none now; -EIO with
 * a sentence: the interface went away. */
int sniff_live_next(struct sniff_live *live, struct net_capture_record *record, struct nornic_error *why);

/* Packets that passed the filter and were lost because this program was too slow. */
uint64_t sniff_live_dropped(struct sniff_live *live);

void sniff_live_close(struct sniff_live *live);

#endif
