/* SPDX-License-Identifier: BSD-2-Clause */
/* Capture files: reading pcap (through libpcap) and pcapng, also packed with gzip; the read-only replay
 * port, and the wrapping port that writes all that crosses it as pcapng with nanoseconds. */
#ifndef NORNIC_NET_PCAP_FILE_H
#define NORNIC_NET_PCAP_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "net/error.h"
#include "net/port.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

struct net_capture; /* an open capture file */

/* What the bytes of a record begin with. */
enum net_link {
    NET_LINK_ETHERNET,
    NET_LINK_NULL, /* BSD's loopback: an address family in its host's byte order, then IP */
    NET_LINK_LOOP, /* the same in network byte order */
    NET_LINK_IP,   /* IPv4 or IPv6, as its first four bits say */
    NET_LINK_SLL,  /* Linux "cooked" captures, as of the interface "any" */
    NET_LINK_SLL2,
    NET_LINK_OTHER, /* something else, beside interfaces that are one of the above */
};

struct net_capture_record {
    const uint8_t *data; /* valid until the next read */
    uint32_t len_bytes;  /* captured */
    uint32_t wire_bytes; /* on the wire; greater: the record was cut by a snap length */
    uint64_t time_ns;    /* since 1970 */
    enum net_link link;
    uint32_t interface; /* of a pcapng file, in the order in which it names them, from 0 */
};

/* Opens a pcap or pcapng file, packed with gzip or not; "-" is standard input, from which each record can be
 * read as soon as it has come. 0 or -errno with a sentence in `why` (missing, no capture, a link type that
 * is not read). The caller closes it. */
int net_capture_open(const char *path, struct net_capture **out, struct nornic_error *why);

/* 1: a record; 0: the end; -EIO with a sentence that names file and record: the file is cut off or broken
 * here. After the end or a failure every call returns the same again. */
int net_capture_next(struct net_capture *capture, struct net_capture_record *record,
                     struct nornic_error *why);

/* Closes the file; the record last returned ends with it. */
void net_capture_close(struct net_capture *capture);

/* A port that receives the frames of a file, as fast as asked, and swallows what is sent. A burst of 0 frames
 * means the end; the descriptor is readable until then. Frames that were cut by a snap length, or have no
 * Ethernet header, are left out and counted as rx_dropped, those above 65553 bytes as rx_too_long. 0 or
 * -errno as net_capture_open(), or -ENOMEM. */
int net_pcap_replay_open(const char *path, struct net_port **out, struct nornic_error *why);

/* What ended the replay before the end of its file, as a sentence, or NULL. `port` is one that
 * net_pcap_replay_open() made; the text lives as long as it. */
const char *net_pcap_replay_error(const struct net_port *port);

/* Wraps `below` (and owns it, also on failure): every frame that is received or flushed is appended to a
 * pcapng file at `path`, which is replaced. Times are those of the calls' `now_ns` plus `epoch_offset_ns`
 * (what turns the caller's clock into time since 1970). Interface name and direction are recorded; a train is
 * one record a packet. Records are written in blocks, at least once a second while the port is called (its
 * deadline says when), so that a crash leaves a readable file. A write error stops the capture, not the
 * traffic. 0 or -errno with a sentence in `why`. */
int net_pcap_capture_wrap(struct net_port *below, const char *path, uint64_t epoch_offset_ns,
                          struct net_port **out, struct nornic_error *why);

/* From now on received packets are handed to `restore` before they are written: of what a port could not see
 * of their headers, the first 64 bytes, it puts in place what it finds (roce_ip_id_restore()). Whoever
 * receives the packets gets them without. `port` as above. */
typedef void net_frame_restore(uint8_t *frame, uint32_t len_bytes);
void net_pcap_capture_restore(struct net_port *port, net_frame_restore *restore);

/* From now on records have the time of `clock`, which is that of the callers, after a burst was received
 * and before one is sent, so that none comes before it left, however long its receiver's round takes. `port`
 * as above. */
typedef uint64_t net_clock(void);
void net_pcap_capture_clock(struct net_port *port, net_clock *clock);

/* Writes out what is buffered. 0, or the -errno of the write that stopped the capture, now or earlier. `port`
 * is one that net_pcap_capture_wrap() made. */
int net_pcap_capture_flush(struct net_port *port);

NORNIC_END_DECLS

#endif
