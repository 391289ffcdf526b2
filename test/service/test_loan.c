/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a loan, over a socket that no engine drives. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "service/inner.h"
#include "test/smcr_pair/pair.h"

TestSuite(loan, .timeout = 60);

enum { SLOT = 3, GENERATION = 1 };

static struct service *service;
static struct service_loan *loan;
static int peer_fd; /* the other end of the pair that stands for its TCP connection */

static void set_up(void)
{
    int fds[2];
    void *memory = mmap(NULL, SERVICE_BUFFERS_AT, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
    service = calloc(1, sizeof *service);
    loan = calloc(1, sizeof *loan);
    service->arena.memory = service->head = memory;
    service->loans[SLOT] = loan;
    service->num_loans = 1;
    service->generations[SLOT] = GENERATION;
    smcr_rt.epfd = -1;
    loan->service = service;
    loan->slot = SLOT;
    loan->generation = GENERATION;
    loan->block = service_block_at(memory, SLOT);
    loan->inner = -1;
    loan->sock = calloc(1, sizeof *loan->sock);
    loan->sock->refs = 2; /* it is not freed here */
    loan->sock->loan = loan;
    loan->sock->state = SMCR_SOCK_TCP;
    loan->sock->tcp_fd = fds[0];
    loan->block->state = BORROW_NEGOTIATING;
    loan->block->generation = GENERATION;
    peer_fd = fds[1];
}

static void tear_down(void)
{
    close(peer_fd);
    close(loan->sock->tcp_fd);
    free(loan->sock);
    free(loan);
    munmap(service->arena.memory, SERVICE_BUFFERS_AT);
    free(service);
}

static bool has_ended(void)
{
    char byte;
    return recv(peer_fd, &byte, 1, 0) == 0;
}

/* The program has not heard of TCP yet; CLC goes first. */
Test(loan, what_was_ended_before_tcp_is_handed_over_is_ended_then, .init = set_up, .fini = tear_down)
{
    loan->inner = STDIN_FILENO; /* somebody has the other end */
    loan->sock->unsent_bytes = 1;
    atomic_store(&loan->block->shut, 2);
    service_loan_look(loan);
    service_loan_tell(loan, 0);
    cr_assert_not(has_ended(), "bytes of CLC go before");
    loan->sock->unsent_bytes = 0;
    service_loan_tell(loan, 0);
    cr_assert_eq(atomic_load(&loan->block->state), BORROW_TCP);
    cr_assert(has_ended());
}

/* The program asked for the connection's state a moment before. */
Test(loan, what_is_ended_as_tcp_is_handed_over_is_ended, .init = set_up, .fini = tear_down)
{
    loan->inner = STDIN_FILENO;
    service_loan_tell(loan, 0);
    cr_assert_not(has_ended());
    atomic_store(&loan->block->shut, 1);
    service_loan_look(loan);
    cr_assert_eq(send(peer_fd, "x", 1, MSG_NOSIGNAL), -1, "nobody reads");
    cr_assert_not(has_ended());
    atomic_store(&loan->block->shut, 3);
    service_loan_look(loan);
    cr_assert(has_ended());
}

/* As soon as the service has begun to send, the program gives it the rest and ends the stream. */
static void give_the_rest(void *ctx, struct pair_node *node, const struct smcr_trace *trace)
{
    struct service_block *b = ctx;
    (void)node;
    if (trace->type != SMCR_TRACE_CDC_TX || atomic_load(&b->shut))
        return;
    atomic_store(&b->head, 30);
    atomic_store(&b->shut, SERVICE_SHUT_WRITE);
}

/* Makes two instances with a connection, and lends its end 0. Writes the connection to `out`. The caller
 * releases the instances. */
static struct pair *lend_connection(struct pair_conn **out)
{
    struct pair *pair = pair_new(&(struct pair_config){.seed = 1});
    *out = pair_connect(pair, 0);
    cr_assert_not_null(*out, "%s", pair->failure);
    smcr_rt.now_ns = pair->now_ns;
    loan->inner = STDIN_FILENO;
    loan->has_rings = true;
    loan->sock->state = SMCR_SOCK_SMCR;
    loan->sock->conn = (*out)->end[0].conn;
    return pair;
}

Test(loan, all_that_was_given_before_the_end_goes_before_it, .init = set_up, .fini = tear_down)
{
    struct pair_conn *c;
    struct pair *pair = lend_connection(&c);
    uint8_t bytes[100];
    pair->on_trace = give_the_rest;
    pair->trace_ctx = loan->block;
    atomic_store(&loan->block->head, 10);
    service_loan_look(loan);
    cr_assert_eq(atomic_load(&loan->block->head), 30, "it has looked, and sent");
    service_loan_look(loan); /* as the program has rung */
    pair_settle(pair, PAIR_S);
    cr_expect_eq(smcr_conn_recv(c->end[1].conn, bytes, sizeof bytes, 0, pair->now_ns), 30);
    cr_expect_eq(smcr_conn_recv(c->end[1].conn, bytes, sizeof bytes, 0, pair->now_ns), 0, "the end");
    pair->on_trace = NULL;
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    pair_settle(pair, 30 * PAIR_S);
    const char *failure = pair_free(pair);
    cr_expect_null(failure, "%s", failure);
}

/* Puts the ends of `n` sends of a byte each, as a program does with TCP_NODELAY. */
static void put_ends(unsigned n)
{
    struct service_block *b = loan->block;
    uint64_t head = atomic_load(&b->head);
    for (unsigned i = 0; i < n; i++)
        atomic_store(&b->ends[(b->ends_put + i) % SERVICE_ENDS], head + i + 1);
    atomic_fetch_add(&b->ends_put, n);
    atomic_store(&b->head, head + n);
}

/* covers: SMCR-DAT-07 */
Test(loan, SMCR_DAT_07_each_send_leaves_alone, .init = set_up, .fini = tear_down)
{
    struct pair_conn *c;
    struct pair *pair = lend_connection(&c);
    const struct smcr_counters *counters = smcr_counters(pair->node[0].smcr);
    struct service_block *b = loan->block;
    atomic_store(&b->options, SERVICE_NODELAY);
    put_ends(5);
    service_loan_look(loan);
    cr_expect_eq(counters->tx_writes, 5);
    pair_settle(pair, PAIR_S);
    smcr_rt.now_ns = pair->now_ns;
    put_ends(3);
    atomic_store(&b->urgent_end, 12); /* behind all of them */
    atomic_fetch_add(&b->head, 4);    /* and four bytes of a send that goes on */
    service_loan_look(loan);
    pair_settle(pair, PAIR_S);
    cr_expect_eq(counters->tx_writes, 9);
    cr_expect_eq(counters->tx_bytes, 12);
    cr_expect_eq(atomic_load(&b->ends_taken), 8);
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    pair_settle(pair, 30 * PAIR_S);
    const char *failure = pair_free(pair);
    cr_expect_null(failure, "%s", failure);
}

/* Ends that no program puts there: behind `head`, passed already, more than the ring holds. */
Test(loan, ends_that_cannot_be_are_passed_over, .init = set_up, .fini = tear_down)
{
    struct pair_conn *c;
    struct pair *pair = lend_connection(&c);
    struct service_block *b = loan->block;
    const struct smcr_counters *counters = smcr_counters(pair->node[0].smcr);
    atomic_store(&b->head, 10);
    atomic_store(&b->ends[0], 4);
    atomic_store(&b->ends[1], 2);
    atomic_store(&b->ends[2], 11);
    atomic_store(&b->ends_put, 3);
    service_loan_look(loan);
    cr_expect_eq(atomic_load(&b->ends_taken), 2, "the third is not there yet");
    pair_settle(pair, PAIR_S);
    smcr_rt.now_ns = pair->now_ns;
    cr_expect_eq(counters->tx_bytes, 10);
    atomic_store(&b->ends_put, 3 + 1000);
    atomic_store(&b->head, 20);
    service_loan_look(loan);
    cr_expect_eq(atomic_load(&b->ends_taken), 3 + 1000);
    pair_settle(pair, PAIR_S);
    cr_expect_eq(counters->tx_bytes, 20);
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    pair_settle(pair, 30 * PAIR_S);
    const char *failure = pair_free(pair);
    cr_expect_null(failure, "%s", failure);
}

/* Sets TCP_NODELAY, as a program may between the end of its stream and its close. */
static void set_nodelay(struct service_block *b)
{
    atomic_fetch_or(&b->options, SERVICE_NODELAY);
}

static void take_the_cork_off(struct service_block *b)
{
    atomic_fetch_and(&b->options, ~(uint32_t)SERVICE_CORKED);
}

static void set_all_options(struct service_block *b)
{
    atomic_fetch_or(&b->options, SERVICE_NODELAY | SERVICE_OOB_INLINE | SERVICE_KEEPALIVE);
    atomic_store(&b->keepidle_s, 7);
    atomic_store(&b->linger_s, 5);
}

static void end_reading(struct service_block *b)
{
    atomic_fetch_or(&b->shut, SERVICE_SHUT_READ);
}

static void write_on(struct service_block *b)
{
    atomic_store(&b->head, 40);
}

/* Ends the stream of `loan` after 30 bytes, has the program do `then`, and reads the peer's 10
 * bytes. */
static void read_after_the_end(struct pair *pair, struct pair_conn *c, void (*then)(struct service_block *))
{
    struct service_block *b = loan->block;
    struct smcr_rings r;
    cr_assert_eq(smcr_conn_send(c->end[1].conn, "0123456789", 10, 0, pair->now_ns), 10);
    pair_settle(pair, PAIR_S);
    smcr_rt.now_ns = pair->now_ns;
    atomic_store(&b->options, SERVICE_CORKED);
    atomic_store(&b->head, 30);
    atomic_store(&b->shut, SERVICE_SHUT_WRITE);
    service_loan_look(loan);
    pair_settle(pair, PAIR_S);
    smcr_rt.now_ns = pair->now_ns;
    then(b);
    atomic_store(&b->consumed, 10);
    service_loan_look(loan);
    cr_assert(smcr_conn_rings(c->end[0].conn, &r));
    cr_expect_eq(r.rx_consumed, 10, "it is credited at this look");
}

static void expect_an_end_in_order(void (*then)(struct service_block *))
{
    struct pair_conn *c;
    struct pair *pair = lend_connection(&c);
    uint8_t bytes[100];
    read_after_the_end(pair, c, then);
    pair_close(&c->end[0]);
    pair_settle(pair, PAIR_S);
    cr_expect_eq(smcr_conn_recv(c->end[1].conn, bytes, sizeof bytes, 0, pair->now_ns), 30);
    cr_expect_eq(smcr_conn_recv(c->end[1].conn, bytes, sizeof bytes, 0, pair->now_ns), 0, "the end");
    pair_close(&c->end[1]);
    pair_settle(pair, 30 * PAIR_S);
    const char *failure = pair_free(pair);
    cr_expect_null(failure, "%s", failure);
}

Test(loan, what_was_read_is_credited_after_the_stream_s_end, .init = set_up, .fini = tear_down)
{
    expect_an_end_in_order(set_nodelay);
}

Test(loan, what_was_read_is_credited_after_an_uncork, .init = set_up, .fini = tear_down)
{
    expect_an_end_in_order(take_the_cork_off);
}

Test(loan, what_was_read_is_credited_with_every_option, .init = set_up, .fini = tear_down)
{
    expect_an_end_in_order(set_all_options);
}

Test(loan, what_was_read_is_credited_after_both_ends, .init = set_up, .fini = tear_down)
{
    expect_an_end_in_order(end_reading);
}

/* Positions that a program writes after its own end are refused, and no more than that. */
Test(loan, what_was_read_is_credited_beside_a_late_write, .init = set_up, .fini = tear_down)
{
    expect_an_end_in_order(write_on);
}

/* --- a holder that gives up the service's user --- */

/* A loan of a server at the port that is returned; its last descriptor is about to be closed. */
static uint16_t serve_at_a_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    close(loan->sock->tcp_fd);
    loan->sock->tcp_fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(loan->sock->tcp_fd, (struct sockaddr *)&at, len), 0);
    cr_assert_eq(getsockname(loan->sock->tcp_fd, (struct sockaddr *)&at, &len), 0);
    loan->is_server = true;
    loan->begun_ns = smcr_rt.now_ns = 100 * NS_PER_S;
    return ntohs(at.sin_port);
}

