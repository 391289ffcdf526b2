/* SPDX-License-Identifier: BSD-2-Clause */
/* What leaves two simulated SMC-R instances, as the frames of a capture: RoCE as it is, TCP without its
 * handshake. */
#ifndef NORNIC_TEST_EXPLAIN_SMC_WIRE_H
#define NORNIC_TEST_EXPLAIN_SMC_WIRE_H

#include "net/pcap_file.h"
#include "test/smcr_pair/pair.h"

#define SMC_WIRE_EPOCH_NS  UINT64_C(1750000000000000000)
#define SMC_WIRE_CONNS_MAX 64

struct smc_wire {
    struct pair *pair;
    uint32_t tcp_sent[SMC_WIRE_CONNS_MAX][2]; /* bytes, by connection and node */
    uint8_t frame[2200];
};

/* For pair->on_wire: the record lives until the next call. IPv4 only. */
struct net_capture_record smc_wire_record(struct smc_wire *w, const struct pair_end *end,
                                          const uint8_t *bytes, size_t len_bytes);

#endif
