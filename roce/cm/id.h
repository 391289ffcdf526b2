/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the connection manager share: the CM, its ids, and the steps between their states. */
#ifndef NORNIC_ROCE_CM_ID_H
#define NORNIC_ROCE_CM_ID_H

#include "roce/cm/cm.h"
#include "roce/cm/table.h"
#include "rdma/numbers.h"
#include "rdma/timer.h"
#include "roce/wire.h"

/* What can wait at once for one id: the outcome of its connection, DISCONNECTED, TIMEWAIT_EXIT; one to
 * spare. */
#define ROCE_CM_EVENTS_MAX 4

struct roce_cm_event_slot {
    bool is_used;
    struct roce_cm_event_slot *next;
    struct roce_cm_event event;
};

/* What a QP of this id will use. Both sides know it all once the REP has been seen. */
struct roce_cm_terms {
    uint8_t responder_resources; /* max_dest_rd_atomic */
    uint8_t initiator_depth;     /* max_rd_atomic */
    uint8_t retry_count, rnr_retry_count;
    uint8_t ack_timeout; /* of our QP's timer (ROCE-CM-33), unless the application has named one */
    uint8_t path_mtu;
    uint32_t rq_psn, sq_psn; /* ROCE-CM-30 */
};

struct roce_cm_id {
    struct roce_cm *cm;
    enum roce_cm_state state;
    enum nornic_port_space space;
    enum nornic_qp_type qp_type; /* RC, UD; XRC_TGT or XRC_INI: ROCE-XRC-4 */
    uint32_t slot;
    uint32_t comm_id;  /* Local Comm ID; Request ID of a SIDR_REQ of ours */
    bool is_owned;     /* by the application; else it lives by its timer, or by an event that waits */
    bool was_used;     /* it has been bound or connected: once only */
    bool has_told_end; /* DISCONNECTED was raised */
    void *ctx;
    unsigned unacked; /* events that were got and not acknowledged */
    struct roce_cm_event_slot events[ROCE_CM_EVENTS_MAX];

    /* addresses */
    struct roce_cm_path path; /* to the peer */
    struct nornic_addr local_addr;
    uint16_t local_port, remote_port;
    uint64_t service_id;
    bool has_ack_timeout; /* the application's */
    uint8_t ack_timeout;

    /* a listener, and the requests that wait for its application */
    struct roce_cm_link by_service;
    unsigned backlog, pending;
    struct roce_cm_id *first_child;
    struct roce_cm_id *listener, *next_child, **child_at; /* of a request that counts as pending */

    /* the peer's side; Request ID of a SIDR_REQ of the peer's in remote_comm_id */
    uint32_t remote_comm_id, remote_qpn, remote_qkey;
    uint64_t remote_guid;
    struct roce_cm_link by_peer, by_request, by_peer_qpn, by_local_qpn, by_comm_id;

    /* the connection */
    struct roce_qp *qp; /* or NULL: the application moves it */
    uint32_t local_qpn, qkey;
    bool srq;
    bool flow_control, own_flow_control; /* the peer's bit, and ours: ROCE-RC-24 */
    bool has_alternate;                  /* the REQ named an alternate path (ROCE-CM-43) */
    struct roce_cm_terms terms;
    uint64_t timewait_ns;

    /* the exchange */
    uint64_t tid;                 /* of the REQ or SIDR_REQ */
    uint64_t dreq_tid;            /* of the peer's DREQ */
    uint32_t note;                /* the handle of roce_cm_config.note */
    uint8_t sent[ROCE_MAD_BYTES]; /* what is sent again */
    struct rdma_timer timer;
    uint64_t base_wait_ns; /* for an answer */
    uint64_t wait_ns;      /* the same, or what an MRA made of it */
    uint8_t max_retries, retries_left;
    uint64_t patience_ns;      /* roce_cm_id_set_patience() */
    uint64_t patient_until_ns; /* of a REQ that is out */
};

struct roce_cm {
    struct roce_dev *dev;
    struct roce_cm_config config; /* complete */
    struct rdma_mem mem;
    struct roce_cm_wire wire;
    struct roce_cm_gsi *gsi; /* the wire, unless the caller has one */
    struct roce_cm_counters counters;
    struct roce_cm_id **slots; /* config.max_ids; NULL: free */
    uint32_t *free_slots;      /* a ring, so that a slot rests as long as it can */
    uint32_t *generation;      /* of each slot: its uses so far */
    uint32_t free_first, free_count;
    struct rdma_slot_numbers comm_ids; /* below config.first_comm_id's bits */
    uint64_t tid_high;
    uint32_t owned_count;
    struct rdma_timers timers;
    struct roce_cm_table by_service;   /* service id, address: listeners */
    struct roce_cm_table by_peer;      /* CA GUID, Comm ID: connections */
    struct roce_cm_table by_request;   /* peer's address, Request ID: SIDR_REQs of peers */
    struct roce_cm_table by_peer_qpn;  /* CA GUID, QPN: ROCE-CM-50 */
    struct roce_cm_table by_local_qpn; /* QPNs that are connected, or rest in TIMEWAIT */
    struct roce_cm_table by_comm_id;   /* of roce_cm_bury(); without buckets before that */
    struct roce_cm_event_slot *event_first, **event_last;
};

