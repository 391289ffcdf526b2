/* SPDX-License-Identifier: BSD-2-Clause */
/* rsockets: the r* calls of librdmacm, sockets over RDMA with the wire format of rdma-core's (its
 * docs/rsocket says how it goes), so that a peer may have either library.
 *
 * A stream is an RC queue pair. Each side has a receive buffer of two halves, which it lends to its
 * peer a half at a time: by the private data of the connection at first, later by an RDMA WRITE into a
 * list of two entries that the peer keeps for it. Data is RDMA WRITEs into the half that was lent; the
 * immediate says how many bytes. A message may be sent for each credit; credits come back with the
 * halves. iWARP's writes have no immediates that every peer knows: there what they would say is a SEND of
 * its own (verbs/rsocket/message.c). Datagrams are another matter (verbs/rsocket/datagram_find.c).
 *
 * A descriptor of an rsocket is an epoll instance with the descriptors of its event channel and its
 * completion channel in it, so it is readable when there may be something to do. Whoever comes by does
 * all that there is (rs_progress()), under the rsocket's lock, and wakes the other threads that wait
 * for it through a descriptor of each. Internal to verbs/rsocket/. */
#ifndef NORNIC_VERBS_RSOCKET_RSOCKET_H
#define NORNIC_VERBS_RSOCKET_RSOCKET_H

#include <netinet/in.h>
#include <rdma/rsocket.h>

#include "verbs/verbs.h"

/* Sets errno, tells why if that is wanted, and is -1. */
#define rs_fail(...) (verbs_fail(__VA_ARGS__), -1)

/* --- the wire: verbs/rsocket/wire.c --- */

#define RS_CONN_DATA_BYTES 40
#define RS_SGE_BYTES       16
#define RS_SGL_ENTRIES     2
#define RS_IOMAP_BYTES     24
#define RS_IOMAP_MAX       128 /* one byte of the private data says so many without rounding */
#define RS_MSG_LENGTH_MAX  0x1fffffffu
#define RS_MSG_BYTES       4 /* of a message that is a SEND: in the order of the machine that sends it */

/* The upper 3 bits of an immediate; the other 29 are its value. */
enum rs_op {
    RS_OP_DATA = 0,  /* so many bytes were written */
    RS_OP_SGL = 4,   /* the sequence number, 16 bits, up to which messages may be sent; or a half was lent */
    RS_OP_IOMAP = 6, /* so is called the entry of the list of mappings that was written */
    RS_OP_CTRL = 7,  /* enum rs_ctrl */
};

enum rs_ctrl { RS_CTRL_DISCONNECT = 0, RS_CTRL_KEEPALIVE = 1, RS_CTRL_SHUTDOWN = 2 };

static inline uint32_t rs_msg(enum rs_op op, uint32_t value)
{
    return (uint32_t)op << 29 | (value & RS_MSG_LENGTH_MAX);
}

/* Memory that the other side may write to. */
struct rs_sge {
    uint64_t addr;
    uint32_t key;
    uint32_t len_bytes;
};

/* One that the program maps by itself: the offset that riowrite() names it by. */
struct rs_iomap {
    uint64_t offset;
    struct rs_sge sge;
};

/* The private data of a request and of its answer. */
struct rs_conn_data {
    bool is_big_endian; /* it writes into lists in this order */
    uint16_t credits;
    uint8_t iomaps;
    struct rs_sge sgl;  /* its list, for the halves that are lent to it; the length counts entries */
    struct rs_sge data; /* the first half that it lends */
};

/* Into RS_CONN_DATA_BYTES. */
void rs_put_conn_data(const struct rs_conn_data *data, uint8_t *out);
/* False: too short, or of another version than 1. */
bool rs_get_conn_data(const uint8_t *bytes, size_t len_bytes, struct rs_conn_data *out);
/* An entry of a list in the byte order of its reader: RS_SGE_BYTES, RS_IOMAP_BYTES. */
void rs_put_sge(const struct rs_sge *sge, bool is_big_endian, uint8_t *out);
void rs_put_iomap(const struct rs_iomap *map, bool is_big_endian, uint8_t *out);
/* Of this machine's own lists, in its order, while the peer may write to them. */
struct rs_sge rs_get_sge(const uint8_t *bytes);
struct rs_iomap rs_get_iomap(const uint8_t *bytes);

