/* SPDX-License-Identifier: BSD-2-Clause */
/* librdmacm: calls in states that forbid them, and arguments that few programs give (docs/verbs-calls.md). */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include "test/verbs/cm_conn.h"

#define REFUSED(call, want)                       \
    do {                                          \
        errno = 0;                                \
        cr_expect_eq((call), -1, "%s", #call);    \
        cr_expect_eq(errno, (want), "%s", #call); \
    } while (0)

Test(cm, an_id_in_use_takes_no_other_address)
{
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    struct sockaddr_in to = cm_addr(7490);
    c.active = cm_resolve(c.channel, RDMA_PS_TCP, 7490);
    REFUSED(rdma_resolve_addr(c.active, NULL, (struct sockaddr *)&to, 500), EINVAL);
    REFUSED(rdma_bind_addr(c.active, (struct sockaddr *)&to), EINVAL);
    cm_end(&c);
}

Test(cm, addresses_of_other_families_and_scopes_are_refused)
{
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    struct sockaddr other = {.sa_family = AF_UNIX};
    struct sockaddr_in to = cm_addr(7491);
    struct sockaddr_in6 from = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    cr_assert_eq(rdma_create_id(c.channel, &c.active, NULL, RDMA_PS_TCP), 0);
    REFUSED(rdma_bind_addr(c.active, &other), EINVAL);
    REFUSED(rdma_resolve_addr(c.active, &other, (struct sockaddr *)&to, 500), EINVAL);
    REFUSED(rdma_resolve_addr(c.active, (struct sockaddr *)&from, (struct sockaddr *)&to, 500), EINVAL);
    cr_assert_eq(inet_pton(AF_INET6, "fe80::1", &from.sin6_addr), 1);
    REFUSED(rdma_bind_addr(c.active, (struct sockaddr *)&from), EINVAL);
    from.sin6_scope_id = 9999;
    REFUSED(rdma_resolve_addr(c.active, NULL, (struct sockaddr *)&from, 500), ENODEV);
    cm_end(&c);
}

Test(cm, private_data_without_room_is_refused)
{
    static const char data[256];
    struct cm_conn c;
    struct rdma_conn_param param = {.private_data = data, .private_data_len = 56};
    struct rdma_cm_event *request = cm_ask(&c, 7492, &param);
    cr_expect_geq(request->param.conn.private_data_len, 56);
    rdma_ack_cm_event(request);
    param.private_data_len = 197;
    REFUSED(rdma_accept(c.passive, &param), EINVAL);
    REFUSED(rdma_reject(c.passive, data, 149), EINVAL);
    struct pollfd p = {.fd = c.channel->fd, .events = POLLIN};
    cr_expect_eq(poll(&p, 1, 20), 0, "nothing was sent");
    struct rdma_cm_id *id = cm_resolve(c.channel, RDMA_PS_TCP, 7492);
    param.private_data_len = 57;
    REFUSED(rdma_connect(id, &param), EINVAL);
    cr_expect_eq(poll(&p, 1, 20), 0, "nothing was asked");
    rdma_destroy_qp(id);
    rdma_destroy_id(id);
    cr_expect_eq(rdma_reject(c.passive, NULL, 149), 0, "a length alone is no data");
    cm_skip(c.channel, RDMA_CM_EVENT_REJECTED);
    cm_end(&c);
}

Test(cm, a_queue_pair_is_of_the_type_of_its_id)
{
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    struct sockaddr_in at = cm_addr(0);
    struct ibv_qp_init_attr init = cm_init_attr();
    cr_assert_eq(rdma_create_id(c.channel, &c.active, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_bind_addr(c.active, (struct sockaddr *)&at), 0);
    init.qp_type = IBV_QPT_UD;
    REFUSED(rdma_create_qp(c.active, NULL, &init), EINVAL);
    cm_end(&c);
}

Test(cm, too_many_reads_are_refused)
{
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    struct rdma_conn_param param = {.responder_resources = 129};
    c.active = cm_resolve(c.channel, RDMA_PS_TCP, 7493);
    REFUSED(rdma_connect(c.active, &param), EINVAL);
    cm_end(&c);
}

/* The listener gets another context while the request waits. */
Test(cm, a_request_is_made_when_it_is_taken)
{
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    int late;
    c.listen = cm_listen(c.channel, RDMA_PS_TCP, 7494);
    struct rdma_event_channel *asking = rdma_create_event_channel();
    c.active = cm_resolve(asking, RDMA_PS_TCP, 7494);
    cr_assert_eq(rdma_connect(c.active, NULL), 0);
    cm_wait_readable(c.channel);
    c.listen->context = &late;
    struct rdma_cm_event *request = cm_expect(c.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    c.passive = request->id;
    cr_expect_eq(c.passive->context, &late);
    rdma_ack_cm_event(request);
    cm_end(&c);
    rdma_destroy_event_channel(asking);
}
