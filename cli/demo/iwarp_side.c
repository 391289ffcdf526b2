/* SPDX-License-Identifier: BSD-2-Clause */
/* The two sides of the third act, each a process of its own, by the API for programs. Whatever B has to
 * compare it compares when a message of A comes: a stream keeps its order (RFC 5040 5.5). */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/demo/iwarp.h"
#include "cli/node/memory.h"
#include "cli/node/pattern.h"
#include "host/host.h"
#include "net/bytes.h"
#include "nornic/nornic.h"

#define NOBODY       65534u
#define PATIENCE_NS  (10 * NS_PER_S)
#define LOOK_NS      (5 * NS_PER_MS)
#define MEMORY_BYTES 65536u
#define DEPTH        8u

/* The same places in both sides' memory. */
#define WORD_AT    0u /* for atomics */
#define WRITE_AT   4096u
#define IMM_AT     12288u
#define READ_AT    20480u
#define WINDOW_AT  28672u
#define RECEIVE_AT 36864u /* DEPTH of RECEIVE_BYTES */
#define SEND_AT    49152u

#define DATA_BYTES    4000u /* of a WRITE and a READ: three FPDUs of an Ethernet */
#define IMM_BYTES     1500u
#define WINDOW_BYTES  1024u
#define RECEIVE_BYTES 256u
#define ADVERT_BYTES  12u /* private data of the Reply: address and STag of B's memory */

#define FIRST_WORD 40u
#define ADDED      2u
#define COMPARED   42u
#define SWAPPED_IN 7u
#define LAST_WORD  1000u
#define IMMEDIATE  0x12345678u

enum { WRITE_KEY = 1, IMM_KEY, READ_KEY, WINDOW_KEY, BAD_KEY }; /* of cli_pattern_fill() */

struct side {
    struct demo_iwarp_board *board;
    int role;
    struct nornic_dev *dev;
    struct nornic_cm *cm;
    struct cli_memory memory;
    struct nornic_cq *cq;
    struct nornic_qp *qp;
    struct nornic_cm_id *listener, *id;
    struct nornic_mw *window; /* B's */
    uint64_t remote_addr;     /* A: of B's memory, */
    uint32_t remote_stag, window_stag;
};

/* --- telling --- */

static void tell(const struct side *s, enum demo_iwarp_step step, bool is_right, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void tell(const struct side *s, enum demo_iwarp_step step, bool is_right, const char *format, ...)
{
    struct demo_iwarp_told *told = &s->board->told[step][s->role];
    va_list args;
    va_start(args, format);
    vsnprintf(told->says, sizeof told->says, format, args);
    va_end(args);
    told->is_right = is_right;
}

static bool holds(const struct side *s, uint32_t at, uint64_t key, uint32_t len_bytes)
{
    return cli_pattern_compare(key, s->memory.bytes + at, len_bytes) == len_bytes;
}

/* --- opening and closing --- */

static int become_nobody(void)
{
    if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) != 0)
        return cli_fail("cannot give root away: %s", strerror(errno));
    return CLI_OK;
}

static int open_objects(struct side *s)
{
    const struct nornic_cq_config cq = {NORNIC_INIT(cq), .capacity = 4 * DEPTH};
    int err = nornic_cq_create(s->dev, &cq, &s->cq);
    const struct nornic_qp_config qp = {
        NORNIC_INIT(qp),
        .type = NORNIC_QPT_RC,
        .pd = s->memory.pd,
        .send_cq = s->cq,
        .recv_cq = s->cq,
        .caps = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1},
    };
    if (!err)
        err = nornic_qp_create(s->dev, &qp, &s->qp);
    if (!err && s->role == 1)
        err = nornic_mw_alloc(s->memory.pd, NORNIC_MW_TYPE_2, &s->window);
    return !err ? CLI_OK : cli_fail("cannot make a queue pair: %s", strerror(-err));
}

