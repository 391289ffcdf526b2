/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair and whatever a TCP peer says: the set-up as either side, then octets as they come, or FPDUs
 * that are sealed so that the checks behind the CRC are reached; with posts, ends of TCP and time between.
 *
 * The first octet: bit 0 initiator, bit 1 markers, bit 2 no CRC, bit 3 the set-up is done (revision 1), bit 4
 * a responder begins with nothing, so that a set-up of its own is adopted, bit 5 may fall back. Then records:
 * an octet that says what, and a length that says how much of the rest it takes.
 *
 * covers: IWARP-SEC-08, IWARP-SEC-01 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "iwarp/emit.h"
#include "iwarp/qp.h"
#include "rdma/cq.h"
#include "rdma/mr.h"
#include "test/support/random.h"

#define CANARY_BYTES 4096u
#define REGION_BYTES 8192u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct world {
    struct rdma_domain *domain;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct rdma_mr *mr;
    struct iwarp_qp *qp;
    struct iwarp_setup apart; /* a responder's, which the queue pair may adopt */
    /* canary, region, canary: what lies beside the region is never written */
    _Alignas(8) uint8_t memory[2 * CANARY_BYTES + REGION_BYTES];
} w;

static uint8_t *region(void)
{
    return w.memory + CANARY_BYTES;
}

static void make_world(void)
{
    static struct test_random rnd;
    rnd.state = 1;
    struct rdma_random source = test_random_source(&rnd);
    const struct rdma_cq_config cq = {.capacity = 256};
    memset(w.memory, 0x5a, sizeof w.memory);
    assert(!rdma_domain_create(&rdma_mem_libc, &source, 4, &w.domain));
    assert(!rdma_pd_create(w.domain, &w.pd));
    assert(!rdma_cq_create(&rdma_mem_libc, &cq, &w.cq));
    assert(!rdma_mr_reg(w.pd, region(), REGION_BYTES,
                        NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE |
                            NORNIC_ACCESS_REMOTE_ATOMIC,
                        &w.mr));
    const struct iwarp_qp_config config = {
        .mem = &rdma_mem_libc,
        .domain = w.domain,
        .qpn = 5,
        .pd = w.pd,
        .send_cq = w.cq,
        .recv_cq = w.cq,
        .caps = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2},
        .sq_sig_all = true,
        .max_ird = 4,
        .max_ord = 4,
        .sends_extensions = true,
    };
    assert(!iwarp_qp_create(&config, &w.qp));
}

static void free_world(void)
{
    for (uint32_t i = 0; i < CANARY_BYTES; i++)
        assert(w.memory[i] == 0x5a && w.memory[CANARY_BYTES + REGION_BYTES + i] == 0x5a);
    iwarp_qp_destroy(w.qp);
    rdma_mr_dereg(w.mr);
    rdma_cq_destroy(w.cq);
    rdma_pd_destroy(w.pd);
    rdma_domain_destroy(w.domain);
}

static void begin(uint8_t how)
{
    const struct iwarp_setup_config config = {.ird = 4,
                                              .ord = 4,
                                              .max_ird = 4,
                                              .wants_markers = how & 2,
                                              .no_crc = how & 4,
                                              .rev = how & 8 ? 1 : 2,
                                              .falls_back = how & 32};
    uint8_t frame[20] = "MPA ID Req Frame";
    frame[17] = 1;
    iwarp_setup_listen(&w.apart, &config, 0);
    if (how & 1) {
        iwarp_qp_connect(w.qp, &config, "hello", 5, 0);
        memcpy(frame, "MPA ID Rep Frame", 16);
    } else if (!(how & 16)) {
        iwarp_qp_listen(w.qp, &config, 0);
    }
    if (!(how & 8))
        return;
    iwarp_qp_input(w.qp, frame, sizeof frame);
    iwarp_qp_accept(w.qp, NULL, 0);
}

/* What a program, or whoever has the TCP connection, does about a set-up. */
static void set_up(uint8_t how, const uint8_t *data, size_t size)
{
    switch (how & 7) {
    case 0:
        iwarp_qp_accept(w.qp, data, size);
        break;
    case 1:
        iwarp_qp_reject(w.qp, data, size);
        break;
    case 2:
        if (size >= 2 && (data[0] || data[1]))
            iwarp_qp_set_emss(w.qp, (uint32_t)(data[0] << 8 | data[1]));
        break;
    case 3:
        iwarp_setup_input(&w.apart, data, size);
        break;
    case 4:
        if (size >= 2 && w.apart.state == IWARP_SETUP_REQUESTED)
            iwarp_setup_set_depths(&w.apart, data[0] % 6, data[1] % 6); /* some are too deep */
        iwarp_qp_adopt(w.qp, &w.apart);
        break;
    case 5:
        iwarp_setup_reject(&w.apart, data, size);
        break;
    case 6:
        iwarp_qp_fall_back(w.qp, 0);
        break;
    default:
        iwarp_qp_abort(w.qp);
    }
}

