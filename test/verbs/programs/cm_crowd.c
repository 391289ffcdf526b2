/* SPDX-License-Identifier: BSD-2-Clause */
/* Many ids of librdmacm at once, between processes:
 *     cm_crowd serve ADDRESS COUNT    listens at port 7471, accepts COUNT requests, waits for their ends
 *     cm_crowd ask ADDRESS COUNT      connects COUNT ids at once; when all stand, disconnects them
 * The server prints "listening" at first. Each prints its events by kind and the longest time without one.
 * It exits with 0 if each id had its events, and no time without one was over GAP_MAX_MS. */
#include <arpa/inet.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PORT       7471
#define BACKLOG    16384
#define QUIET_MS   30000
#define GAP_MAX_MS 3500 /* a lost message comes again after 4.3 s */
#define KINDS_MAX  32

static struct rdma_event_channel *channel;
static int counts[KINDS_MAX], total;
static struct ibv_cq *cq;
static int is_server;

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void add_qp(struct rdma_cm_id *id)
{
    if (!cq)
        cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}, .send_cq = cq, .recv_cq = cq};
    if (rdma_create_qp(id, NULL, &attr))
        perror("rdma_create_qp");
}

static void check(const char *call, int result)
{
    if (result)
        perror(call);
}

static void react(struct rdma_cm_id *id, enum rdma_cm_event_type event)
{
    static struct rdma_conn_param param = {.retry_count = 7, .rnr_retry_count = 7};
    if (event == RDMA_CM_EVENT_ADDR_RESOLVED)
        check("rdma_resolve_route", rdma_resolve_route(id, 2000));
    if (event == RDMA_CM_EVENT_CONNECT_REQUEST) {
        add_qp(id);
        check("rdma_accept", rdma_accept(id, &param));
    }
    if (event == RDMA_CM_EVENT_DISCONNECTED && is_server)
        check("rdma_disconnect", rdma_disconnect(id));
}

/* Takes events until there are `count` of a kind. Returns the longest time without an event in ms, or
 * -1. */
static double take_until(enum rdma_cm_event_type kind, int count)
{
    double last_ms = now_ms(), longest_ms = 0;
    while (counts[kind] < count) {
        struct pollfd p = {channel->fd, POLLIN, 0};
        struct rdma_cm_event *event;
        if (poll(&p, 1, QUIET_MS) != 1 || rdma_get_cm_event(channel, &event))
            return -1;
        const double at_ms = now_ms();
        longest_ms = at_ms - last_ms > longest_ms && total ? at_ms - last_ms : longest_ms;
        last_ms = at_ms;
        total++;
        counts[event->event]++;
        react(event->id, event->event);
        rdma_ack_cm_event(event);
    }
    return longest_ms;
}

static int report(const char *step, double longest_ms)
{
    printf("%s:", step);
    for (int kind = 0; kind < KINDS_MAX; kind++)
        if (counts[kind])
            printf(" %s %d", rdma_event_str((enum rdma_cm_event_type)kind) + strlen("RDMA_CM_EVENT_"),
                   counts[kind]);
    printf(", longest wait %.0f ms\n", longest_ms);
    fflush(stdout);
    return longest_ms < 0 || longest_ms > GAP_MAX_MS;
}

static int serve(struct sockaddr_in *at, int count)
{
    struct rdma_cm_id *listener;
    if (rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) || rdma_bind_addr(listener, (void *)at) ||
        rdma_listen(listener, BACKLOG))
        return perror("rdma_listen"), 1;
    printf("listening\n");
    fflush(stdout);
    return report("connected", take_until(RDMA_CM_EVENT_ESTABLISHED, count)) ||
           report("disconnected", take_until(RDMA_CM_EVENT_DISCONNECTED, count));
}

static int ask(struct sockaddr_in *at, int count)
{
    struct rdma_cm_id **ids = calloc((size_t)count, sizeof *ids);
    for (int i = 0; i < count; i++) {
        check("rdma_create_id", rdma_create_id(channel, &ids[i], NULL, RDMA_PS_TCP));
        check("rdma_resolve_addr", rdma_resolve_addr(ids[i], NULL, (void *)at, 2000));
    }
    if (report("resolved", take_until(RDMA_CM_EVENT_ROUTE_RESOLVED, count)))
        return 1;
    struct rdma_conn_param param = {.retry_count = 7, .rnr_retry_count = 7};
    for (int i = 0; i < count; i++)
        add_qp(ids[i]);
    for (int i = 0; i < count; i++)
        check("rdma_connect", rdma_connect(ids[i], &param));
    if (report("connected", take_until(RDMA_CM_EVENT_ESTABLISHED, count)))
        return 1;
    for (int i = 0; i < count; i++)
        check("rdma_disconnect", rdma_disconnect(ids[i]));
    free(ids);
    return report("disconnected", take_until(RDMA_CM_EVENT_DISCONNECTED, count));
}

int main(int argc, char **argv)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    if (argc != 4 || inet_pton(AF_INET, argv[2], &at.sin_addr) != 1)
        return 2;
    alarm(120);
    channel = rdma_create_event_channel();
    is_server = strcmp(argv[1], "serve") == 0;
    return is_server ? serve(&at, atoi(argv[3])) : ask(&at, atoi(argv[3]));
}
