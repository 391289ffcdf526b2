/* SPDX-License-Identifier: BSD-2-Clause */
/* What a connection needs while data moves: SMCR sections 13 to 17. Positions count the bytes of one
 * direction of the stream from 0 and never wrap; cursors are the same places in an RMBE. Everything here is
 * private to the control structures, nothing of it lies in the RMB (SMCR-RMB-11).
 *
 * A CDC round. The writer has a send buffer, a registered ring; the reader has an RMBE, a ring that the
 * writer may write into by RDMA. The application's bytes are copied into the send buffer; as far as the RMBE
 * has room, RDMA writes take them to the place of the producer cursor there, unsignalled, and one CDC message
 * follows them on the same link. RC keeps the order, so a reader that gets the CDC has the data: it looks at
 * the producer cursor in it, copies out of its own memory, and moves the consumer cursor. That travels back
 * in the next CDC the other way, whatever else that says, or in one of its own when the writer needs to hear
 * it (SMCR-WIN-01 to WIN-05). A CDC says everything that is so, not what has changed; the newest one is
 * enough.
 *
 *      acked          sent           head                 of the writer, in its send buffer
 *        |--in flight--|---waiting----|-----free-----
 *                 peer_consumed                           how far the reader has told that it is
 *
 * The completion of a CDC ends the round for the writer: its bytes, and all before them, are in the peer's
 * memory (`acked` moves), so their place in the send buffer is free, and nothing of them is ever sent again.
 * What has no completion when its link fails is sent again over another link (smcr/conn/move.c). */
#ifndef NORNIC_SMCR_CONN_DATA_H
#define NORNIC_SMCR_CONN_DATA_H

#include "smcr/wire/cdc.h"
#include "smcr/conn/conn.h"

#define SMCR_FLIGHT           16 /* CDCs of a connection that may be posted at a time (SMCR-DAT-11) */
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

/* Whether the peer is to be told something, with or without data. */
enum smcr_tell {
    SMCR_TELL_NOTHING,
    SMCR_TELL_UPDATE, /* a consumer update, which may gather with others */
    SMCR_TELL_NOW,
};

/* What the application is about to bring. */
enum smcr_coming {
    SMCR_COMING_NOTHING,
    SMCR_COMING_MORE, /* it said so: SMCR_SEND_MORE */
    SMCR_COMING_REST, /* the send that runs has more than fits in one piece */
};

/* After a change of links: what goes first. */
enum smcr_recovery {
    SMCR_RECOVERED,
    SMCR_REPLAYS,   /* what did not complete, before anything new (SMCR-FOV-09) */
    SMCR_VALIDATES, /* F (SMCR-FOV-07), and nothing to repeat */
    SMCR_VALIDATES_AND_REPLAYS,
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
    uint64_t delivered_ns; /* when something of what leads to C was delivered last */

    /* Urgent bytes that are queued or not acknowledged, 0 to 2: of the first, P is told (SMCR-URG-01); the
     * other one is queued behind it. And one past each. */
    unsigned num_urgent;
    uint64_t urgent_end[2];

    enum smcr_tell tell;
    enum smcr_coming coming;
    enum smcr_recovery recovery;
    uint64_t replayed;              /* SMCR_REPLAYS: repeated up to here */
    bool told_blocked, told_urgent; /* B and P of the last CDC */
    bool nodelay;                   /* of the last send: SMCR_SEND_NODELAY */
    bool wants_room;                /* the buffer is full: the application waits, or will */
};

/* Where the urgent byte is that U has named last (SMCR-URG-03). */
enum smcr_mark {
    SMCR_MARK_NONE,   /* there was none */
    SMCR_MARK_AHEAD,  /* in the stream, and the peer waits to hear that the application is past it (URG-05) */
    SMCR_MARK_TAKEN,  /* taken out of the stream into `urgent_byte` */
    SMCR_MARK_PASSED, /* read in line */
};

/* CDCs that came before the connection was ready (SMCR-SC-08, DAT-12). */
enum smcr_held {
    SMCR_HOLDS_NOTHING,
    SMCR_HOLDS_CDC,  /* the newest: `held_cdc` */
    SMCR_HOLDS_LOSS, /* a validation that tells of a loss */
};

