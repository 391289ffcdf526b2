/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs over iWARP, two devices in one process, kernel TCP between them: what a device is, what it moves,
 * how it ends. How it connects: test_connect.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "host/api/api.h"
#include "host/iwarp/iwarp.h"
#include "host/event/events.h"
#include "test/host/iw_pair.h"

TestSuite(iw, .timeout = 60);

/* --- what it is --- */

Test(iw, a_device_says_that_it_is_an_rnic)
{
    struct iw_end e;
    struct nornic_dev_attr attr;
    struct nornic_port_attr port;
    struct nornic_gid gid;
    struct nornic_mac mac;
    struct nornic_error why;
    iw_open(&e, "iwarp:127.0.0.1", NULL);
    nornic_dev_query(e.dev, &attr, sizeof attr);
    cr_expect_eq(attr.transport, NORNIC_TRANSPORT_IWARP);
    cr_expect_eq(attr.node_type, NORNIC_NODE_RNIC);
    nornic_dev_query_port(e.dev, &port, sizeof port);
    cr_expect(port.is_up);
    cr_expect_eq(port.gid_table_size, 1);
    cr_assert_eq(nornic_dev_query_gid(e.dev, 0, &gid), 0); /* iw_apart looks at one that is not zero */
    cr_expect_eq(nornic_dev_query_gid(e.dev, 1, &gid), -ENOENT);
    cr_expect_eq(nornic_dev_add_gid(e.dev, &gid), -EOPNOTSUPP);
    cr_expect_eq(nornic_dev_resolve(e.dev, 0, &gid.addr, 0, &mac, &why), -EOPNOTSUPP);
    iw_close(&e);
}

/* covers: IWARP-VERB-06, IWARP-VERB-21 */
/* covers: IWARP-CM-40 */
Test(iw, what_iwarp_has_not_is_refused)
{
    struct iw_end e;
    struct nornic_cm_id *id;
    struct nornic_xrcd *xrcd;
    struct nornic_ah *ah;
    const struct nornic_av av = {.hop_limit = 1};
    iw_open(&e, "iwarp:127.0.0.1", NULL);
    static const enum nornic_qp_type types[] = {NORNIC_QPT_UC, NORNIC_QPT_UD, NORNIC_QPT_XRC_INI,
                                                NORNIC_QPT_XRC_TGT};
    for (size_t i = 0; i < array_len(types); i++) {
        struct nornic_qp *qp;
        struct nornic_qp_config config = {NORNIC_INIT(config), .type = types[i], .pd = e.pd,
                                          .send_cq = e.cq,     .recv_cq = e.cq,  .caps = {.max_send_wr = 1}};
        cr_expect_eq(nornic_qp_create(e.dev, &config, &qp), -EOPNOTSUPP, "type %d", types[i]);
    }
    cr_expect_eq(nornic_xrcd_create(e.dev, &xrcd), -EOPNOTSUPP);
    cr_expect_eq(nornic_ah_create(e.pd, &av, &ah), -EOPNOTSUPP);
    cr_expect_eq(nornic_cm_id_create(e.cm, NORNIC_PS_UDP, NULL, &id), -EOPNOTSUPP);
    cr_assert_eq(nornic_cm_id_create(e.cm, NORNIC_PS_TCP, NULL, &id), 0);
    cr_expect_eq(nornic_cm_id_set_qp_type(id, NORNIC_QPT_XRC_TGT), -EOPNOTSUPP);
    nornic_cm_id_destroy(id);
    iw_make_qp(&e);
    const struct nornic_qp_attr rtr = {.state = NORNIC_QPS_RTR};
    cr_expect_eq(nornic_qp_modify(e.qp, &rtr, NORNIC_QP_STATE), -EOPNOTSUPP);
    iw_close(&e);
}

Test(iw, a_port_of_frames_is_not_asked_for_here)
{
    struct nornic_dev *dev;
    struct nornic_error why;
    struct nornic_dev_config config = {NORNIC_INIT(config), .port = "iwarp:127.0.0.1",
                                       .capture_path = "/dev/null"};
    cr_expect_eq(nornic_dev_open(&config, &dev, &why), -EOPNOTSUPP);
    cr_expect_not_null(strstr(why.text, "tcpdump"));
    config =
        (struct nornic_dev_config){NORNIC_INIT(config), .port = "iwarp:127.0.0.1", .iwarp = {.mpa_rev = 3}};
    cr_expect_eq(nornic_dev_open(&config, &dev, &why), -EINVAL);
    config = (struct nornic_dev_config){NORNIC_INIT(config), .port = "iwarp:192.0.2.9"};
    cr_expect_eq(nornic_dev_open(&config, &dev, &why), -EADDRNOTAVAIL);
}

