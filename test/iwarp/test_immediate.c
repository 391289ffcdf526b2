/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of Immediate Data of eight octets (RFC 7306 6), and messages of RDMAP version 0. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "test/iwarp/asker.h"
#include "test/iwarp/world.h"

static struct side s;
static struct peer p;

static void setup(void)
{
    side_make(&s, 1, NULL);
    peer_meet(&p, &s, false);
}

static void teardown(void)
{
    side_free(&s);
}

TestSuite(immediate_sink, .init = setup, .fini = teardown);
TestSuite(version, .init = setup, .fini = teardown);
TestSuite(immediate, .init = asker_make, .fini = asker_free);

/* covers: IWARP-RDMAP-40, IWARP-RDMAP-43, IWARP-VERB-08 */
Test(immediate, immediate_data_of_eight_octets_with_a_write_and_alone)
{
    struct iwarp_ulpdu u;
    struct nornic_send_wr wr = {.wr_id = 3, .send_flags = NORNIC_SEND_IMM_8, .rkey = 0xabcd01};
    wr.opcode = NORNIC_WR_RDMA_WRITE_WITH_IMM;
    memcpy(&wr.imm_data, "\x11\x22\x33\x44", 4);
    memcpy(&wr.imm_data_2, "\x55\x66\x77\x88", 4);
    side_post_wr(&asker, &wr);
    peer_expect(&asked, &asker, IWARP_OP_WRITE, &u);
    cr_expect_arr_eq(peer_expect(&asked, &asker, IWARP_OP_IMM, &u), "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
    wr.opcode = NORNIC_WR_IMM;
    for (uint32_t i = 0; i < 2; i++) {
        wr.send_flags = i ? NORNIC_SEND_SOLICITED : 0;
        side_post_wr(&asker, &wr);
        const uint8_t *imm = peer_expect(&asked, &asker, i ? IWARP_OP_IMM_SE : IWARP_OP_IMM, &u);
        cr_expect_arr_eq(imm, "\x11\x22\x33\x44\x55\x66\x77\x88", 8);
        cr_expect_eq(u.bytes[13], i + 2, "an MSN of queue 0");
    }
    cr_expect_eq(side_expect(&asker, 3, NORNIC_WC_SUCCESS).opcode, NORNIC_WC_RDMA_WRITE);
    for (uint32_t i = 0; i < 2; i++)
        cr_expect_eq(side_expect(&asker, 3, NORNIC_WC_SUCCESS).opcode, NORNIC_WC_SEND);
    const struct nornic_sge sge = side_sge(&asker, 0, 5);
    wr.sg_list = &sge;
    wr.num_sge = 1;
    cr_expect_eq(rdma_qp_post_send(&asker.qp->base, &wr, NULL), -EINVAL, "it has no data");
}

/* covers: IWARP-RDMAP-40, IWARP-RDMAP-43, IWARP-VERB-07 */
/* covers: IWARP-CM-27 */
Test(immediate_sink, immediate_data_takes_a_receive_and_the_length_of_the_write_before_it)
{
    const uint8_t imm[8] = {0x11, 0x22, 0x33, 0x44};
    for (uint64_t i = 0; i < 3; i++)
        side_post_recv(&s, i, 0, 0);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, false, s.mr->rkey, (uintptr_t)(s.memory + 8), "12345678", 8);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, s.mr->rkey, (uintptr_t)(s.memory + 16), "9", 1);
    peer_say_untagged(&p, &s, IWARP_OP_IMM, true, &(struct iwarp_untagged){.msn = 1}, imm, 8);
    peer_say_untagged(&p, &s, IWARP_OP_IMM_SE, true, &(struct iwarp_untagged){.msn = 2}, imm, 8);
    struct nornic_wc wc = side_expect(&s, 0, NORNIC_WC_SUCCESS);
    cr_expect(wc.opcode == NORNIC_WC_RECV_RDMA_WITH_IMM && wc.wc_flags == NORNIC_WC_WITH_IMM);
    cr_expect_eq(wc.byte_len, 9);
    cr_expect_arr_eq((uint8_t *)&wc.imm_data, imm, 4);
    cr_expect_eq(side_expect(&s, 1, NORNIC_WC_SUCCESS).byte_len, 0, "no Write right before it");
}

/* Posts a receive without memory, a receive that is too short, and a receive of read-only memory. All eight
 * octets go into the completion.
 * covers: IWARP-RDMAP-41, IWARP-RDMAP-43, IWARP-AMB-08, IWARP-VERB-08 */
/* covers: IWARP-CM-27 */
Test(immediate_sink, immediate_data_goes_into_the_completion_and_into_no_buffer)
{
    static const uint8_t imm[8] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88};
    struct rdma_mr *read_only;
    cr_assert_eq(rdma_mr_reg(s.pd, s.memory + 64, 64, NORNIC_ACCESS_REMOTE_READ, &read_only), 0);
    const struct nornic_sge sge = {(uintptr_t)(s.memory + 64), 16, read_only->lkey};
    const struct nornic_recv_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1};
    side_post_recv(&s, 0, 0, 0);
    side_post_recv(&s, 1, 0, 3);
    cr_assert_eq(rdma_qp_post_recv(&s.qp->base, &wr, NULL), 0);
    for (uint32_t i = 0; i < 3; i++) {
        peer_say_untagged(&p, &s, IWARP_OP_IMM, true, &(struct iwarp_untagged){.msn = i + 1}, imm, 8);
        struct nornic_wc wc = side_expect(&s, i, NORNIC_WC_SUCCESS);
        cr_expect(wc.wc_flags == NORNIC_WC_WITH_IMM && wc.byte_len == 0);
        cr_expect_arr_eq((uint8_t *)&wc.imm_data, imm, 4);
        cr_expect_arr_eq((uint8_t *)&wc.imm_data_2, imm + 4, 4);
    }
    for (uint32_t i = 0; i < SIDE_BYTES; i++)
        cr_assert_eq(s.memory[i], 0, "octet %u was written", i);
    rdma_mr_dereg(read_only);
}

/* covers: IWARP-GEN-05 */
Test(version, messages_of_rdmap_version_0_are_delivered)
{
    uint8_t head[IWARP_HEAD_BYTES];
    side_post_recv(&s, 1, 0, 8);
    uint8_t *end = iwarp_put_tagged(head, IWARP_OP_WRITE, true, s.mr->rkey, (uintptr_t)(s.memory + 100));
    head[1] &= 0x3f;
    peer_say(&p, &s, head, end, "abcd", 4);
    cr_expect_arr_eq(s.memory + 100, "abcd", 4);
    end = iwarp_put_untagged(head, IWARP_OP_SEND, true, &(struct iwarp_untagged){.msn = 1});
    head[1] &= 0x3f;
    peer_say(&p, &s, head, end, "efgh", 4);
    cr_expect_eq(side_expect(&s, 1, NORNIC_WC_SUCCESS).byte_len, 4);
    cr_expect_arr_eq(s.memory, "efgh", 4);
}
