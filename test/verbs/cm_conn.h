/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of librdmacm: ids of both ends in this process, on a loopback of its own. Whatever fails
 * fails the test. The suite `cm`, whose tests stand in the files test_cm*.c, begins with a network namespace
 * of its own. */
#ifndef TEST_VERBS_CM_CONN_H
#define TEST_VERBS_CM_CONN_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#define CM_HOST "127.0.0.1"

/* CM_HOST with that port. */
struct sockaddr_in cm_addr(uint16_t port);
/* For queue pairs of 4 sends and 4 receives, of a piece each, all signaled; the type is the caller's. */
struct ibv_qp_init_attr cm_init_attr(void);

/* The next event, which comes within PAIR_WAIT_MS and is this one; the caller acknowledges it. */
struct rdma_cm_event *cm_expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* The same, acknowledged. */
void cm_skip(struct rdma_event_channel *channel, enum rdma_cm_event_type type);
/* Until the channel has an event, which stays there. */
void cm_wait_readable(const struct rdma_event_channel *channel);

/* An id that listens. */
struct rdma_cm_id *cm_listen(struct rdma_event_channel *channel, enum rdma_port_space space, uint16_t port);
/* An id that is resolved, with a queue pair. */
struct rdma_cm_id *cm_resolve(struct rdma_event_channel *channel, enum rdma_port_space space, uint16_t port);
/* A reliable connection's queue pair for `id`. */
void cm_make_qp(struct rdma_cm_id *id);

/* Ids of one channel that become a connection; NULL where there is none. */
struct cm_conn {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listen, *active, *passive;
};

/* Makes the channel and the ids, up to the request, whose event is the caller's. `param` may be NULL. */
struct rdma_cm_event *cm_ask(struct cm_conn *c, uint16_t port, struct rdma_conn_param *param);
/* Accepts it: both ends are established. */
void cm_accept(struct cm_conn *c);
/* Destroys all that is there. */
void cm_end(struct cm_conn *c);

#endif
