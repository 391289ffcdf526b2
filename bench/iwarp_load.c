/* SPDX-License-Identifier: BSD-2-Clause */
/* One side of a measurement over iWARP: bench/iwarp.
 *
 *     iwarp_load serve PORT               waits for one client; PORT as "iwarp:10.77.0.2"
 *     iwarp_load write|echo PORT PEER BYTES SECONDS
 *
 * `write`: RDMA WRITEs of so many bytes, 32 of them under way, and Mbit/s of payload: through 8 MiB in turn,
 * or with --one-buffer always of the same memory, to the same. `echo`: SENDs there and back, one at a time,
 * and the median in microseconds; with --busy a side that waits never sleeps. --no-crc, --markers and these
 * before the other words, on both sides. One line of JSON. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/host.h"
#include "nornic/nornic.h"

#define SERVICE_PORT 18716
#define MEMORY_BYTES (8u << 20)
#define DEPTH        32u
#define WAIT_NS      (10 * NS_PER_S)
#define SAMPLES_MAX  1000000u

struct end {
    struct nornic_dev *dev;
    struct nornic_cm *cm;
    struct nornic_cm_id *id;
    struct nornic_pd *pd;
    struct nornic_cq *cq;
    struct nornic_mr *mr;
    struct nornic_qp *qp;
    uint8_t *memory;
    bool has_one_buffer;
    bool is_busy;
};

/* What the server says in its Reply. */
struct advert {
    uint64_t addr;
    uint32_t rkey, bytes;
};

static void need(int err, const char *what)
{
    if (err >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, strerror(-err));
    exit(1);
}

static void open_end(struct end *e, const char *port, const struct nornic_iwarp_config *iwarp)
{
    struct nornic_error why;
    /* The caller makes progress where it waits: as a program does that wants its time. */
    struct nornic_dev_config config = {NORNIC_INIT(config), .port = port, .iwarp = *iwarp, .no_thread = true};
    if (nornic_dev_open(&config, &e->dev, &why) != 0 || nornic_cm_open(e->dev, NULL, &e->cm, &why) != 0) {
        fprintf(stderr, "%s\n", why.text);
        exit(1);
    }
    e->memory = aligned_alloc(4096, MEMORY_BYTES);
    memset(e->memory, 7, MEMORY_BYTES);
    need(nornic_pd_create(e->dev, &e->pd), "pd");
    need(nornic_mr_reg(e->pd, e->memory, MEMORY_BYTES, NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE,
                       &e->mr),
         "mr");
    struct nornic_cq_config cq = {NORNIC_INIT(cq), .capacity = 4 * DEPTH};
    need(nornic_cq_create(e->dev, &cq, &e->cq), "cq");
}

static void make_qp(struct end *e)
{
    const struct nornic_qp_config config = {
        NORNIC_INIT(config),
        .type = NORNIC_QPT_RC,
        .pd = e->pd,
        .send_cq = e->cq,
        .recv_cq = e->cq,
        .caps = {.max_send_wr = DEPTH, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1}};
    need(nornic_qp_create(e->dev, &config, &e->qp), "qp");
}

static struct nornic_cm_event *next_event(struct end *e)
{
    struct nornic_cm_event *event;
    uint64_t end_ns = host_now_ns() + WAIT_NS;
    while (nornic_cm_get_event(e->cm, &event, 0) != 0) {
        if (!nornic_dev_progress(e->dev))
            nornic_dev_wait(e->dev, NS_PER_MS);
        if (host_now_ns() > end_ns)
            need(-ETIMEDOUT, "an event");
    }
    return event;
}

static void await(struct end *e, enum nornic_cm_event_type type, struct nornic_cm_event *out)
{
    struct nornic_cm_event *event = next_event(e);
    if (event->type != type) {
        fprintf(stderr, "%s: %s\n", nornic_cm_event_name(event->type), event->why.text);
        exit(1);
    }
    *out = *event;
    nornic_cm_ack_event(event);
}

