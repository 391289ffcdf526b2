/* SPDX-License-Identifier: BSD-2-Clause */
/* A program of libibverbs that names memory by addresses other than those of its process. Both ends are here,
 * connected by librdmacm, over whatever transport the first device has. It knows nothing of nornic.
 *
 *     regions ADDRESS [COUNT]    with COUNT plain regions beside (20000)
 *
 * Each case is a line: "ok NAME", or "not ok NAME: why". Ends with 0 if all are right. */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PIECE   256
#define RIGHTS  (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ)
#define WAIT_MS 20000

static struct ibv_pd *pd, *other_pd;
static struct ibv_cq *cq;
static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener, *end[2];
static uint8_t plain[16 * PIECE]; /* memory of a region by its own addresses */
static struct ibv_mr *plain_mr;
static int failed;

static void die(const char *call)
{
    perror(call);
    exit(2);
}

static uint64_t number(const void *p)
{
    return (uintptr_t)p;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void __attribute__((format(printf, 3, 4))) judge(bool is_right, const char *name, const char *why, ...)
{
    va_list args;
    va_start(args, why);
    printf(is_right ? "ok %s" : "not ok %s: ", name);
    if (!is_right)
        vprintf(why, args);
    printf("\n");
    va_end(args);
    failed += !is_right;
}

/* --- a connection of two ends --- */

static struct rdma_cm_id *next_event(enum rdma_cm_event_type wanted)
{
    struct pollfd ready = {.fd = channel->fd, .events = POLLIN};
    struct rdma_cm_event *event;
    if (poll(&ready, 1, WAIT_MS) != 1 || rdma_get_cm_event(channel, &event))
        die("no event");
    struct rdma_cm_id *id = event->id;
    if (event->event != wanted) {
        fprintf(stderr, "%s instead of %s\n", rdma_event_str(event->event), rdma_event_str(wanted));
        exit(2);
    }
    rdma_ack_cm_event(event);
    return id;
}

static void open_device(const char *address)
{
    struct sockaddr_in here = {.sin_family = AF_INET};
    channel = rdma_create_event_channel();
    if (!channel || inet_pton(AF_INET, address, &here.sin_addr) != 1 ||
        rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
        rdma_bind_addr(listener, (struct sockaddr *)&here) || rdma_listen(listener, 4))
        die("listen");
    struct ibv_context *context = listener->verbs;
    pd = ibv_alloc_pd(context);
    other_pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 64, NULL, NULL, 0);
    plain_mr = pd ? ibv_reg_mr(pd, plain, sizeof plain, RIGHTS) : NULL;
    if (!other_pd || !cq || !plain_mr)
        die("device");
}

static void make_qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {
        .send_cq = cq,
        .recv_cq = cq,
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
        .cap = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2}};
    if (rdma_create_qp(id, pd, &attr))
        die("queue pair");
}

static void join(void)
{
    struct rdma_conn_param param = {.responder_resources = 4, .initiator_depth = 4, .retry_count = 7};
    if (rdma_create_id(channel, &end[0], NULL, RDMA_PS_TCP) ||
        rdma_resolve_addr(end[0], NULL, rdma_get_local_addr(listener), WAIT_MS))
        die("address");
    next_event(RDMA_CM_EVENT_ADDR_RESOLVED);
    if (rdma_resolve_route(end[0], WAIT_MS))
        die("route");
    next_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
    make_qp(end[0]);
    if (rdma_connect(end[0], &param))
        die("connect");
    end[1] = next_event(RDMA_CM_EVENT_CONNECT_REQUEST);
    make_qp(end[1]);
    if (rdma_accept(end[1], &param))
        die("accept");
    next_event(RDMA_CM_EVENT_ESTABLISHED);
    next_event(RDMA_CM_EVENT_ESTABLISHED);
}

/* Ends the connection with all of its completions and events. */
static void part(void)
{
    struct ibv_wc wc;
    for (int i = 0; i < 2; i++) {
        rdma_destroy_qp(end[i]);
        rdma_destroy_id(end[i]);
    }
    while (ibv_poll_cq(cq, 1, &wc) > 0)
        ;
}

/* --- work --- */

static void post_recv(struct ibv_sge sge)
{
    struct ibv_recv_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1}, *bad;
    if (ibv_post_recv(end[1]->qp, &wr, &bad))
        die("receive");
}

static void post_send(enum ibv_wr_opcode opcode, struct ibv_sge sge, uint64_t remote_addr, uint32_t rkey)
{
    struct ibv_send_wr wr = {.wr_id = 1,
                             .sg_list = &sge,
                             .num_sge = 1,
                             .opcode = opcode,
                             .wr.rdma = {.remote_addr = remote_addr, .rkey = rkey}},
                       *bad;
    if (ibv_post_send(end[0]->qp, &wr, &bad))
        die("send");
}