static int open_side(struct side *s)
{
    const uint32_t rights = NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE |
                            NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC | NORNIC_ACCESS_MW_BIND;
    char addr[NORNIC_ADDR_STR_SIZE], port[80];
    struct nornic_error why;
    snprintf(port, sizeof port, "iwarp:%s", nornic_addr_str(&s->board->addr[s->role], addr));
    const struct nornic_dev_config config = {NORNIC_INIT(config), .port = port};
    if (nornic_dev_open(&config, &s->dev, &why) != 0 || nornic_cm_open(s->dev, NULL, &s->cm, &why) != 0 ||
        cli_memory_open(s->dev, MEMORY_BYTES, rights, &s->memory, &why) != 0)
        return cli_fail("%s", why.text);
    return open_objects(s);
}

static void close_side(struct side *s)
{
    if (s->id)
        nornic_cm_id_destroy(s->id);
    if (s->listener)
        nornic_cm_id_destroy(s->listener);
    if (s->qp)
        nornic_qp_destroy(s->qp);
    if (s->window)
        nornic_mw_dealloc(s->window);
    if (s->cq)
        nornic_cq_destroy(s->cq);
    cli_memory_close(&s->memory);
    if (s->cm)
        nornic_cm_close(s->cm);
    if (s->dev)
        nornic_dev_close(s->dev, NULL);
}

/* --- work --- */

static int post_receive(struct side *s, uint32_t slot)
{
    const struct nornic_sge sge = {(uintptr_t)s->memory.bytes + RECEIVE_AT + slot % DEPTH * RECEIVE_BYTES,
                                   RECEIVE_BYTES, s->memory.lkey};
    const struct nornic_recv_wr wr = {.wr_id = slot % DEPTH, .sg_list = &sge, .num_sge = 1};
    int err = nornic_qp_post_recv(s->qp, &wr, NULL);
    return !err ? CLI_OK : cli_fail("cannot post a receive: %s", strerror(-err));
}

static int post_receives(struct side *s)
{
    int err = CLI_OK;
    for (uint32_t i = 0; i < DEPTH && err == CLI_OK; i++)
        err = post_receive(s, i);
    return err;
}

/* The next completion; of a receive, what it brought is in `*message`. */
static int await(struct side *s, struct nornic_wc *wc, const uint8_t **message)
{
    int n = nornic_cq_wait(s->cq, wc, 1, PATIENCE_NS);
    if (n != 1)
        return cli_negative("side %c: nothing completes", "AB"[s->role]);
    if (wc->status != NORNIC_WC_SUCCESS)
        return cli_negative("side %c: a request ended with %s", "AB"[s->role],
                            nornic_wc_status_name(wc->status));
    if (message)
        *message = s->memory.bytes + RECEIVE_AT + wc->wr_id * RECEIVE_BYTES;
    return CLI_OK;
}

/* Posts a request, with `len_bytes` at `at` of this side's memory, and awaits that it is complete. `took_ns`
 * (NULL: nobody wants to know): how long that was. */
static int do_one(struct side *s, const struct nornic_send_wr *asked, uint32_t at, uint32_t len_bytes,
                  uint64_t *took_ns)
{
    const struct nornic_sge sge = {(uintptr_t)s->memory.bytes + at, len_bytes, s->memory.lkey};
    struct nornic_send_wr wr = *asked;
    struct nornic_wc wc;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.send_flags = NORNIC_SEND_SIGNALED;
    uint64_t start_ns = host_now_ns();
    int err = nornic_qp_post_send(s->qp, &wr, NULL);
    if (err)
        return cli_fail("side %c: cannot post a request: %s", "AB"[s->role], strerror(-err));
    err = await(s, &wc, NULL);
    if (took_ns)
        *took_ns = host_now_ns() - start_ns;
    return err;
}

static int send_text(struct side *s, enum nornic_wr_opcode opcode, uint32_t stag, const char *text,
                     uint64_t *took_ns)
{
    uint32_t len_bytes = (uint32_t)strlen(text) + 1;
    const struct nornic_send_wr wr = {.opcode = opcode, .invalidate_rkey = stag};
    memcpy(s->memory.bytes + SEND_AT, text, len_bytes);
    return do_one(s, &wr, SEND_AT, len_bytes, took_ns);
}

/* --- events --- */