static void post_recv(struct end *e, uint32_t bytes)
{
    const struct nornic_sge sge = {(uintptr_t)e->memory, bytes, nornic_mr_lkey(e->mr)};
    need(nornic_qp_post_recv(e->qp, &(struct nornic_recv_wr){.sg_list = &sge, .num_sge = 1}, NULL),
         "receive");
}

static void post(struct end *e, enum nornic_wr_opcode opcode, uint32_t bytes, const struct advert *to,
                 uint32_t at)
{
    const struct nornic_sge sge = {(uintptr_t)e->memory + at, bytes, nornic_mr_lkey(e->mr)};
    const struct nornic_send_wr wr = {.sg_list = &sge,
                                      .num_sge = 1,
                                      .opcode = opcode,
                                      .send_flags = NORNIC_SEND_SIGNALED,
                                      .remote_addr = to->addr + at,
                                      .rkey = to->rkey};
    need(nornic_qp_post_send(e->qp, &wr, NULL), "post");
}

/* The next completions that are no failure; 0: the stream has ended. */
static int wait_for(struct end *e, struct nornic_wc *wcs, unsigned n)
{
    const struct host_round_policy policy = {.kind = e->is_busy ? HOST_ROUND_FOR_CQ : HOST_ROUND_SLEEP,
                                             .cq = host_cq_of(e->cq),
                                             .sleep_ns = WAIT_NS};
    int got;
    while ((got = nornic_cq_poll(e->cq, wcs, n)) == 0)
        (void)host_round(host_dev_of(e->dev), &policy);
    need(got, "poll");
    for (int i = 0; i < got; i++)
        if (wcs[i].status != NORNIC_WC_SUCCESS)
            return 0;
    return got;
}

static void serve(struct end *e)
{
    struct nornic_cm_event request;
    struct nornic_cm_id *listener;
    struct nornic_wc wc;
    need(nornic_cm_id_create(e->cm, NORNIC_PS_TCP, NULL, &listener), "id");
    need(nornic_cm_id_listen(listener, NULL, SERVICE_PORT, 1), "listen");
    puts("READY");
    fflush(stdout);
    await(e, NORNIC_CM_EVENT_CONNECT_REQUEST, &request);
    e->id = request.id;
    make_qp(e);
    const uint32_t bytes = ntohl(*(const uint32_t *)(const void *)request.private_data);
    const struct advert advert = {
        .addr = nornic_mr_remote_addr(e->mr), .rkey = nornic_mr_rkey(e->mr), .bytes = MEMORY_BYTES};
    post_recv(e, bytes);
    need(nornic_cm_id_accept(
             e->id, e->qp,
             &(struct nornic_conn_param){.private_data = &advert, .private_data_len = sizeof advert}),
         "accept");
    while (wait_for(e, &wc, 1)) {
        if (wc.opcode != NORNIC_WC_RECV)
            continue;
        post_recv(e, bytes);
        post(e, NORNIC_WR_SEND, wc.byte_len, &(struct advert){0}, 0);
    }
}

static struct advert connect_to(struct end *e, const char *peer, uint32_t bytes)
{
    struct nornic_error why;
    struct nornic_addr to;
    struct nornic_cm_event event;
    struct advert advert;
    const uint32_t told = htonl(bytes);
    need(nornic_addr_parse(peer, &to), peer);
    need(nornic_cm_id_create(e->cm, NORNIC_PS_TCP, NULL, &e->id), "id");
    need(nornic_cm_id_resolve_addr(e->id, NULL, &to, SERVICE_PORT, WAIT_NS, &why), why.text);
    await(e, NORNIC_CM_EVENT_ADDR_RESOLVED, &event);
    need(nornic_cm_id_resolve_route(e->id), "route");
    await(e, NORNIC_CM_EVENT_ROUTE_RESOLVED, &event);
    make_qp(e);
    need(nornic_cm_id_connect(
             e->id, e->qp,
             &(struct nornic_conn_param){.private_data = &told, .private_data_len = sizeof told}),
         "connect");
    await(e, NORNIC_CM_EVENT_ESTABLISHED, &event);
    memcpy(&advert, event.private_data, sizeof advert);
    return advert;
}

