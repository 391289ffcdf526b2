/* SPDX-License-Identifier: BSD-2-Clause */
/* Both ends of a connection WRITE and READ at once, so that each owes the other answers while it writes. A
 * program of librdmacm and libibverbs, which knows nothing of nornic; it runs in the guest and here.
 *
 *   crossing serve|connect ADDRESS PORT SIZE ROUNDS
 *
 * Each end posts ROUNDS WRITEs of SIZE bytes and as many READs, turn by turn, and looks at what it read and
 * what the other wrote. Ends with 0 and "crossing: all is right", or with 1 and what is not. */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS 20 /* for all of it */

/* Where an end may be written to and read from; both machines have the same order of bytes. */
struct place {
    uint64_t written, read;
    uint32_t written_key, read_key;
};

static struct rdma_cm_id *id;
static uint8_t *source, *target, *sink; /* what the other reads; where it writes; what was read of it */
static struct ibv_mr *source_mr, *target_mr, *sink_mr, *words_mr;
static struct {
    struct place own, peer;
    char done[2]; /* that is sent, that comes */
} words;
static int is_server;
static size_t size;

static void need(int is_good, const char *what)
{
    if (is_good)
        return;
    fprintf(stderr, "crossing: %s (errno %d)\n", what, errno);
    exit(1);
}

/* Of the end that serves, or the one that connects. */
static uint8_t octet(int of_server, size_t at)
{
    return (uint8_t)(at * 7 + at / 251 + (of_server ? 101 : 3));
}

static void look(const uint8_t *bytes, const char *what)
{
    for (size_t i = 0; i < size; i++)
        need(bytes[i] == octet(!is_server, i), what);
}

static struct ibv_mr *share(void *bytes, size_t count, int access)
{
    struct ibv_mr *mr = ibv_reg_mr(id->pd, bytes, count, IBV_ACCESS_LOCAL_WRITE | access);
    need(mr != NULL, "ibv_reg_mr");
    return mr;
}

static void make_memory(void)
{
    source = malloc(size);
    target = calloc(1, size);
    sink = calloc(1, size);
    need(source && target && sink, "malloc");
    for (size_t i = 0; i < size; i++)
        source[i] = octet(is_server, i);
    source_mr = share(source, size, IBV_ACCESS_REMOTE_READ);
    target_mr = share(target, size, IBV_ACCESS_REMOTE_WRITE);
    sink_mr = share(sink, size, IBV_ACCESS_REMOTE_WRITE); /* iWARP: the answer is a write of the peer's */
    words_mr = share(&words, sizeof words, 0);
    words.own = (struct place){(uintptr_t)target, (uintptr_t)source, target_mr->rkey, source_mr->rkey};
}

static void expect_good(int count, const struct ibv_wc *wc)
{
    need(count == 1, "the connection ended");
    need(wc->status == IBV_WC_SUCCESS, ibv_wc_status_str(wc->status));
}

static void expect_recv(void)
{
    struct ibv_wc wc;
    expect_good(rdma_get_recv_comp(id, &wc), &wc);
}

static void expect_sent(void)
{
    struct ibv_wc wc;
    expect_good(rdma_get_send_comp(id, &wc), &wc);
}

static void say(void *bytes, size_t count)
{
    need(rdma_post_send(id, NULL, bytes, count, words_mr, IBV_SEND_SIGNALED) == 0, "rdma_post_send");
    expect_sent();
}

/* The end that connects speaks first. */
static void exchange(void *own, size_t count)
{
    if (is_server)
        expect_recv();
    say(own, count);
    if (!is_server)
        expect_recv();
}

static void cross(int rounds)
{
    for (int i = 0; i < rounds; i++) {
        need(rdma_post_write(id, NULL, source, size, source_mr, IBV_SEND_SIGNALED, words.peer.written,
                             words.peer.written_key) == 0,
             "rdma_post_write");
        need(rdma_post_read(id, NULL, sink, size, sink_mr, IBV_SEND_SIGNALED, words.peer.read,
                            words.peer.read_key) == 0,
             "rdma_post_read");
    }
    for (int i = 0; i < 2 * rounds; i++)
        expect_sent();
    look(sink, "what was read is not what is there");
}

static void meet(const char *address, const char *port, int rounds)
{
    const struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP,
                                        .ai_flags = is_server ? RAI_PASSIVE : 0};
    struct rdma_conn_param param = {.responder_resources = 4, .initiator_depth = 4, .retry_count = 7};
    struct ibv_qp_init_attr init = {.cap = {.max_send_wr = (uint32_t)(2 * rounds + 2),
                                            .max_recv_wr = 2,
                                            .max_send_sge = 1,
                                            .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_RC};
    struct rdma_addrinfo *found;
    struct rdma_cm_id *listener;
    need(rdma_getaddrinfo((char *)address, (char *)port, (struct rdma_addrinfo *)&hints, &found) == 0,
         "rdma_getaddrinfo");
    need(rdma_create_ep(is_server ? &listener : &id, found, NULL, &init) == 0, "rdma_create_ep");
    if (is_server)
        need(rdma_listen(listener, 1) == 0 && rdma_get_request(listener, &id) == 0, "rdma_listen");
    make_memory();
    need(rdma_post_recv(id, NULL, &words.peer, sizeof words.peer, words_mr) == 0 &&
             rdma_post_recv(id, NULL, &words.done[1], 1, words_mr) == 0,
         "rdma_post_recv");
    need((is_server ? rdma_accept(id, &param) : rdma_connect(id, &param)) == 0, "no connection");
}

int main(int argc, char **argv)
{
    need(argc == 6, "usage: crossing serve|connect ADDRESS PORT SIZE ROUNDS");
    int rounds = atoi(argv[5]);
    is_server = strcmp(argv[1], "serve") == 0;
    size = strtoul(argv[4], NULL, 10);
    need(size > 0 && rounds > 0, "SIZE and ROUNDS are numbers");
    alarm(SECONDS);
    meet(argv[2], argv[3], rounds);
    exchange(&words.own, sizeof words.own);
    cross(rounds);
    exchange(&words.done[0], 1);
    look(target, "what was written is not what was sent");
    printf("crossing: all is right\n");
    fflush(stdout);
    if (!is_server)
        rdma_disconnect(id);
    return 0;
}
