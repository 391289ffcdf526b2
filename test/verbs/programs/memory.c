/* SPDX-License-Identifier: BSD-2-Clause */
/* A program of libibverbs and librdmacm with registered memory that goes away. It knows nothing of
 * nornic. Both ends of each connection are in this process, on 127.0.0.1.
 *
 *   memory gone      each operation on memory that went in each way: the operation fails, the process lives
 *   memory rights    memory that a kernel does not register: EFAULT
 *   memory demand    on-demand regions: a hole is an error, and memory that comes back is used again
 *   memory signals   SIGSEGV and SIGBUS of the program itself still go to the program
 *
 * Prints a line "ok NAME" or "not ok NAME: why" for each case. */
#define _GNU_SOURCE /* memfd_create() */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE_BYTES   4096u
#define REGION_BYTES (64u * PAGE_BYTES)
#define GONE_FROM    (32u * PAGE_BYTES)
#define GONE_BYTES   (16u * PAGE_BYTES) /* that go; of a file, all behind them as well */
#define WAIT_SECONDS 20
#define ALL_ACCESS \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static void say(bool is_right, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void say(bool is_right, const char *name, const char *format, ...)
{
    va_list args;
    printf(is_right ? "ok %s\n" : "not ok %s: ", name);
    if (!is_right) {
        va_start(args, format);
        vprintf(format, args);
        va_end(args);
        putchar('\n');
    }
    fflush(stdout);
}

static void need(bool is_there, const char *what)
{
    if (is_there)
        return;
    printf("not ok setup: %s (%s)\n", what, strerror(errno));
    exit(1);
}

/* --- a connection with both ends here --- */

struct end {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *id;
    struct ibv_cq *cq;
};

static struct rdma_event_channel *listen_channel;
static struct rdma_cm_id *listener;
static struct ibv_pd *pd; /* of the one device */

static struct rdma_cm_event *next_event(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
    struct rdma_cm_event *event;
    need(rdma_get_cm_event(channel, &event) == 0, "an event");
    if (event->event != type) {
        printf("not ok setup: %s in place of %s\n", rdma_event_str(event->event), rdma_event_str(type));
        exit(1);
    }
    return event;
}

static void await(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
    rdma_ack_cm_event(next_event(channel, type));
}

static void listen_here(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listen_channel = rdma_create_event_channel();
    need(listen_channel && rdma_create_id(listen_channel, &listener, NULL, RDMA_PS_TCP) == 0, "an id");
    need(rdma_bind_addr(listener, (struct sockaddr *)&addr) == 0 && rdma_listen(listener, 4) == 0,
         "a listener");
}

static void make_qp(struct end *end)
{
    if (!pd)
        pd = ibv_alloc_pd(end->id->verbs);
    end->cq = ibv_create_cq(end->id->verbs, 16, NULL, NULL, 0);
    need(pd && end->cq, "a completion queue");
    struct ibv_qp_init_attr init = {
        .send_cq = end->cq,
        .recv_cq = end->cq,
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 2, .max_recv_sge = 2},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };
    need(rdma_create_qp(end->id, pd, &init) == 0, "a queue pair");
}