#define roce_cm_count(cm, name) ((cm)->counters.name++)

static inline uint64_t roce_cm_random(struct roce_cm *cm)
{
    return cm->config.random.next(cm->config.random.ctx);
}

/* --- times: timing.c --- */

/* Nanoseconds of a timeout code (ROCE-CM-34). */
uint64_t roce_cm_code_ns(unsigned code);
/* The code of the ACK timer for a path and a delay of the other end (ROCE-CM-33). */
uint8_t roce_cm_ack_timeout(uint8_t packet_life_time, uint8_t ack_delay);
/* There and back, and the time that the other CM has for an answer (ROCE-CM-34). */
uint64_t roce_cm_round_trip_ns(const struct roce_cm_config *config);

/* --- ids: id.c --- */

/* NULL: over the limit, or no memory. */
struct roce_cm_id *roce_cm_id_new(struct roce_cm *cm, enum nornic_port_space space);
void roce_cm_id_free(struct roce_cm_id *id);
/* By our Comm ID. */
struct roce_cm_id *roce_cm_id_find(struct roce_cm *cm, uint32_t comm_id);
/* The largest path MTU of a connection now: of what the caller allows, and the interface has. */
enum nornic_mtu roce_cm_path_mtu(const struct roce_cm *cm);
/* roce_cm_config.may_refuse; counts what is left to others. */
bool roce_cm_may_refuse(struct roce_cm *cm, uint64_t service_id);
/* The id that a message names by our Comm ID, or by both, if it came from its peer; else counts why not.
 * While the peer's is not known (0), any fits. */
struct roce_cm_id *roce_cm_rx_find_ours(struct roce_cm *cm, const struct roce_cm_path *path,
                                        uint32_t comm_id);
struct roce_cm_id *roce_cm_rx_find(struct roce_cm *cm, const struct roce_cm_path *path, uint32_t comm_id,
                                   uint32_t remote_comm_id);

/* Makes the id known by the peer's Comm ID and QPN, which are filled, and not. */
void roce_cm_peer_bind(struct roce_cm_id *id);
void roce_cm_peer_unbind(struct roce_cm_id *id);

/* --- listeners: listener.c --- */

/* A request belongs to its listener until the application has seen and answered it, or it is gone. */
void roce_cm_child_add(struct roce_cm_id *listener, struct roce_cm_id *child);
void roce_cm_child_settle(struct roce_cm_id *child);
/* No effect on an id that is none. */
void roce_cm_child_remove(struct roce_cm_id *child);
/* The listener for a service id at an address of ours, or NULL. */
struct roce_cm_id *roce_cm_listener(struct roce_cm *cm, uint64_t service_id, const struct nornic_addr *addr);

/* --- events: event.c --- */

/* An event of `id`, filled with what is known, for the caller to complete at once. */
struct roce_cm_event *roce_cm_event_new(struct roce_cm_id *id, enum nornic_cm_event_type type, int status);
void roce_cm_event_private(struct roce_cm_event *event, const uint8_t *data, size_t len_bytes);
/* An event with private data, if the application holds the id. */
void roce_cm_event_tell(struct roce_cm_id *id, enum nornic_cm_event_type type, int status,
                        const uint8_t *data, size_t len_bytes);
/* DISCONNECTED, once. */
void roce_cm_event_end(struct roce_cm_id *id, int status, const uint8_t *data, size_t len_bytes);
void roce_cm_events_drop(struct roce_cm_id *id);

/* --- messages: send.c. Private data of a length that fits. --- */

void roce_cm_send_req(struct roce_cm_id *id, const struct nornic_conn_param *param, uint64_t now_ns);
void roce_cm_send_rep(struct roce_cm_id *id, const struct nornic_conn_param *param, uint64_t now_ns);
void roce_cm_send_rtu(struct roce_cm_id *id, const void *data, uint8_t len_bytes, uint64_t now_ns);
void roce_cm_send_dreq(struct roce_cm_id *id, const void *data, uint8_t len_bytes, uint64_t now_ns);
void roce_cm_send_drep(struct roce_cm_id *id, const void *data, uint8_t len_bytes, uint64_t now_ns);
void roce_cm_send_mra(struct roce_cm_id *id, uint8_t service_timeout, const void *data, uint8_t len_bytes,
                      uint64_t now_ns);
/* About what the state says (ROCE-CM-52); TIMEOUT carries the CA GUID. */
void roce_cm_send_rej(struct roce_cm_id *id, uint16_t reason, const void *data, uint8_t len_bytes,
                      uint64_t now_ns);