/* --- data --- */

static void move_all_ways(const struct nornic_iwarp_config *first, const struct nornic_iwarp_config *second)
{
    struct iw_end ends[2];
    struct nornic_sge sge;
    const uint32_t len = 100000;
    iw_connect(ends, first, second);
    iw_fill(&ends[0], 0, len);
    struct nornic_send_wr wr = iw_wr(NORNIC_WR_RDMA_WRITE, &ends[0], &ends[1], &sge, 0, 0, len);
    iw_post(&ends[0], &wr);
    cr_assert_eq(iw_wait(&ends[0]).status, NORNIC_WC_SUCCESS);
    /* The other end reads on, and sees it when its own READ of the same is done (IWARP-ORD). */
    wr = iw_wr(NORNIC_WR_RDMA_READ, &ends[0], &ends[1], &sge, len, 0, len);
    iw_post(&ends[0], &wr);
    cr_assert_eq(iw_wait(&ends[0]).opcode, NORNIC_WC_RDMA_READ);
    cr_expect_arr_eq(ends[0].memory + len, ends[0].memory, len);
    iw_post_recv(&ends[1], len, len);
    wr = iw_wr(NORNIC_WR_SEND, &ends[0], &ends[1], &sge, 0, 0, len);
    iw_post(&ends[0], &wr);
    struct nornic_wc wc = iw_wait(&ends[1]);
    cr_expect_eq(wc.status, NORNIC_WC_SUCCESS);
    cr_expect_eq(wc.byte_len, len);
    cr_expect_arr_eq(ends[1].memory + len, ends[0].memory, len);
    cr_expect_eq(iw_wait(&ends[0]).opcode, NORNIC_WC_SEND);
    iw_disconnect(ends);
}

Test(iw, write_read_and_send)
{
    move_all_ways(NULL, NULL);
}

Test(iw, with_markers_both_ways)
{
    const struct nornic_iwarp_config markers = {.markers = true};
    move_all_ways(&markers, &markers);
    move_all_ways(&markers, NULL);
}

Test(iw, without_a_crc_where_both_agree)
{
    const struct nornic_iwarp_config no_crc = {.no_crc = true};
    struct iw_end ends[2];
    move_all_ways(&no_crc, &no_crc);
    move_all_ways(&no_crc, NULL);
    iw_connect(ends, &no_crc, &no_crc);
    cr_expect_not(host_iw_qp_of(ends[0].qp->base)->engine->session.has_crc);
    iw_disconnect(ends);
    iw_connect(ends, NULL, &no_crc);
    cr_expect(host_iw_qp_of(ends[1].qp->base)->engine->session.has_crc);
    iw_disconnect(ends);
}

Test(iw, by_each_revision_and_ready_to_receive_message)
{
    const struct nornic_iwarp_config first = {.mpa_rev = 1};
    move_all_ways(&first, NULL);
    for (enum nornic_iwarp_rtr rtr = NORNIC_IWARP_RTR_WRITE; rtr <= NORNIC_IWARP_RTR_NONE; rtr++)
        move_all_ways(&(struct nornic_iwarp_config){.rtr = rtr}, NULL);
}

Test(iw, send_with_invalidate_of_a_window)
{
    struct iw_end ends[2];
    struct nornic_mw *mw;
    struct nornic_sge sge;
    iw_connect(ends, NULL, NULL);
    cr_assert_eq(nornic_mw_alloc(ends[1].pd, NORNIC_MW_TYPE_2, &mw), 0);
    const uint32_t key = (nornic_mw_rkey(mw) & ~0xffu) | 0x5a;
    struct nornic_send_wr bind = {.opcode = NORNIC_WR_BIND_MW,
                                  .send_flags = NORNIC_SEND_SIGNALED,
                                  .rkey = key,
                                  .bind = {.lkey = nornic_mr_lkey(ends[1].mr),
                                           .addr = nornic_mr_remote_addr(ends[1].mr) + 1000,
                                           .len_bytes = 1000,
                                           .access = NORNIC_ACCESS_REMOTE_WRITE}};
    iw_post(&ends[1], &bind);
    cr_assert_eq(iw_wait(&ends[1]).status, NORNIC_WC_SUCCESS);
    iw_fill(&ends[0], 0, 1000);
    iw_post_recv(&ends[1], 5000, 100);
    struct nornic_send_wr wr = iw_wr(NORNIC_WR_RDMA_WRITE, &ends[0], &ends[1], &sge, 0, 1000, 1000);
    wr.rkey = key;
    iw_post(&ends[0], &wr);
    wr = iw_wr(NORNIC_WR_SEND_WITH_INV, &ends[0], &ends[1], &sge, 0, 0, 10);
    wr.invalidate_rkey = key;
    iw_post(&ends[0], &wr);
    struct nornic_wc wc = iw_wait(&ends[1]);
    cr_expect_eq(wc.status, NORNIC_WC_SUCCESS);
    cr_expect(wc.wc_flags & NORNIC_WC_WITH_INV);
    cr_expect_eq(wc.invalidated_rkey, key);
    cr_expect_arr_eq(ends[1].memory + 1000, ends[0].memory, 1000);
    nornic_mw_dealloc(mw);
    iw_disconnect(ends);
}