/* The next event, which has to be of this type; the caller acknowledges it. NULL after a sentence. */
static struct nornic_cm_event *await_event(const struct side *s, enum nornic_cm_event_type type)
{
    struct nornic_cm_event *event;
    if (nornic_cm_get_event(s->cm, &event, PATIENCE_NS) != 0) {
        cli_negative("side %c: %s does not come", "AB"[s->role], nornic_cm_event_name(type));
        return NULL;
    }
    if (event->type == type)
        return event;
    cli_negative("side %c: %s comes instead of %s: %s", "AB"[s->role], nornic_cm_event_name(event->type),
                 nornic_cm_event_name(type), event -> why.text);
    nornic_cm_ack_event(event);
    return NULL;
}

static int pass_event(const struct side *s, enum nornic_cm_event_type type)
{
    struct nornic_cm_event *event = await_event(s, type);
    if (event)
        nornic_cm_ack_event(event);
    return event ? CLI_OK : CLI_NEGATIVE;
}

/* The end of the stream, with the sentence that the program is told. */
static int await_end(const struct side *s, const char *what)
{
    struct nornic_cm_event *event = await_event(s, NORNIC_CM_EVENT_DISCONNECTED);
    if (!event)
        return CLI_NEGATIVE;
    const char *layer = strstr(event->why.text, "by a Terminate");
    tell(s, DEMO_IWARP_BAD_STAG, layer != NULL, "%s; %s", what, event->why.text);
    nornic_cm_ack_event(event);
    return CLI_OK;
}

/* --- side A --- */

static int begin(struct side *s)
{
    const struct nornic_conn_param param = {.responder_resources = 4, .initiator_depth = 4};
    uint64_t until_ns = host_now_ns() + PATIENCE_NS;
    const struct timespec pause = {.tv_nsec = (long)LOOK_NS};
    struct nornic_error why;
    while (!atomic_load(&s->board->port) && host_now_ns() < until_ns)
        nanosleep(&pause, NULL);
    uint16_t port = (uint16_t)atomic_load(&s->board->port);
    if (!port)
        return cli_negative("side A: B does not listen");
    int err = nornic_cm_id_create(s->cm, NORNIC_PS_TCP, NULL, &s->id);
    if (err)
        return cli_fail("cannot make a connection: %s", strerror(-err));
    if (nornic_cm_id_resolve_addr(s->id, &s->board->addr[0], &s->board->addr[1], port, PATIENCE_NS, &why) !=
        0)
        return cli_fail("%s", why.text);
    err = pass_event(s, NORNIC_CM_EVENT_ADDR_RESOLVED);
    if (err == CLI_OK && nornic_cm_id_resolve_route(s->id) == 0)
        err = pass_event(s, NORNIC_CM_EVENT_ROUTE_RESOLVED);
    if (err == CLI_OK)
        err = post_receives(s);
    if (err == CLI_OK && nornic_cm_id_connect(s->id, s->qp, &param) != 0)
        err = cli_fail("cannot connect");
    return err;
}

static int connect_to_b(struct side *s)
{
    const uint8_t *message = s->memory.bytes;
    struct nornic_wc wc;
    uint64_t start_ns = host_now_ns();
    int err = begin(s);
    if (err != CLI_OK)
        return err;
    struct nornic_cm_event *event = await_event(s, NORNIC_CM_EVENT_ESTABLISHED);
    if (!event)
        return CLI_NEGATIVE;
    s->board->took_ns[DEMO_IWARP_CONNECT] = host_now_ns() - start_ns;
    bool is_told = event->private_data_len == ADVERT_BYTES;
    if (is_told) {
        s->remote_addr = get_be64(event->private_data);
        s->remote_stag = get_be32(event->private_data + 8);
    }
    nornic_cm_ack_event(event);
    err = await(s, &wc, &message); /* B's first message */
    if (err == CLI_OK)
        s->window_stag = get_be32(message);
    tell(s, DEMO_IWARP_CONNECT, is_told && err == CLI_OK,
         "B's memory has STag 0x%08" PRIx32 "; a window of it, as B's first SEND says, 0x%08" PRIx32,
         s->remote_stag, s->window_stag);
    return err;
}

