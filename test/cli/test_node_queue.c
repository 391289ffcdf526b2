/* SPDX-License-Identifier: BSD-2-Clause */
/* A node's queue pairs and completions over the memory port: states that cannot be reached are told of by
 * their names, and a wait is ended by what it waits for, with a thread and without. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/memory.h"
#include "cli/node/rc.h"
#include "cli/node/unreliable.h"
#include "line.h"

static struct cli_node nodes[2];
static struct cli_memory memories[2];
static struct cli_cq cqs[2];
static struct nornic_qp *qps[2];

static void open_ends(bool events, enum nornic_qp_type type)
{
    struct cli_node_config config = {.port = "memory", .events = events};
    struct nornic_error why;
    cr_assert_eq(cli_node_open_pair(&config, nodes), CLI_OK);
    for (int i = 0; i < 2; i++) {
        uint32_t access = NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE;
        cr_assert_eq(cli_memory_open(nodes[i].api, 4096, access, &memories[i], &why), 0, "%s", why.text);
        cr_assert_eq(cli_cq_create(&nodes[i], 16, &cqs[i]), CLI_OK);
        const struct nornic_qp_config qp = {
            NORNIC_INIT(qp),
            .type = type,
            .pd = memories[i].pd,
            .send_cq = cqs[i].cq,
            .recv_cq = cqs[i].cq,
            .caps = {.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1}};
        cr_assert_eq(nornic_qp_create(nodes[i].api, &qp, &qps[i]), 0);
    }
    cli_command_set("pingpong");
}

static void close_ends(void)
{
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(nornic_qp_destroy(qps[i]), 0);
        cli_cq_destroy(&cqs[i]);
        cli_memory_close(&memories[i]);
        cr_expect_eq(cli_node_close(&nodes[i], CLI_NEGATIVE), CLI_NEGATIVE, "a status goes through");
    }
}

TestSuite(node_queue, .timeout = 30);

static struct cli_path path_from(int from)
{
    struct cli_path path = {.pmtu_bytes = 1024,
                            .dest_qpn = nornic_qp_num(qps[!from]),
                            .rq_psn = 0xfffffe,
                            .sq_psn = 0xfffffe,
                            .sl = 5,
                            .rd_atomic = 1};
    struct cli_node_config any = {.port = NULL};
    unsigned index;
    cr_assert_eq(cli_node_pick_gid(&nodes[from], &any, NULL, &path.sgid_index, &path.dgid), CLI_OK);
    cr_assert_eq(cli_node_pick_gid(&nodes[!from], &any, NULL, &index, &path.dgid), CLI_OK);
    cr_assert_eq(cli_node_resolve(&nodes[from], &path.dgid, &path.dst_mac), CLI_OK);
    return path;
}

static int post(int side, bool send)
{
    struct nornic_sge sge = {
        .addr = (uintptr_t)memories[side].bytes, .len_bytes = 64, .lkey = memories[side].lkey};
    struct nornic_recv_wr recv = {.wr_id = 7, .sg_list = &sge, .num_sge = 1};
    struct nornic_send_wr wr = {.wr_id = 8,
                                .opcode = NORNIC_WR_SEND,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .send_flags = NORNIC_SEND_SIGNALED};
    return send ? nornic_qp_post_send(qps[side], &wr, NULL) : nornic_qp_post_recv(qps[side], &recv, NULL);
}

/* One message, each side waiting for its completion; PSNs pass their end meanwhile. */
static void converse(void)
{
    for (int i = 0; i < 2; i++)
        memset(memories[i].bytes, i ? 0x55 : 0, 64);
    for (unsigned message = 0; message < 4; message++) {
        struct nornic_wc wc = {0};
        cr_assert_eq(post(0, false), 0);
        cr_assert_eq(post(1, true), 0);
        /* without a thread each side makes progress only while it waits */
        int got = 0;
        for (unsigned i = 0; i < 1000 && got == 0; i++) {
            struct nornic_wc sent;
            cli_cq_wait(&cqs[1], &sent, 1, nodes[1].events ? 0 : NS_PER_MS / 10);
            got = cli_cq_wait(&cqs[0], &wc, 1, 10 * NS_PER_MS);
        }
        cr_assert_eq(got, 1, "message %u", message);
        cr_expect_eq(wc.wr_id, 7);
        cr_expect_eq(wc.byte_len, 64);
        cr_expect_eq(wc.status, NORNIC_WC_SUCCESS);
    }
    cr_expect_eq(memories[0].bytes[63], 0x55);
}

Test(node_queue, a_message_ends_a_wait_with_a_thread_and_without)
{
    for (int events = 0; events < 2; events++) {
        open_ends(events, NORNIC_QPT_RC);
        for (int i = 0; i < 2; i++) {
            struct cli_path path = path_from(i);
            cr_assert_eq(cli_rc_init(qps[i], 0), CLI_OK);
            cr_assert_eq(cli_rc_connect(qps[i], &path), CLI_OK);
        }
        converse();
        close_ends();
    }
}

