/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of congestion management: ROCE section 15. */
#ifndef NORNIC_ROCE_CC_CONFIG_H
#define NORNIC_ROCE_CC_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

#define ROCE_CC_LINE_RATE_DEFAULT_BPS UINT64_C(10000000000)

/* One set for all QPs of a device (ROCE-CC-24). Zero means the default, which is that of the DCQCN paper (Zhu
 * et al., SIGCOMM 2015); the letters are the paper's. */
struct roce_cc_config {
    bool on;                /* off: ECN 00 is sent, CNPs are neither sent nor obeyed (ROCE-CC-1) */
    uint64_t line_rate_bps; /* bits per second of the port, below 2^42; default 10 Gb/s */

    /* notification point */
    uint32_t cnp_interval_ns; /* N: at most one CNP per flow in this time; 50 us */
    uint8_t cnp_dscp;         /* 1..63; 48 (ROCE-CC-4) */
    uint8_t cnp_priority;     /* 1..7, PCP of CNPs on a VLAN; 6 */
    bool cnp_ect;             /* send CNPs with ECN 10, as adapters do, instead of 00 */

    /* reaction point */
    uint16_t gain_1024ths;          /* g: 1..1024; 4, which is 1/256 */
    uint16_t initial_alpha_1024ths; /* 1..1024; 1024, which is 1 */
    uint32_t alpha_period_ns;       /* K, above N, at least 1 us; 55 us */
    uint32_t increase_period_ns;    /* T, at least 1 us; 55 us */
    uint32_t increase_bytes;        /* B, at least 1024; 10 MB */
    uint16_t recovery_steps;        /* F, at most 1024; 5 */
    uint64_t additive_bps;          /* R_AI; 40 Mb/s for a line of 40 Gb/s, in proportion for others */
    uint64_t hyper_bps;             /* R_HAI; 400 Mb/s for 40 Gb/s, likewise */
    uint64_t min_rate_bps;          /* a flow is not slowed below this; 1 Mb/s */
};

NORNIC_END_DECLS

#endif
