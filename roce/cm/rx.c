/* SPDX-License-Identifier: BSD-2-Clause */
/* What arrives at QP 1: the checks of the envelope, and to whom a message goes. */
#include <string.h>

#include "roce/cm/id.h"

/* ROCE-GSI-4: nobody here serves other classes; where a response is defined, it says so. */
static void answer_other_class(struct roce_cm *cm, const struct roce_cm_path *path, const uint8_t *bytes,
                               struct roce_mad hdr, uint64_t now_ns)
{
    uint8_t answer[ROCE_MAD_BYTES];
    roce_cm_count(cm, rx_class);
    if (hdr.method != ROCE_MAD_METHOD_GET && hdr.method != ROCE_MAD_METHOD_SET)
        return;
    if (!roce_cm_may_refuse(cm, ROCE_CM_NO_SERVICE))
        return;
    memcpy(answer, bytes, sizeof answer);
    hdr.method = ROCE_MAD_METHOD_GET | ROCE_MAD_RESPONSE; /* GetResp answers Set as well */
    hdr.status = ROCE_MAD_STATUS_INVALID;
    roce_mad_put(answer, &hdr);
    cm->wire.send(cm->wire.ctx, path, answer, now_ns);
}

/* Section 16.1: another class version is refused where a refusal can be read, whatever else it means; so its
 * service id says nothing either. */
static void refuse_version(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                           uint64_t now_ns)
{
    bool is_request = mad->hdr.attr_id == ROCE_CM_REQ || mad->hdr.attr_id == ROCE_CM_SIDR_REQ;
    roce_cm_count(cm, rx_version);
    if (!is_request || !roce_cm_may_refuse(cm, ROCE_CM_NO_SERVICE))
        return;
    if (mad->hdr.attr_id == ROCE_CM_REQ) {
        struct roce_cm_refusal refusal = {.remote_comm_id = mad->req.local_comm_id,
                                          .reason = ROCE_CM_REJ_INVALID_CLASS_VERSION};
        roce_cm_refuse(cm, path, mad->hdr.tid, &refusal, now_ns);
    } else {
        struct roce_cm_mad answer = {.hdr = roce_cm_hdr(ROCE_CM_SIDR_REP, mad->hdr.tid)};
        answer.sidr_rep.request_id = mad->sidr_req.request_id;
        answer.sidr_rep.service_id = mad->sidr_req.service_id;
        answer.sidr_rep.status = ROCE_CM_SIDR_VERSION;
        roce_cm_put(cm, path, &answer, now_ns);
    }
}

static roce_cm_handler *handler_of(enum roce_cm_attr attr)
{
    switch (attr) {
    case ROCE_CM_REQ:
        return roce_cm_rx_req;
    case ROCE_CM_MRA:
        return roce_cm_rx_mra;
    case ROCE_CM_REJ:
        return roce_cm_rx_rej;
    case ROCE_CM_REP:
        return roce_cm_rx_rep;
    case ROCE_CM_RTU:
        return roce_cm_rx_rtu;
    case ROCE_CM_DREQ:
        return roce_cm_rx_dreq;
    case ROCE_CM_DREP:
        return roce_cm_rx_drep;
    case ROCE_CM_SIDR_REQ:
        return roce_cm_rx_sidr_req;
    case ROCE_CM_SIDR_REP:
        return roce_cm_rx_sidr_rep;
    case ROCE_CM_LAP:
        return roce_cm_rx_lap;
    case ROCE_CM_APR:
        return roce_cm_rx_apr;
    }
    return NULL;
}

void roce_cm_input(struct roce_cm *cm, const struct roce_cm_path *path, const uint8_t *bytes,
                   size_t len_bytes, uint64_t now_ns)
{
    struct roce_cm_mad mad;
    if (len_bytes != ROCE_MAD_BYTES) { /* ROCE-GSI-1 */
        roce_cm_count(cm, rx_malformed);
        return;
    }
    bool known = roce_cm_mad_get(&mad, bytes);
    if (mad.hdr.base_version != ROCE_MAD_BASE_VERSION) {
        roce_cm_count(cm, rx_malformed);
    } else if (mad.hdr.mgmt_class != ROCE_MAD_CLASS_CM) {
        answer_other_class(cm, path, bytes, mad.hdr, now_ns);
    } else if (mad.hdr.method != ROCE_MAD_METHOD_SEND || !known) { /* ROCE-CM-1 */
        roce_cm_count(cm, rx_method);
    } else if (mad.hdr.class_version != ROCE_MAD_CM_VERSION) {
        refuse_version(cm, path, &mad, now_ns);
    } else {
        cm->counters.rx[mad.hdr.attr_id - ROCE_CM_ATTR_FIRST]++;
        handler_of((enum roce_cm_attr)mad.hdr.attr_id)(cm, path, &mad, now_ns);
    }
}
