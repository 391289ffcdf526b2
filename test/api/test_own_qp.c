/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that moves its queue pairs itself and names them to the CM by number. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "ends.h"

#define PORT 7471

static struct end e[2];
static struct nornic_cm *cm[2];

static void setup(void)
{
    ends_open_devices(e, NULL);
    for (int i = 0; i < 2; i++) {
        struct nornic_qp_config config = {NORNIC_INIT(config), .type = NORNIC_QPT_RC,
                                          .caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1}};
        struct nornic_cq_config cq = {NORNIC_INIT(cq), .capacity = 8};
        cr_assert_eq(nornic_cm_open(e[i].dev, NULL, &cm[i], NULL), 0);
        cr_assert_eq(nornic_pd_create(e[i].dev, &e[i].pd), 0);
        cr_assert_eq(nornic_cq_create(e[i].dev, &cq, &e[i].cq), 0);
        config.pd = e[i].pd;
        config.send_cq = config.recv_cq = e[i].cq;
        cr_assert_eq(nornic_qp_create(e[i].dev, &config, &e[i].qp), 0);
    }
}

static void teardown(void)
{
    for (int i = 0; i < 2; i++)
        cr_assert_eq(nornic_cm_close(cm[i]), 0);
    ends_close(e);
}

TestSuite(own_qp, .init = setup, .fini = teardown, .timeout = 60);

/* Takes and acknowledges the next event, which is `type`. Returns the id that it names. */
static struct nornic_cm_id *expect(int side, enum nornic_cm_event_type type)
{
    struct nornic_cm_event *event;
    cr_assert_eq(nornic_cm_get_event(cm[side], &event, 10 * ENDS_SECOND_NS), 0);
    cr_assert_eq(event->type, type, "%s", nornic_cm_event_name(event->type));
    struct nornic_cm_id *id = event->id;
    nornic_cm_ack_event(event);
    return id;
}

static void walk(struct nornic_qp *qp, struct nornic_cm_id *id)
{
    static const enum nornic_qp_state steps[] = {NORNIC_QPS_INIT, NORNIC_QPS_RTR, NORNIC_QPS_RTS};
    struct nornic_qp_attr attr;
    uint32_t mask;
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(nornic_cm_id_qp_attr(id, steps[i], &attr, &mask), 0);
        cr_assert_eq(nornic_qp_modify(qp, &attr, mask), 0);
    }
}

Test(own_qp, is_connected_by_its_number)
{
    struct nornic_gid gid;
    struct nornic_cm_id *listener, *active, *passive;
    struct nornic_conn_param param[2] = {{.retry_count = 7}, {.retry_count = 7}};
    struct nornic_qp_attr attr;
    uint32_t mask;
    for (int i = 0; i < 2; i++)
        param[i].qp_num = nornic_qp_num(e[i].qp);
    cr_assert_eq(nornic_dev_query_gid(e[1].dev, 0, &gid), 0);
    cr_assert_eq(nornic_cm_id_create(cm[1], NORNIC_PS_TCP, NULL, &listener), 0);
    cr_assert_eq(nornic_cm_id_listen(listener, NULL, PORT, 1), 0);
    cr_assert_eq(nornic_cm_id_create(cm[0], NORNIC_PS_TCP, NULL, &active), 0);
    cr_assert_eq(nornic_cm_id_resolve_addr(active, NULL, &gid.addr, PORT, ENDS_SECOND_NS, NULL), 0);
    expect(0, NORNIC_CM_EVENT_ADDR_RESOLVED);
    cr_assert_eq(nornic_cm_id_resolve_route(active), 0);
    expect(0, NORNIC_CM_EVENT_ROUTE_RESOLVED);
    cr_expect_eq(nornic_cm_id_connect(active, NULL, NULL), -EINVAL, "no queue pair is named");
    cr_assert_eq(nornic_cm_id_connect(active, NULL, &param[0]), 0);
    cr_expect_eq(nornic_cm_id_qp_attr(active, NORNIC_QPS_RTR, &attr, &mask), -EINVAL);
    cr_expect_eq(nornic_cm_id_establish(active), -EINVAL, "nobody has answered");
    passive = expect(1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    walk(e[1].qp, passive);
    cr_assert_eq(nornic_cm_id_accept(passive, NULL, &param[1]), 0);
    expect(0, NORNIC_CM_EVENT_CONNECT_RESPONSE);
    walk(e[0].qp, active);
    cr_assert_eq(nornic_cm_id_establish(active), 0);
    expect(1, NORNIC_CM_EVENT_ESTABLISHED);
    nornic_qp_query(e[0].qp, &attr, NULL);
    cr_expect_eq(attr.dest_qpn, nornic_qp_num(e[1].qp));
    nornic_cm_id_destroy(active);
    nornic_cm_id_destroy(passive);
    nornic_cm_id_destroy(listener);
}