/* --- an rsocket --- */

#define RS_CTRL_SLOTS     4 /* control messages under way; no credit is needed for them */
#define RS_QUEUE_MIN      16
#define RS_QUEUE_MAX      16384
#define RS_QUEUE_DEFAULT  384
#define RS_BUFFER_MIN     4096
#define RS_BUFFER_DEFAULT (128 * 1024)
#define RS_BUFFER_MAX     (64 * 1024 * 1024)
#define RS_INLINE_DEFAULT 64
#define RS_SEND_MAX       65536u /* of one message */
#define RS_OPTIONS_MAX    16

enum rs_state {
    RS_NEW,       /* or bound */
    RS_LISTENING, /* requests are answered as they come */
    RS_RESOLVING, /* an address, then a route */
    RS_CONNECTING,
    RS_ACCEPTING, /* answered; the peer's word is awaited */
    RS_CONNECTED,
    RS_ENDED,  /* by either side; bytes that have come can be read */
    RS_FAILED, /* a connection, with `err` */
    RS_REFUSED /* an attempt to connect, with `err`: there never was a connection */
};

/* How far rconnect() has come. */
enum rs_request { RS_NOT_ASKED, RS_ASKED, RS_ANSWERED };

/* The work of the server's thread (verbs/rsocket/serve.c) for an rsocket. */
enum rs_service {
    RS_UNSERVED,
    RS_SWEPT,     /* looks at it now and then */
    RS_WATCHED,   /* goes on with it at each event */
    RS_UNSERVABLE /* nothing: it is being closed */
};

/* One mapping that the program made here (riomap()). */
struct rs_mapping {
    struct ibv_mr *mr;
    uint64_t offset;
    int index; /* in the peer's list; -1: it may not write there */
    bool is_told;
    LIST_ENTRY(rs_mapping) entry;
};

/* A thread that waits for an rsocket, among others perhaps. */
struct rs_watch {
    int wake_fd; /* the thread's */
    LIST_ENTRY(rs_watch) entry;
};

struct rs_datagrams;

struct rs_buffer {
    uint8_t *bytes;
    struct ibv_mr *mr;
};

struct rsock {
    int fd;
    int family, type;
    atomic_uint users; /* the table, and calls */
    pthread_mutex_t lock;
    enum rs_state state;
    enum rs_request request;
    enum rs_service service;
    unsigned generation; /* of the process that made it: rs_served_generation() */
    int err;             /* of RS_FAILED and RS_REFUSED, until the program has been told */
    bool is_nonblocking;
    bool is_send_shut, is_recv_shut;           /* no more of that way, by either side */
    int options[RS_OPTIONS_MAX];               /* of a table in verbs/rsocket/options.c */
    uint64_t recv_timeout_ms, send_timeout_ms; /* of calls that wait; 0: none */
    uint64_t user_timeout_ms;                  /* TCP_USER_TIMEOUT, of a connection to be made; 0: none */
    int timer_fd;                              /* of SO_KEEPALIVE; -1: none */
    LIST_HEAD(rs_watches, rs_watch) watches;
    uint32_t rq_size, sq_size, inline_size, recv_bytes, send_bytes, own_iomaps;

    struct rdma_event_channel *channel;
    struct rdma_cm_id *id;
    struct ibv_comp_channel *comp;
    struct ibv_cq *cq;
    bool is_armed;
    bool has_sends; /* iWARP: a message is a SEND, not an immediate */

    /* listening */
    STAILQ_HEAD(rs_pending, rsock) pending;
    STAILQ_ENTRY(rsock) next_pending;
    unsigned num_pending, backlog;

    /* receiving: the buffer's halves are lent in turn */
    struct rs_buffer recv;
    uint32_t read_at;                      /* the place of the next byte of the program */
    uint32_t unread_bytes;                 /* of messages that have come */
    uint32_t free_bytes, lend_at;          /* to lend again */
    uint32_t *messages;                    /* a ring: bytes left of each that has come */
    uint32_t message_first, message_count; /* of rq_size */
    struct rs_buffer words;                /* has_sends: RS_MSG_BYTES for each receive */
    uint16_t taken_seq, tell_seq;          /* messages the program has taken; when to say so at the latest */

