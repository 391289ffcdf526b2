/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/perf/perf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/rc.h"

#define SLOT_ALIGN    64u
#define MAX_RD_ATOMIC 16u

/* Receives that a server keeps posted on a queue pair: more than the client has under way, so that the time
 * to post them again does not show as RNR NAKs. */
#define RECEIVES_PER_DEPTH 4u
#define MIN_RECEIVES       64u

#define SHARED_BYTES (1ull << 20) /* of a queue pair */

uint64_t perf_slot_bytes(const struct perf_test *test)
{
    return ((uint64_t)test->size_bytes + SLOT_ALIGN - 1) & ~(uint64_t)(SLOT_ALIGN - 1);
}

uint64_t perf_key(unsigned qp_index, uint64_t seq)
{
    return (uint64_t)(qp_index + 1) << 48 ^ seq;
}

static uint32_t receives_of(const struct perf_test *test)
{
    return perf_op_takes_receive(test->op) ? max_u32(test->depth * RECEIVES_PER_DEPTH, MIN_RECEIVES) : 1;
}

/* Sent messages are compared at their arrival, before the receive is posted again, so each receive needs a
 * slot of its own. Everything else lands in as many slots as operations are under way. Without a comparison,
 * messages share SHARED_BYTES, as with other programs of this kind: the speed of memory is not to be
 * measured. Memory that a peer writes to is laid out in any case as if they did not. */
static uint32_t slots_of(const struct perf_test *test, bool is_client)
{
    bool is_send = test->op == PERF_OP_SEND;
    uint32_t n = !is_client && is_send ? receives_of(test) : test->depth;
    if (test->verify || (!is_client && !is_send))
        return n;
    return min_u32(n, (uint32_t)max_u64(SHARED_BYTES / perf_slot_bytes(test), 1));
}

static int check_test(const struct perf_test *t, bool is_client, struct nornic_error *why)
{
    if (t->qps < 1 || t->qps > PERF_MAX_QPS)
        return net_error_set(why, EINVAL, "%u queue pairs: 1 to %u are possible", t->qps, PERF_MAX_QPS);
    if (t->depth < 1 || t->depth > PERF_MAX_DEPTH)
        return net_error_set(why, EINVAL, "depth %u: 1 to %u are possible", t->depth, PERF_MAX_DEPTH);
    if (t->size_bytes < 1 || t->size_bytes > PERF_MAX_REGION_BYTES)
        return net_error_set(why, EINVAL, "size %u: 1 byte to 1 GiB is possible", t->size_bytes);
    if (nornic_mtu_from_bytes(t->pmtu_bytes) == 0)
        return net_error_set(why, EINVAL, "path MTU %u: it is 256, 512, 1024, 2048 or 4096", t->pmtu_bytes);
    uint64_t region = perf_slot_bytes(t) * slots_of(t, is_client) * t->qps;
    if (region > PERF_MAX_REGION_BYTES)
        return net_error_set(
            why, EINVAL,
            "%u queue pairs at depth %u with messages of %u bytes need %llu MiB of buffers, and "
            "1024 are allowed: reduce one of them",
            t->qps, t->depth, t->size_bytes, (unsigned long long)(region >> 20));
    return 0;
}

/* Masked atomics are an option of a RoCE device, and one of each iWARP device. */
static int check_device(const struct perf_side *side, struct nornic_error *why)
{
    struct nornic_dev_attr attr;
    nornic_dev_query(side->node->api, &attr, sizeof attr);
    if (!perf_op_is_masked(side->test.op) || attr.masked_atomic_cap != NORNIC_ATOMIC_NONE)
        return 0;
    return net_error_set(why, EOPNOTSUPP,
                         "%s: the device of the %s has no masked atomics: give its port the option "
                         "masked-atomics",
                         perf_op_name(side->test.op), side->is_client ? "client" : "server");
}

static int allocate(struct perf_side *side, struct nornic_error *why)
{
    const struct perf_test *t = &side->test;
    uint32_t access = NORNIC_ACCESS_LOCAL_WRITE | (side->is_client ? 0 : perf_op_access(t->op));
    uint64_t per_qp = perf_slot_bytes(t) * side->slots;
    int err = cli_memory_open(side->node->api, per_qp * t->qps, access, &side->memory, why);
    if (err)
        return err;
    side->qps = calloc(t->qps, sizeof *side->qps);
    side->times = calloc((size_t)t->qps * t->depth, sizeof *side->times);
    if (!side->qps || !side->times)
        return net_error_set(why, ENOMEM, "no memory for %u queue pairs", t->qps);
    for (uint32_t q = 0; q < t->qps; q++) {
        side->qps[q].region = side->memory.bytes + per_qp * q;
        side->qps[q].posted_at_ns = side->times + (size_t)q * t->depth;
    }
    return 0;
}

