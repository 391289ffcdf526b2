/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of an exchange: no answer, REJ, DREQ and DREP, TIMEWAIT; and of an id. */
#include <errno.h>

#include "base/base.h"
#include "net/bytes.h"
#include "roce/cm/id.h"
#include "roce/cm/note.h"

/* --- no answer --- */

static void give_up(struct roce_cm_id *id, uint64_t now_ns)
{
    roce_cm_count(id->cm, timeouts);
    switch (id->state) {
    case ROCE_CM_REQ_SENT_STATE:
    case ROCE_CM_MRA_REQ_RCVD_STATE:
        roce_cm_send_rej(id, ROCE_CM_REJ_TIMEOUT, NULL, 0, now_ns);
        roce_cm_event_tell(id, NORNIC_CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL, 0);
        roce_cm_qp_error(id, now_ns);
        roce_cm_to_idle(id);
        return;
    case ROCE_CM_REP_SENT_STATE:
    case ROCE_CM_MRA_REP_RCVD_STATE: /* the peer may have sent data */
        roce_cm_send_rej(id, ROCE_CM_REJ_TIMEOUT, NULL, 0, now_ns);
        roce_cm_event_tell(id, NORNIC_CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL, 0);
        roce_cm_qp_error(id, now_ns);
        roce_cm_to_timewait(id, now_ns);
        return;
    case ROCE_CM_DREQ_SENT_STATE:
        roce_cm_event_end(id, -ETIMEDOUT, NULL, 0);
        roce_cm_to_timewait(id, now_ns);
        return;
    case ROCE_CM_SIDR_REQ_SENT_STATE:
        roce_cm_event_tell(id, NORNIC_CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL, 0);
        roce_cm_to_idle(id);
        return;
    case ROCE_CM_IDLE_STATE:
    case ROCE_CM_LISTEN_STATE:
    case ROCE_CM_REQ_RCVD_STATE:
    case ROCE_CM_MRA_REQ_SENT_STATE:
    case ROCE_CM_REP_RCVD_STATE:
    case ROCE_CM_MRA_REP_SENT_STATE:
    case ROCE_CM_ESTABLISHED_STATE:
    case ROCE_CM_DREQ_RCVD_STATE:
    case ROCE_CM_TIMEWAIT_STATE:
    case ROCE_CM_SIDR_REQ_RCVD_STATE:
    case ROCE_CM_SIDR_REP_SENT_STATE:
        break;
    }
}

void roce_cm_timer_fire(struct rdma_timer *timer, uint64_t now_ns)
{
    struct roce_cm_id *id = container_of(timer, struct roce_cm_id, timer);
    if (id->state == ROCE_CM_TIMEWAIT_STATE) {
        roce_cm_event_tell(id, NORNIC_CM_EVENT_TIMEWAIT_EXIT, 0, NULL, 0);
        roce_cm_to_idle(id);
    } else if (id->state == ROCE_CM_SIDR_REP_SENT_STATE) {
        roce_cm_to_idle(id);
    } else if (id->retries_left > 0) {
        id->retries_left--;
        roce_cm_resend(id, now_ns);
        rdma_timer_arm(&id->cm->timers, timer, now_ns + id->wait_ns);
    } else {
        give_up(id, now_ns);
    }
}

/* --- REJ --- */

int roce_cm_reject(struct roce_cm_id *id, uint16_t reason, const void *private_data, uint8_t len_bytes,
                   uint64_t now_ns)
{
    /* CA17-35: never about LIDs; TIMEOUT and STALE_CONN are the CM's own to say */
    if (reason == ROCE_CM_REJ_INVALID_LID || reason == ROCE_CM_REJ_INVALID_ALT_LID ||
        reason == ROCE_CM_REJ_TIMEOUT || reason == ROCE_CM_REJ_STALE_CONN)
        return -EINVAL;
    if (id->state == ROCE_CM_SIDR_REQ_RCVD_STATE)
        return roce_cm_sidr_reject(id, private_data, len_bytes, now_ns);
    bool asked = id->state == ROCE_CM_REQ_RCVD_STATE || id->state == ROCE_CM_MRA_REQ_SENT_STATE;
    bool answered = id->state == ROCE_CM_REP_RCVD_STATE || id->state == ROCE_CM_MRA_REP_SENT_STATE;
    if ((!asked && !answered) || !roce_cm_private_fits(private_data, len_bytes, ROCE_CM_REJ_PRIVATE_BYTES))
        return -EINVAL;
    roce_cm_send_rej(id, reason ? reason : ROCE_CM_REJ_CONSUMER, private_data, len_bytes, now_ns);
    if (!asked) {
        roce_cm_to_timewait(id, now_ns);
        return 0;
    }
    roce_cm_to_idle(id);
    roce_cm_child_settle(id);
    return 0;
}

