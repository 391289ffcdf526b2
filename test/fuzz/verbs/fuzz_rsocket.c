/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream of rsockets, connected to a peer that says what it likes: its private data, immediates, what it
 * writes into the list that it may write to, and when and how what is sent to it ends; between calls of the
 * program. The queue pair is none: its calls are those below, which look whether what is posted lies in the
 * memory that it may lie in.
 *
 * Input: 40 bytes of private data, of whose reserved bits the lowest says that messages are SENDs, then
 * steps: a byte that says which, and its values. */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/base.h"
#include "test/fuzz/input.h"
#include "verbs/rsocket/rsocket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define QUEUE       20 /* with RS_CTRL_SLOTS places for control messages */
#define RECV_BYTES  4096
#define SEND_BYTES  4096
#define IOMAPS      4
#define LIST_BYTES  (RS_SGL_ENTRIES * RS_SGE_BYTES + IOMAPS * RS_IOMAP_BYTES)
#define RECEIVES    (QUEUE + 8)
#define EXTRA_BYTES (RS_CTRL_SLOTS * RS_SGE_BYTES + RS_IOMAP_MAX * RS_IOMAP_BYTES)
#define COME_MAX    64
#define SENDS_AT    6 /* in the private data: reserved bits */

static struct {
    struct rsock *s;
    uint64_t sent[QUEUE + RS_CTRL_SLOTS]; /* requests under way, in their order */
    unsigned sent_count;
    struct ibv_wc come[COME_MAX]; /* completions that wait to be polled */
    unsigned come_count;
    uint8_t *words; /* of each receive */
    unsigned received;
} world;

/* --- the queue pair --- */

static void take_request(const struct ibv_send_wr *wr)
{
    const struct rs_buffer *send = &world.s->send;
    bool is_word = wr->opcode == IBV_WR_SEND;
    FUZZ_REQUIRE(world.sent_count < QUEUE && is_word == (wr->send_flags == IBV_SEND_INLINE));
    if (is_word) {
        FUZZ_REQUIRE(world.s->has_sends && wr->num_sge == 1 && wr->sg_list->length == RS_MSG_BYTES);
        world.sent[world.sent_count++] = wr->wr_id;
        return;
    }
    FUZZ_REQUIRE(wr->opcode == IBV_WR_RDMA_WRITE || !world.s->has_sends);
    for (int i = 0; i < wr->num_sge; i++) {
        uint64_t at = wr->sg_list[i].addr - (uintptr_t)send->bytes;
        FUZZ_REQUIRE(at <= SEND_BYTES + EXTRA_BYTES &&
                     wr->sg_list[i].length <= SEND_BYTES + EXTRA_BYTES - at);
        FUZZ_REQUIRE(wr->sg_list[i].length > 0);
    }
    world.sent[world.sent_count++] = wr->wr_id;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp;
    (void)bad;
    for (; wr; wr = wr->next)
        take_request(wr);
    return 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    (void)qp;
    (void)bad;
    FUZZ_REQUIRE((uint32_t)wr->wr_id < RECEIVES && wr->num_sge == world.s->has_sends);
    if (wr->num_sge)
        FUZZ_REQUIRE(wr->sg_list->addr == (uintptr_t)world.words + (uint32_t)wr->wr_id * RS_MSG_BYTES &&
                     wr->sg_list->length == RS_MSG_BYTES);
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
    unsigned n = min_u32((uint32_t)count, world.come_count);
    (void)cq;
    memcpy(wc, world.come, n * sizeof *wc);
    world.come_count -= n;
    memmove(world.come, world.come + n, world.come_count * sizeof *wc);
    return (int)n;
}

static int req_notify(struct ibv_cq *cq, int solicited)
{
    (void)cq;
    (void)solicited;
    return 0;
}

static void come(struct ibv_wc wc)
{
    if (world.come_count < COME_MAX)
        world.come[world.come_count++] = wc;
}

/* --- steps --- */

static void receive(struct fuzz_input *in)
{
    uint32_t msg = fuzz_u32(in), number = world.received++ % RECEIVES;
    struct ibv_wc wc = {.wr_id = RS_ID_RECV | number, .byte_len = msg % 31 ? RS_MSG_BYTES : msg % 5};
    if (world.s->has_sends) {
        memcpy(world.words + (size_t)number * RS_MSG_BYTES, &msg, RS_MSG_BYTES);
    } else {
        wc.wc_flags = IBV_WC_WITH_IMM;
        wc.imm_data = __builtin_bswap32(msg);
    }
    come(wc);
}

static void finish_send(struct fuzz_input *in)
{
    uint8_t status = fuzz_u8(in);
    if (!world.sent_count || world.come_count == COME_MAX)
        return;
    come((struct ibv_wc){.wr_id = world.sent[0],
                         .status = status < 200 ? IBV_WC_SUCCESS : IBV_WC_REM_ACCESS_ERR});
    world.sent_count--;
    memmove(world.sent, world.sent + 1, world.sent_count * sizeof world.sent[0]);
}

