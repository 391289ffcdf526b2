/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of 2^31 octets and Read Responses of 2^32 - 1. The memory is one MiB, mapped again and again. The
 * stream has no CRC, so that the queue pair refers to its payload instead of copying it. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "iwarp/wire/size.h"
#include "test/iwarp/world.h"

#define STEP   ((uint64_t)1 << 20)
#define REGION ((uint64_t)1 << 32)
#define HALF   ((uint32_t)1 << 31) /* the most that is posted */
#define PIECE  32768u

static struct side s;
static struct peer p;
static uint8_t *memory;
static struct rdma_mr *mr;

static void map_memory(void)
{
    int fd = memfd_create("nornic-long", MFD_CLOEXEC);
    cr_assert_eq(ftruncate(fd, STEP), 0);
    memory = mmap(NULL, REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    for (uint64_t at = 0; at < REGION; at += STEP)
        cr_assert_neq(mmap(memory + at, STEP, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
                      MAP_FAILED);
    close(fd);
}

/* The queue pair begins, and neither end wants CRCs. */
static void meet(void)
{
    static const struct iwarp_fpdu_rules rules;
    const struct iwarp_setup_config config = {.rev = 1, .no_crc = true, .ird = 4, .ord = 4};
    uint8_t frame[20] = "MPA ID Rep Frame";
    uint32_t count;
    frame[17] = 1;
    cr_assert_eq(iwarp_qp_connect(s.qp, &config, NULL, 0, 0), 0);
    iwarp_qp_output(s.qp, &count, 0);
    iwarp_qp_sent(s.qp, sizeof frame, 0);
    iwarp_qp_input(s.qp, frame, sizeof frame);
    cr_assert_eq(s.qp->state, IWARP_QP_RTS);
    iwarp_qp_set_emss(s.qp, UINT16_MAX);
    iwarp_fpdu_tx_init(&p.tx, &rules, p.buffers + IWARP_BOUNCE_BYTES,
                       p.buffers + IWARP_BOUNCE_BYTES + IWARP_BATCH_BYTES);
}

static void setup(void)
{
    side_make(&s, 1, NULL);
    map_memory();
    cr_assert_eq(rdma_mr_reg(s.pd, memory, REGION, ALL_RIGHTS, &mr), 0);
    meet();
}

static void teardown(void)
{
    rdma_mr_dereg(mr);
    munmap(memory, REGION);
    side_free(&s);
}

TestSuite(long_messages, .init = setup, .fini = teardown);

/* --- the stream of the queue pair, without a copy --- */

struct stream {
    const struct iwarp_piece *pieces;
    uint32_t count, at, offset; /* a piece, and a place in it */
};

/* Takes octets off the stream, at most as many as fit `to`. */
static void take(struct stream *in, uint8_t *to, uint32_t room, uint32_t len_bytes)
{
    for (uint32_t taken = 0; taken < len_bytes;) {
        const struct iwarp_piece *piece = &in->pieces[in->at];
        cr_assert_lt(in->at, in->count);
        uint32_t n = min_u32(piece->len_bytes - in->offset, len_bytes - taken);
        if (taken < room)
            memcpy(to + taken, piece->bytes + in->offset, min_u32(n, room - taken));
        taken += n;
        in->offset += n;
        if (in->offset < piece->len_bytes)
            continue;
        in->at++;
        in->offset = 0;
    }
}

/* The expected segments of one message. */
struct expected {
    enum iwarp_op op;
    uint64_t bytes;
    uint32_t stag, msn; /* tagged, untagged */
    uint64_t to;
};

static uint32_t check_segment(const uint8_t *head, uint32_t len_bytes, const struct expected *e,
                              uint64_t so_far)
{
    struct iwarp_ctrl ctrl;
    struct iwarp_tagged tagged;
    struct iwarp_untagged untagged;
    const uint8_t *ddp = iwarp_ctrl_get(&ctrl, head);
    uint32_t payload_bytes = len_bytes - (ctrl.t ? IWARP_DDP_TAGGED_BYTES : IWARP_DDP_UNTAGGED_BYTES);
    cr_assert_eq(ctrl.opcode, e->op);
    cr_assert_eq(ctrl.l, so_far + payload_bytes == e->bytes, "after %lu octets", so_far);
    if (ctrl.t) {
        iwarp_tagged_get(&tagged, ddp);
        cr_assert(tagged.stag == e->stag && tagged.to == e->to + so_far, "TO %lx", tagged.to);
    } else {
        iwarp_untagged_get(&untagged, ddp);
        cr_assert(untagged.msn == e->msn && untagged.mo == so_far, "MSN %u, MO %u", untagged.msn,
                  untagged.mo);
    }
    return payload_bytes;
}

/* Hears the segments of one message. */
static void expect_message(const struct expected *e)
{
    uint64_t so_far = 0;
    while (so_far < e->bytes) {
        struct stream in = {0};
        uint8_t fpdu[IWARP_MPA_LENGTH_BYTES + IWARP_HEAD_BYTES];
        uint32_t total = 0;
        in.pieces = iwarp_qp_output(s.qp, &in.count, 0);
        cr_assert_gt(in.count, 0, "silence after %lu octets", so_far);
        while (in.at < in.count) {
            take(&in, fpdu, IWARP_MPA_LENGTH_BYTES, IWARP_MPA_LENGTH_BYTES);
            uint32_t len_bytes = (uint32_t)fpdu[0] << 8 | fpdu[1];
            uint32_t rest = iwarp_fpdu_bytes(len_bytes) - IWARP_MPA_LENGTH_BYTES;
            take(&in, fpdu, sizeof fpdu, rest);
            so_far += check_segment(fpdu, len_bytes, e, so_far);
            total += IWARP_MPA_LENGTH_BYTES + rest;
        }
        iwarp_qp_sent(s.qp, total, 0);
    }
    cr_assert_eq(so_far, e->bytes);
}

/* --- requests --- */

static int post(enum nornic_wr_opcode opcode, uint64_t wr_id, uint32_t first_bytes, uint32_t second_bytes,
                uint64_t remote_addr)
{
    const struct nornic_sge sges[] = {{(uintptr_t)memory, first_bytes, mr->lkey},
                                      {(uintptr_t)memory + first_bytes, second_bytes, mr->lkey}};
    return rdma_qp_post_send(&s.qp->base,
                             &(struct nornic_send_wr){.wr_id = wr_id,
                                                      .opcode = opcode,
                                                      .sg_list = sges,
                                                      .num_sge = second_bytes ? 2 : 1,
                                                      .remote_addr = remote_addr,
                                                      .rkey = 0x7700},
                             NULL);
}

/* covers: IWARP-GEN-04 */
Test(long_messages, more_than_a_port_promises_is_refused)
{
    static const enum nornic_wr_opcode opcodes[] = {NORNIC_WR_SEND, NORNIC_WR_RDMA_WRITE,
                                                    NORNIC_WR_RDMA_READ};
    uint32_t count;
    for (unsigned i = 0; i < 3; i++) {
        cr_expect_eq(post(opcodes[i], 1, HALF, 1, 0), -EINVAL);
        cr_expect_eq(post(opcodes[i], 1, HALF + 1, 0, 0), -EINVAL);
        cr_expect_eq(post(opcodes[i], 1, HALF, HALF, 0), -EINVAL, "the sum has more than 32 bits");
    }
    iwarp_qp_output(s.qp, &count, 0);
    cr_expect_eq(count, 0);
    side_expect_nothing(&s);
}

/* covers: IWARP-GEN-04, IWARP-DDP-05, IWARP-DDP-07 */
Test(long_messages, a_send_of_2_31_octets_counts_its_offset_through)
{
    cr_assert_eq(post(NORNIC_WR_SEND, 1, HALF - 3, 3, 0), 0);
    expect_message(&(struct expected){.op = IWARP_OP_SEND, .bytes = HALF, .msn = 1});
    cr_assert_eq(post(NORNIC_WR_SEND, 2, 5, 0, 0), 0);
    expect_message(&(struct expected){.op = IWARP_OP_SEND, .bytes = 5, .msn = 2});
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
    side_expect(&s, 2, NORNIC_WC_SUCCESS);
}

/* The tagged offset has 64 bits: it passes 2^32, and ends right below 2^64.
 * covers: IWARP-GEN-04, IWARP-DDP-06 */
Test(long_messages, the_offsets_of_a_write_of_2_31_octets_have_64_bits)
{
    static const uint64_t bases[] = {UINT64_C(0xffff0001), UINT64_MAX - HALF + 1};
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(post(NORNIC_WR_RDMA_WRITE, i, HALF, 0, bases[i]), 0);
        expect_message(
            &(struct expected){.op = IWARP_OP_WRITE, .bytes = HALF, .stag = 0x7700, .to = bases[i]});
        side_expect(&s, i, NORNIC_WC_SUCCESS);
    }
}

static struct iwarp_read_req hear_read_request(void)
{
    struct iwarp_read_req req;
    uint32_t count;
    const struct iwarp_piece *pieces = iwarp_qp_output(s.qp, &count, 0);
    cr_assert_eq(count, 1);
    iwarp_read_req_get(&req, pieces->bytes + IWARP_MPA_LENGTH_BYTES + IWARP_DDP_UNTAGGED_BYTES);
    iwarp_qp_sent(s.qp, iwarp_fpdu_bytes(IWARP_DDP_UNTAGGED_BYTES + IWARP_READ_REQ_BYTES), 0);
    return req;
}

/* covers: IWARP-GEN-04, IWARP-RDMAP-10 */
Test(long_messages, a_read_of_2_31_octets_ends_with_the_last_of_them)
{
    cr_assert_eq(post(NORNIC_WR_RDMA_READ, 1, HALF, 0, UINT64_C(0x1234500000)), 0);
    struct iwarp_read_req req = hear_read_request();
    cr_assert(req.size == HALF && req.src_to == UINT64_C(0x1234500000));
    for (uint32_t at = 0; at < HALF; at += PIECE) {
        side_expect_nothing(&s);
        peer_say_tagged(&p, &s, IWARP_OP_READ_RESPONSE, at + PIECE == HALF, req.sink_stag, req.sink_to + at,
                        memory, PIECE);
    }
    cr_expect_eq(side_expect(&s, 1, NORNIC_WC_SUCCESS).byte_len, HALF);
}

/* --- messages of the peer --- */

/* covers: IWARP-GEN-04, IWARP-DDP-13 */
Test(long_messages, a_send_of_2_31_octets_arrives)
{
    const struct nornic_sge sge = {(uintptr_t)memory, HALF, mr->lkey};
    const struct nornic_recv_wr wr = {.wr_id = 7, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(rdma_qp_post_recv(&s.qp->base, &wr, NULL), 0);
    for (uint32_t at = 0; at < HALF; at += PIECE) {
        side_expect_nothing(&s);
        peer_say_untagged(&p, &s, IWARP_OP_SEND, at + PIECE == HALF,
                          &(struct iwarp_untagged){.msn = 1, .mo = at}, memory, PIECE);
    }
    cr_expect_eq(side_expect(&s, 7, NORNIC_WC_SUCCESS).byte_len, HALF);
}

/* A peer may ask for more than this end posts.
 * covers: IWARP-GEN-04, IWARP-RDMAP-10 */
Test(long_messages, a_read_of_2_32_octets_less_one_is_answered)
{
    const struct iwarp_read_req req = {.sink_stag = 0x99,
                                       .sink_to = UINT64_MAX - UINT32_MAX,
                                       .size = UINT32_MAX,
                                       .src_stag = mr->rkey,
                                       .src_to = (uintptr_t)memory};
    peer_ask_read(&p, &s, 1, &req);
    expect_message(&(struct expected){
        .op = IWARP_OP_READ_RESPONSE, .bytes = UINT32_MAX, .stag = 0x99, .to = UINT64_MAX - UINT32_MAX});
}
