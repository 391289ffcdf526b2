/* SPDX-License-Identifier: BSD-2-Clause */
/* A writer of pcapng files (draft-ietf-opsawg-pcapng): one section, one Ethernet interface, enhanced packet
 * blocks with nanoseconds and direction. libpcap writes no pcapng. */
#ifndef NORNIC_NET_PCAPNG_WRITER_H
#define NORNIC_NET_PCAPNG_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "net/error.h"

struct net_pcapng_writer;

/* The direction bits of epb_flags. */
enum net_pcapng_direction { NET_PCAPNG_ANY_DIRECTION = 0, NET_PCAPNG_INBOUND = 1, NET_PCAPNG_OUTBOUND = 2 };

#define NET_PCAPNG_SNAP_BYTES 131072 /* longer frames are cut */

/* Creates or replaces the file and writes its head. `if_name` is recorded (its first 255 bytes). 0 or -errno
 * with a sentence in `why`. */
int net_pcapng_create(const char *path, const char *if_name, struct net_pcapng_writer **out,
                      struct nornic_error *why);

/* Appends a record to the buffer, which is written out first if it is full. `time_ns` since 1970. Allocates
 * nothing. After a write error does nothing. */
void net_pcapng_append(struct net_pcapng_writer *writer, const uint8_t *frame, uint32_t len_bytes,
                       uint64_t time_ns, enum net_pcapng_direction direction);

/* The same for a frame of which only the first `len_bytes` of `wire_bytes` are at hand. */
void net_pcapng_append_cut(struct net_pcapng_writer *writer, const uint8_t *frame, uint32_t len_bytes,
                           uint32_t wire_bytes, uint64_t time_ns, enum net_pcapng_direction direction);

/* The size of the file with what is buffered. */
uint64_t net_pcapng_bytes(const struct net_pcapng_writer *writer);

/* Writes out what is buffered: whole blocks only, also where the disk is full. */
void net_pcapng_flush(struct net_pcapng_writer *writer);

/* Whether something is buffered. */
bool net_pcapng_is_pending(const struct net_pcapng_writer *writer);

/* The errno value of the first write that failed; 0: none. */
int net_pcapng_errno(const struct net_pcapng_writer *writer);

/* Flushes and frees. */
void net_pcapng_close(struct net_pcapng_writer *writer);

#endif
