/* SPDX-License-Identifier: BSD-2-Clause */
/* Immediate Data between programs of the native API, over kernel TCP. */
#include <criterion/criterion.h>
#include <string.h>

#include "host/api/api.h"
#include "test/host/iw_pair.h"

/* covers: IWARP-RDMAP-43, IWARP-VERB-08 */
Test(iw_immediate, immediate_data_alone_has_eight_octets)
{
    struct iw_end ends[2];
    iw_connect(ends, NULL, NULL);
    iw_post_recv(&ends[1], 0, 0);
    const struct nornic_send_wr wr = {.opcode = NORNIC_WR_IMM,
                                      .send_flags = NORNIC_SEND_SIGNALED | NORNIC_SEND_SOLICITED,
                                      .imm_data = 0x12345678,
                                      .imm_data_2 = 0x9abcdef0};
    iw_post(&ends[0], &wr);
    struct nornic_wc wc = iw_wait(&ends[1]);
    cr_expect_eq(wc.opcode, NORNIC_WC_RECV_RDMA_WITH_IMM);
    cr_expect_eq(wc.imm_data, 0x12345678);
    cr_expect_eq(wc.imm_data_2, 0x9abcdef0);
    cr_expect_eq(wc.byte_len, 0);
    cr_expect_eq(iw_wait(&ends[0]).opcode, NORNIC_WC_SEND);
    iw_disconnect(ends);
}