static bool is_left_to_tcp(uint16_t port)
{
    return service->tcp_ports[port / 64] >> port % 64 & 1;
}

Test(loan, a_server_that_gives_up_the_user_keeps_tcp, .init = set_up, .fini = tear_down)
{
    uint16_t port = serve_at_a_port();
    atomic_store(&loan->block->was_renounced, 1);
    service_judge_look(loan);
    service_judge_end(loan);
    cr_assert(is_left_to_tcp(port));
    cr_assert_not(is_left_to_tcp(port + 1));
}

/* Another holder has gone on with it. */
Test(loan, a_server_that_goes_on_keeps_its_loans, .init = set_up, .fini = tear_down)
{
    uint16_t port = serve_at_a_port();
    atomic_store(&loan->block->was_renounced, 1);
    service_judge_look(loan);
    atomic_store(&loan->block->consumed, 1);
    service_judge_end(loan);
    cr_assert_not(is_left_to_tcp(port));
}

/* A helper of a server, forked while the connection was there already for long. */
Test(loan, a_child_that_gives_up_the_user_later_says_nothing, .init = set_up, .fini = tear_down)
{
    uint16_t port = serve_at_a_port();
    smcr_rt.now_ns += 60 * NS_PER_S;
    atomic_store(&loan->block->was_renounced, 1);
    service_judge_look(loan);
    service_judge_end(loan);
    cr_assert_not(is_left_to_tcp(port));
}