void roce_cm_send_sidr_req(struct roce_cm_id *id, const struct nornic_conn_param *param, uint64_t now_ns);
void roce_cm_send_sidr_rep(struct roce_cm_id *id, uint8_t status, const void *data, uint8_t len_bytes,
                           uint64_t now_ns);
/* What was sent last, once more. */
void roce_cm_resend(struct roce_cm_id *id, uint64_t now_ns);
/* Attribute id of the message sent last. */
uint16_t roce_cm_sent_attr(const struct roce_cm_id *id);

/* Answers that need no id. */
struct roce_cm_refusal {
    uint32_t local_comm_id, remote_comm_id;
    enum roce_cm_message rejected_message;
    uint16_t reason;
    const void *info;
    uint8_t info_bytes;
};
void roce_cm_refuse(struct roce_cm *cm, const struct roce_cm_path *path, uint64_t tid,
                    const struct roce_cm_refusal *refusal, uint64_t now_ns);
void roce_cm_put(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                 uint64_t now_ns);
/* The envelope of a message. */
struct roce_mad roce_cm_hdr(enum roce_cm_attr attr, uint64_t tid);

/* --- received messages --- */

/* QPNs that no connected QP has: ROCE-QP-32. */
static inline bool roce_cm_qpn_is_good(uint32_t qpn)
{
    return qpn > 1 && qpn < ROCE_MULTICAST_QPN;
}

typedef void roce_cm_handler(struct roce_cm *cm, const struct roce_cm_path *path,
                             const struct roce_cm_mad *mad, uint64_t now_ns);
roce_cm_handler roce_cm_rx_req;      /* passive.c */
roce_cm_handler roce_cm_rx_rtu;      /* passive.c */
roce_cm_handler roce_cm_rx_mra;      /* active.c */
roce_cm_handler roce_cm_rx_rep;      /* active.c */
roce_cm_handler roce_cm_rx_rej;      /* teardown.c */
roce_cm_handler roce_cm_rx_dreq;     /* teardown.c */
roce_cm_handler roce_cm_rx_drep;     /* teardown.c */
roce_cm_handler roce_cm_rx_lap;      /* path.c */
roce_cm_handler roce_cm_rx_apr;      /* path.c */
roce_cm_handler roce_cm_rx_sidr_req; /* sidr.c */
roce_cm_handler roce_cm_rx_sidr_rep; /* sidr.c */

/* --- steps: steps.c --- */

/* In `state` the id waits for an answer to what was sent, and sends it again `id->max_retries` times. */
void roce_cm_await(struct roce_cm_id *id, enum roce_cm_state state, uint64_t now_ns);
/* The connection never was, or is forgotten. An id that nobody owns is gone after this call. */
void roce_cm_to_idle(struct roce_cm_id *id);
void roce_cm_to_timewait(struct roce_cm_id *id, uint64_t now_ns);
/* The connection stands: no timer runs any more. */
void roce_cm_to_established(struct roce_cm_id *id);

/* --- ends: teardown.c --- */

/* What an id's timer does. */
void roce_cm_timer_fire(struct rdma_timer *timer, uint64_t now_ns);
/* The peer has started anew with a QPN that this connection used: disconnects it (ROCE-CM-50). */
void roce_cm_stale(struct roce_cm_id *id, uint64_t now_ns);

/* --- QPs: qp.c --- */

/* What the application wants for what it sends on this connection: ToS and the ACK timer. */
void roce_cm_take_options(struct roce_cm_id *id, const struct nornic_conn_param *param);
/* The QP, or the QPN that the application names, becomes the id's. 0, -EINVAL or -EADDRINUSE. */
int roce_cm_qp_bind(struct roce_cm_id *id, struct roce_qp *qp, const struct nornic_conn_param *param);
void roce_cm_qp_unbind(struct roce_cm_id *id);
/* Takes it to a state, if there is one: 0 or what roce_qp_modify() says. */
int roce_cm_qp_move(struct roce_cm_id *id, enum nornic_qp_state to, uint64_t now_ns);
/* Takes it to ERR, if there is one that is not shared. */
void roce_cm_qp_error(struct roce_cm_id *id, uint64_t now_ns);

/* --- service id resolution: sidr.c --- */

int roce_cm_sidr_accept(struct roce_cm_id *id, const struct nornic_conn_param *param, uint64_t now_ns);
int roce_cm_sidr_reject(struct roce_cm_id *id, const void *data, uint8_t len_bytes, uint64_t now_ns);

/* Whether private data of a call has at most `max_bytes` and is there. */
static inline bool roce_cm_private_fits(const void *data, size_t len_bytes, size_t max_bytes)
{
    return len_bytes <= max_bytes && (data || len_bytes == 0);
}

#endif
