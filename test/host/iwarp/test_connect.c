/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs over iWARP, two devices in one process: how they connect, and what goes along with that. The suite
 * is that of test_iwarp.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "host/api/api.h"
#include "host/iwarp/iwarp.h"
#include "test/host/iw_pair.h"

Test(iw, private_data_and_depths_go_both_ways)
{
    struct iw_end ends[2];
    struct nornic_cm_id *listener;
    iw_open_both(ends, NULL, NULL);
    uint16_t port = iw_listen(&ends[1], &listener, 1);
    iw_start(&ends[0], port,
             &(struct nornic_conn_param){.private_data = "question",
                                         .private_data_len = 9,
                                         .responder_resources = 3,
                                         .initiator_depth = 9});
    struct nornic_cm_event *event = iw_event(&ends[1], NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_expect_eq(event->private_data_len, 9);
    cr_expect_str_eq((char *)event->private_data, "question");
    cr_expect_eq(event->responder_resources, 9);
    cr_expect_eq(event->initiator_depth, 3);
    cr_expect_eq(event->listen_id, listener);
    cr_expect_eq(nornic_cm_id_ctx(event->id), &ends[1]);
    ends[1].id = event->id;
    nornic_cm_ack_event(event);
    iw_make_qp(&ends[1]);
    cr_assert_eq(nornic_cm_id_accept(ends[1].id, ends[1].qp,
                                     &(struct nornic_conn_param){.private_data = "answer",
                                                                 .private_data_len = 7,
                                                                 .responder_resources = 5,
                                                                 .initiator_depth = 8}),
                 0);
    event = iw_event(&ends[0], NORNIC_CM_EVENT_ESTABLISHED);
    cr_assert_str_eq((char *)event->private_data, "answer");
    cr_expect_eq(event->initiator_depth, 5, "what the other serves");
    cr_expect_eq(event->responder_resources, 3);
    nornic_cm_ack_event(event);
    event = iw_event(&ends[1], NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect_eq(event->initiator_depth, 3);
    nornic_cm_ack_event(event);
    struct nornic_cm_endpoints from, to;
    nornic_cm_id_endpoints(ends[0].id, &from);
    nornic_cm_id_endpoints(ends[1].id, &to);
    cr_expect_eq(from.remote_port, port);
    cr_expect_eq(from.local_port, to.remote_port);
    nornic_cm_id_destroy(listener);
    iw_disconnect(ends);
}

/* Revision 1 tells no depths: who accepts without a word of its own takes the most, as the event has it. */
Test(iw, a_request_without_depths_is_accepted_with_the_most)
{
    const struct nornic_iwarp_config rev_1 = {.mpa_rev = 1};
    const struct nornic_conn_param most = {.responder_resources = 128, .initiator_depth = 128};
    struct iw_end ends[2];
    struct nornic_cm_id *listener;
    struct nornic_sge sge;
    iw_open_both(ends, &rev_1, NULL);
    iw_start(&ends[0], iw_listen(&ends[1], &listener, 4), &most);
    iw_take(&ends[1], NULL);
    for (int i = 0; i < 2; i++) {
        struct nornic_cm_event *event = iw_event(&ends[i], NORNIC_CM_EVENT_ESTABLISHED);
        cr_expect(event->responder_resources == 128 && event->initiator_depth == 128, "side %d: %u, %u", i,
                  event->responder_resources, event->initiator_depth);
        nornic_cm_ack_event(event);
        iw_fill(&ends[i], 0, 1000);
        iw_agree_with(&ends[i]);
    }
    for (int i = 0; i < 2; i++) {
        struct nornic_send_wr wr =
            iw_wr(NORNIC_WR_RDMA_READ, &ends[i], &ends[!i], &sge, 5000, 100 * (size_t)i, 900);
        iw_post(&ends[i], &wr);
        cr_assert_eq(iw_wait(&ends[i]).status, NORNIC_WC_SUCCESS, "side %d", i);
        cr_expect_arr_eq(ends[i].memory + 5000, ends[!i].memory + 100 * i, 900);
    }
    nornic_cm_id_destroy(listener);
    iw_disconnect(ends);
}

static int option_of(const struct iw_end *e, int level, int name)
{
    int value = -1;
    socklen_t bytes = sizeof value;
    cr_assert_eq(getsockopt(host_iw_qp_of(e->qp->base)->conn->socket.fd, level, name, &value, &bytes), 0);
    return value;
}

/* The type of service of what leaves, and how long TCP tries: 4.096 us * 2^14 * 32, and a second at least. */
Test(iw, options_of_a_connection_are_those_of_its_tcp)
{
    const struct nornic_conn_param asks = {
        .has_traffic_class = true, .traffic_class = 0xb8, .has_ack_timeout = true, .ack_timeout = 14};
    const struct nornic_conn_param says = {
        .has_traffic_class = true, .traffic_class = 0x20, .has_ack_timeout = true, .ack_timeout = 1};
    struct iw_end ends[2];
    struct nornic_cm_id *listener;
    iw_open_both(ends, NULL, NULL);
    iw_start(&ends[0], iw_listen(&ends[1], &listener, 4), &asks);
    iw_take(&ends[1], &says);
    cr_assert_eq(iw_hears(&ends[0], NORNIC_CM_EVENT_ESTABLISHED), 0);
    cr_assert_eq(iw_hears(&ends[1], NORNIC_CM_EVENT_ESTABLISHED), 0);
    cr_expect_eq(option_of(&ends[0], IPPROTO_IP, IP_TOS), 0xb8);
    cr_expect_eq(option_of(&ends[1], IPPROTO_IP, IP_TOS), 0x20);
    cr_expect_eq(option_of(&ends[0], IPPROTO_TCP, TCP_USER_TIMEOUT), 2147);
    cr_expect_eq(option_of(&ends[1], IPPROTO_TCP, TCP_USER_TIMEOUT), 1000);
    nornic_cm_id_destroy(listener);
    iw_disconnect(ends);
    iw_connect(ends, NULL, NULL);
    cr_expect_eq(option_of(&ends[0], IPPROTO_TCP, TCP_USER_TIMEOUT), 0, "the kernel's own");
    iw_disconnect(ends);
}

/* An MPA frame carries 512 octets, of which revision 2 has four. covers: IWARP-ECE-01 */
Test(iw, private_data_of_a_whole_frame)
{
    static uint8_t question[513], answer[513];
    struct iw_end ends[2];
    struct nornic_cm_id *listener;
    for (unsigned rev = 1; rev <= 2; rev++) {
        const uint16_t most = rev == 1 ? 512 : 508;
        const struct nornic_iwarp_config config = {.mpa_rev = (uint8_t)rev};
        const struct nornic_conn_param asks = {.private_data = question, .private_data_len = most};
        const struct nornic_conn_param says = {.private_data = answer, .private_data_len = most};
        memset(question, 0x11, sizeof question);
        memset(answer, 0x22, sizeof answer);
        question[most - 1] = answer[most - 1] = 0x33;
        iw_open_both(ends, &config, &config);
        iw_start(&ends[0], iw_listen(&ends[1], &listener, 1), &asks);
        struct nornic_cm_event *event = iw_event(&ends[1], NORNIC_CM_EVENT_CONNECT_REQUEST);
        cr_expect_eq(event->private_data_len, most);
        cr_expect_arr_eq(event->private_data, question, most);
        ends[1].id = event->id;
        nornic_cm_ack_event(event);
        iw_make_qp(&ends[1]);
        struct nornic_conn_param over = says;
        over.private_data_len++;
        cr_expect_eq(nornic_cm_id_accept(ends[1].id, ends[1].qp, &over), -EINVAL, "an octet too many");
        cr_assert_eq(nornic_cm_id_accept(ends[1].id, ends[1].qp, &says), 0, "and nothing is spoilt by it");
        event = iw_event(&ends[0], NORNIC_CM_EVENT_ESTABLISHED);
        cr_expect_eq(event->private_data_len, most);
        cr_expect_arr_eq(event->private_data, answer, most);
        nornic_cm_ack_event(event);
        cr_expect_eq(iw_hears(&ends[1], NORNIC_CM_EVENT_ESTABLISHED), 0);
        nornic_cm_id_destroy(listener);
        iw_disconnect(ends);
    }
}

/* Nothing is exchanged but by TCP and MPA: each side's number is its own, and neither learns the other's. */
Test(iw, IWARP_VERB_01_a_number_is_of_its_own_side_alone)
{
    struct iw_end ends[2];
    iw_connect(ends, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        struct nornic_cm_endpoints at;
        struct nornic_qp_attr attr;
        nornic_cm_id_endpoints(ends[i].id, &at);
        cr_expect_eq(at.local_qpn, nornic_qp_num(ends[i].qp));
        cr_expect_eq(at.remote_qpn, 0);
        nornic_qp_query(ends[i].qp, &attr, NULL);
        cr_expect_eq(attr.dest_qpn, 0);
        cr_expect_eq(attr.state, NORNIC_QPS_RTS);
    }
    iw_disconnect(ends);
}

/* What RoCE needs to repeat and to cut its packets is taken, before the connection and while it stands, and
 * changes nothing: TCP does that. */
Test(iw, IWARP_VERB_04_attributes_of_repetition_and_path_are_taken_and_ignored)
{
    struct iw_end ends[2];
    struct nornic_cm_id *listener;
    struct nornic_sge sge;
    struct nornic_qp_attr attr;
    const struct nornic_qp_attr given = {
        .path_mtu = NORNIC_MTU_256, .timeout = 1, .retry_cnt = 1, .rnr_retry = 1, .min_rnr_timer = 1};
    const uint32_t mask = NORNIC_QP_PATH_MTU | NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY |
                          NORNIC_QP_MIN_RNR_TIMER;
    iw_open_both(ends, NULL, NULL);
    iw_start(&ends[0], iw_listen(&ends[1], &listener, 1),
             &(struct nornic_conn_param){.retry_count = 0, .rnr_retry_count = 0});
    cr_assert_eq(nornic_qp_modify(ends[0].qp, &given, mask), 0);
    iw_take(&ends[1], &(struct nornic_conn_param){.retry_count = 7, .rnr_retry_count = 7});
    cr_expect_eq(iw_hears(&ends[0], NORNIC_CM_EVENT_ESTABLISHED), 0);
    cr_expect_eq(iw_hears(&ends[1], NORNIC_CM_EVENT_ESTABLISHED), 0);
    cr_assert_eq(nornic_qp_modify(ends[0].qp, &given, mask), 0);
    nornic_qp_query(ends[0].qp, &attr, NULL);
    cr_expect(!attr.path_mtu && !attr.timeout && !attr.retry_cnt && !attr.rnr_retry && !attr.min_rnr_timer);
    iw_fill(&ends[0], 0, 5000);
    iw_post_recv(&ends[1], 0, 5000);
    struct nornic_send_wr wr = iw_wr(NORNIC_WR_SEND, &ends[0], &ends[1], &sge, 0, 0, 5000);
    iw_post(&ends[0], &wr);
    cr_expect_eq(iw_wait(&ends[1]).byte_len, 5000);
    cr_expect_arr_eq(ends[1].memory, ends[0].memory, 5000);
    nornic_cm_id_destroy(listener);
    iw_disconnect(ends);
}

/* covers: IWARP-CM-04 */
Test(iw, a_program_says_no_and_why)
{
    struct iw_end ends[2];
    struct nornic_cm_id *listener;
    iw_open_both(ends, NULL, NULL);
    iw_start(&ends[0], iw_listen(&ends[1], &listener, 1), NULL);
    struct nornic_cm_event *event = iw_event(&ends[1], NORNIC_CM_EVENT_CONNECT_REQUEST);
    struct nornic_cm_id *id = event->id;
    nornic_cm_ack_event(event);
    cr_assert_eq(nornic_cm_id_reject(id, "full", 5), 0);
    event = iw_event(&ends[0], NORNIC_CM_EVENT_REJECTED);
    cr_expect_eq(event->status, 28);
    cr_expect_str_eq((char *)event->private_data, "full");
    nornic_cm_ack_event(event);
    nornic_cm_id_destroy(id);
    nornic_cm_id_destroy(listener);
    iw_close_both(ends);
}

Test(iw, where_nobody_listens_the_connection_is_refused)
{
    struct iw_end ends[2];
    struct nornic_cm_id *listener;
    iw_open_both(ends, NULL, NULL);
    uint16_t port = iw_listen(&ends[1], &listener, 1);
    nornic_cm_id_destroy(listener);
    iw_start(&ends[0], port, NULL);
    cr_expect_eq(iw_hears(&ends[0], NORNIC_CM_EVENT_REJECTED), 8);
    iw_close_both(ends);
}

Test(iw, a_port_is_had_once)
{
    struct iw_end ends[2];
    struct nornic_cm_id *listener, *other;
    iw_open_both(ends, NULL, NULL);
    uint16_t port = iw_listen(&ends[0], &listener, 1);
    cr_assert_eq(nornic_cm_id_create(ends[1].cm, NORNIC_PS_TCP, NULL, &other), 0);
    cr_expect_eq(nornic_cm_id_listen(other, NULL, port, 1), -EADDRINUSE);
    nornic_cm_id_destroy(listener);
    cr_expect_eq(nornic_cm_id_listen(other, NULL, port, 1), 0);
    nornic_cm_id_destroy(other);
    iw_close_both(ends);
}

/* More come than the program wants to be told of: they wait, and nobody is turned away. */
Test(iw, requests_beyond_the_backlog_wait)
{
    enum { COMERS = 5 };
    struct iw_end server, clients[COMERS];
    struct nornic_cm_id *listener, *ids[COMERS];
    struct nornic_cm_event *event;
    iw_open(&server, "iwarp:127.0.0.1", NULL);
    uint16_t port = iw_listen(&server, &listener, 2);
    for (int i = 0; i < COMERS; i++) {
        iw_open(&clients[i], "iwarp:127.0.0.1", NULL);
        iw_start(&clients[i], port, NULL);
    }
    for (int i = 0; i < 2; i++) {
        event = iw_event(&server, NORNIC_CM_EVENT_CONNECT_REQUEST);
        ids[i] = event->id;
        nornic_cm_ack_event(event);
    }
    cr_expect_eq(nornic_cm_get_event(server.cm, &event, 50 * NS_PER_MS), -EAGAIN);
    for (int i = 0; i < COMERS; i++) {
        cr_assert_eq(nornic_cm_id_reject(ids[i], NULL, 0), 0);
        if (i + 2 >= COMERS)
            continue;
        event = iw_event(&server, NORNIC_CM_EVENT_CONNECT_REQUEST);
        ids[i + 2] = event->id;
        nornic_cm_ack_event(event);
    }
    for (int i = 0; i < COMERS; i++) {
        cr_expect_eq(iw_hears(&clients[i], NORNIC_CM_EVENT_REJECTED), 28);
        nornic_cm_id_destroy(ids[i]);
        iw_close(&clients[i]);
    }
    nornic_cm_id_destroy(listener);
    iw_close(&server);
}

/* Requests that nobody has taken go with their listener. */
Test(iw, a_listener_takes_its_requests_along)
{
    struct iw_end ends[2];
    struct nornic_cm_id *listener;
    iw_open_both(ends, NULL, NULL);
    iw_start(&ends[0], iw_listen(&ends[1], &listener, 4), NULL);
    struct nornic_cm_event *event;
    struct pollfd waits = {.fd = nornic_cm_fd(ends[1].cm), .events = POLLIN};
    cr_assert_eq(poll(&waits, 1, 20000), 1);
    nornic_cm_id_destroy(listener);
    cr_assert_eq(nornic_cm_get_event(ends[0].cm, &event, IW_WAIT_NS), 0);
    cr_expect(event->type == NORNIC_CM_EVENT_REJECTED || event->type == NORNIC_CM_EVENT_CONNECT_ERROR);
    nornic_cm_ack_event(event);
    iw_close_both(ends);
}
