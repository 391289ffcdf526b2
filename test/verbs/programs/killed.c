/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of librdmacm that only wait for events, and a process that ends in one of many ways:
 *     killed serve ADDRESS COUNT       accepts COUNT requests at port 7474, waits for as many ends
 *     killed ask ADDRESS COUNT HOW     connects COUNT ids, then does HOW
 *     killed rserve ADDRESS HOW        the same with one rsocket, which reads (read) or does not (full)
 *     killed rask ADDRESS HOW          connects an rsocket; sends a byte (read), or all that it takes (full)
 * HOW: wait (for as many ends), pause, slowly (a connection each 100 ms, and pause), _exit, segv, exec, fork
 * (a child lives on, and the parent ends), children (there are none to wait for, and pause).
 * It prints "ready" when all connections stand, and "ended" when all have ended. Exit status 0: "ended" was
 * printed. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT     7474
#define QUIET_MS 30000

static struct rdma_event_channel *channel;
static struct ibv_cq *cq;
static struct sockaddr_in peer = {.sin_family = AF_INET};
static int total, established, ended;

static void say(const char *word)
{
    puts(word);
    fflush(stdout);
}

static void die(const char *what)
{
    printf("%s: %s\n", what, strerror(errno));
    exit(1);
}

static void check(const char *call, int result)
{
    if (result)
        die(call);
}

static void add_qp(struct rdma_cm_id *id)
{
    if (!cq)
        cq = ibv_create_cq(id->verbs, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr attr = {
        .qp_type = IBV_QPT_RC, .cap = {1, 1, 1, 1, 0}, .send_cq = cq, .recv_cq = cq};
    check("rdma_create_qp", rdma_create_qp(id, NULL, &attr));
}

static void react(struct rdma_cm_id *id, enum rdma_cm_event_type event)
{
    static struct rdma_conn_param param = {.retry_count = 7, .rnr_retry_count = 7};
    if (event == RDMA_CM_EVENT_ADDR_RESOLVED) {
        check("rdma_resolve_route", rdma_resolve_route(id, 2000));
    } else if (event == RDMA_CM_EVENT_ROUTE_RESOLVED) {
        add_qp(id);
        check("rdma_connect", rdma_connect(id, &param));
    } else if (event == RDMA_CM_EVENT_CONNECT_REQUEST) {
        add_qp(id);
        check("rdma_accept", rdma_accept(id, &param));
    } else if (event == RDMA_CM_EVENT_ESTABLISHED) {
        established++;
    } else if (event == RDMA_CM_EVENT_DISCONNECTED) {
        ended++;
    } else if (event != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
        printf("%s\n", rdma_event_str(event));
        exit(1);
    }
}

/* Takes events until `*count` of them have come. */
static void take_events(const int *count)
{
    struct pollfd wait = {.fd = channel->fd, .events = POLLIN};
    while (*count < total) {
        struct rdma_cm_event *event;
        if (poll(&wait, 1, QUIET_MS) != 1) {
            printf("nothing comes: %d established, %d ended\n", established, ended);
            exit(1);
        }
        check("rdma_get_cm_event", rdma_get_cm_event(channel, &event));
        struct rdma_cm_id *id = event->id;
        enum rdma_cm_event_type type = event->event;
        check("rdma_ack_cm_event", rdma_ack_cm_event(event));
        react(id, type);
    }
}

static void await_end(void)
{
    take_events(&ended);
    say("ended");
    exit(0);
}

/* A child without the devices of its parent. */
static void live_on(void)
{
    if (fork() == 0) {
        fclose(stdout);
        sleep(8);
    }
    _exit(0);
}

static void end_by(const char *how)
{
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    if (strcmp(how, "segv") == 0) {
        signal(SIGSEGV, SIG_DFL); /* a sanitizer has a handler, which reports it */
        raise(SIGSEGV);
    }
    if (strcmp(how, "exec") == 0)
        execlp("sleep", "sleep", "8", (char *)NULL);
    if (strcmp(how, "fork") == 0)
        live_on();
    if (strcmp(how, "children") == 0 && (wait(NULL) != -1 || errno != ECHILD))
        die("a child that is not the program's");
    for (;;)
        pause();
}

/* --- ids --- */

static void serve(void)
{
    struct rdma_cm_id *id;
    check("rdma_create_id", rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
    check("rdma_bind_addr", rdma_bind_addr(id, (struct sockaddr *)&peer));
    check("rdma_listen", rdma_listen(id, 1024));
    say("listening");
    take_events(&established);
    say("ready");
    await_end();
}

static void ask(const char *how)
{
    const int count = total;
    bool is_slow = strcmp(how, "slowly") == 0;
    for (int i = 0; i < count; i++) {
        struct rdma_cm_id *id;
        check("rdma_create_id", rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
        check("rdma_resolve_addr", rdma_resolve_addr(id, NULL, (struct sockaddr *)&peer, 2000));
        if (is_slow) {
            total = i + 1;
            take_events(&established);
            usleep(100000);
        }
    }
    take_events(&established);
    say("ready");
    if (strcmp(how, "wait") == 0)
        await_end();
    end_by(how);
}

/* --- rsockets --- */

static void await_rsocket_end(int fd, short events, const char *how)
{
    static char data[65536];
    bool is_full = strcmp(how, "full") == 0;
    for (;;) {
        ssize_t bytes = is_full ? rsend(fd, data, sizeof data, 0) : rrecv(fd, data, sizeof data, 0);
        if (bytes == 0 || (bytes < 0 && errno != EAGAIN && errno != EWOULDBLOCK))
            break;
        struct pollfd wait = {.fd = fd, .events = events};
        if (bytes < 0 && is_full)
            say("ready");
        if (bytes < 0 && rpoll(&wait, 1, QUIET_MS) != 1)
            die("rpoll");
    }
    say("ended");
    exit(0);
}

static void rserve(const char *how)
{
    char byte;
    int listener = rsocket(AF_INET, SOCK_STREAM, 0);
    check("rbind", rbind(listener, (struct sockaddr *)&peer, sizeof peer));
    check("rlisten", rlisten(listener, 4));
    say("listening");
    int fd = raccept(listener, NULL, NULL);
    if (fd < 0)
        die("raccept");
    if (strcmp(how, "full") == 0)
        end_by("pause");
    if (rrecv(fd, &byte, 1, 0) != 1)
        die("rrecv");
    say("ready");
    await_rsocket_end(fd, POLLIN, how);
}

static void rask(const char *how)
{
    int fd = rsocket(AF_INET, SOCK_STREAM, 0);
    check("rconnect", rconnect(fd, (struct sockaddr *)&peer, sizeof peer));
    if (strcmp(how, "full") == 0) {
        check("rfcntl", rfcntl(fd, F_SETFL, O_NONBLOCK));
        await_rsocket_end(fd, POLLOUT, how);
    }
    if (rsend(fd, "", 1, 0) != 1)
        die("rsend");
    say("ready");
    end_by("pause");
}

int main(int argc, char **argv)
{
    if (argc < 4 || inet_pton(AF_INET, argv[2], &peer.sin_addr) != 1)
        return 2;
    peer.sin_port = htons(PORT);
    total = atoi(argv[3]);
    if (strcmp(argv[1], "rserve") == 0)
        rserve(argv[3]);
    if (strcmp(argv[1], "rask") == 0)
        rask(argv[3]);
    channel = rdma_create_event_channel();
    if (!channel)
        die("rdma_create_event_channel");
    if (strcmp(argv[1], "serve") == 0)
        serve();
    ask(argc > 4 ? argv[4] : "wait");
}