static int say_hello(struct side *s)
{
    static const char text[] = "Hello over TCP, from A to B";
    int err = send_text(s, NORNIC_WR_SEND, 0, text, &s->board->took_ns[DEMO_IWARP_SEND]);
    tell(s, DEMO_IWARP_SEND, err == CLI_OK, "sends %zu bytes", sizeof text);
    return err;
}

static int write_to_b(struct side *s)
{
    const struct nornic_send_wr wr = {
        .opcode = NORNIC_WR_RDMA_WRITE, .remote_addr = s->remote_addr + WRITE_AT, .rkey = s->remote_stag};
    cli_pattern_fill(WRITE_KEY, s->memory.bytes + WRITE_AT, DATA_BYTES);
    int err = do_one(s, &wr, WRITE_AT, DATA_BYTES, &s->board->took_ns[DEMO_IWARP_WRITE]);
    if (err == CLI_OK)
        err = send_text(s, NORNIC_WR_SEND, 0, "look", NULL);
    tell(s, DEMO_IWARP_WRITE, err == CLI_OK, "writes %u bytes; complete means here: TCP has them",
         DATA_BYTES);
    return err;
}

static int write_imm_to_b(struct side *s)
{
    const struct nornic_send_wr wr = {.opcode = NORNIC_WR_RDMA_WRITE_WITH_IMM,
                                      .imm_data = htonl(IMMEDIATE),
                                      .remote_addr = s->remote_addr + IMM_AT,
                                      .rkey = s->remote_stag};
    cli_pattern_fill(IMM_KEY, s->memory.bytes + IMM_AT, IMM_BYTES);
    int err = do_one(s, &wr, IMM_AT, IMM_BYTES, &s->board->took_ns[DEMO_IWARP_WRITE_IMM]);
    tell(s, DEMO_IWARP_WRITE_IMM, err == CLI_OK, "writes %u bytes, then says 0x%08x", IMM_BYTES, IMMEDIATE);
    return err;
}

static int read_from_b(struct side *s)
{
    const struct nornic_send_wr wr = {
        .opcode = NORNIC_WR_RDMA_READ, .remote_addr = s->remote_addr + READ_AT, .rkey = s->remote_stag};
    int err = do_one(s, &wr, READ_AT, DATA_BYTES, &s->board->took_ns[DEMO_IWARP_READ]);
    bool is_right = err == CLI_OK && holds(s, READ_AT, READ_KEY, DATA_BYTES);
    tell(s, DEMO_IWARP_READ, is_right, "%u bytes are here, %s", DATA_BYTES,
         is_right ? "as B had them" : "and not as B had them");
    return err;
}

/* An atomic, which has to find `wanted`. */
static int change_word(struct side *s, enum demo_iwarp_step step, struct nornic_send_wr wr, uint64_t wanted,
                       const char *words)
{
    uint64_t was = UINT64_MAX;
    wr.remote_addr = s->remote_addr + WORD_AT;
    wr.rkey = s->remote_stag;
    int err = do_one(s, &wr, WORD_AT, sizeof was, &s->board->took_ns[step]);
    memcpy(&was, s->memory.bytes + WORD_AT, sizeof was);
    tell(s, step, err == CLI_OK && was == wanted, "%s; it was %" PRIu64, words, was);
    return err;
}

static int change_words(struct side *s)
{
    const struct nornic_send_wr add = {.opcode = NORNIC_WR_ATOMIC_FETCH_AND_ADD, .compare_add = ADDED};
    const struct nornic_send_wr compare = {
        .opcode = NORNIC_WR_ATOMIC_CMP_AND_SWP, .compare_add = COMPARED, .swap = SWAPPED_IN};
    /* That nothing is compared and all is swapped makes it a Swap. */
    const struct nornic_send_wr swap = {
        .opcode = NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP, .swap = LAST_WORD, .swap_mask = UINT64_MAX};
    int err = change_word(s, DEMO_IWARP_FETCH_ADD, add, FIRST_WORD, "adds 2");
    if (err == CLI_OK)
        err = change_word(s, DEMO_IWARP_CMP_SWAP, compare, COMPARED, "if it is 42, then 7");
    return err == CLI_OK ? change_word(s, DEMO_IWARP_SWAP, swap, SWAPPED_IN, "puts 1000 there") : err;
}