/* An FPDU of a segment that names the real region where its STag's octets are 0xff. */
static void say_sealed(const uint8_t *data, size_t size, struct iwarp_fpdu_tx *tx)
{
    uint8_t segment[256] = {0};
    uint32_t count;
    memcpy(segment, data, size);
    for (size_t at = 0; at + 12 <= size; at++)
        if (segment[at] == 0xff && segment[at + 1] == 0xff) {
            iwarp_tagged_put(segment + at,
                             &(struct iwarp_tagged){w.mr->rkey, (uintptr_t)region() + segment[at + 2]});
            break;
        }
    iwarp_fpdu_tx_begin(tx, (uint32_t)size);
    iwarp_fpdu_tx_copy(tx, segment, (uint32_t)size);
    iwarp_fpdu_tx_end(tx);
    const struct iwarp_piece *pieces = iwarp_fpdu_tx_pieces(tx, &count);
    uint32_t len = 0;
    for (uint32_t i = 0; i < count; len += pieces[i++].len_bytes)
        iwarp_qp_input(w.qp, pieces[i].bytes, pieces[i].len_bytes);
    iwarp_fpdu_tx_sent(tx, len);
}

/* A request or receive of two pieces: opcode, length and offset, as far as `data` says them. */
static void post(uint8_t what, const uint8_t *data, size_t size)
{
    static const enum nornic_wr_opcode opcodes[] = {NORNIC_WR_SEND, NORNIC_WR_RDMA_READ, NORNIC_WR_RDMA_WRITE,
                                                    NORNIC_WR_ATOMIC_FETCH_AND_ADD};
    uint32_t len = size >= 2 ? (uint32_t)(data[0] << 8 | data[1]) % (REGION_BYTES + 1) : 8;
    uint32_t at = size >= 4 ? (uint32_t)(data[2] << 8 | data[3]) : what;
    uint32_t first = size >= 5 ? data[4] * len / 255 : len;
    at %= REGION_BYTES - len + 1;
    const struct nornic_sge sges[] = {{(uintptr_t)region() + at, first, w.mr->lkey},
                                      {(uintptr_t)region() + at + first, len - first, w.mr->lkey}};
    const uint32_t count = first == len ? 1 : 2;
    struct nornic_send_wr wr = {
        .opcode = opcodes[what & 3], .sg_list = sges, .num_sge = count, .remote_addr = 8, .rkey = 9};
    const struct nornic_recv_wr recv = {.sg_list = sges, .num_sge = count};
    if (wr.opcode == NORNIC_WR_RDMA_WRITE && what & 8)
        wr.opcode = NORNIC_WR_RDMA_WRITE_WITH_IMM;
    wr.send_flags = what & 16 ? NORNIC_SEND_FENCE : 0;
    if (what & 4)
        rdma_qp_post_recv(&w.qp->base, &recv, NULL);
    else
        rdma_qp_post_send(&w.qp->base, &wr, NULL);
}

/* TCP takes up to so many octets. */
static void write_out(uint32_t room)
{
    uint32_t count, len = 0;
    const struct iwarp_piece *pieces = iwarp_qp_output(w.qp, &count, 0);
    for (uint32_t i = 0; i < count; i++)
        len += pieces[i].len_bytes;
    iwarp_qp_sent(w.qp, min_u32(len, room), 0);
}

static void record(uint8_t what, const uint8_t *data, size_t size, struct iwarp_fpdu_tx *tx)
{
    struct nornic_wc wc[8];
    switch (what & 7) {
    case 0:
        iwarp_qp_input(w.qp, data, size);
        break;
    case 1:
        set_up(what >> 3, data, size);
        break;
    case 2:
    case 3:
        say_sealed(data, size, tx);
        break;
    case 4:
        post(what >> 3, data, size);
        break;
    case 5:
        write_out(what & 8 ? UINT32_MAX : what);
        break;
    case 6:
        rdma_cq_poll(w.cq, wc, 8);
        iwarp_qp_advance(w.qp, (uint64_t)(what >> 3) * NS_PER_S);
        break;
    default:
        if (what & 8)
            iwarp_qp_fin(w.qp, 0);
        else if (what & 16)
            iwarp_qp_disconnect(w.qp, 0);
        else if (what & 32)
            iwarp_qp_lost(w.qp);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t buffers[2 * IWARP_BATCH_BYTES];
    static struct iwarp_fpdu_tx tx;
    if (size < 1)
        return 0;
    const struct iwarp_fpdu_rules rules = {.has_markers = data[0] & 2, .has_crc = true};
    make_world();
    iwarp_fpdu_tx_init(&tx, &rules, buffers, buffers + IWARP_BATCH_BYTES);
    begin(data[0]);
    for (size_t at = 1; at + 2 <= size;) {
        size_t n = min_u64(data[at + 1] % 200, size - at - 2);
        record(data[at], data + at + 2, n, &tx);
        at += 2 + n;
    }
    free_world();
    return 0;
}