static int create_qps(struct perf_side *side, struct nornic_error *why)
{
    const struct perf_test *t = &side->test;
    const struct nornic_qp_config config = {
        NORNIC_INIT(config),
        .type = NORNIC_QPT_RC,
        .pd = side->memory.pd,
        .send_cq = side->cq.cq,
        .recv_cq = side->cq.cq,
        .caps = {.max_send_wr = side->is_client ? t->depth : PERF_CREDITS,
                 .max_recv_wr = side->is_client ? PERF_CREDITS : side->receives,
                 .max_send_sge = 1,
                 .max_recv_sge = 1},
    };
    for (uint32_t q = 0; q < t->qps; q++) {
        struct perf_qp *p = &side->qps[q];
        int err = nornic_qp_create(side->node->api, &config, &p->qp);
        if (err)
            return net_error_set(why, -err, "cannot create queue pair %u of %u: %s", q + 1, t->qps,
                                 strerror(-err));
        p->qpn = nornic_qp_num(p->qp);
        p->psn = cli_rc_random_psn();
        if (cli_rc_init(p->qp, side->is_client ? 0 : perf_op_access(t->op)) != CLI_OK)
            return net_error_set(why, EINVAL, "a queue pair could not be made ready");
    }
    return 0;
}

int perf_side_open(struct perf_side *side, struct cli_node *node, const struct perf_test *test,
                   bool is_client, uint64_t timeout_ns, struct nornic_error *why)
{
    *side = (struct perf_side){.node = node,
                               .test = *test,
                               .is_client = is_client,
                               .is_iwarp = cli_node_is_iwarp(node),
                               .timeout_ns = timeout_ns};
    int err = check_test(test, is_client, why);
    if (!err)
        err = check_device(side, why);
    if (err)
        return err;
    side->slots = slots_of(test, is_client);
    side->receives = receives_of(test);
    perf_credit_init(side);
    err = allocate(side, why);
    uint32_t completions = test->qps * ((is_client ? test->depth : side->receives) + PERF_CREDITS) + 1;
    if (!err && cli_cq_create(node, completions, &side->cq) != CLI_OK)
        err = net_error_set(why, ENOMEM, "no completion queue of %u entries", completions);
    if (!err)
        err = create_qps(side, why);
    if (!err && is_client)
        err = perf_credit_await_all(side, why);
    if (err)
        perf_side_close(side);
    return err;
}

void perf_side_close(struct perf_side *side)
{
    cli_iwarp_close(&side->iwarp);
    for (uint32_t q = 0; side->qps && q < side->test.qps; q++)
        if (side->qps[q].qp)
            nornic_qp_destroy(side->qps[q].qp);
    if (side->cq.cq)
        cli_cq_destroy(&side->cq);
    cli_memory_close(&side->memory);
    free(side->qps);
    free(side->times);
}

static uint8_t rd_atomic_of(const struct perf_test *test)
{
    return (uint8_t)min_u32(test->depth, MAX_RD_ATOMIC);
}

/* The server's connections come when it has told its port. */
static int connect_iwarp(struct perf_side *side)
{
    int err = cli_iwarp_open(side->node, side->test.qps, rd_atomic_of(&side->test), &side->iwarp);
    for (uint32_t q = 0; q < side->test.qps && err == CLI_OK; q++) {
        side->iwarp.streams[q].qp = side->qps[q].qp;
        side->iwarp.streams[q].token = side->is_client ? side->qps[q].psn : side->qps[q].peer_psn;
    }
    if (err != CLI_OK)
        return err;
    return side->is_client ? cli_iwarp_connect(&side->iwarp, &side->gid, &side->peer_gid, side->tcp_port,
                                               side->timeout_ns)
                           : cli_iwarp_listen(&side->iwarp, &side->gid, &side->tcp_port);
}

int perf_side_accept(struct perf_side *side)
{
    return side->iwarp.cm ? cli_iwarp_accept(&side->iwarp, side->timeout_ns) : CLI_OK;
}

bool perf_side_marks_end(const struct perf_side *side)
{
    return side->is_iwarp && side->test.op == PERF_OP_WRITE;
}

int perf_side_connect(struct perf_side *side)
{
    struct cli_path path = {
        .dgid = side->peer_gid,
        .sgid_index = side->sgid_index,
        .pmtu_bytes = side->test.pmtu_bytes,
        .rd_atomic = rd_atomic_of(&side->test),
    };
    if (nornic_addr_is_v4(&side->peer_gid) != nornic_addr_is_v4(&side->gid))
        return cli_fail("one side uses an IPv4 GID and the other an IPv6 GID: choose with -g or --ipv6");
    if (side->is_iwarp)
        return connect_iwarp(side);
    int err = cli_node_resolve(side->node, &path.dgid, &path.dst_mac);
    for (uint32_t q = 0; err == CLI_OK && q < side->test.qps; q++) {
        path.dest_qpn = side->qps[q].peer_qpn;
        path.rq_psn = side->qps[q].peer_psn;
        path.sq_psn = side->qps[q].psn;
        err = cli_rc_connect(side->qps[q].qp, &path);
    }
    return err;
}
