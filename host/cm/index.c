/* SPDX-License-Identifier: BSD-2-Clause */
/* The ids of a CM: all of them, and those of a QP. Under the device's lock. */
#include "host/cm/inner.h"

void host_cm_link_id(struct host_cm *cm, struct host_cm_id *id, struct roce_cm_id *engine)
{
    host_dev_assert_held(cm->dev);
    id->cm = cm;
    id->engine = engine;
    id->query_end_ns = NET_TIME_NONE;
    host_ack_subject_init(&id->subject, false);
    id->next = cm->ids;
    id->at = &cm->ids;
    if (cm->ids)
        cm->ids->at = &id->next;
    cm->ids = id;
    roce_cm_id_set_ctx(engine, id);
}

void host_cm_unlink_id(struct host_cm_id *id)
{
    host_cm_set_qp(id, NULL);
    *id->at = id->next;
    if (id->next)
        id->next->at = id->at;
}

static struct host_cm_id **bucket_of(struct host_cm *cm, uint32_t qpn)
{
    return &cm->by_qp[qpn % HOST_CM_QP_BUCKETS];
}

void host_cm_set_qp(struct host_cm_id *id, struct roce_qp *qp)
{
    host_dev_assert_held(id->cm->dev);
    if (id->qp) {
        struct host_cm_id **at = id->bucket;
        while (*at != id)
            at = &(*at)->next_of_qp;
        *at = id->next_of_qp;
    }
    id->qp = qp;
    if (qp) {
        id->bucket = bucket_of(id->cm, roce_qp_num(qp));
        id->next_of_qp = *id->bucket;
        *id->bucket = id;
    }
}

struct host_cm_id *host_cm_first_of_qp(struct host_cm *cm, const struct roce_qp *qp)
{
    struct host_cm_id *id = *bucket_of(cm, roce_qp_num(qp));
    while (id && id->qp != qp)
        id = id->next_of_qp;
    return id;
}