    /* sending */
    struct rs_buffer send;                   /* a ring of bytes; behind it RS_CTRL_SLOTS entries */
    uint32_t send_at, send_free, send_slots; /* bytes, and places in the queue */
    uint32_t ctrl_next, ctrl_free;
    uint16_t send_seq, send_limit, send_spare; /* messages that the peer could take and does not get */
    struct rs_sge lent[RS_SGL_ENTRIES];        /* by the peer; used from lent[lent_use] on */
    uint32_t lent_use, lent_next;
    struct rs_buffer list; /* the peer writes its halves here, then its mappings */
    struct rs_conn_data peer;
    uint32_t peer_list_at;

    /* mappings */
    struct rs_iomap *peer_maps; /* own_iomaps of them */
    LIST_HEAD(rs_mappings, rs_mapping) mappings;

    struct rs_datagrams *datagrams; /* SOCK_DGRAM */
};

/* Whether no attempt to connect goes on. */
static inline bool rs_is_connected(const struct rsock *s)
{
    return s->state != RS_RESOLVING && s->state != RS_CONNECTING && s->state != RS_ACCEPTING;
}

/* Whether the connection is at its end, or there never will be one. */
static inline bool rs_is_over(const struct rsock *s)
{
    return s->state == RS_ENDED || s->state == RS_FAILED || s->state == RS_REFUSED;
}

/* --- verbs/rsocket/wake.c --- */

/* This thread's descriptor to be woken by; -1 with errno. */
int rs_wake_fd(void);
/* Lets the thread have another one, since a parent and its child would take each other's wake-ups. */
void rs_forget_wake_fd(void);
/* Wakes the threads that wait for the rsocket, but the calling one. Under its lock. */
void rs_wake(struct rsock *s);
/* Whether another thread than the calling one waits for the rsocket. Under its lock. */
bool rs_has_others(const struct rsock *s);
/* The state from now on, with the errno value of RS_FAILED or RS_REFUSED. Under the lock. */
void rs_set_state(struct rsock *s, enum rs_state state, int err);
/* Ends the connection, or the attempt to connect, with an errno value. Under the lock. */
void rs_break(struct rsock *s, int err);
/* Takes the errno value that the program has not been told; 0: none. */
int rs_take_err(struct rsock *s);
/* Returns the errno value by which the rsocket cannot send; 0: it can. */
int rs_cannot_send(struct rsock *s);

/* --- verbs/rsocket/endpoint.c --- */

/* Watches another descriptor as part of the rsocket's. 0 or an errno value. */
int rs_join(struct rsock *s, int fd);
/* An id, with an event channel that is part of the descriptor. 0 or an errno value. */
int rs_open_id(struct rsock *s);
/* Memory that a queue pair may write to, with other rights of `access`; and its end. 0 or an errno
 * value. */
int rs_open_buffer(struct ibv_pd *pd, struct rs_buffer *out, size_t bytes, int access);
void rs_close_buffer(struct rs_buffer *buffer);
/* A queue of completions, with a channel that is part of the descriptor. 0 or an errno value. */
int rs_open_cq(struct rsock *s, struct ibv_context *verbs, uint32_t entries, struct ibv_comp_channel **comp,
               struct ibv_cq **cq);
/* The queue pair of a stream with its buffers and receives, on the device of the id. 0 or an errno
 * value. */
int rs_open_endpoint(struct rsock *s);
/* Whatever of a stream and its id is there. */
void rs_close_endpoint(struct rsock *s);
/* The data of this side, and those of the other. False: that cannot be used. */
struct rs_conn_data rs_own_data(const struct rsock *s);
bool rs_take_data(struct rsock *s, const struct rs_conn_data *data);

/* --- verbs/rsocket/table.c --- */

/* Makes an rsocket in no table, which is the caller's to rs_put() once. NULL with errno. */
struct rsock *rs_new(int family, int type);
/* Enters `s` into the table, where other threads find it at once. Its members are set by then. Returns 0
 * or an errno value, with which `s` stays the caller's alone. */
int rs_publish(struct rsock *s);
/* The one of a descriptor, to be given back by rs_put(). NULL: none. */
struct rsock *rs_get(int fd);
/* Locks an rsocket, and unlocks it. No thread has two locked that others know. A thread that forks waits
 * until none is, so that the child finds each whole and unlocked. */