Test(loan, a_client_says_nothing_of_a_port, .init = set_up, .fini = tear_down)
{
    uint16_t port = serve_at_a_port();
    loan->is_server = false;
    atomic_store(&loan->block->was_renounced, 1);
    service_judge_look(loan);
    service_judge_end(loan);
    cr_assert_not(is_left_to_tcp(port));
}

/* One has waited in vain for the lock of another, and waits for an edge now. */
Test(loan, who_missed_a_lock_has_an_edge_when_it_is_given_back, .init = set_up, .fini = tear_down)
{
    struct service_block *b = loan->block;
    loan->inner = STDIN_FILENO;
    service_loan_look(loan);
    cr_assert_eq(atomic_load(&b->in_edges), 0);
    atomic_store(&b->was_missed, SERVICE_MISSED_RECV);
    service_loan_look(loan);
    service_loan_look(loan);
    cr_assert_eq(atomic_load(&b->in_edges), 1);
    cr_assert_eq(atomic_load(&b->out_edges), 1);
}

/* The lock holder was stopped and is killed: no process releases the lock. */
Test(loan, who_missed_a_lock_has_an_edge_when_its_holder_has_died, .init = set_up, .fini = tear_down)
{
    struct service_block *b = loan->block;
    loan->inner = STDIN_FILENO;
    service->look_ns = NET_TIME_NONE;
    atomic_store(service_lock_word(&b->recv_lock), (uint32_t)gettid());
    atomic_store(&b->was_missed, SERVICE_MISSED_RECV);
    service_loan_look(loan);
    cr_assert_eq(atomic_load(&b->in_edges), 0, "it lives");
    cr_assert_neq(service->look_ns, NET_TIME_NONE, "and is looked at again");
    atomic_store(&b->was_missed, SERVICE_MISSED_RECV | SERVICE_MISSED_SEND);
    service_loan_look(loan);
    cr_assert_eq(atomic_load(&b->in_edges), 1, "the other lock is free");
    atomic_store(service_lock_word(&b->recv_lock), (uint32_t)gettid() | SERVICE_LOCK_DIED);
    service_loan_look(loan);
    cr_assert_eq(atomic_load(&b->in_edges), 2);
    service_loan_look(loan);
    cr_assert_eq(atomic_load(&b->in_edges), 2);
}

