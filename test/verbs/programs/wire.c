/* SPDX-License-Identifier: BSD-2-Clause */
/* wire DIRECTORY SELF PEER: a reliable connection that follows orders. Each line of standard input is an
 * order, and is answered by a line. The two ends meet in DIRECTORY: each writes a file with its name.
 * Scripts of test/e2e give the orders and look at the wire:
 *
 * connect LOCAL REMOTE PKEY_INDEX TIMEOUT   addresses of the primary path, LOCAL one of the device load
 * LOCAL REMOTE PKEY_INDEX      loads an alternate path, with path_mig_state REARM set STATE
 * sets path_mig_state: 0 migrated, 1 rearm, 2 armed path                              path_mig_state and
 * the address of the peer write COUNT                       RDMA Writes of a counter, each after the
 * completion of the one before flood MILLISECONDS                RDMA Writes of 64 KiB, eight at a time
 * event                             the next asynchronous event of the queue pair, or none after 10 s
 * memory                            the counter that the peer has written pkeys
 * the P_Key table, and how many packets of other P_Keys came caps                              whether
 * path migration is offered, and the most P_Keys */
#define _GNU_SOURCE /* strerrorname_np() */
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FLOOD_BYTES   65536
#define FLOOD_AT_ONCE 8
#define DEPTH         16

/* The message of each end to the other. */
struct end {
    uint32_t qpn, psn, rkey;
    uint64_t addr;
};

static struct ibv_context *ctx;
static struct ibv_cq *cq;
static struct ibv_mr *source, *mr; /* of `mine` and `theirs` */
static struct ibv_qp *qp;
static struct end peer;
static uint64_t written; /* by "write", so far */
static union {
    uint64_t counter;
    uint8_t bytes[FLOOD_BYTES];
} mine, theirs; /* sent from the former, written by the peer to the latter */

static void need(int is_good, const char *what)
{
    if (is_good)
        return;
    perror(what);
    exit(1);
}

static void answer(const char *what, int err)
{
    printf("%s %s\n", what, err ? strerrorname_np(err) : "ok");
}

static uint64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void make(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    need(list && list[0], "no device");
    ctx = ibv_open_device(list[0]);
    need(ctx != NULL, "ibv_open_device");
    struct ibv_pd *pd = ibv_alloc_pd(ctx);
    cq = ibv_create_cq(ctx, DEPTH, NULL, NULL, 0);
    mr = ibv_reg_mr(pd, &theirs, sizeof theirs, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    struct ibv_qp_init_attr attr = {.send_cq = cq,
                                    .recv_cq = cq,
                                    .qp_type = IBV_QPT_RC,
                                    .sq_sig_all = 1,
                                    .cap = {DEPTH, 1, 1, 1, sizeof(uint64_t)}};
    qp = ibv_create_qp(pd, &attr);
    source = ibv_reg_mr(pd, &mine, sizeof mine, 0);
    need(mr && source && qp, "a queue pair");
}

/* An IPv4 address as a GID. */
static union ibv_gid gid_of(const char *text)
{
    union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff}};
    if (inet_pton(AF_INET, text, gid.raw + 12) != 1)
        inet_pton(AF_INET6, text, gid.raw);
    return gid;
}

static struct ibv_ah_attr path_of(const char *local, const char *remote)
{
    union ibv_gid wanted = gid_of(local), found;
    int index = 0;
    while (ibv_query_gid(ctx, 1, index, &found) == 0 && memcmp(&found, &wanted, sizeof found) != 0)
        index++;
    struct ibv_ah_attr path = {.is_global = 1, .port_num = 1};
    path.grh.dgid = gid_of(remote);
    path.grh.sgid_index = (uint8_t)index;
    path.grh.hop_limit = 64;
    return path;
}

