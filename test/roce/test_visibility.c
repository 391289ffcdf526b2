/* SPDX-License-Identifier: BSD-2-Clause */
/* What an application may see of a message that is not complete: ROCE section 8.7. */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/support/script_suite.h"

TestSuite(visibility, .init = setup, .fini = teardown);

/* Packets are placed as they come; what failed half-way stays as far as it got, and nothing tells of it.
 * covers: ROCE-RS-60, ROCE-UC-5 */
Test(visibility, ROCE_RS_60_a_message_is_placed_packet_by_packet)
{
    memset(s->mem, 0, 4096);
    script_recv(s, 1, 0, 4096);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024);
    script_send(s, &p);
    cr_assert_arr_eq(s->mem, script_data(), 1024, "it is there");
    expect_no_wc(s, recv_cq);
    p = script_send_pkt(s, ROCE_OP_SEND_LAST, script_rq(s, 1), NULL, 0); /* may not be empty */
    script_send(s, &p);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_wc(s, recv_cq, 1, NORNIC_WC_LOC_QP_OP_ERR);
    cr_assert_arr_eq(s->mem, script_data(), 1024, "and stays");
    cr_assert_eq(s->mem[1024], 0);
}

/* An application that polls the last byte of a WRITE finds all the others: no packet is placed before those
 * that precede it, also when they are kept until a gap is filled.
 * covers: ROCE-RS-62 */
Test(visibility, ROCE_RS_62_the_last_packet_is_placed_last)
{
    for (uint32_t reorder = 0; reorder <= 8; reorder += 8) {
        config.reorder_pkts = reorder;
        renew();
        memset(s->mem, 0, 4096);
        const struct script_pkt first =
            script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), 0, 2148, script_data(), 1024);
        struct script_pkt middle =
            script_write_pkt(s, ROCE_OP_WRITE_MIDDLE, script_rq(s, 1), 0, 0, script_data() + 1024, 1024);
        struct script_pkt last =
            script_write_pkt(s, ROCE_OP_WRITE_LAST, script_rq(s, 2), 0, 0, script_data() + 2048, 100);
        script_send(s, &last);
        cr_assert_eq(s->mem[2048], 0);
        script_send(s, &middle);
        cr_assert_eq(s->mem[1024], 0);
        script_send(s, &first);
        cr_assert_arr_eq(s->mem, script_data(), 1024);
        if (reorder == 0) {
            cr_assert_eq(s->mem[1024], 0);
            script_send(s, &middle);
            script_send(s, &last);
        }
        cr_assert_arr_eq(s->mem, script_data(), 2148);
        cr_assert_eq(s->mem[2148], 0);
    }
}

/* The last bytes of a message lie alone in a page that may not be written yet. */
static struct {
    uint8_t *page, *to;
    size_t page_bytes, before_bytes;
    bool is_before_there;
    unsigned faults;
} guard;

static void on_fault(int number)
{
    (void)number;
    guard.faults++;
    guard.is_before_there = memcmp(guard.to, script_data(), guard.before_bytes) == 0;
    if (mprotect(guard.page, guard.page_bytes, PROT_READ | PROT_WRITE) != 0)
        _exit(1);
}

/* When the first of a message's last 8 bytes is stored, all before them are there, also those of the same
 * packet: an application polls a flag at the end of its message.
 * covers: ROCE-RS-62 */
Test(visibility, ROCE_RS_62_the_last_bytes_of_a_packet_are_stored_last)
{
    static const uint32_t lens[] = {9, 10, 16, 24, 32, 63, 64, 100, 512, 1024};
    guard.page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    uintptr_t middle = (uintptr_t)s->mem + SCRIPT_MEM_BYTES / 2;
    guard.page = (uint8_t *)(middle - middle % guard.page_bytes);
    cr_assert_eq(sigaction(SIGSEGV, &(struct sigaction){.sa_handler = on_fault}, NULL), 0);
    for (uint32_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        uint32_t len_bytes = lens[i];
        guard.before_bytes = len_bytes - 8;
        guard.to = guard.page - guard.before_bytes;
        for (uint32_t k = 0; k < len_bytes; k++)
            guard.to[k] = (uint8_t)~script_data()[k];
        cr_assert_eq(mprotect(guard.page, guard.page_bytes, PROT_READ), 0);
        struct script_pkt p =
            script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, i), (uint64_t)(guard.to - s->mem), len_bytes,
                             script_data(), len_bytes);
        script_send(s, &p);
        cr_assert_eq(guard.faults, i + 1);
        cr_assert(guard.is_before_there, "of %u bytes", len_bytes);
        cr_assert_arr_eq(guard.to, script_data(), len_bytes);
    }
}

/* A READ that is asked for again brings bytes once more, and may change what was there; only its completion
 * says that they are whole.
 * covers: ROCE-RS-63, ROCE-RC-44 */
Test(visibility, ROCE_RS_63_a_read_may_rewrite_what_it_brought)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 3000);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_FIRST, script_sq(s, 0), 1, script_data(), 1024);
    script_send(s, &p);
    cr_assert_arr_eq(s->mem, script_data(), 1024, "before its completion");
    expect_no_wc(s, send_cq);
    cr_assert(script_until_sent(s, SCRIPT_S));
    const struct roce_pkt *again = expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 1));
    cr_assert_eq(again->reth.dma_len, 3000 - 1024);
    p = script_read_resp_pkt(s, ROCE_OP_READ_RESP_FIRST, script_sq(s, 1), 1, script_data() + 1, 1024);
    script_send(s, &p);
    cr_assert_arr_eq(s->mem + 1024, script_data() + 1, 1024);
    cr_assert(script_until_sent(s, SCRIPT_S));
    script_forget(s);
    p = script_read_resp_pkt(s, ROCE_OP_READ_RESP_LAST, script_sq(s, 2), 1, script_data() + 2048, 952);
    script_send(s, &p);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem + 2048, script_data() + 2048, 952);
}