static void write_list(struct fuzz_input *in)
{
    uint8_t at = fuzz_u8(in), bytes = fuzz_u8(in);
    for (unsigned i = at; i < at + bytes % 32u && i < LIST_BYTES; i++)
        world.s->list.bytes[i] = fuzz_u8(in);
}

static void call(unsigned which, uint16_t value)
{
    static uint8_t memory[8192];
    struct iovec parts[2] = {{memory, value % 4096}, {memory + 4096, value >> 12}};
    struct rs_parts io = {parts, 2, 0};
    switch (which) {
    case 0:
        (void)rs_recv_parts(world.s, io, MSG_DONTWAIT | (value & 1 ? MSG_PEEK : 0));
        break;
    case 1:
        (void)rs_send_parts(world.s, io, MSG_DONTWAIT);
        break;
    case 2:
        (void)riowrite(world.s->fd, memory, value % 4096, value, MSG_DONTWAIT);
        break;
    default:
        (void)rs_post_ctrl(world.s, RS_CTRL_KEEPALIVE);
        break;
    }
}

static void step(struct fuzz_input *in)
{
    struct rsock *s = world.s;
    uint8_t which = fuzz_u8(in) % 8;
    if (which == 0)
        receive(in);
    else if (which == 1)
        finish_send(in);
    else if (which == 2)
        write_list(in);
    else if (which == 3)
        rs_progress(s);
    else
        call(which - 4, fuzz_u16(in));
    FUZZ_REQUIRE(s->unread_bytes <= s->recv_bytes && s->message_count <= s->rq_size);
    FUZZ_REQUIRE(s->send_free <= s->send_bytes && s->send_slots <= QUEUE - RS_CTRL_SLOTS);
    FUZZ_REQUIRE(s->ctrl_free <= RS_CTRL_SLOTS);
    (void)rs_events(s, POLLIN | POLLOUT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t send[SEND_BYTES + EXTRA_BYTES];
    struct ibv_context context = {
        .ops = {
            .post_send = post_send, .post_recv = post_recv, .poll_cq = poll_cq, .req_notify_cq = req_notify}};
    struct ibv_qp qp = {.context = &context};
    struct ibv_cq cq = {.context = &context};
    struct ibv_mr mr = {.lkey = 1, .rkey = 2};
    struct rdma_cm_id id = {.qp = &qp};
    uint32_t messages[QUEUE] = {0};
    struct rs_iomap maps[IOMAPS] = {{0}};
    struct rs_conn_data said;
    uint8_t *recv = malloc(RECV_BYTES), *list = calloc(1, LIST_BYTES),
            *words = calloc(RECEIVES, RS_MSG_BYTES); /* whose ends are watched */
    struct rsock *s = rs_new(AF_INET, SOCK_STREAM);
    FUZZ_REQUIRE(recv && list && words && s && rs_publish(s) == 0);
    memset(&world, 0, sizeof world);
    world.s = s;
    s->service = RS_UNSERVABLE; /* no thread makes progress beside the fuzzer */
    world.words = words;
    s->id = &id;
    s->cq = &cq;
    s->state = RS_CONNECTED;
    s->rq_size = s->sq_size = QUEUE;
    s->recv_bytes = RECV_BYTES;
    s->send_bytes = SEND_BYTES;
    s->own_iomaps = IOMAPS;
    s->recv = (struct rs_buffer){recv, &mr};
    s->send = (struct rs_buffer){send, &mr};
    s->list = (struct rs_buffer){list, &mr};
    s->words = (struct rs_buffer){words, &mr};
    s->has_sends = size > SENDS_AT && (data[SENDS_AT] & 1);
    s->messages = messages;
    s->peer_maps = maps;
    s->free_bytes = s->lend_at = RECV_BYTES / 2;
    s->tell_seq = QUEUE / 2;
    s->send_free = SEND_BYTES;
    s->send_slots = QUEUE - RS_CTRL_SLOTS;
    s->ctrl_free = RS_CTRL_SLOTS;
    if (rs_get_conn_data(data, size, &said) && rs_take_data(s, &said)) {
        struct fuzz_input in = {.p = data + RS_CONN_DATA_BYTES, .left = size - RS_CONN_DATA_BYTES};
        for (unsigned i = 0; i < 400 && in.left; i++)
            step(&in);
    }
    s->id = NULL; /* what is here is not the rsocket's to free */
    s->cq = NULL;
    s->messages = NULL;
    s->peer_maps = NULL;
    s->recv = s->send = s->list = s->words = (struct rs_buffer){0};
    rs_forget(s);
    rs_put(s);
    free(recv);
    free(list);
    free(words);
    return 0;
}