static int write_window(struct side *s, uint64_t key)
{
    const struct nornic_send_wr wr = {
        .opcode = NORNIC_WR_RDMA_WRITE, .remote_addr = s->remote_addr + WINDOW_AT, .rkey = s->window_stag};
    cli_pattern_fill(key, s->memory.bytes + WINDOW_AT, WINDOW_BYTES);
    return do_one(s, &wr, WINDOW_AT, WINDOW_BYTES, NULL);
}

static int invalidate(struct side *s)
{
    int err = write_window(s, WINDOW_KEY);
    if (err == CLI_OK)
        err = send_text(s, NORNIC_WR_SEND_WITH_INV, s->window_stag, "take it back",
                        &s->board->took_ns[DEMO_IWARP_SEND_INV]);
    tell(s, DEMO_IWARP_SEND_INV, err == CLI_OK, "sends \"take it back\", with STag 0x%08" PRIx32,
         s->window_stag);
    return err;
}

static int write_once_too_often(struct side *s)
{
    char what[64];
    int err = write_window(s, BAD_KEY);
    snprintf(what, sizeof what, "writes %u bytes by STag 0x%08" PRIx32, WINDOW_BYTES, s->window_stag);
    return err == CLI_OK ? await_end(s, what) : err;
}

static int ask(struct side *s)
{
    int (*const steps[])(struct side * s) = {connect_to_b, say_hello,    write_to_b, write_imm_to_b,
                                             read_from_b,  change_words, invalidate, write_once_too_often};
    int err = CLI_OK;
    for (size_t i = 0; i < array_len(steps) && err == CLI_OK; i++)
        err = steps[i](s);
    return err;
}

/* --- side B --- */

static int accept_a(struct side *s)
{
    uint8_t advert[ADVERT_BYTES];
    const struct nornic_conn_param param = {.private_data = advert,
                                            .private_data_len = sizeof advert,
                                            .responder_resources = 4,
                                            .initiator_depth = 4};
    struct nornic_cm_endpoints ends;
    put_be64(advert, s->memory.remote_addr);
    put_be32(advert + 8, s->memory.rkey);
    int err = nornic_cm_id_create(s->cm, NORNIC_PS_TCP, NULL, &s->listener);
    if (!err)
        err = nornic_cm_id_listen(s->listener, &s->board->addr[1], 0, 1);
    if (err)
        return cli_fail("side B cannot listen: %s", strerror(-err));
    nornic_cm_id_endpoints(s->listener, &ends);
    atomic_store(&s->board->port, ends.local_port);
    struct nornic_cm_event *event = await_event(s, NORNIC_CM_EVENT_CONNECT_REQUEST);
    if (!event)
        return CLI_NEGATIVE;
    s->id = event->id;
    nornic_cm_ack_event(event);
    err = nornic_cm_id_accept(s->id, s->qp, &param);
    return !err ? pass_event(s, NORNIC_CM_EVENT_ESTABLISHED) : cli_fail("side B: %s", strerror(-err));
}

/* Binds the window, and says to A by which STag. */
static int give_window(struct side *s)
{
    const uint32_t stag = nornic_mw_rkey(s->window) ^ 1; /* the low octet is the program's */
    struct nornic_wc wc;
    const struct nornic_send_wr bind = {.opcode = NORNIC_WR_BIND_MW,
                                        .send_flags = NORNIC_SEND_SIGNALED,
                                        .rkey = stag,
                                        .bind = {.lkey = s->memory.lkey,
                                                 .addr = s->memory.remote_addr + WINDOW_AT,
                                                 .len_bytes = WINDOW_BYTES,
                                                 .access = NORNIC_ACCESS_REMOTE_WRITE}};
    const struct nornic_send_wr wr = {.opcode = NORNIC_WR_SEND};
    int err = nornic_qp_post_send(s->qp, &bind, NULL);
    err = !err ? await(s, &wc, NULL) : cli_fail("side B cannot bind a window: %s", strerror(-err));
    s->window_stag = stag;
    put_be32(s->memory.bytes + SEND_AT, stag);
    if (err == CLI_OK)
        err = do_one(s, &wr, SEND_AT, sizeof stag, NULL);
    tell(s, DEMO_IWARP_CONNECT, err == CLI_OK, "listens on TCP port %u",
         (unsigned)atomic_load(&s->board->port));
    return err;
}