/* Takes `count` completions. Returns the first status that is not success. */
static enum ibv_wc_status take(int count)
{
    enum ibv_wc_status status = IBV_WC_SUCCESS;
    int64_t deadline_ns = now_ns() + WAIT_MS * INT64_C(1000000);
    while (count) {
        struct ibv_wc wc;
        if (ibv_poll_cq(cq, 1, &wc) > 0) {
            if (status == IBV_WC_SUCCESS)
                status = wc.status;
            count--;
        } else if (now_ns() > deadline_ns) {
            fprintf(stderr, "no completion\n");
            exit(2);
        }
    }
    return status;
}

static void fill(void *bytes, uint8_t seed)
{
    for (int i = 0; i < PIECE; i++)
        ((uint8_t *)bytes)[i] = (uint8_t)(seed + i);
}

static struct ibv_sge piece(uint64_t addr, uint32_t lkey)
{
    return (struct ibv_sge){.addr = addr, .length = PIECE, .lkey = lkey};
}

static struct ibv_sge of_plain(unsigned index)
{
    return piece(number(plain + index * PIECE), plain_mr->lkey);
}

/* Writes the piece to the beginning of `plain`. The read after it ends when the write is placed. True: both
 * are good. */
static bool write_plain(struct ibv_sge sge)
{
    post_send(IBV_WR_RDMA_WRITE, sge, number(plain), plain_mr->rkey);
    post_send(IBV_WR_RDMA_READ, of_plain(14), number(plain + 15 * PIECE), plain_mr->rkey);
    return take(2) == IBV_WC_SUCCESS;
}

/* Sends from, reads into and receives into a piece that lies at `bytes` and is named `sge`. */
static void try_piece(const char *name, uint8_t *bytes, struct ibv_sge sge)
{
    uint64_t source = number(plain + PIECE);
    fill(bytes, 3);
    post_recv(of_plain(0));
    post_send(IBV_WR_SEND, sge, 0, 0);
    bool is_sent = take(2) == IBV_WC_SUCCESS && memcmp(plain, bytes, PIECE) == 0;
    memset(plain, 0, PIECE);
    bool is_written = write_plain(sge) && memcmp(plain, bytes, PIECE) == 0;
    fill(plain + PIECE, 40);
    post_send(IBV_WR_RDMA_READ, sge, source, plain_mr->rkey);
    bool is_read = take(1) == IBV_WC_SUCCESS && memcmp(plain + PIECE, bytes, PIECE) == 0;
    fill(plain + PIECE, 90);
    post_recv(sge);
    post_send(IBV_WR_SEND, of_plain(1), 0, 0);
    bool is_received = take(2) == IBV_WC_SUCCESS && memcmp(plain + PIECE, bytes, PIECE) == 0;
    judge(is_sent && is_written && is_read && is_received, name, "sent %d, written %d, read %d, received %d",
          is_sent, is_written, is_read, is_received);
}

/* Posts to a new connection must end with an error of local protection: a send, and a receive. */
static void refuse(const char *name, uint64_t addr, uint32_t lkey)
{
    join();
    post_send(IBV_WR_RDMA_WRITE, piece(addr, lkey), number(plain), plain_mr->rkey);
    enum ibv_wc_status send = take(1);
    part();
    join();
    post_recv(piece(addr, lkey));
    post_send(IBV_WR_SEND, of_plain(0), 0, 0);
    struct ibv_wc wc = {.wr_id = 0};
    for (int64_t deadline_ns = now_ns() + WAIT_MS * INT64_C(1000000);
         wc.wr_id != 2 && now_ns() < deadline_ns;)
        if (ibv_poll_cq(cq, 1, &wc) < 0)
            break;
    part();
    judge(send == IBV_WC_LOC_PROT_ERR && wc.wr_id == 2 && wc.status == IBV_WC_LOC_PROT_ERR, name,
          "sent: %s, received: %s", ibv_wc_status_str(send), ibv_wc_status_str(wc.status));
}

/* --- the cases --- */

/* The least time of 500 posts in ns. */
static int64_t cost_of_post(struct ibv_sge sge)
{
    int64_t best_ns = INT64_MAX;
    for (int i = 0; i < 500; i++) {
        int64_t from_ns = now_ns();
        post_send(IBV_WR_RDMA_WRITE, sge, number(plain), plain_mr->rkey);
        int64_t took_ns = now_ns() - from_ns;
        if (took_ns < best_ns)
            best_ns = took_ns;
        if (take(1) != IBV_WC_SUCCESS)
            die("write");
    }
    return best_ns;
}