/* ROCE-CM-52. */
static struct roce_cm_id *find_rejected(struct roce_cm *cm, const struct roce_cm_path *path,
                                        const struct roce_cm_rej *rej)
{
    struct roce_cm_id *id = NULL;
    if (rej->reason == ROCE_CM_REJ_TIMEOUT && rej->info_bytes >= 8)
        id = roce_cm_table_find(&cm->by_peer, roce_cm_peer_key(get_be64(rej->info), rej->local_comm_id));
    if (id && nornic_addr_equal(&id->path.av.dgid, &path->av.dgid))
        return id;
    if (rej->rejected_message != ROCE_CM_MESSAGE_REQ)
        return roce_cm_rx_find(cm, path, rej->remote_comm_id, rej->local_comm_id);
    id = roce_cm_rx_find_ours(cm, path, rej->remote_comm_id);
    if (id && id->state != ROCE_CM_REQ_SENT_STATE && id->state != ROCE_CM_MRA_REQ_RCVD_STATE) {
        roce_cm_count(cm, rx_unexpected); /* late: a copy of the REQ was answered otherwise */
        return NULL;
    }
    return id;
}

/* Nobody has that service, and perhaps will in a moment: the REQ goes out again, as if it had been lost. */
static bool asks_again(struct roce_cm_id *id, const struct roce_cm_rej *rej, uint64_t now_ns)
{
    if (id->state != ROCE_CM_REQ_SENT_STATE || rej->reason != ROCE_CM_REJ_INVALID_SERVICE_ID ||
        now_ns >= id->patient_until_ns)
        return false;
    id->retries_left = (uint8_t)max_u32(id->max_retries, 1);
    rdma_timer_arm(&id->cm->timers, &id->timer, now_ns + NORNIC_CM_ASK_AGAIN_NS);
    return true;
}

void roce_cm_rx_rej(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                    uint64_t now_ns)
{
    const struct roce_cm_rej *rej = &mad->rej;
    struct roce_cm_id *id = find_rejected(cm, path, rej);
    if (!id || asks_again(id, rej, now_ns))
        return;
    switch (id->state) {
    case ROCE_CM_REQ_SENT_STATE:
    case ROCE_CM_MRA_REQ_RCVD_STATE:
    case ROCE_CM_REQ_RCVD_STATE:
    case ROCE_CM_MRA_REQ_SENT_STATE:
    case ROCE_CM_REP_SENT_STATE:
    case ROCE_CM_MRA_REP_RCVD_STATE:
        roce_cm_event_tell(id, NORNIC_CM_EVENT_REJECTED, rej->reason, rej->private_data,
                           ROCE_CM_REJ_PRIVATE_BYTES);
        roce_cm_qp_error(id, now_ns);
        if (rej->reason == ROCE_CM_REJ_STALE_CONN && id->is_owned) {
            roce_cm_to_timewait(id, now_ns);
            return;
        }
        roce_cm_to_idle(id);
        return;
    case ROCE_CM_REP_RCVD_STATE:
    case ROCE_CM_MRA_REP_SENT_STATE:
        roce_cm_event_tell(id, NORNIC_CM_EVENT_REJECTED, rej->reason, rej->private_data,
                           ROCE_CM_REJ_PRIVATE_BYTES);
        roce_cm_qp_error(id, now_ns);
        roce_cm_to_timewait(id, now_ns);
        return;
    case ROCE_CM_ESTABLISHED_STATE:
    case ROCE_CM_DREQ_SENT_STATE:
        roce_cm_qp_error(id, now_ns);
        roce_cm_event_end(id, -ECONNRESET, NULL, 0);
        roce_cm_to_timewait(id, now_ns);
        return;
    case ROCE_CM_IDLE_STATE:
    case ROCE_CM_LISTEN_STATE:
    case ROCE_CM_DREQ_RCVD_STATE:
    case ROCE_CM_TIMEWAIT_STATE:
    case ROCE_CM_SIDR_REQ_SENT_STATE:
    case ROCE_CM_SIDR_REQ_RCVD_STATE:
    case ROCE_CM_SIDR_REP_SENT_STATE:
        roce_cm_count(cm, rx_unexpected);
    }
}