/* told <= consumed <= produced; produced - consumed lie in our RMBE. */
struct smcr_rx {
    uint64_t produced, consumed;
    uint64_t told; /* `consumed` of the last CDC */
    struct smcr_cursor producer, consumer;
    uint16_t seq;                     /* of the last CDC taken: SR of SMCR-FOV-06 */
    bool peer_blocked, peer_requests; /* B and R of it */

    bool urgent_announced; /* P is set, U is not yet */
    enum smcr_mark mark_state;
    uint64_t mark;      /* where the byte is, or was */
    bool urgent_unread; /* the byte can still be asked for */
    uint8_t urgent_byte;

    enum smcr_held held;
    struct smcr_cdc held_cdc;
};

/* What the application wishes. */
enum smcr_app { SMCR_APP_WRITES, SMCR_APP_SHUT, SMCR_APP_CLOSED };

/* How far we have told the peer of our end. */
enum smcr_said {
    SMCR_SAID_NOTHING,
    SMCR_SAID_DONE,  /* D was posted */
    SMCR_SAID_CLOSE, /* C was: nothing is said any more (SMCR-CDC-15) */
    SMCR_OWES_ABORT, /* A is to go */
    SMCR_SAID_ABORT, /* A was posted: nothing is said any more (SMCR-ABT-07) */
    SMCR_SILENCED,   /* killed, or given up by its guard: whatever it had under way, nothing of it is said or
                        written again, since the peer may have given the RMBE to another (RMB-20, CLS-20) */
};

/* And what the peer has told of its. */
enum smcr_heard { SMCR_HEARD_NOTHING, SMCR_HEARD_DONE, SMCR_HEARD_ABORT, SMCR_HEARD_CLOSE };

/* What conn->timer watches over. */
enum smcr_guard {
    SMCR_GUARD_NONE,
    SMCR_GUARD_CLOSE,      /* what is left is delivered, then the peer closes too: SMCR-CLS-20 */
    SMCR_GUARD_FIN,        /* the CDC that explains TCP's FIN comes: SMCR-CLS-21 */
    SMCR_GUARD_ABORT,      /* the peer answers A: SMCR-ABT-03 */
    SMCR_GUARD_QUARANTINE, /* CLOSED; the RMBE rests until no old write can hit it: SMCR-RMB-12 */
};

struct smcr_conn_data {
    struct smcr_conn *conn;
    struct smcr_tx tx;
    struct smcr_rx rx;
    struct smcr_link *move_to; /* once nothing is posted (SMCR-FOV-15) */

    enum smcr_app app;
    enum smcr_said said;
    enum smcr_heard heard;
    enum smcr_guard guard;

    struct rdma_timer tick; /* the earliest of these, or earlier: */
    uint64_t cork_at_ns;    /* small data waits no longer; once past, it has waited long enough */
    uint64_t stale_at_ns, keepalive_at_ns;
    uint64_t last_active_ns;
};

/* Everything that there is to say was said: what is sent now only repeats it over another link. */
static inline bool smcr_tx_is_final(const struct smcr_conn_data *data)
{
    return data->said == SMCR_SAID_CLOSE || data->said >= SMCR_SAID_ABORT;
}

/* Bytes that the peer's RMBE has room for, as far as we know (SMCR-DAT-03). */
static inline uint32_t smcr_tx_window(const struct smcr_conn *conn)
{
    const struct smcr_tx *tx = &conn->data->tx;
    return smcr_cap_bytes(conn->cursor_start, conn->peer_elem_bytes) -
           (uint32_t)(tx->sent - tx->peer_consumed);
}

/* SMCR-DAT-09. */
static inline bool smcr_tx_is_blocked(const struct smcr_conn *conn)
{
    const struct smcr_tx *tx = &conn->data->tx;
    return (tx->head > tx->sent || tx->coming == SMCR_COMING_REST) && smcr_tx_window(conn) == 0;
}

