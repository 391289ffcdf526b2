/* SPDX-License-Identifier: BSD-2-Clause */
/* A request that waits at node 1 of two. */
#ifndef NORNIC_TEST_CM_REQUEST_H
#define NORNIC_TEST_CM_REQUEST_H

#include <criterion/criterion.h>

#include "base/base.h"
#include "test/cm/net.h"

static const struct cm_net_config plain = {.seed = 1};

static const struct nornic_conn_param param = {
    .responder_resources = 3, .initiator_depth = 2, .retry_count = 5, .rnr_retry_count = 6};

struct request {
    struct roce_cm_id *listener, *active, *passive;
    struct roce_qp *qp;
    struct roce_cm_event event;
};

static inline struct request ask(struct cm_net *net, const struct nornic_conn_param *with, bool has_qp)
{
    struct request r = {.listener = cm_net_listen(net, 1, 7471, 8),
                        .active = cm_net_id(net, 0, NORNIC_PS_TCP),
                        .qp = cm_net_qp(net, 0)};
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    struct nornic_conn_param p = *with;
    p.qp_num = roce_qp_num(r.qp);
    cr_assert_eq(roce_cm_connect(r.active, &route, has_qp ? r.qp : NULL, &p, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    r.event = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    r.passive = r.event.id;
    cr_assert_eq(r.event.listen_id, r.listener);
    return r;
}

static inline void finish(struct cm_net *net, struct request *r)
{
    cm_net_end(net, r->active, r->passive, r->listener);
}

#endif