static void try_many_regions(int count)
{
    static uint8_t memory[4096];
    join();
    int64_t alone_ns = cost_of_post(of_plain(1));
    struct ibv_mr *moved = ibv_reg_mr_iova(pd, memory, sizeof memory, 0x1000, RIGHTS);
    for (int i = 0; i < count; i++)
        if (!ibv_reg_mr(pd, memory, sizeof memory, RIGHTS))
            die("region");
    if (!moved)
        die("region");
    try_piece("a_region_with_an_iova", memory + PIECE, piece(0x1000 + PIECE, moved->lkey));
    int64_t plain_ns = cost_of_post(of_plain(1));
    int64_t moved_ns = cost_of_post(piece(0x1000, moved->lkey));
    judge(plain_ns < 8 * alone_ns + 3000 && moved_ns < 8 * alone_ns + 3000, "the_cost_of_a_post_stays",
          "%lld ns alone, %lld ns beside %d regions, %lld ns by the iova", (long long)alone_ns,
          (long long)plain_ns, count, (long long)moved_ns);
    part();
    refuse("beyond_its_last_byte", 0x1000 + sizeof memory - PIECE + 1, moved->lkey);
    refuse("before_its_first_byte", 0x1000 - 1, moved->lkey);
    refuse("by_the_address_of_the_process", number(memory), moved->lkey);
    join();
    if (ibv_rereg_mr(moved, IBV_REREG_MR_CHANGE_TRANSLATION, pd, memory + 1024, 1024, 0))
        die("rereg");
    try_piece("registered_anew", memory + 1024 + 5, piece(number(memory + 1024 + 5), moved->lkey));
    part();
}

static void try_zero_based(void)
{
    static uint8_t memory[4096];
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof memory, RIGHTS | IBV_ACCESS_ZERO_BASED);
    if (!mr)
        die("zero based");
    join();
    try_piece("zero_based", memory + 100, piece(100, mr->lkey));
    part();
    refuse("zero_based_beyond", sizeof memory - PIECE + 1, mr->lkey);
}

static void try_overlap(void)
{
    static uint8_t a[1024], b[1024];
    struct ibv_mr *of_a = ibv_reg_mr_iova(pd, a, sizeof a, 0x40000, RIGHTS);
    struct ibv_mr *of_b = ibv_reg_mr_iova(pd, b, sizeof b, 0x40000 + PIECE, RIGHTS);
    if (!of_a || !of_b)
        die("region");
    join();
    try_piece("two_iovas_that_overlap_the_first", a + 2 * PIECE, piece(0x40000 + 2 * PIECE, of_a->lkey));
    try_piece("two_iovas_that_overlap_the_second", b + PIECE, piece(0x40000 + 2 * PIECE, of_b->lkey));
    part();
}

static void try_device_memory(void)
{
    struct ibv_alloc_dm_attr attr = {.length = 4096};
    struct ibv_dm *dm = ibv_alloc_dm(listener->verbs, &attr);
    struct ibv_mr *mr = dm ? ibv_reg_dm_mr(pd, dm, 1024, 2048, RIGHTS | IBV_ACCESS_ZERO_BASED) : NULL;
    uint8_t seen[PIECE], sent[PIECE];
    if (!mr)
        die("device memory");
    join();
    fill(sent, 17);
    ibv_memcpy_to_dm(dm, 1024 + 64, sent, PIECE);
    bool is_written = write_plain(piece(64, mr->lkey)) && memcmp(plain, sent, PIECE) == 0;
    fill(plain + PIECE, 71);
    post_recv(piece(512, mr->lkey));
    post_send(IBV_WR_SEND, of_plain(1), 0, 0);
    bool is_received = take(2) == IBV_WC_SUCCESS && ibv_memcpy_from_dm(seen, dm, 1024 + 512, PIECE) == 0 &&
                       memcmp(seen, plain + PIECE, PIECE) == 0;
    judge(is_written && is_received, "device_memory", "written %d, received %d", is_written, is_received);
    part();
}

/* A null region takes writes at any address, and reads as zeros. */
static void try_null(void)
{
    static const uint8_t zeros[PIECE];
    struct ibv_mr *mr = ibv_alloc_null_mr(pd);
    if (!mr)
        die("null region");
    join();
    fill(plain + PIECE, 9);
    post_recv(piece(UINT64_MAX - 7, mr->lkey));
    post_send(IBV_WR_SEND, of_plain(1), 0, 0);
    post_send(IBV_WR_RDMA_READ, piece(0, mr->lkey), number(plain + PIECE), plain_mr->rkey);
    bool is_taken = take(3) == IBV_WC_SUCCESS;
    fill(plain, 9);
    bool is_zero = write_plain(piece(0x123456789abc, mr->lkey)) && memcmp(plain, zeros, PIECE) == 0;
    judge(is_taken && is_zero, "a_null_region", "taken %d, zeros %d", is_taken, is_zero);
    part();
}

int main(int argc, char **argv)
{
    open_device(argc > 1 ? argv[1] : "127.0.0.1");
    try_many_regions(argc > 2 ? atoi(argv[2]) : 20000);
    try_zero_based();
    try_overlap();
    try_device_memory();
    try_null();
    struct ibv_mr *foreign = ibv_reg_mr(other_pd, plain, sizeof plain, RIGHTS);
    refuse("a_key_that_names_nothing", number(plain), plain_mr->lkey ^ 0x55555500);
    refuse("a_region_of_another_pd", number(plain), foreign ? foreign->lkey : 0);
    printf("%d wrong\n", failed);
    return failed != 0;
}