static inline void smcr_tx_tell(struct smcr_tx *tx, enum smcr_tell tell)
{
    if (tx->tell < tell)
        tx->tell = tell;
}

static inline uint32_t smcr_rx_readable(const struct smcr_rx *rx)
{
    return (uint32_t)(rx->produced - rx->consumed);
}

/* --- smcr/conn/state.c --- */

/* What moves the states of section 16.1. LAST: the other end has closed already. */
enum smcr_end_event {
    SMCR_SENT_DONE,
    SMCR_SENT_CLOSE,
    SMCR_SENT_LAST_CLOSE,
    SMCR_PEER_DONE,
    SMCR_PEER_CLOSE,
    SMCR_PEER_LAST_CLOSE,
    SMCR_END_EVENTS,
};
/* The state that follows `state`; the same one where the event changes nothing. */
enum smcr_conn_state smcr_conn_next_state(enum smcr_conn_state state, enum smcr_end_event event);
void smcr_conn_end_step(struct smcr_conn *conn, enum smcr_end_event event, uint64_t now_ns);
/* CLOSED. What it holds goes after this step. */
void smcr_conn_finish(struct smcr_conn *conn, const char *cause, uint64_t now_ns);

/* --- smcr/conn/cdc.c --- */

/* The CDC that says all that is so (SMCR-CDC-02), with a new sequence number. */
void smcr_cdc_build(struct smcr_conn *conn, struct smcr_cdc *out);
/* What a CDC moves. False: it cannot be (SMCR-CDC-12). */
struct smcr_cdc_moves {
    struct smcr_cursor producer, consumer;
    uint32_t produced, consumed; /* bytes */
};
bool smcr_cdc_check(const struct smcr_conn *conn, const struct smcr_cdc *cdc, struct smcr_cdc_moves *out);

/* --- smcr/conn/tx.c --- */

/* smcr_conn_send(). */
ssize_t smcr_tx_send(struct smcr_conn *conn, const void *bytes, size_t len_bytes, unsigned flags,
                     uint64_t now_ns);
/* smcr_conn_put(). */
int smcr_tx_put(struct smcr_conn *conn, uint64_t head, unsigned flags, uint64_t now_ns);
/* Posts what can go. */
void smcr_tx_push(struct smcr_conn *conn, uint64_t now_ns);
/* The CDC `seq` of ours, with all writes before it, was delivered; or failed with its link. */
void smcr_tx_completed(struct smcr_conn *conn, uint16_t seq, bool ok, uint64_t now_ns);
/* The link has room: those that wait for it are served in turn. */
void smcr_tx_serve(struct smcr_link *link, uint64_t now_ns);
/* It does not wait for room any more; the link goes down, nobody does. */
void smcr_tx_stop_waiting(struct smcr_conn *conn);
void smcr_tx_forget_waiting(struct smcr_link *link);
/* Sends over `link` from now on (NULL: none). */
void smcr_tx_set_link(struct smcr_conn *conn, struct smcr_link *link);
/* `at_ns` may be the earliest of the tick's deadlines. */
void smcr_conn_tick_at(struct smcr_conn *conn, uint64_t at_ns);

/* --- smcr/conn/urgent.c --- */

void smcr_urgent_queue(struct smcr_tx *tx);
void smcr_urgent_acked(struct smcr_tx *tx);
void smcr_urgent_take(struct smcr_conn *conn, const struct smcr_cdc *cdc);
void smcr_urgent_skip(struct smcr_conn *conn);
bool smcr_urgent_is_pending(const struct smcr_conn *conn);
/* The byte that was taken out of the stream is the next one, for who wants it in line. */
bool smcr_urgent_is_next(const struct smcr_conn *conn);
/* What a read may return, with that. */
uint32_t smcr_rx_available(const struct smcr_conn *conn);
/* MSG_OOB: 1, 0 or -errno. */
ssize_t smcr_urgent_read(struct smcr_conn *conn, uint8_t *out, size_t len_bytes, bool peek);
/* The application has taken `n` bytes. */
static inline void smcr_rx_consume(struct smcr_conn *conn, uint32_t n)
{
    struct smcr_rx *rx = &conn->data->rx;
    rx->consumed += n;
    rx->consumer = smcr_cursor_advance(conn->cursor_start, rx->consumer, n, conn->rmb->elem_bytes);
}