/* Writes this end into the file `self`, and reads the other from `other`, which comes within 20 seconds. */
static void meet(const char *self, const char *other)
{
    struct end own = {qp->qp_num, 0x123456, mr->rkey, (uintptr_t)&theirs};
    char hidden[512];
    snprintf(hidden, sizeof hidden, "%s.tmp", self);
    FILE *file = fopen(hidden, "w");
    need(file && fwrite(&own, sizeof own, 1, file) == 1 && fclose(file) == 0, "own file");
    need(rename(hidden, self) == 0, "own file");
    uint64_t until_ms = now_ms() + 20000;
    while (!(file = fopen(other, "r")) && now_ms() < until_ms)
        poll(NULL, 0, 10);
    need(file && fread(&peer, sizeof peer, 1, file) == 1 && fclose(file) == 0, "the peer's file");
}

static int modify_to_rts(struct ibv_ah_attr path, unsigned pkey_index, unsigned timeout)
{
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
                               .port_num = 1,
                               .pkey_index = (uint16_t)pkey_index,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
                              .path_mtu = IBV_MTU_1024,
                              .dest_qp_num = peer.qpn,
                              .rq_psn = peer.psn,
                              .max_dest_rd_atomic = 1,
                              .min_rnr_timer = 12,
                              .ah_attr = path};
    struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
                              .timeout = (uint8_t)timeout,
                              .retry_cnt = 3,
                              .rnr_retry = 3,
                              .sq_psn = 0x123456,
                              .max_rd_atomic = 1};
    int err = ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (!err)
        err = ibv_modify_qp(qp, &rtr,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    return err ? err
               : ibv_modify_qp(qp, &rts,
                               IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                                   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void load(const char *local, const char *remote, unsigned pkey_index)
{
    struct ibv_qp_attr attr = {.alt_ah_attr = path_of(local, remote),
                               .alt_port_num = 1,
                               .alt_pkey_index = (uint16_t)pkey_index,
                               .alt_timeout = 12,
                               .path_mig_state = IBV_MIG_REARM};
    answer("load", ibv_modify_qp(qp, &attr, IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE));
}

static void show_path(void)
{
    static const char *const states[] = {
        [IBV_MIG_MIGRATED] = "MIGRATED", [IBV_MIG_REARM] = "REARM", [IBV_MIG_ARMED] = "ARMED"};
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    char text[INET6_ADDRSTRLEN];
    need(!ibv_query_qp(qp, &attr, IBV_QP_AV | IBV_QP_PATH_MIG_STATE, &init), "ibv_query_qp");
    const uint8_t *raw = attr.ah_attr.grh.dgid.raw;
    bool is_ipv4 = raw[0] == 0 && raw[10] == 0xff;
    inet_ntop(is_ipv4 ? AF_INET : AF_INET6, raw + (is_ipv4 ? 12 : 0), text, sizeof text);
    printf("path %s %s pkey_index %u timeout %u\n", states[attr.path_mig_state], text, attr.pkey_index,
           attr.timeout);
}

/* Posts a Write of `bytes` octets: up to eight are inline, and change. */
static void post(uint32_t bytes)
{
    struct ibv_sge sge = {(uintptr_t)&mine, bytes, source->lkey};
    struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .sg_list = &sge, .num_sge = 1}, *bad;
    wr.send_flags = bytes <= sizeof(uint64_t) ? IBV_SEND_INLINE : 0;
    wr.wr.rdma.remote_addr = peer.addr;
    wr.wr.rdma.rkey = peer.rkey;
    need(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
}

/* Takes a completion, which comes within 20 seconds. */
static enum ibv_wc_status complete(void)
{
    struct ibv_wc wc;
    int found;
    uint64_t until_ms = now_ms() + 20000;
    while ((found = ibv_poll_cq(cq, 1, &wc)) == 0 && now_ms() < until_ms)
        ;
    need(found == 1, "no completion");
    return wc.status;
}

static void write_counters(unsigned count)
{
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    for (unsigned i = 0; i < count && status == IBV_WC_SUCCESS; i++) {
        mine.counter = ++written;
        post(sizeof mine.counter);
        status = complete();
    }
    printf("write %s\n", ibv_wc_status_str(status));
}

static void flood(unsigned duration_ms)
{
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    uint64_t until_ms = now_ms() + duration_ms;
    unsigned under_way = 0, count = 0;
    while (status == IBV_WC_SUCCESS && now_ms() < until_ms) {
        for (; under_way < FLOOD_AT_ONCE; under_way++)
            post(FLOOD_BYTES);
        status = complete();
        under_way--;
        count++;
    }
    for (; status == IBV_WC_SUCCESS && under_way > 0; under_way--)
        status = complete();
    printf("flood %s %u\n", ibv_wc_status_str(status), count);
}

static void take_event(void)
{
    struct pollfd fd = {.fd = ctx->async_fd, .events = POLLIN};
    struct ibv_async_event event;
    uint64_t until_ms = now_ms() + 10000;
    while (poll(&fd, 1, (int)(until_ms > now_ms() ? until_ms - now_ms() : 0)) == 1) {
        need(!ibv_get_async_event(ctx, &event), "ibv_get_async_event");
        bool is_own = event.event_type <= IBV_EVENT_PATH_MIG_ERR && event.event_type != IBV_EVENT_CQ_ERR;
        if (is_own)
            printf("event %s%s\n", ibv_event_type_str(event.event_type),
                   event.element.qp == qp ? "" : " of another queue pair");
        ibv_ack_async_event(&event);
        if (is_own)
            return;
    }
    puts("event none");
}

static void show_pkeys(void)
{
    __be16 pkey;
    printf("pkeys");
    for (int i = 0; ibv_query_pkey(ctx, 1, i, &pkey) == 0; i++)
        printf(" %04x", ntohs(pkey));
    struct ibv_port_attr port;
    need(!ibv_query_port(ctx, 1, &port), "ibv_query_port");
    printf(", bad %u\n", port.bad_pkey_cntr);
}

static void show_caps(void)
{
    struct ibv_device_attr attr;
    need(!ibv_query_device(ctx, &attr), "ibv_query_device");
    printf("caps apm %d max_pkeys %u\n", (attr.device_cap_flags & IBV_DEVICE_AUTO_PATH_MIG) != 0,
           attr.max_pkeys);
}

static void set_state(unsigned state)
{
    struct ibv_qp_attr attr = {.path_mig_state = (enum ibv_mig_state)state};
    answer("set", ibv_modify_qp(qp, &attr, IBV_QP_PATH_MIG_STATE));
}

static void obey(char **argv, const char *line)
{
    char local[64], remote[64];
    unsigned number, timeout;
    if (sscanf(line, "connect %63s %63s %u %u", local, remote, &number, &timeout) == 4) {
        meet(argv[2], argv[3]);
        answer("connect", modify_to_rts(path_of(local, remote), number, timeout));
    } else if (sscanf(line, "load %63s %63s %u", local, remote, &number) == 3)
        load(local, remote, number);
    else if (sscanf(line, "set %u", &number) == 1)
        set_state(number);
    else if (sscanf(line, "write %u", &number) == 1)
        write_counters(number);
    else if (sscanf(line, "flood %u", &number) == 1)
        flood(number);
    else if (strcmp(line, "path\n") == 0)
        show_path();
    else if (strcmp(line, "event\n") == 0)
        take_event();
    else if (strcmp(line, "memory\n") == 0)
        printf("memory %" PRIu64 "\n", theirs.counter);
    else if (strcmp(line, "pkeys\n") == 0)
        show_pkeys();
    else if (strcmp(line, "caps\n") == 0)
        show_caps();
    else
        printf("unknown order: %s", line);
}

int main(int argc, char **argv)
{
    need(argc == 4 && !chdir(argv[1]), "arguments");
    make();
    char line[256];
    alarm(120);
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin))
        obey(argv, line);
    return 0;
}