static void connect_ends(struct end *client, struct end *server)
{
    struct rdma_conn_param param = {
        .responder_resources = 4, .initiator_depth = 4, .retry_count = 7, .rnr_retry_count = 7};
    client->channel = rdma_create_event_channel();
    need(rdma_create_id(client->channel, &client->id, NULL, RDMA_PS_TCP) == 0, "an id");
    need(rdma_resolve_addr(client->id, NULL, rdma_get_local_addr(listener), 2000) == 0, "an address");
    await(client->channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    need(rdma_resolve_route(client->id, 2000) == 0, "a route");
    await(client->channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
    make_qp(client);
    need(rdma_connect(client->id, &param) == 0, "a request");
    struct rdma_cm_event *event = next_event(listen_channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    server->id = event->id;
    rdma_ack_cm_event(event);
    server->channel = rdma_create_event_channel();
    need(rdma_migrate_id(server->id, server->channel) == 0, "a channel");
    make_qp(server);
    need(rdma_accept(server->id, &param) == 0, "an answer");
    await(client->channel, RDMA_CM_EVENT_ESTABLISHED);
    await(server->channel, RDMA_CM_EVENT_ESTABLISHED);
}

static void end_connection(struct end *end)
{
    rdma_destroy_qp(end->id);
    ibv_destroy_cq(end->cq);
    rdma_destroy_id(end->id);
    rdma_destroy_event_channel(end->channel);
}

/* Returns the status of the next completion, or -1: none came in time. */
static int completion(const struct end *end)
{
    struct timespec from, now;
    struct ibv_wc wc;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        int n = ibv_poll_cq(end->cq, 1, &wc);
        if (n)
            return n < 0 ? -1 : (int)wc.status;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - from.tv_sec < WAIT_SECONDS);
    return -1;
}

/* --- memory and the ways in which it goes --- */

struct region {
    uint8_t *at;
    struct ibv_mr *mr;
    int fd;
};

static struct region make_region(int access)
{
    struct region r = {.fd = memfd_create("region", MFD_CLOEXEC)};
    need(r.fd >= 0 && ftruncate(r.fd, REGION_BYTES) == 0, "a file");
    r.at = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, r.fd, 0);
    need(r.at != MAP_FAILED, "memory");
    memset(r.at, 7, REGION_BYTES);
    r.mr = ibv_reg_mr(pd, r.at, REGION_BYTES, access);
    need(r.mr, "a region");
    return r;
}

static void end_region(struct region *r)
{
    ibv_dereg_mr(r->mr);
    munmap(r->at, REGION_BYTES);
    close(r->fd);
}

enum way { UNMAPPED, NO_RIGHTS, READ_ONLY, CUT, WAYS };

static const char *const way_names[WAYS] = {"unmapped", "no_rights", "read_only", "cut_file"};

static void go(const struct region *r, enum way way)
{
    if (way == UNMAPPED)
        munmap(r->at + GONE_FROM, GONE_BYTES);
    else if (way == CUT)
        need(ftruncate(r->fd, GONE_FROM) == 0, "a shorter file");
    else
        mprotect(r->at + GONE_FROM, GONE_BYTES, way == READ_ONLY ? PROT_READ : PROT_NONE);
}

/* --- operations --- */

struct operation {
    const char *name;
    enum ibv_wr_opcode opcode;
    bool is_local;  /* the memory of the requester goes, in place of the peer's */
    bool is_stored; /* the memory that goes is written to */
    uint32_t len_bytes;
};

static const struct operation operations[] = {
    {"write", IBV_WR_RDMA_WRITE, false, true, 8},
    {"long_write", IBV_WR_RDMA_WRITE, false, true, REGION_BYTES},
    {"read", IBV_WR_RDMA_READ, false, false, 8},
    {"long_read", IBV_WR_RDMA_READ, false, false, REGION_BYTES},
    {"fetch_add", IBV_WR_ATOMIC_FETCH_AND_ADD, false, true, 8},
    {"compare_swap", IBV_WR_ATOMIC_CMP_AND_SWP, false, true, 8},
    {"receive", IBV_WR_SEND, false, true, 100},
    {"long_receive", IBV_WR_SEND, false, true, REGION_BYTES},
    {"send", IBV_WR_SEND, true, false, 100},
    {"long_send", IBV_WR_SEND, true, false, REGION_BYTES},
    {"written_from", IBV_WR_RDMA_WRITE, true, false, 100},
    {"long_written_from", IBV_WR_RDMA_WRITE, true, false, REGION_BYTES},
    {"read_into", IBV_WR_RDMA_READ, true, true, 100},
    {"long_read_into", IBV_WR_RDMA_READ, true, true, REGION_BYTES},
};

/* A long operation begins in memory that is there, and comes to that which is not. */
static uint8_t *place_of(const struct region *r, const struct operation *op, bool goes)
{
    return goes && op->len_bytes < REGION_BYTES ? r->at + GONE_FROM : r->at;
}

static void post(const struct end *client, const struct end *server, const struct operation *op,
                 const struct region *mine, const struct region *theirs)
{
    struct ibv_sge sge = {(uintptr_t)place_of(mine, op, op->is_local), op->len_bytes, mine->mr->lkey};
    uintptr_t remote = (uintptr_t)place_of(theirs, op, !op->is_local);
    struct ibv_send_wr *bad, wr = {.sg_list = &sge, .num_sge = 1, .opcode = op->opcode};
    if (op->opcode == IBV_WR_SEND) {
        struct ibv_sge to = {remote, op->len_bytes, theirs->mr->lkey};
        struct ibv_recv_wr *bad_recv, recv = {.sg_list = &to, .num_sge = 1};
        need(ibv_post_recv(server->id->qp, &recv, &bad_recv) == 0, "a receive");
    } else if (op->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD || op->opcode == IBV_WR_ATOMIC_CMP_AND_SWP) {
        wr.wr.atomic.remote_addr = remote;
        wr.wr.atomic.rkey = theirs->mr->rkey;
    } else {
        wr.wr.rdma.remote_addr = remote;
        wr.wr.rdma.rkey = theirs->mr->rkey;
    }
    need(ibv_post_send(client->id->qp, &wr, &bad) == 0, "a request");
}

/* The completions that are right. iWARP completes a WRITE or SEND when TCP has taken it, and the peer's
 * refusal ends the connection: a READ behind it then fails. */
static bool is_right(const struct operation *op, int status, bool is_iwarp)
{
    if (op->is_local)
        return status == IBV_WC_LOC_PROT_ERR;
    if (is_iwarp)
        return status > 0;
    return status == (op->opcode == IBV_WR_SEND ? IBV_WC_REM_OP_ERR : IBV_WC_REM_ACCESS_ERR);
}

static bool is_over_iwarp(void)
{
    return pd->context->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* Returns the status of the operation. An operation that completes early over iWARP is followed by a
 * READ: then that of the READ. */
static int status_of(const struct end *client, const struct end *server, const struct operation *op)
{
    int status = completion(client);
    if (!is_over_iwarp() || op->is_local || status != IBV_WC_SUCCESS)
        return status;
    struct region from = make_region(ALL_ACCESS), to = make_region(ALL_ACCESS);
    const struct operation read = {.opcode = IBV_WR_RDMA_READ, .len_bytes = 8};
    post(client, server, &read, &to, &from);
    status = completion(client);
    end_region(&from);
    end_region(&to);
    return status;
}

static void try_gone(const struct operation *op, enum way way)
{
    char name[64];
    struct end client, server;
    connect_ends(&client, &server);
    struct region mine = make_region(ALL_ACCESS), theirs = make_region(ALL_ACCESS);
    snprintf(name, sizeof name, "%s_%s", way_names[way], op->name);
    go(op->is_local ? &mine : &theirs, way);
    post(&client, &server, op, &mine, &theirs);
    int status = status_of(&client, &server, op);
    if (way == READ_ONLY && !op->is_stored)
        say(status == IBV_WC_SUCCESS, name, "%s", ibv_wc_status_str(status));
    else
        say(is_right(op, status, is_over_iwarp()), name, "%s",
            status < 0 ? "no completion" : ibv_wc_status_str(status));
    if (op->opcode == IBV_WR_SEND && !op->is_local && op->is_stored) {
        status = completion(&server);
        strcat(name, "_there");
        say(status == IBV_WC_LOC_PROT_ERR, name, "%s", status < 0 ? "none" : ibv_wc_status_str(status));
    }
    end_connection(&client);
    end_connection(&server);
    end_region(&mine);
    end_region(&theirs);
}

static void gone(void)
{
    for (unsigned way = 0; way < WAYS; way++)
        for (unsigned i = 0; i < sizeof operations / sizeof *operations; i++)
            try_gone(&operations[i], (enum way)way);
}

/* --- registration --- */

static void refuse(const char *name, uint8_t *at, size_t len_bytes, int access, int want)
{
    errno = 0;
    struct ibv_mr *mr = ibv_reg_mr(pd, at, len_bytes, access);
    if (want)
        say(!mr && errno == want, name, "%s, %s", mr ? "registered" : "refused", strerror(errno));
    else
        say(mr != NULL, name, "refused, %s", strerror(errno));
    if (mr)
        ibv_dereg_mr(mr);
}

static void rights(void)
{
    struct region r = make_region(ALL_ACCESS);
    int fd = memfd_create("short", MFD_CLOEXEC);
    need(fd >= 0 && ftruncate(fd, PAGE_BYTES) == 0, "a file");
    uint8_t *beyond = mmap(NULL, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    need(beyond != MAP_FAILED, "memory");
    refuse("beyond_the_file", beyond, 2 * PAGE_BYTES, ALL_ACCESS, EFAULT);
    refuse("up_to_its_end", beyond, PAGE_BYTES, ALL_ACCESS, 0);
    go(&r, READ_ONLY);
    refuse("read_only_to_write", r.at, REGION_BYTES, ALL_ACCESS, EFAULT);
    refuse("read_only_to_read", r.at, REGION_BYTES, IBV_ACCESS_REMOTE_READ, 0);
    refuse("read_only_amid_a_page", r.at + GONE_FROM - 3, 4, IBV_ACCESS_LOCAL_WRITE, EFAULT);
    refuse("the_byte_before", r.at + GONE_FROM - 3, 3, IBV_ACCESS_LOCAL_WRITE, 0);
    go(&r, NO_RIGHTS);
    refuse("no_rights", r.at, REGION_BYTES, ALL_ACCESS, EFAULT);
    refuse("no_rights_to_read", r.at, REGION_BYTES, 0, EFAULT);
    refuse("no_rights_on_demand", r.at, REGION_BYTES, ALL_ACCESS | IBV_ACCESS_ON_DEMAND, 0);
    int err = ibv_rereg_mr(r.mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, r.at + GONE_FROM, PAGE_BYTES, 0);
    say(err != 0, "no_rights_registered_anew", "done");
    go(&r, UNMAPPED);
    refuse("a_hole", r.at, REGION_BYTES, ALL_ACCESS, EFAULT);
    refuse("a_hole_to_read", r.at, REGION_BYTES, 0, EFAULT);
    end_region(&r);
}

/* --- on demand --- */

static int write_to(const struct end *client, const struct end *server, const struct region *r)
{
    struct region mine = make_region(ALL_ACCESS);
    const struct operation write = {.opcode = IBV_WR_RDMA_WRITE, .len_bytes = 8};
    post(client, server, &write, &mine, r);
    int status = status_of(client, server, &write);
    end_region(&mine);
    return status;
}

static void demand(void)
{
    struct end client, server;
    connect_ends(&client, &server);
    struct region r = make_region(ALL_ACCESS | IBV_ACCESS_ON_DEMAND);
    go(&r, UNMAPPED);
    int status = write_to(&client, &server, &r);
    say(is_over_iwarp() ? status > 0 : status == IBV_WC_REM_ACCESS_ERR, "hole_on_demand", "%s",
        status < 0 ? "no completion" : ibv_wc_status_str(status));
    end_connection(&client);
    end_connection(&server);
    connect_ends(&client, &server);
    void *again = mmap(r.at + GONE_FROM, REGION_BYTES - GONE_FROM, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    need(again != MAP_FAILED, "memory again");
    status = write_to(&client, &server, &r);
    say(status == IBV_WC_SUCCESS && r.at[GONE_FROM] == 7, "mapped_again", "%s, byte %d",
        status < 0 ? "no completion" : ibv_wc_status_str(status), r.at[GONE_FROM]);
    end_connection(&client);
    end_connection(&server);
    end_region(&r);
}

/* --- the program's own signals --- */

static sigjmp_buf back;
static volatile sig_atomic_t caught;
static volatile uint8_t *volatile nowhere = (volatile uint8_t *)8;

static void on_signal(int number)
{
    caught = number;
    siglongjmp(back, 1);
}

static void on_info(int number, siginfo_t *info, void *context)
{
    (void)context;
    caught = info->si_addr == nowhere ? number : -number;
    siglongjmp(back, 1);
}

static struct sigaction chained;

static void chain(int number, siginfo_t *info, void *context)
{
    caught++;
    chained.sa_sigaction(number, info, context);
}

static int touch_nowhere(void)
{
    caught = 0;
    if (sigsetjmp(back, 1) == 0)
        *nowhere = 1;
    return caught;
}

/* Runs `step` in a child process; returns the status that it ended with. */
static int in_child(void (*step)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        alarm(WAIT_SECONDS);
        step();
        _exit(0);
    }
    need(child > 0 && waitpid(child, &status, 0) == child, "a child");
    return status;
}

static void touch(void)
{
    *nowhere = 1;
}

static void send_itself(void)
{
    kill(getpid(), SIGSEGV);
    pause();
}

static void bus_itself(void)
{
    raise(SIGBUS);
}

static void ignore_and_send(void)
{
    signal(SIGSEGV, SIG_IGN);
    struct region r = make_region(ALL_ACCESS); /* a handler is put before it again */
    (void)r;
    kill(getpid(), SIGSEGV);
}

static void chain_and_touch(void)
{
    struct sigaction action = {.sa_sigaction = chain, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, &chained);
    struct region r = make_region(ALL_ACCESS);
    (void)r;
    *nowhere = 1;
}

static void *poll_with_signals_blocked(void *arg)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    try_gone(&operations[2], UNMAPPED);
    return arg;
}

static void signals(void)
{
    int status = in_child(touch);
    say(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "own_fault_ends_it", "status 0x%x", status);
    status = in_child(send_itself);
    say(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "sent_signal_ends_it", "status 0x%x", status);
    status = in_child(bus_itself);
    say(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS, "raised_signal_ends_it", "status 0x%x", status);
    status = in_child(ignore_and_send);
    say(status == 0, "ignored_signal", "status 0x%x", status);
    status = in_child(chain_and_touch);
    say(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "handlers_in_a_ring", "status 0x%x", status);

    /* a handler that is installed behind the library's, and one before which the library puts its own
     * again */
    struct sigaction plain = {.sa_handler = on_signal},
                     info = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &plain, NULL);
    say(touch_nowhere() == SIGSEGV, "own_handler", "caught %d", caught);
    sigaction(SIGBUS, &info, NULL);
    sigaction(SIGSEGV, &info, NULL);
    try_gone(&operations[0], NO_RIGHTS); /* registers memory after the handlers came */
    try_gone(&operations[0], CUT);
    say(touch_nowhere() == SIGSEGV, "own_handler_with_address", "caught %d", caught);
    say(touch_nowhere() == SIGSEGV, "own_handler_once_more", "caught %d", caught);

    pthread_t thread;
    need(pthread_create(&thread, NULL, poll_with_signals_blocked, NULL) == 0, "a thread");
    pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
    struct end client, server;
    const char *what = argc == 2 ? argv[1] : "";
    listen_here();
    connect_ends(&client, &server);
    end_connection(&client);
    end_connection(&server);
    if (strcmp(what, "gone") == 0)
        gone();
    else if (strcmp(what, "rights") == 0)
        rights();
    else if (strcmp(what, "demand") == 0)
        demand();
    else if (strcmp(what, "signals") == 0)
        signals();
    else
        return fprintf(stderr, "usage: memory gone|rights|demand|signals\n"), 2;
    return 0;
}