static struct linger linger_of(int fd)
{
    struct linger linger;
    socklen_t len_bytes = sizeof linger;
    cr_assert_eq(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len_bytes), 0);
    return linger;
}

static void end_with_linger(int linger_s, bool is_handed_over)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 30};
    close(loan->sock->tcp_fd);
    loan->sock->tcp_fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(setsockopt(loan->sock->tcp_fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    loan->sock->options.linger_s = linger_s;
    loan->sock->is_handed_over = is_handed_over;
    loan->sock->mirror.inner = -1;
    smcr_rt_lock();
    smcr_sock_final_close(loan->sock);
    smcr_rt_release();
}

/* The service's own close() would wait for unacknowledged bytes, and so would all programs. */
Test(loan, nobody_lingers_but_the_program, .init = set_up, .fini = tear_down)
{
    end_with_linger(-1, false);
    cr_assert_eq(linger_of(loan->sock->tcp_fd).l_onoff, 0);
}

Test(loan, the_program_has_its_linger_back, .init = set_up, .fini = tear_down)
{
    end_with_linger(30, true);
    cr_assert_eq(linger_of(loan->sock->tcp_fd).l_linger, 30);
    cr_assert(linger_of(loan->sock->tcp_fd).l_onoff);
}

/* Two processes share the loan: the second does not undo the first's changes to the TCP socket. */
Test(loan, a_tcp_socket_is_what_it_was_set_to_and_that_once, .init = set_up, .fini = tear_down)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0), number = 0, on = 1;
    struct timeval tv = {0};
    socklen_t len = sizeof number, tv_len = sizeof tv;
    close(loan->sock->tcp_fd);
    loan->sock->tcp_fd = fd;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on); /* the service's */
    atomic_store(&loan->block->options, SERVICE_NONBLOCKING);
    atomic_store(&loan->block->rcvlowat, 7);
    atomic_store(&loan->block->rcvtimeo_ns, 2500 * NS_PER_MS);
    service_loan_hand_over(loan);
    cr_assert(fcntl(fd, F_GETFL) & O_NONBLOCK);
    cr_assert(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &number, &len) == 0 && number == 0);
    cr_assert(getsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &number, &len) == 0 && number == 7);
    cr_assert(getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, &tv_len) == 0 && tv.tv_sec == 2);
    fcntl(fd, F_SETFL, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    service_loan_hand_over(loan);
    cr_assert_not(fcntl(fd, F_GETFL) & O_NONBLOCK);
    cr_assert(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &number, &len) == 0 && number == 1);
}