/* What A's messages tell of is compared as they come. */
static int hear_sends(struct side *s)
{
    const uint8_t *message = s->memory.bytes;
    struct nornic_wc wc;
    int err = await(s, &wc, &message);
    if (err != CLI_OK)
        return err;
    tell(s, DEMO_IWARP_SEND, wc.opcode == NORNIC_WC_RECV, "\"%.*s\" is in its buffer", (int)wc.byte_len - 1,
         (const char *)message);
    err = await(s, &wc, &message);
    if (err != CLI_OK)
        return err;
    bool is_there = holds(s, WRITE_AT, WRITE_KEY, DATA_BYTES);
    tell(s, DEMO_IWARP_WRITE, is_there, "%s",
         is_there ? "is told to look: all of them are there" : "has other data");
    return CLI_OK;
}

static int hear_imm(struct side *s)
{
    struct nornic_wc wc;
    int err = await(s, &wc, NULL);
    if (err != CLI_OK)
        return err;
    bool is_there = wc.opcode == NORNIC_WC_RECV_RDMA_WITH_IMM && ntohl(wc.imm_data) == IMMEDIATE &&
                    wc.byte_len == IMM_BYTES && holds(s, IMM_AT, IMM_KEY, IMM_BYTES);
    tell(s, DEMO_IWARP_WRITE_IMM, is_there, "is told 0x%08" PRIx32 " and %" PRIu32 " bytes, which are there",
         ntohl(wc.imm_data), wc.byte_len);
    return CLI_OK;
}

static int hear_invalidation(struct side *s)
{
    const uint8_t *message = s->memory.bytes;
    struct nornic_wc wc;
    uint64_t word;
    int err = await(s, &wc, &message);
    if (err != CLI_OK)
        return err;
    memcpy(&word, s->memory.bytes + WORD_AT, sizeof word);
    tell(s, DEMO_IWARP_SWAP, word == LAST_WORD, "finds %" PRIu64 " in the word", word);
    bool is_right = wc.wc_flags & NORNIC_WC_WITH_INV && wc.invalidated_rkey == s->window_stag &&
                    holds(s, WINDOW_AT, WINDOW_KEY, WINDOW_BYTES);
    tell(s, DEMO_IWARP_SEND_INV, is_right, "is told \"%.*s\"; STag 0x%08" PRIx32 " is invalid now",
         (int)wc.byte_len - 1, (const char *)message, wc.invalidated_rkey);
    return CLI_OK;
}

static int hear_mistake(struct side *s)
{
    int err = await_end(s, "keeps what is there");
    if (err == CLI_OK && !holds(s, WINDOW_AT, WINDOW_KEY, WINDOW_BYTES))
        tell(s, DEMO_IWARP_BAD_STAG, false, "has other data in the window that was closed");
    return err;
}

static int serve(struct side *s)
{
    int (*const steps[])(struct side * s) = {post_receives, accept_a,          give_window, hear_sends,
                                             hear_imm,      hear_invalidation, hear_mistake};
    const uint64_t word = FIRST_WORD;
    int err = CLI_OK;
    memcpy(s->memory.bytes + WORD_AT, &word, sizeof word);
    cli_pattern_fill(READ_KEY, s->memory.bytes + READ_AT, DATA_BYTES);
    for (size_t i = 0; i < array_len(steps) && err == CLI_OK; i++)
        err = steps[i](s);
    return err;
}

int demo_iwarp_side(struct demo_iwarp_board *board, int role)
{
    struct side s = {.board = board, .role = role};
    struct nornic_error why;
    if (board->netns[role][0] && demo_lab_enter(board->netns[role], &why) != 0)
        return cli_fail("%s", why.text);
    if (board->drops_root && become_nobody() != CLI_OK)
        return CLI_ERROR;
    board->uid[role] = getuid();
    int err = open_side(&s);
    if (err == CLI_OK)
        err = role == 0 ? ask(&s) : serve(&s);
    close_side(&s);
    return err;
}