/* covers: IWARP-CM-40 */
Test(iw, atomics_and_immediate_data)
{
    struct iw_end ends[2];
    struct nornic_sge sge;
    uint64_t *target, *original;
    iw_connect(ends, NULL, NULL);
    target = (void *)(ends[1].memory + 64);
    original = (void *)ends[0].memory;
    *target = 40;
    iw_agree_with(&ends[1]);
    struct nornic_send_wr wr = iw_wr(NORNIC_WR_ATOMIC_FETCH_AND_ADD, &ends[0], &ends[1], &sge, 0, 64, 8);
    wr.compare_add = 2;
    iw_post(&ends[0], &wr);
    cr_assert_eq(iw_wait(&ends[0]).status, NORNIC_WC_SUCCESS);
    cr_expect_eq(*original, 40);
    wr = iw_wr(NORNIC_WR_ATOMIC_CMP_AND_SWP, &ends[0], &ends[1], &sge, 0, 64, 8);
    wr.compare_add = 42;
    wr.swap = 4711;
    iw_post(&ends[0], &wr);
    cr_assert_eq(iw_wait(&ends[0]).status, NORNIC_WC_SUCCESS);
    cr_expect_eq(*original, 42);
    iw_agree_with(&ends[1]);
    cr_expect_eq(*target, 4711);
    iw_fill(&ends[0], 100, 100);
    iw_post_recv(&ends[1], 0, 0);
    wr = iw_wr(NORNIC_WR_RDMA_WRITE_WITH_IMM, &ends[0], &ends[1], &sge, 100, 300, 100);
    wr.imm_data = 0x12345678;
    iw_post(&ends[0], &wr);
    struct nornic_wc wc = iw_wait(&ends[1]);
    cr_expect_eq(wc.opcode, NORNIC_WC_RECV_RDMA_WITH_IMM);
    cr_expect_eq(wc.imm_data, 0x12345678);
    cr_expect_eq(wc.imm_data_2, 0);
    cr_expect_arr_eq(ends[1].memory + 300, ends[0].memory + 100, 100);
    iw_disconnect(ends);
}

/* --- the end --- */

Test(iw, a_bad_stag_ends_the_stream_and_both_know_why)
{
    struct iw_end ends[2];
    struct nornic_sge sge;
    struct nornic_event event;
    iw_connect(ends, NULL, NULL);
    struct nornic_send_wr wr = iw_wr(NORNIC_WR_RDMA_READ, &ends[0], &ends[1], &sge, 0, 0, 100);
    wr.rkey ^= 0x10000;
    iw_post(&ends[0], &wr);
    cr_expect_eq(iw_wait(&ends[0]).status, NORNIC_WC_REM_ACCESS_ERR);
    struct nornic_cm_event *end = iw_event(&ends[0], NORNIC_CM_EVENT_DISCONNECTED);
    cr_expect_eq(end->status, -ECONNRESET);
    cr_expect_not_null(strstr(end->why.text, "the peer ended the stream by a Terminate: invalid STag"), "%s",
                       end->why.text);
    nornic_cm_ack_event(end);
    end = iw_event(&ends[1], NORNIC_CM_EVENT_DISCONNECTED);
    cr_expect_not_null(strstr(end->why.text, "this side ended"), "%s", end->why.text);
    nornic_cm_ack_event(end);
    cr_assert_eq(nornic_dev_get_event(ends[1].dev, &event, IW_WAIT_NS), 0);
    cr_expect_eq(event.type, NORNIC_EVENT_QP_ACCESS_ERR);
    cr_expect_eq(event.qp, ends[1].qp);
    nornic_dev_ack_event(ends[1].dev, &event);
    iw_close_both(ends);
}