/* --- smcr/conn/rx.c --- */

/* smcr_conn_recv(). */
ssize_t smcr_rx_recv(struct smcr_conn *conn, void *bytes, size_t len_bytes, unsigned flags, uint64_t now_ns);
/* smcr_conn_took(). */
int smcr_rx_took(struct smcr_conn *conn, uint64_t consumed, uint64_t now_ns);
/* smcr_conn_tell(). */
void smcr_rx_tell(struct smcr_conn *conn, uint64_t now_ns);
/* From which position on the peer is to hear how far was read (SMCR section 15.2); UINT64_MAX: none. */
uint64_t smcr_rx_tell_at(const struct smcr_conn *conn);
/* A CDC that came on `link`; `message`: as it came, for traces. */
void smcr_rx_cdc(struct smcr_link *link, const struct smcr_cdc *cdc, const uint8_t *message, uint64_t now_ns);
/* What came before the connection was ready. */
void smcr_rx_take_held(struct smcr_conn *conn, uint64_t now_ns);

/* --- smcr/conn/end.c --- */

/* No more writes: smcr_conn_shutdown_write(). */
void smcr_end_shutdown(struct smcr_conn *conn, uint64_t now_ns);
/* The application gives it back in a state past the handshake: SMCR section 16.1 "app close". */
void smcr_end_close(struct smcr_conn *conn, uint64_t now_ns);
/* Ends abnormally with that error for the application: A to the peer and RST (SMCR-ABT-01). `cause`: static
 * words. */
void smcr_end_reset(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns);
/* The group is no more, or the peer reuses our target (SMCR-RMB-20): RST, error to the application; no CDC
 * leaves. One in its handshake is SMCR_CONN_REFUSED after this step. */
void smcr_end_kill(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns);
/* The peer told D, C or A. */
void smcr_end_peer_done(struct smcr_conn *conn, uint64_t now_ns);
void smcr_end_peer_closed(struct smcr_conn *conn, uint64_t now_ns);
void smcr_end_peer_aborted(struct smcr_conn *conn, uint64_t now_ns);
/* TCP ended past the handshake. */
void smcr_end_tcp(struct smcr_conn *conn, enum smcr_tcp_end how, uint64_t now_ns);
/* Nothing is posted: an abnormal end that both have told is over. */
void smcr_end_rests(struct smcr_conn *conn, uint64_t now_ns);
/* It is CLOSED, nothing of it is posted, and it has no last word to repeat: it may be detached. */
bool smcr_end_is_complete(const struct smcr_conn *conn);
/* conn->timer is the guard's from now on. */
void smcr_guard_init(struct smcr_conn *conn);

/* --- smcr/conn/move.c --- */

/* Its link is DOWN and all posts on it have ended: goes on over another (SMCR-FOV-07), or is killed. */
void smcr_move_lost(struct smcr_conn *conn, uint64_t now_ns);
/* A voluntary move to `to`, once its posts have ended (SMCR-FOV-15); and when they have. */
void smcr_move_to(struct smcr_conn *conn, struct smcr_link *to, uint64_t now_ns);
void smcr_move_rests(struct smcr_conn *conn, uint64_t now_ns);

/* --- smcr/conn/life.c --- */

/* What is left when nothing is posted, or it is CLOSED, or was given back: SMCR_CONN_RESTS. True: it is over
 * and nobody has it, so that it is to be freed. */
bool smcr_conn_rests(struct smcr_conn *conn, uint64_t now_ns);
/* SO_KEEPALIVE as conn->keepalive_ns says. */
void smcr_conn_start_keepalive(struct smcr_conn *conn, uint64_t now_ns);
/* The numbers of smcr_stat_visit(). */
void smcr_conn_data_stat(const struct smcr_conn *conn, struct smcr_conn_stat *out);

#endif
