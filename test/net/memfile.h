/* SPDX-License-Identifier: BSD-2-Clause */
/* Capture files that live in memory, and vanish with the test whatever becomes of it. */
#ifndef NORNIC_TEST_NET_MEMFILE_H
#define NORNIC_TEST_NET_MEMFILE_H

#include <stddef.h>
#include <stdint.h>

struct memfile {
    int fd;
    char path[64]; /* opens it, in other processes too */
};

/* An empty file. Fails the test if there is none to have. */
struct memfile memfile_create(void);
void memfile_close(struct memfile *file);

/* Makes `bytes` the content. */
void memfile_set(struct memfile *file, const void *bytes, size_t len_bytes);
size_t memfile_size(const struct memfile *file);

/* A pcap file under construction. */
struct pcap_image {
    uint8_t bytes[200000];
    size_t len_bytes;
    int big_endian, nano;
};

/* Writes the file header: the libpcap magic of byte order and precision, version 2.4, link type. */
void pcap_image_init(struct pcap_image *image, int big_endian, int nano, uint32_t link_type);

/* Appends a record. */
void pcap_image_add(struct pcap_image *image, uint64_t time_ns, const uint8_t *frame, uint32_t len_bytes,
                    uint32_t wire_bytes);

#endif