Test(iw, a_queue_pair_that_goes_ends_its_stream_in_good_order)
{
    struct iw_end ends[2];
    iw_connect(ends, NULL, NULL);
    iw_post_recv(&ends[1], 0, 10);
    cr_assert_eq(nornic_qp_destroy(ends[0].qp), 0);
    ends[0].qp = NULL;
    cr_expect_eq(iw_hears(&ends[0], NORNIC_CM_EVENT_DISCONNECTED), 0);
    cr_expect_eq(iw_hears(&ends[1], NORNIC_CM_EVENT_DISCONNECTED), 0);
    cr_expect_eq(iw_wait(&ends[1]).status, NORNIC_WC_WR_FLUSH_ERR);
    iw_close_both(ends);
}

/* An id that goes ends its connection in good order. */
Test(iw, an_id_that_goes_disconnects)
{
    struct iw_end ends[2];
    iw_connect(ends, NULL, NULL);
    nornic_cm_id_destroy(ends[0].id);
    ends[0].id = NULL;
    cr_expect_eq(iw_hears(&ends[1], NORNIC_CM_EVENT_DISCONNECTED), 0);
    cr_expect_eq(nornic_cm_id_disconnect(ends[1].id), 0, "the answer, as over RoCE");
    iw_close_both(ends);
}

Test(iw, to_err_by_hand_flushes_and_ends)
{
    struct iw_end ends[2];
    const struct nornic_qp_attr err = {.state = NORNIC_QPS_ERR};
    iw_connect(ends, NULL, NULL);
    iw_post_recv(&ends[0], 0, 10);
    cr_assert_eq(nornic_qp_modify(ends[0].qp, &err, NORNIC_QP_STATE), 0);
    cr_expect_eq(iw_wait(&ends[0]).status, NORNIC_WC_WR_FLUSH_ERR);
    iw_post_recv(&ends[0], 0, 10); /* flushed as well */
    cr_expect_eq(iw_wait(&ends[0]).status, NORNIC_WC_WR_FLUSH_ERR);
    cr_expect_eq(iw_hears(&ends[1], NORNIC_CM_EVENT_DISCONNECTED), -ECONNRESET);
    cr_expect_eq(iw_hears(&ends[0], NORNIC_CM_EVENT_DISCONNECTED), -ECONNRESET);
    iw_close_both(ends);
}

/* A CQ that overflows ends all its queue pairs, the idle ones, too; also when RoCE lives in the same
 * process. */
Test(iw, a_queue_that_overflows_ends_its_streams)
{
    struct iw_end ends[2], idle[2];
    struct nornic_dev *pair[2];
    struct nornic_cm_id *listener;
    struct nornic_sge sge;
    struct nornic_event event;
    const struct nornic_dev_config memory = {NORNIC_INIT(memory)};
    cr_assert_eq(nornic_dev_open_pair(&memory, pair, NULL), 0);
    iw_connect(ends, NULL, NULL);
    memcpy(idle, ends, sizeof idle); /* a second connection on the same objects */
    iw_start(&idle[0], iw_listen(&idle[1], &listener, 1), NULL);
    iw_take(&idle[1], NULL);
    cr_expect_eq(iw_hears(&idle[0], NORNIC_CM_EVENT_ESTABLISHED), 0);
    cr_expect_eq(iw_hears(&idle[1], NORNIC_CM_EVENT_ESTABLISHED), 0);
    nornic_cm_id_destroy(listener);
    for (int i = 0; i < 300; i++) {
        struct nornic_send_wr wr = iw_wr(NORNIC_WR_RDMA_WRITE, &ends[0], &ends[1], &sge, 0, 0, 8);
        int err;
        while ((err = nornic_qp_post_send(ends[0].qp, &wr, NULL)) == -ENOMEM)
            sched_yield(); /* the suite's time limit ends it */
        cr_assert_eq(err, 0, "%d", err);
    }
    bool has_cq_err = false;
    for (int fatal = 0; fatal < 2; fatal += event.type == NORNIC_EVENT_QP_FATAL) {
        cr_assert_eq(nornic_dev_get_event(ends[0].dev, &event, IW_WAIT_NS), 0);
        has_cq_err |= event.type == NORNIC_EVENT_CQ_ERR;
        nornic_dev_ack_event(ends[0].dev, &event);
    }
    cr_expect(has_cq_err);
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(iw_hears(&ends[1], NORNIC_CM_EVENT_DISCONNECTED), -ECONNRESET);
        cr_expect_eq(iw_hears(&ends[0], NORNIC_CM_EVENT_DISCONNECTED), -ECONNRESET);
    }
    for (int i = 0; i < 2; i++) {
        nornic_cm_id_destroy(idle[i].id);
        cr_assert_eq(nornic_qp_destroy(idle[i].qp), 0);
        cr_expect_eq(nornic_dev_close(pair[i], NULL), 0);
    }
    iw_close_both(ends);
}
