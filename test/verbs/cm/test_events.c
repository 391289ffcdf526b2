/* SPDX-License-Identifier: BSD-2-Clause */
/* librdmacm: events, and the channels that they wait in. */
#include <criterion/criterion.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include "test/verbs/cm_conn.h"
#include "test/verbs/pair.h"

Test(cm, events_move_with_their_id)
{
    struct cm_conn c = {0};
    struct rdma_event_channel *other = rdma_create_event_channel();
    rdma_ack_cm_event(cm_ask(&c, 7474, NULL));
    cm_accept(&c);
    cr_assert_eq(rdma_disconnect(c.active), 0);
    struct pollfd readable = {.fd = c.channel->fd, .events = POLLIN};
    cr_assert_eq(poll(&readable, 1, PAIR_WAIT_MS), 1);
    cr_assert_eq(rdma_migrate_id(c.passive, other), 0);
    cr_assert_eq(c.passive->channel, other);
    cm_skip(other, RDMA_CM_EVENT_DISCONNECTED);
    cr_assert_eq(rdma_disconnect(c.passive), 0); /* the answer */
    cm_skip(c.channel, RDMA_CM_EVENT_DISCONNECTED);
    cr_assert_eq(rdma_migrate_id(c.passive, c.channel), 0);
    rdma_destroy_event_channel(other);
    cm_end(&c);
}

/* One becomes synchronous: its events are its own, and its calls wait for them. */
Test(cm, an_id_becomes_synchronous)
{
    struct cm_conn c = {0};
    rdma_ack_cm_event(cm_ask(&c, 7475, NULL));
    cm_accept(&c);
    cr_assert_eq(rdma_migrate_id(c.active, NULL), 0);
    cr_assert_eq(rdma_migrate_id(c.active, NULL), -1, "it is so already");
    cr_assert_eq(errno, EINVAL);
    cr_assert_eq(rdma_disconnect(c.passive), 0);
    cr_assert_eq(rdma_disconnect(c.active), 0);
    cr_assert_eq(c.active->event->event, RDMA_CM_EVENT_DISCONNECTED);
    cm_skip(c.channel, RDMA_CM_EVENT_DISCONNECTED);
    cm_end(&c);
}

Test(cm, what_waits_goes_with_its_id)
{
    struct cm_conn c = {0};
    rdma_ack_cm_event(cm_ask(&c, 7476, NULL));
    cm_accept(&c);
    cr_assert_eq(rdma_disconnect(c.active), 0);
    cm_end(&c); /* DISCONNECTED of both, TIMEWAIT_EXIT */
}

/* As rping does, by a call of which the id hears nothing. */
Test(cm, an_end_comes_when_the_queue_pair_is_gone)
{
    struct cm_conn c = {0};
    struct ibv_qp_init_attr init = cm_init_attr();
    rdma_ack_cm_event(cm_ask(&c, 7481, NULL));
    init.qp_type = IBV_QPT_RC;
    init.send_cq = init.recv_cq = ibv_create_cq(c.passive->verbs, 16, NULL, NULL, 0);
    cr_assert_eq(rdma_create_qp(c.passive, NULL, &init), 0);
    cr_assert_eq(rdma_accept(c.passive, NULL), 0);
    cm_skip(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    cm_skip(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    cr_assert_eq(rdma_disconnect(c.active), 0);
    cm_wait_readable(c.channel);
    mallopt(M_PERTURB, 0x5a); /* nobody reads what is free and finds it whole */
    cr_assert_eq(ibv_destroy_qp(c.passive->qp), 0);
    cm_skip(c.channel, RDMA_CM_EVENT_DISCONNECTED);
    c.passive->qp = NULL;
    ibv_destroy_cq(init.send_cq);
    cm_end(&c);
}

/* As rping does, whose event thread may come back when main() has destroyed the channel. */
Test(cm, a_channel_goes_before_those_who_use_it)
{
    struct sockaddr_in addr = cm_addr(7482);
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_event *event;
    struct rdma_cm_id *id;
    mallopt(M_PERTURB, 0x5a);
    cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), 0);
    cm_wait_readable(channel);
    rdma_destroy_event_channel(channel);
    cr_assert_eq(rdma_get_cm_event(channel, &event), -1);
    cr_assert_eq(errno, EBADF);
    cr_assert_eq(rdma_resolve_route(id, 1000), 0, "its event has a place");
    cr_assert_eq(rdma_destroy_id(id), 0);
    cr_assert_eq(rdma_get_cm_event(channel, &event), -1, "its memory is gone as well");
    cr_assert_eq(errno, EBADF);
    rdma_destroy_event_channel(channel); /* it is told, and nothing happens */
}

/* An id stays that used it, and is in another one then. */
Test(cm, a_channel_that_is_destroyed_takes_no_ids)
{
    struct rdma_event_channel *gone = rdma_create_event_channel(), *channel = rdma_create_event_channel();
    struct rdma_cm_id *old, *id;
    cr_assert_eq(rdma_create_id(gone, &old, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    rdma_destroy_event_channel(gone);
    errno = 0;
    cr_expect_eq(rdma_migrate_id(id, gone), -1);
    cr_expect_eq(errno, EINVAL);
    cr_expect_eq(id->channel, channel);
    cr_assert_eq(rdma_destroy_id(old), 0);
    errno = 0;
    cr_expect_eq(rdma_create_id(gone, &old, NULL, RDMA_PS_TCP), -1);
    cr_expect_eq(errno, EINVAL);
    cr_assert_eq(rdma_destroy_id(id), 0);
    rdma_destroy_event_channel(channel);
}
