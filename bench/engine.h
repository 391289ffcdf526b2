/* SPDX-License-Identifier: BSD-2-Clause */
/* What the benchmarks of the engine alone have in common: two devices of one process, 10.77.0.1 and
 * 10.77.0.2, randomness that repeats, and queue pairs connected by hand. */
#ifndef NORNIC_BENCH_ENGINE_H
#define NORNIC_BENCH_ENGINE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "roce/roce.h"

#define BENCH_REMOTE (NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC)

/* Ends the program where `err` is one. */
static inline void check(int err, const char *what)
{
    if (!err)
        return;
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(-err));
    exit(1);
}

/* The state is a uint64_t of bench_seed(). */
static inline uint64_t bench_random(void *state)
{
    uint64_t *x = state;
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

static inline uint64_t bench_seed(int side)
{
    return 88172645463325252u + (uint64_t)side;
}

static inline struct nornic_gid bench_gid(int side)
{
    return (struct nornic_gid){.addr = nornic_addr_from_v4((const uint8_t[]){10, 77, 0, (uint8_t)(side + 1)}),
                               .mac = {{2, 0, 0, 0, 0, (uint8_t)(side + 1)}}};
}

/* The same of IPv6: fd77::1 and fd77::2. */
static inline struct nornic_gid bench_gid_v6(int side)
{
    return (struct nornic_gid){.addr = {.b = {0xfd, 0x77, [15] = (uint8_t)(side + 1)}},
                               .mac = {{2, 0, 0, 0, 0, (uint8_t)(side + 1)}}};
}

/* Takes a fresh RC queue pair to RTS, connected to `dest_qpn` at `to`. */
static inline void bench_connect_to(struct roce_qp *qp, const struct nornic_gid *to, uint32_t dest_qpn,
                                    enum nornic_mtu pmtu, uint8_t rd_atomic, uint64_t now_ns)
{
    struct nornic_qp_attr a = {.state = NORNIC_QPS_INIT,
                               .port = 1,
                               .access_flags = BENCH_REMOTE,
                               .path_mtu = pmtu,
                               .timeout = 14,
                               .retry_cnt = 7,
                               .rnr_retry = 7,
                               .max_rd_atomic = rd_atomic,
                               .max_dest_rd_atomic = rd_atomic,
                               .dest_qpn = dest_qpn,
                               .av = {.dgid = to->addr, .hop_limit = 64, .dst_mac = to->mac}};
    check(roce_qp_modify(qp, &a,
                         NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS,
                         now_ns),
          "INIT");
    a.state = NORNIC_QPS_RTR;
    check(roce_qp_modify(qp, &a,
                         NORNIC_QP_STATE | NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN |
                             NORNIC_QP_RQ_PSN | NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER,
                         now_ns),
          "RTR");
    a.state = NORNIC_QPS_RTS;
    check(roce_qp_modify(qp, &a,
                         NORNIC_QP_STATE | NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY |
                             NORNIC_QP_SQ_PSN | NORNIC_QP_MAX_QP_RD_ATOMIC,
                         now_ns),
          "RTS");
}

/* One of `side`, to `dest_qpn` of the other one. */
static inline void bench_connect(struct roce_qp *qp, int side, uint32_t dest_qpn, enum nornic_mtu pmtu,
                                 uint8_t rd_atomic, uint64_t now_ns)
{
    const struct nornic_gid to = bench_gid(!side);
    bench_connect_to(qp, &to, dest_qpn, pmtu, rd_atomic, now_ns);
}

#endif