/* --- DREQ, DREP --- */

int roce_cm_disconnect(struct roce_cm_id *id, const void *private_data, uint8_t len_bytes, uint64_t now_ns)
{
    if (!roce_cm_private_fits(private_data, len_bytes, ROCE_CM_DREQ_PRIVATE_BYTES))
        return -EINVAL;
    if (id->state == ROCE_CM_ESTABLISHED_STATE) {
        roce_cm_qp_error(id, now_ns);
        roce_cm_send_dreq(id, private_data, len_bytes, now_ns);
        roce_cm_await(id, ROCE_CM_DREQ_SENT_STATE, now_ns);
    } else if (id->state == ROCE_CM_DREQ_RCVD_STATE) {
        roce_cm_qp_error(id, now_ns);
        roce_cm_send_drep(id, private_data, len_bytes, now_ns);
        roce_cm_to_timewait(id, now_ns);
    } else {
        return -EINVAL;
    }
    return 0;
}

void roce_cm_stale(struct roce_cm_id *id, uint64_t now_ns)
{
    roce_cm_count(id->cm, stale);
    if (id->state == ROCE_CM_ESTABLISHED_STATE)
        roce_cm_disconnect(id, NULL, 0, now_ns);
}

/* ROCE-CM-51: whoever asks to end what is not known here shall have it ended. */
static void answer_unknown(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                           uint64_t now_ns)
{
    struct roce_cm_mad answer = {.hdr = roce_cm_hdr(ROCE_CM_DREP, mad->hdr.tid)};
    answer.drep.local_comm_id = mad->dreq.remote_comm_id;
    answer.drep.remote_comm_id = mad->dreq.local_comm_id;
    roce_cm_count(cm, rx_unknown_id);
    if (roce_cm_may_refuse(cm, 0))
        roce_cm_put(cm, path, &answer, now_ns);
}

static bool is_connection(const struct roce_cm_id *id)
{
    return id && id->by_peer.id; /* the peer's Comm ID and QPN are known */
}

static void rx_dreq_of(struct roce_cm *cm, struct roce_cm_id *id, const struct roce_cm_mad *mad,
                       uint64_t now_ns)
{
    const struct roce_cm_dreq *dreq = &mad->dreq;
    switch (id->state) {
    case ROCE_CM_ESTABLISHED_STATE:
    case ROCE_CM_REP_SENT_STATE: /* the RTU was lost */
    case ROCE_CM_MRA_REP_RCVD_STATE:
        rdma_timer_cancel(&cm->timers, &id->timer);
        id->dreq_tid = mad->hdr.tid;
        roce_cm_set_state(id, ROCE_CM_DREQ_RCVD_STATE);
        roce_cm_event_end(id, 0, dreq->private_data, ROCE_CM_DREQ_PRIVATE_BYTES);
        return;
    case ROCE_CM_DREQ_SENT_STATE: /* both began: nothing is left to ask the application */
        id->dreq_tid = mad->hdr.tid;
        roce_cm_set_state(id, ROCE_CM_DREQ_RCVD_STATE);
        roce_cm_send_drep(id, NULL, 0, now_ns);
        roce_cm_event_end(id, 0, dreq->private_data, ROCE_CM_DREQ_PRIVATE_BYTES);
        roce_cm_to_timewait(id, now_ns);
        return;
    case ROCE_CM_TIMEWAIT_STATE: /* our DREP was lost */
        roce_cm_count(cm, rx_duplicate);
        id->dreq_tid = mad->hdr.tid;
        roce_cm_send_drep(id, NULL, 0, now_ns);
        return;
    case ROCE_CM_DREQ_RCVD_STATE:
        roce_cm_count(cm, rx_duplicate);
        return;
    case ROCE_CM_IDLE_STATE:
    case ROCE_CM_LISTEN_STATE:
    case ROCE_CM_REQ_SENT_STATE:
    case ROCE_CM_REQ_RCVD_STATE:
    case ROCE_CM_MRA_REQ_SENT_STATE:
    case ROCE_CM_MRA_REQ_RCVD_STATE:
    case ROCE_CM_REP_RCVD_STATE:
    case ROCE_CM_MRA_REP_SENT_STATE:
    case ROCE_CM_SIDR_REQ_SENT_STATE:
    case ROCE_CM_SIDR_REQ_RCVD_STATE:
    case ROCE_CM_SIDR_REP_SENT_STATE:
        roce_cm_count(cm, rx_unexpected);
    }
}