void rs_lock(struct rsock *s);
void rs_unlock(struct rsock *s);
/* The same as rs_get(), with errno EBADF, and locked; given back by rs_done(). */
struct rsock *rs_need(int fd);
void rs_done(struct rsock *s);
/* A call ends with an errno value, 0 if it has done its work: sets errno and is -1, or 0. Errors other than
 * "not now" are told. */
int rs_ended(const struct rsock *s, const char *call, int err);
void rs_put(struct rsock *s);
/* One more than the highest descriptor that may be in the table. */
int rs_table_end(void);
/* Takes it out of the table: with its last user it ends. */
void rs_forget(struct rsock *s);

/* --- verbs/rsocket/stream.c --- */

/* Takes the completions of a stream and lends free halves. Whether there were any. */
bool rs_poll_stream(struct rsock *s);
/* Lets the descriptor become readable with the next completion. False: some came meanwhile, and were
 * taken. */
bool rs_arm_stream(struct rsock *s);
/* Lends free halves and gives credits, if that is due. */
void rs_lend(struct rsock *s);
/* Whether that is due, and waits for the completion of an earlier control message. */
bool rs_owes_memory(const struct rsock *s);
/* A control message. 0 or an errno value; EAGAIN: not now. */
int rs_post_ctrl(struct rsock *s, enum rs_ctrl what);
/* If the peer lets this side send nothing, and nothing is under way that would fail if the peer were gone:
 * sends an empty RDMA WRITE, which needs no receive there. As the persist timer of TCP. */
void rs_probe(struct rsock *s);
/* How many bytes in a row can be put at send.bytes[send_at]; 0 also without a place in the queue. */
uint32_t rs_send_room(const struct rsock *s);
/* Whether one more message may be sent. */
bool rs_has_credit(const struct rsock *s);
/* How many of them one message may carry. 0: not now. */
uint32_t rs_data_room(const struct rsock *s);
/* Sends that many of them: as a message of the stream; or to memory, with an immediate unless it is NULL.
 * 0 or an errno value. */
int rs_post_data(struct rsock *s, uint32_t len_bytes);
int rs_post_write(struct rsock *s, uint32_t len_bytes, uint64_t addr, uint32_t key, const uint32_t *msg);
/* Writes an entry of the peer's list of mappings, which takes a place in the queue and a credit. */
int rs_post_iomap(struct rsock *s, unsigned index, const struct rs_iomap *map);
/* Whether nothing is under way, or never will arrive. */
bool rs_is_sent(const struct rsock *s);
bool rs_can_ctrl(const struct rsock *s);

/* --- verbs/rsocket/message.c --- */

/* A request's wr_id says how much is free again when it is done. A send without any of these has the bytes
 * of the ring that it took, and a place; RS_ID_PLACE a place alone. */
#define RS_ID_CTRL  (UINT64_C(1) << 32)
#define RS_ID_PLACE (UINT64_C(1) << 33)
#define RS_ID_RECV  (UINT64_C(1) << 34) /* with its number */

/* How many receives a stream has posted. */
uint32_t rs_receives(const struct rsock *s);
/* All of them; `number` again, when it was used. 0 or an errno value. */
int rs_post_receives(struct rsock *s);
int rs_post_receive(struct rsock *s, uint32_t number);
/* How many places of the send queue a message takes, with memory that it writes or without. */
uint32_t rs_places(const struct rsock *s, bool has_memory);
/* Memory that is written, unless `sge` is NULL, and a message behind it, unless `msg` is. 0 or an errno
 * value, by which nothing was posted. */
int rs_post(struct rsock *s, uint64_t wr_id, struct ibv_sge *sge, uint64_t addr, uint32_t key,
            const uint32_t *msg);
/* A message that has come. False: it is none. */
bool rs_get_message(const struct rsock *s, const struct ibv_wc *wc, uint32_t *msg);

/* --- verbs/rsocket/connect.c --- */

/* The code of the largest ACK timeout, 4.096 us * 2^n, by which the queue pair of a stream gives up within
 * `limit_ms`; 1 if none does. */
