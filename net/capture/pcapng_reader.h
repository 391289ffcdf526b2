/* SPDX-License-Identifier: BSD-2-Clause */
/* A reader of pcapng files (draft-ietf-opsawg-pcapng). libpcap reads them too, but refuses a file whose
 * interfaces differ in link type or snap length, as dumpcap writes it of several interfaces. */
#ifndef NORNIC_NET_PCAPNG_READER_H
#define NORNIC_NET_PCAPNG_READER_H

#include <stdio.h>

#include "net/error.h"
#include "net/pcap_file.h"

/* The first four bytes of every pcapng file, whatever its byte order. */
#define NET_PCAPNG_MAGIC "\x0a\x0d\x0d\x0a"

struct net_pcapng_reader;

/* Reads up to the first interface; where that is of a link type that is not read, up to the first that is, or
 * to a packet. Borrows `in` until net_pcapng_reader_destroy(). 0; -ENOMEM; -EINVAL with what is wrong in
 * `why`, as the end of a sentence. */
int net_pcapng_reader_create(FILE *in, struct net_pcapng_reader **out, struct nornic_error *why);

/* The LINKTYPE_ number of the first interface that is of a type that is read; where none is, of the first. */
int net_pcapng_first_link_type(const struct net_pcapng_reader *reader);

/* The next packet; its data are valid until the next call. 1; 0: the end, between two blocks; -EIO: what is
 * there is no whole block, `why` says what is wrong with it. */
int net_pcapng_next(struct net_pcapng_reader *reader, struct net_capture_record *record,
                    struct nornic_error *why);

void net_pcapng_reader_destroy(struct net_pcapng_reader *reader);

#endif
