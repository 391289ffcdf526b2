/* SPDX-License-Identifier: BSD-2-Clause */
/* What a connection needs while data moves: SMCR sections 13 to 17. Positions count the bytes of one
 * direction of the stream from 0 and never wrap; cursors are the same places in an RMBE. Everything here is
 * private to the control structures, nothing of it lies in the RMB (SMCR-RMB-11). */
#ifndef NORNIC_SMCR_DATA_H
#define NORNIC_SMCR_DATA_H

#include "smcr/cdc_wire.h"
#include "smcr/conn/conn.h"

#define SMCR_FLIGHT           16 /* CDCs of a connection that may be posted at a time (SMCR-DAT-11) */
#define SMCR_NODELAY_FLIGHT   2  /* of small writes with SMCR_SEND_NODELAY */
#define SMCR_UPDATES_PARALLEL 4  /* while so many are posted, consumer updates gather */
#define SMCR_MAX_CHUNK_BYTES  (64u << 10) /* of one RDMA write */
#define SMCR_FIN_GRACE_NS \
    3000000000u            /* a FIN may overtake the CDC that explains it, even one that has to
                                             be sent again over another link (SMCR-CLS-21) */
#define SMCR_CONN_TIMERS 2 /* that a connection has: conn->timer, conn->data->tick */

/* A CDC that is posted. */
struct smcr_flight {
    uint64_t end; /* the data that its success confirms */
    uint16_t seq;
    bool is_validation; /* F: says nothing about `seq` (SMCR-CDC-03) */
};

/* acked <= sent <= head; sent - acked and head - sent lie in the send buffer. */
struct smcr_tx {
    struct smcr_send_buf *buf;
    uint64_t acked; /* delivered, by the completion of its CDC */
    uint64_t sent;  /* posted */
    uint64_t head;  /* given by the application */
    uint64_t peer_consumed;
    struct smcr_cursor cursor;        /* of `sent`, in the peer's RMBE */
    struct smcr_cursor peer_consumer; /* of `peer_consumed` */
    uint32_t chunk_bytes;             /* of a write, so that several are under way */
    uint16_t seq;                     /* of the last CDC */
    uint16_t completed_seq;           /* SS of SMCR-FOV-05 */
    struct smcr_flight flight[SMCR_FLIGHT];
    unsigned first_flight, num_flight;

    bool urgent;         /* urgent data is queued or not acknowledged: P (SMCR-URG-01) */
    uint64_t urgent_end; /* one past the urgent byte */
    bool urgent_next;    /* another one queued behind it */
    uint64_t urgent_next_end;

    bool told_blocked, told_urgent; /* B and P of the last CDC */
    bool cdc_due;                   /* a CDC is to go, with or without data */
    bool update_due;                /* one that may gather with others */
    bool more, nodelay;             /* of the last send: enum smcr_send_flags */
    bool is_copying;                /* the rest of a send follows */
    bool cork_over;                 /* small data has waited long enough */
    bool wants_room;                /* the buffer is full: the application waits, or will */
    bool validate_due;              /* F is to go first (SMCR-FOV-07) */
    bool replay_due;                /* then what did not complete, before anything new (SMCR-FOV-09) */
};

/* told <= consumed <= produced; produced - consumed lie in our RMBE. */
struct smcr_rx {
    uint64_t produced, consumed;
    uint64_t told; /* `consumed` of the last CDC */
    struct smcr_cursor producer, consumer;
    uint16_t seq;                     /* of the last CDC taken: SR of SMCR-FOV-06 */
    bool peer_blocked, peer_requests; /* B and R of it */

    bool urgent_announced; /* P is set, U is not yet */
    bool mark_valid;       /* U was seen; `mark` is where its byte is, or was */
    uint64_t mark;
    bool mark_due;        /* the peer waits to hear that the application is past it (SMCR-URG-05) */
    bool urgent_unread;   /* the byte can still be asked for */
    bool has_urgent_byte; /* it was taken out of the stream into `urgent_byte` */
    uint8_t urgent_byte;
    bool is_inline;

    bool has_held; /* CDCs came before the connection was ready: the newest (SMCR-SC-08, DAT-12) */
    bool held_loss;
    uint8_t held[SMCR_MSG_BYTES];
};

struct smcr_conn_data {
    struct smcr_conn *conn;
    struct smcr_tx tx;
    struct smcr_rx rx;
    struct smcr_link *move_to; /* once nothing is posted (SMCR-FOV-15) */

    bool shut_write, app_closed; /* the application's wish */
    bool done_sent, close_sent;  /* D, C posted */
    bool abort_due, abort_sent;  /* A is to go; posted */
    bool is_final;               /* nothing is sent any more: SMCR-CDC-15, ABT-08 */
    bool peer_done, peer_closed, peer_aborted;
    bool fin_came;       /* of TCP, before the peer said C or A */
    bool is_quarantined; /* the RMBE rests until no old write can hit it (SMCR-RMB-12) */

    struct rdma_timer tick; /* the earliest of these: */
    uint64_t cork_at_ns, stale_at_ns, keepalive_at_ns;
    uint64_t keepalive_ns; /* 0: off */
    uint64_t last_active_ns;
};

/* --- for the other files of smcr/ --- */

/* The application gives it back (smcr_conn_destroy()) in a state past the handshake: SMCR section 16.1
 * "app close". */
void smcr_conn_close(struct smcr_conn *conn, uint64_t now_ns);
/* Ends abnormally with that error for the application: A to the peer and RST (SMCR-ABT-01). `cause`: static
 * words. */
