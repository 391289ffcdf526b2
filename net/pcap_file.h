/* SPDX-License-Identifier: BSD-2-Clause */
/* Capture files, through libpcap: reading pcap and pcapng, the read-only replay port, and the wrapping port
 * that writes all that crosses it as pcapng with nanoseconds. */
#ifndef NORNIC_NET_PCAP_FILE_H
#define NORNIC_NET_PCAP_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "net/error.h"
#include "net/port.h"

struct net_capture; /* an open capture file */

struct net_capture_record {
    const uint8_t *data; /* valid until the next read */
    uint32_t len_bytes;  /* captured */
    uint32_t wire_bytes; /* on the wire; greater: the record was cut by a snap length */
    uint64_t time_ns;
};

/* Opens a pcap or pcapng file of Ethernet frames; "-" is standard input. 0 or -errno with a sentence in `err`
 * (missing, no capture, another link type). */
int net_capture_open(const char *path, struct net_capture **out, struct net_error *err);
/* 1: a record; 0: the end; -EIO with a sentence: the file is cut off or broken here. */
int net_capture_next(struct net_capture *capture, struct net_capture_record *record, struct net_error *err);
void net_capture_close(struct net_capture *capture);

/* A port that receives the frames of a file, as fast as asked, and swallows what is sent. Frames that were
 * cut by a snap length are counted as rx_dropped. */
int net_pcap_replay_open(const char *path, struct net_port **out, struct net_error *err);

/* Wraps `below` (and owns it, also on failure): every frame that is received or flushed is appended to a
 * pcapng file at `path`. Times are those of the calls' `now_ns` plus `epoch_offset_ns` (what turns the
 * caller's clock into time since 1970). Interface name and direction are recorded. A write error stops the
 * capture, not the traffic. */
int net_pcap_capture_wrap(struct net_port *below, const char *path, uint64_t epoch_offset_ns,
                          struct net_port **out, struct net_error *err);

#endif
