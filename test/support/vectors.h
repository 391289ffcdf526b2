/* SPDX-License-Identifier: BSD-2-Clause */
/* The worked packets of ROCE section 3.1, with the ICRCs that other implementations gave them. */
#ifndef NORNIC_TEST_SUPPORT_VECTORS_H
#define NORNIC_TEST_SUPPORT_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "roce/icrc.h"

#define VECTOR_COUNT     17
#define VECTOR_MAX_BYTES 512 /* holds the frame of any vector */

struct vector {
    const char *id;    /* "V1" */
    const char *title; /* what the packet is */
    enum roce_l3 l3_kind;
    const char *hex; /* from the first byte of the L3 header to the last pad byte */
    size_t pattern_bytes;
    uint8_t icrc[4]; /* as on the wire */
};

extern const struct vector vectors[VECTOR_COUNT];

/* Writes the packet from L3 header to pad (then `pattern_bytes` of 0, 1, 2, ...) and returns its length. */
size_t vector_datagram(const struct vector *v, uint8_t *out);

/* Writes the packet as an Ethernet frame with its ICRC, tagged unless `vlan_tci` is -1; its length. */
size_t vector_frame(const struct vector *v, int vlan_tci, uint8_t *out);

/* Makes the IPv4 checksum and the ICRC of a changed frame right again, by the lengths in its headers. */
void frame_reseal(uint8_t *frame, size_t l3_offset, enum roce_l3 l3_kind);

#endif