void smcr_conn_reset(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns);
/* smcr_conn_tcp_end() past the handshake. */
void smcr_conn_data_tcp_end(struct smcr_conn *conn, enum smcr_tcp_end how, uint64_t now_ns);
/* The levels of smcr_conn_status(). */
void smcr_conn_data_status(const struct smcr_conn *conn, struct smcr_conn_status *out);
/* The numbers of a connection in smcr_stat_visit(): bytes, window, readable, unsent. */
void smcr_conn_data_stat(const struct smcr_conn *conn, struct smcr_conn_stat *out);
/* It is CLOSED, or never was open, and holds nothing any more: no post, no RMBE, no group. */
static inline bool smcr_conn_is_over(const struct smcr_conn *conn)
{
    return (conn->state == SMCR_CONN_CLOSED || conn->state == SMCR_CONN_FALLBACK) && conn->posts == 0 &&
           !conn->data && !conn->group;
}

/* --- between the conn_*.c and cdc_*.c --- */

/* It was killed, or its guard has ended it: whatever it had under way, nothing of it is said or written
 * again, since the peer may have given the RMBE to another (SMCR-RMB-20, CLS-20). */
static inline bool smcr_conn_is_mute(const struct smcr_conn_data *data)
{
    return data->is_final && !data->close_sent && !data->abort_sent;
}

/* Bytes that the peer's RMBE has room for, as far as we know (SMCR-DAT-03). */
static inline uint32_t smcr_tx_window(const struct smcr_conn *conn)
{
    const struct smcr_tx *tx = &conn->data->tx;
    return smcr_cap_bytes(conn->peer_elem_bytes) - (uint32_t)(tx->sent - tx->peer_consumed);
}

/* SMCR-DAT-09. */
static inline bool smcr_tx_is_blocked(const struct smcr_conn *conn)
{
    const struct smcr_tx *tx = &conn->data->tx;
    return (tx->head > tx->sent || tx->is_copying) && smcr_tx_window(conn) == 0;
}

static inline uint32_t smcr_rx_readable(const struct smcr_rx *rx)
{
    return (uint32_t)(rx->produced - rx->consumed);
}

/* --- smcr/conn/data.c --- */

/* Sends over `link` from now on (NULL: none). */
void smcr_conn_set_link(struct smcr_conn *conn, struct smcr_link *link);
/* `at_ns` may be the earliest of the tick's deadlines. */
void smcr_conn_tick_at(struct smcr_conn *conn, uint64_t at_ns);

/* --- smcr/conn/push.c --- */

/* Posts what can go. */
void smcr_conn_push(struct smcr_conn *conn, uint64_t now_ns);
void smcr_conn_stop_waiting(struct smcr_conn *conn);

/* --- smcr/conn/cdc.c --- */

/* The CDC that says all that is so (SMCR-CDC-02), with a new sequence number. */
void smcr_cdc_build(struct smcr_conn *conn, struct smcr_cdc *out);
/* What came before the connection was ready. */
void smcr_cdc_take_held(struct smcr_conn *conn, uint64_t now_ns);

/* --- smcr/conn/recv.c --- */

/* What a read may return. */
uint32_t smcr_rx_available(const struct smcr_conn *conn);
/* The application has taken `n` bytes. */
void smcr_rx_consume(struct smcr_conn *conn, uint32_t n);
/* Whether the peer is to hear what was taken (SMCR section 15.2). */
void smcr_window_check(struct smcr_conn *conn);
/* SMCR-RMB-07: the connection ends when ours is not what it was. */
bool smcr_eye_catcher_is_lost(struct smcr_conn *conn, uint64_t now_ns);

/* --- smcr/conn/urgent.c --- */

void smcr_urgent_queue(struct smcr_tx *tx);
void smcr_urgent_acked(struct smcr_conn *conn);
void smcr_urgent_take(struct smcr_conn *conn, const struct smcr_cdc *cdc);
void smcr_urgent_skip(struct smcr_conn *conn);
bool smcr_urgent_is_pending(const struct smcr_rx *rx);
/* MSG_OOB: 1, 0 or -errno. */
ssize_t smcr_urgent_read(struct smcr_conn *conn, uint8_t *out, size_t len_bytes, bool peek);

/* --- smcr/conn/close.c --- */

enum smcr_close_event { SMCR_SENT_DONE, SMCR_SENT_CLOSE, SMCR_PEER_DONE, SMCR_PEER_CLOSED };
/* D or C was posted, or came. */
void smcr_close_event(struct smcr_conn *conn, enum smcr_close_event event, uint64_t now_ns);
/* CLOSED. What it holds goes with smcr_conn_settle(), which ends each call that may have brought it here. */
void smcr_conn_finish(struct smcr_conn *conn, const char *cause, uint64_t now_ns);
/* Takes down what is CLOSED, of which nothing is posted and which has no last word to repeat. `conn` may be
 * gone afterwards. */
void smcr_conn_settle(struct smcr_conn *conn, uint64_t now_ns);

/* --- smcr/conn/abort.c --- */

void smcr_abort_received(struct smcr_conn *conn, uint64_t now_ns);
/* A post of ours has ended well. `conn` may be gone afterwards. */
void smcr_conn_completed(struct smcr_conn *conn, uint64_t now_ns);
/* conn->timer is the guard's from now on. */
void smcr_guard_init(struct smcr_conn *conn);
void smcr_guard_arm(struct smcr_conn *conn, uint64_t after_ns, uint64_t now_ns);

/* --- smcr/conn/failover.c --- */

/* Moves if it is asked to and nothing is posted. */
void smcr_conn_moving(struct smcr_conn *conn, uint64_t now_ns);

/* --- smcr/conn/keepalive.c --- */

void smcr_keepalive_start(struct smcr_conn *conn, uint64_t now_ns);
/* The deadline is reached: sets the next one. Whether its link is to be tested now, which may take the
 * connection with it. */
bool smcr_keepalive_due(struct smcr_conn *conn, uint64_t now_ns);

#endif
