/* SPDX-License-Identifier: BSD-2-Clause */
/* The SMC-R handshake among TCP segments (RFC 7609, 3.1 and 4.2). */
#ifndef NORNIC_CLI_SNIFF_SMC_H
#define NORNIC_CLI_SNIFF_SMC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a frame is a TCP SYN with the SMC-R option (experimental kind 254, "SMCR" in EBCDIC), or a TCP
 * segment whose payload begins with a CLC message of SMC-R (the same eyecatcher). IPv4 and IPv6 without
 * extension headers, tagged or not. */
bool sniff_is_smc_handshake(const uint8_t *frame, size_t len_bytes);

#endif
