/* SPDX-License-Identifier: BSD-2-Clause */
/* The Invariant CRC: ROCE section 3. */
#ifndef NORNIC_ROCE_ICRC_H
#define NORNIC_ROCE_ICRC_H

#include <stddef.h>
#include <stdint.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

enum roce_l3 { ROCE_L3_IPV4, ROCE_L3_IPV6, ROCE_L3_GRH };

/* The ICRC of a packet. `l3` points at its first IP (or GRH) byte, `l3_kind` says which header that is,
 * `len_bytes` counts from there to the last pad byte, so that the ICRC's place is at l3 + len_bytes. The
 * packet holds at least L3 header, UDP header (not for GRH) and BTH; it is not changed. The result is stored
 * little-endian (ROCE-ICRC-3). */
uint32_t roce_icrc(const uint8_t *l3, enum roce_l3 l3_kind, size_t len_bytes);

NORNIC_END_DECLS

#endif