static void run_write(struct end *e, const struct advert *to, uint32_t bytes, uint64_t time_ns)
{
    struct nornic_wc wcs[DEPTH];
    uint64_t start_ns = host_now_ns(), done = 0, now_ns;
    uint32_t slots = e->has_one_buffer ? 1 : MEMORY_BYTES / bytes, next = 0;
    for (unsigned i = 0; i < DEPTH; i++, next++)
        post(e, NORNIC_WR_RDMA_WRITE, bytes, to, next % slots * bytes);
    do {
        int n = wait_for(e, wcs, DEPTH);
        if (n == 0)
            need(-EIO, "the stream ended");
        for (int i = 0; i < n; i++, next++, done++)
            post(e, NORNIC_WR_RDMA_WRITE, bytes, to, next % slots * bytes);
        now_ns = host_now_ns();
    } while (now_ns - start_ns < time_ns);
    printf("{\"mbit_per_s\": %.1f}\n", (double)done * bytes * 8e3 / (double)(now_ns - start_ns));
}

static int compare(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void run_echo(struct end *e, uint32_t bytes, uint64_t time_ns)
{
    uint32_t *took_ns = malloc(SAMPLES_MAX * sizeof *took_ns), count = 0;
    uint64_t end_ns = host_now_ns() + time_ns;
    struct nornic_wc wc;
    while (host_now_ns() < end_ns && count < SAMPLES_MAX) {
        uint64_t start_ns = host_now_ns();
        post_recv(e, bytes);
        post(e, NORNIC_WR_SEND, bytes, &(struct advert){0}, 0);
        do
            if (!wait_for(e, &wc, 1))
                need(-EIO, "the stream ended");
        while (wc.opcode != NORNIC_WC_RECV);
        took_ns[count++] = (uint32_t)(host_now_ns() - start_ns);
    }
    qsort(took_ns, count, sizeof *took_ns, compare);
    const uint32_t median_ns = took_ns[count / 2], p99_ns = took_ns[count * 99ull / 100];
    printf("{\"median_us\": %.2f, \"p99_us\": %.2f}\n", median_ns / 1e3, p99_ns / 1e3);
    free(took_ns);
}

int main(int argc, char **argv)
{
    struct nornic_iwarp_config iwarp = {0};
    struct end e = {0};
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        iwarp.no_crc |= strcmp(argv[i], "--no-crc") == 0;
        iwarp.markers |= strcmp(argv[i], "--markers") == 0;
        e.has_one_buffer |= strcmp(argv[i], "--one-buffer") == 0;
        e.is_busy |= strcmp(argv[i], "--busy") == 0;
    }
    bool is_server = argc == i + 2 && strcmp(argv[i], "serve") == 0;
    bool is_write = argc == i + 5 && strcmp(argv[i], "write") == 0;
    bool is_echo = argc == i + 5 && strcmp(argv[i], "echo") == 0;
    if (!is_server && !is_write && !is_echo) {
        fputs("iwarp_load [--no-crc] [--markers] [--one-buffer] [--busy] serve PORT |\n"
              "           write|echo PORT PEER BYTES SECONDS\n",
              stderr);
        return 2;
    }
    open_end(&e, argv[i + 1], &iwarp);
    if (is_server) {
        serve(&e);
        return 0;
    }
    const uint32_t bytes = (uint32_t)atoi(argv[i + 3]);
    const uint64_t time_ns = (uint64_t)(atof(argv[i + 4]) * 1e9);
    const struct advert to = connect_to(&e, argv[i + 2], bytes);
    if (is_write)
        run_write(&e, &to, bytes, time_ns);
    else
        run_echo(&e, bytes, time_ns);
    nornic_cm_id_disconnect(e.id);
    return 0;
}