void roce_cm_rx_dreq(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                     uint64_t now_ns)
{
    const struct roce_cm_dreq *dreq = &mad->dreq;
    struct roce_cm_id *id = roce_cm_id_find(cm, dreq->remote_comm_id);
    if (!is_connection(id) || id->remote_comm_id != dreq->local_comm_id) {
        answer_unknown(cm, path, mad, now_ns);
        return;
    }
    if (!nornic_addr_equal(&id->path.av.dgid, &path->av.dgid)) {
        roce_cm_count(cm, rx_wrong_peer);
    } else if (dreq->remote_qpn != id->local_qpn) {
        roce_cm_count(cm, rx_bad_value);
    } else {
        rx_dreq_of(cm, id, mad, now_ns);
    }
}

void roce_cm_rx_drep(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                     uint64_t now_ns)
{
    struct roce_cm_id *id = roce_cm_rx_find(cm, path, mad->drep.remote_comm_id, mad->drep.local_comm_id);
    if (!id)
        return;
    if (id->state != ROCE_CM_DREQ_SENT_STATE) {
        roce_cm_count(cm, rx_duplicate);
        return;
    }
    roce_cm_event_end(id, 0, mad->drep.private_data, ROCE_CM_DREP_PRIVATE_BYTES);
    roce_cm_to_timewait(id, now_ns);
}

/* --- the application gives an id back --- */

/* Requests that the application has seen are its own; the others nobody will answer. */
static void close_listener(struct roce_cm_id *id, uint64_t now_ns)
{
    while (id->first_child) {
        struct roce_cm_id *child = id->first_child;
        if (child->is_owned) {
            roce_cm_child_remove(child);
            continue;
        }
        if (child->state == ROCE_CM_SIDR_REQ_RCVD_STATE)
            roce_cm_send_sidr_rep(child, ROCE_CM_SIDR_REJECTED, NULL, 0, now_ns);
        else
            roce_cm_send_rej(child, ROCE_CM_REJ_CONSUMER, NULL, 0, now_ns);
        roce_cm_id_free(child);
    }
}

/* Sends the REJ or DREQ that the state asks for. False: nothing is left to wait for, the id can go. */
static bool send_closing_message(struct roce_cm_id *id, uint64_t now_ns)
{
    switch (id->state) {
    case ROCE_CM_IDLE_STATE:
    case ROCE_CM_SIDR_REQ_SENT_STATE:
        return false;
    case ROCE_CM_LISTEN_STATE:
        close_listener(id, now_ns);
        return false;
    case ROCE_CM_REQ_SENT_STATE:
    case ROCE_CM_MRA_REQ_RCVD_STATE:
        roce_cm_send_rej(id, ROCE_CM_REJ_TIMEOUT, NULL, 0, now_ns);
        return false;
    case ROCE_CM_REQ_RCVD_STATE:
    case ROCE_CM_MRA_REQ_SENT_STATE:
        roce_cm_send_rej(id, ROCE_CM_REJ_CONSUMER, NULL, 0, now_ns);
        return false;
    case ROCE_CM_REP_SENT_STATE:
    case ROCE_CM_REP_RCVD_STATE:
    case ROCE_CM_MRA_REP_SENT_STATE:
    case ROCE_CM_MRA_REP_RCVD_STATE:
        roce_cm_send_rej(id, ROCE_CM_REJ_CONSUMER, NULL, 0, now_ns);
        roce_cm_to_timewait(id, now_ns);
        return true;
    case ROCE_CM_ESTABLISHED_STATE:
    case ROCE_CM_DREQ_RCVD_STATE:
        roce_cm_disconnect(id, NULL, 0, now_ns);
        return true;
    case ROCE_CM_SIDR_REQ_RCVD_STATE:
        roce_cm_sidr_reject(id, NULL, 0, now_ns);
        return true;
    case ROCE_CM_DREQ_SENT_STATE:
    case ROCE_CM_TIMEWAIT_STATE:
    case ROCE_CM_SIDR_REP_SENT_STATE:
        return true;
    }
    return false;
}

int roce_cm_id_destroy(struct roce_cm_id *id, uint64_t now_ns)
{
    if (id->unacked > 0)
        return -EBUSY;
    if (!send_closing_message(id, now_ns)) {
        roce_cm_id_free(id);
        return 0;
    }
    roce_cm_events_drop(id);
    id->qp = NULL;
    id->is_owned = false;
    id->cm->owned_count--;
    return 0;
}