Test(node_queue, uc_is_brought_up_by_itself)
{
    open_ends(false, NORNIC_QPT_UC);
    for (int i = 0; i < 2; i++) {
        struct cli_path path = path_from(i);
        cr_assert_eq(cli_rc_init(qps[i], 0), CLI_OK);
        cr_assert_eq(cli_uc_connect(qps[i], &path), CLI_OK);
    }
    converse();
    close_ends();
}

Test(node_queue, a_state_that_cannot_be_reached_is_named)
{
    char said[128];
    open_ends(false, NORNIC_QPT_RC);
    struct cli_path path = path_from(0);
    line_catch();
    int status = cli_rc_connect(qps[0], &path); /* it was never in INIT */
    const struct line_result *r = line_caught();
    cr_expect_eq(status, CLI_ERROR);
    snprintf(said, sizeof said, "nornic pingpong: cannot move queue pair 0x%06x to RTR: Invalid argument\n",
             nornic_qp_num(qps[0]));
    cr_expect_str_eq(r->err, said);
    cr_assert_eq(cli_rc_init(qps[0], 0), CLI_OK);
    path.pmtu_bytes = 1500;
    line_catch();
    status = cli_rc_connect(qps[0], &path);
    r = line_caught();
    cr_expect_eq(status, CLI_ERROR, "no path MTU is of 1500 bytes");
    cr_expect_str_eq(r->err, said);
    path.pmtu_bytes = 1024;
    cr_expect_eq(cli_rc_connect(qps[0], &path), CLI_OK, "it is still in INIT");
    close_ends();
}

Test(node_queue, the_address_vector_is_that_of_the_path)
{
    open_ends(false, NORNIC_QPT_RC);
    struct cli_path path = path_from(0);
    struct nornic_av av = cli_path_av(&path);
    cr_expect(nornic_addr_equal(&av.dgid, &path.dgid));
    cr_expect_eq(av.sl, 5);
    cr_expect_eq(av.hop_limit, 64);
    cr_expect_arr_eq(av.dst_mac.b, nodes[0].memory_peer.b, 6);
    close_ends();
}

Test(node_queue, a_queue_pair_without_a_peer_fails_in_words)
{
    struct nornic_wc wc;
    open_ends(false, NORNIC_QPT_RC);
    struct cli_path path = path_from(0);
    path.dest_qpn = 0x7ffff0; /* nobody has it: no answer, until the retries are over */
    cr_assert_eq(cli_rc_init(qps[0], 0), CLI_OK);
    cr_assert_eq(cli_rc_connect(qps[0], &path), CLI_OK);
    cr_assert_eq(post(0, true), 0);
    cr_assert_eq(cli_cq_wait(&cqs[0], &wc, 1, 20 * NS_PER_S), 1);
    cr_expect_eq(wc.status, NORNIC_WC_RETRY_EXC_ERR);
    cr_expect_str_eq(cli_rc_status_words(wc.status), "the peer no longer answers");
    close_ends();
}

/* A failure has the words of its cause: what a user can do differs. */
Test(node_queue, the_words_of_a_failure_are_those_of_its_cause)
{
    static const char sizes[] = "the two sides disagree: do both use the same size and path MTU?";
    cr_expect_str_eq(cli_rc_status_words(NORNIC_WC_LOC_LEN_ERR), sizes);
    cr_expect_str_eq(cli_rc_status_words(NORNIC_WC_REM_INV_REQ_ERR), sizes);
    cr_expect_str_eq(cli_rc_status_words(NORNIC_WC_REM_OP_ERR), "the peer failed");
    cr_expect_str_eq(cli_rc_status_words(NORNIC_WC_REM_ACCESS_ERR), "the connection broke");
}

Test(node_queue, a_completion_queue_that_cannot_be_made)
{
    open_ends(true, NORNIC_QPT_RC);
    struct cli_cq cq;
    line_catch();
    int status = cli_cq_create(&nodes[0], 0, &cq);
    const struct line_result *r = line_caught();
    cr_expect_eq(status, CLI_ERROR);
    cr_expect_str_eq(r->err,
                     "nornic pingpong: cannot create a completion queue of 0 entries: Invalid argument\n");
    close_ends();
}

/* What is there is taken at once, whatever the time that is given. */
Test(node_queue, no_time_at_all_is_enough_for_what_is_there)
{
    struct nornic_wc wc;
    open_ends(false, NORNIC_QPT_RC);
    cr_assert_eq(cli_rc_init(qps[0], 0), CLI_OK);
    cr_assert_eq(post(0, false), 0);
    cr_expect_eq(cli_cq_wait(&cqs[0], &wc, 1, 0), 0);
    cr_assert_eq(cli_qp_modify(qps[0], &(struct nornic_qp_attr){.state = NORNIC_QPS_ERR}, 0), CLI_OK);
    cr_expect_eq(cli_cq_wait(&cqs[0], &wc, 1, 0), 1);
    cr_expect_eq(wc.status, NORNIC_WC_WR_FLUSH_ERR);
    cr_expect_eq(wc.wr_id, 7);
    close_ends();
}