/* A connection with a sender that has filled the peer's window. */
static int full_tcp(int *other)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    char bytes[4096] = {0};
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&at, len), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    cr_assert_eq(connect(fd, (struct sockaddr *)&at, len), 0);
    *other = accept(listener, NULL, NULL);
    close(listener);
    while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        ;
    return fd;
}

/* The program has closed it; the service's is the last reference. */
Test(loan, a_linger_of_the_program_s_holds_up_nobody, .init = set_up)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 30};
    struct smcr_sock *sock = loan->sock;
    char bytes[65536];
    int other;
    close(loan->sock->tcp_fd);
    loan->sock->tcp_fd = full_tcp(&other);
    setsockopt(loan->sock->tcp_fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    loan->sock->is_handed_over = true;
    loan->sock->life = SMCR_SOCK_FINISHED;
    uint64_t begin_ns = host_now_ns();
    smcr_rt_lock();
    service_loan_tell(loan, 0);
    cr_assert_lt(host_now_ns() - begin_ns, 10 * NS_PER_S);
    ssize_t n;
    while ((n = read(other, bytes, sizeof bytes)) > 0)
        ;
    cr_assert_eq(n, 0, "it was closed, and what it had to send came first");
    free(sock);
}

static void *sleep_on(void *arg)
{
    struct service_block *b = arg;
    struct timespec limit = {.tv_sec = 30};
    uint32_t seen = atomic_load(&b->seq);
    atomic_store(&b->is_waited_for, 1);
    while (atomic_load(&b->generation) == GENERATION)
        cr_assert(syscall(SYS_futex, &b->seq, FUTEX_WAIT, seen, &limit, NULL, 0) == 0 || errno == EAGAIN,
                  "nobody woke it");
    return NULL;
}

/* A thread in the middle of a call, when the last number was closed by another. */
Test(loan, who_sleeps_when_it_is_over_is_woken, .init = set_up)
{
    struct service_block *block = loan->block;
    struct smcr_sock *sock = loan->sock;
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, sleep_on, block), 0);
    while (!atomic_load(&block->is_waited_for))
        sched_yield();
    loan->sock->life = SMCR_SOCK_FINISHED;
    smcr_rt_lock();
    service_loan_tell(loan, 0);
    cr_assert_neq(atomic_load(&block->generation), GENERATION);
    service_wake_all(service);
    pthread_join(thread, NULL);
    free(sock);
}