uint8_t rs_ack_timeout(uint64_t limit_ms);
/* Takes all events of the connection that wait. Under the lock. */
void rs_take_events(struct rsock *s);

/* --- verbs/rsocket/progress.c --- */

/* CLOCK_MONOTONIC in milliseconds. */
uint64_t rs_now_ms(void);
/* All that can be done now: events of the connection, completions. Under the lock. */
void rs_progress(struct rsock *s);
/* Lets the descriptor become readable when something comes. False: something may have come already. */
bool rs_arm(struct rsock *s);
enum rs_patience {
    RS_TO_READ,  /* as long as SO_RCVTIMEO says */
    RS_TO_WRITE, /* SO_SNDTIMEO */
    RS_ALWAYS    /* without end, whatever the rsocket and the program say */
};

/* Waits until `is_so`, under the lock, which is given back meanwhile. `flags` are the program's, of recv()
 * or send(). 0, or an errno value: EAGAIN: it is not so, and the rsocket, or MSG_DONTWAIT, forbids to wait,
 * or to wait longer; EINTR. */
int rs_wait(struct rsock *s, enum rs_patience patience, int flags, bool (*is_so)(const struct rsock *s));
/* Waits for the end of an attempt to connect, if one goes on. 0 or an errno value; EAGAIN for a
 * call that may not wait. */
int rs_need_connection(struct rsock *s, int flags);
/* Events that are so now, of POLLIN and POLLOUT those asked for. */
short rs_events(const struct rsock *s, short asked);
bool rs_can_read(const struct rsock *s);
bool rs_can_write(const struct rsock *s);

/* --- verbs/rsocket/iomap.c --- */

/* Tells the peer of mappings that it does not know; waits as rs_wait() does. 0: it will know all before
 * the next bytes; or an errno value. */
int rs_tell_mappings(struct rsock *s, int flags);

/* --- verbs/rsocket/served.c --- */

/* In the events of the server's epoll: the descriptor of an rsocket, with RS_SERVED_TIMER for its timer; or
 * the bell. */
#define RS_SERVED_TIMER (UINT64_C(1) << 32)
#define RS_SERVED_BELL  (UINT64_C(1) << 33)

/* Lets the server follow each later fork(). Once. */
void rs_served_follow_forks(void);
/* How many fork() are between the first process and this one. An rsocket belongs to its generation. */
unsigned rs_served_generation(void);
/* Lets the server's thread go on with all that the rsocket has under way now, whether or not the program
 * calls. Under the rsocket's lock, after each call. 0 or an errno value, by which nothing changed. */
int rs_serve(struct rsock *s);
/* Never serves the rsocket again. Under its lock, or by its last user. */
void rs_leave_server(struct rsock *s);
/* Names the function that starts a thread for the events of an epoll. 0 or an errno value. */
void rs_served_begin(int (*start)(int epoll));
/* Watches the rsocket's timer, if the rsocket is served. 0 or an errno value. */
int rs_served_add_timer(const struct rsock *s);
void rs_served_close_timer(struct rsock *s);
/* For the thread, after the bell. True: it serves no rsocket, its epoll is closed, and it has to end. */
bool rs_served_is_over(void);
/* For the thread: whether any rsocket is RS_SWEPT. */
bool rs_served_has_swept(void);

/* --- verbs/rsocket/serve.c --- */

/* Lets the thread be started that serves rsockets. Before the first rsocket. */
void rs_prepare_server(void);
/* From now on, while it is connected, the peer gets a message every so many seconds, which fails where it is
 * gone; 0: no more. 0 or an errno value. */
int rs_keep_alive(struct rsock *s, unsigned seconds);

/* --- verbs/rsocket/options.c --- */

/* Seconds between messages that keep it alive, by its options; 0: none. */
unsigned rs_keepalive_s(const struct rsock *s);

/* --- verbs/rsocket/io.c --- */

/* Parts of memory, and how far they are done. */
struct rs_parts {
    const struct iovec *parts;
    size_t count;
    size_t at; /* in the first */
};

/* Of a stream, under its lock: how many bytes were taken out of it into the parts, or put into it of
 * them; -1 with errno. */
ssize_t rs_recv_parts(struct rsock *s, struct rs_parts to, int flags);
ssize_t rs_send_parts(struct rsock *s, struct rs_parts from, int flags);

#endif
