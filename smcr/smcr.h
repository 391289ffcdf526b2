/* SPDX-License-Identifier: BSD-2-Clause */
/* SMC-R (RFC 7609) without I/O. An instance is one peer: it has ports (RNICs), link groups with other
 * instances, and connections, each beside a TCP connection that the caller keeps. What comes in: the bytes
 * and the end of the TCP connection, the application's calls, completions of the engine (smcr_progress()),
 * and time. What comes out: bytes for the TCP connection, events of connections, and the next deadline.
 *
 * All calls of one instance come from one thread at a time. A `now_ns` never goes back. Nothing here calls
 * the clock, the network or a thread; the devices of its ports are driven by the caller. */
#ifndef NORNIC_SMCR_SMCR_H
#define NORNIC_SMCR_SMCR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "nornic/addr.h"
#include "nornic/decls.h"
#include "rdma/mem.h"
#include "roce/roce.h"
#include "smcr/clc_wire.h"
#include "smcr/trace.h"

NORNIC_BEGIN_DECLS

struct smcr;
struct smcr_port;
struct smcr_conn;

enum smcr_role { SMCR_CLIENT, SMCR_SERVER }; /* of the TCP connection, and of the link group (SMCR-ARC-09) */

/* --- the instance --- */

/* Protocol timers, SMCR section 24; 0 means the default written there. */
struct smcr_times {
    uint64_t clc_ns;             /* each CLC message */
    uint64_t first_contact_ns;   /* T1..T4 */
    uint64_t llc_ns;             /* a reply in an established link group */
    uint64_t test_link_ns;       /* a link idle for so long is tested */
    uint64_t test_answer_ns;     /* and answers within */
    uint64_t redundancy_ns;      /* first retry of a lost second link; doubles */
    uint64_t redundancy_max_ns;  /* up to */
    uint64_t add_link_notice_ns; /* a client without redundancy tells of an unused RNIC so often, at least */
    uint64_t group_idle_ns;      /* of a server's group without connections */
    uint64_t rmb_idle_ns;
    uint64_t close_guard_ns;
    uint64_t abort_guard_ns;
    uint64_t stale_cursor_ns;
    uint64_t cork_ns; /* what waits for more to send with it, waits no longer */
};

/* Where implementations read the RFC differently (SMCR section 23 b); all false is our reading. */
struct smcr_interop {
    bool shifted_add_link;    /* ADD LINK as Linux lays it out (A5) */
    bool literal_subnet_mask; /* the Proposal's subnet field holds the mask (A1) */
};

#define SMCR_EID_LEN         32 /* bytes, filled up with blanks */
#define SMCR_MAX_EIDS        4  /* as many as Linux keeps */
#define SMCR_MIN_GROUP_CONNS 16
/* A user-defined enterprise id from text: 1 to 32 of A-Z 0-9 . and -, a letter or digit first. 0 or -EINVAL.
 */
int smcr_eid_parse(const char *text, uint8_t out[SMCR_EID_LEN]);

/* Zero means the default where one is named. */
struct smcr_config {
    const struct rdma_mem *mem; /* default: the C library's; copied */
    /* Of RMBs and send buffers, page-aligned; default: `mem`; copied. Where it is given, a buffer is freed
     * with its connection and not kept for the next, whose memory somebody else may still be writing to. */
    const struct rdma_mem *buffers;
    struct rdma_random random; /* needed; copied */
    uint16_t instance_id;      /* upper half of the Peer ID: differs at every start and in every process
                                   (SMCR-ARC-21, ARC-22) */
    struct smcr_times times;
    struct smcr_interop interop;
    uint32_t max_conns;    /* default 16384; those beyond get to hear that, and go by TCP */
    uint32_t max_groups;   /* default 256 */
    uint8_t max_links;     /* symmetric links a group, 2..8 (SMCR-ARC-14); default 2 */
    uint8_t elems_per_rmb; /* RMBEs of an RMB, 1..255; default 16 (SMCR-RMB-01) */
    bool rmbs_serve_once; /* one that has served a connection waits for smcr_give_back(), or its time, as with
                              Linux; else another connection may have it first */
    /* Enterprise ids (smcr_eid_parse()): with one of them version 2 is offered beside version 1 and taken
     * where the peer has an EID in common with us; without, version 1 alone is spoken. */
    uint8_t eids[SMCR_MAX_EIDS][SMCR_EID_LEN];
    unsigned num_eids;       /* at most SMCR_MAX_EIDS */
    bool only_v2;            /* needs one of them: version 1 is neither offered nor taken, as Linux does over
                                RoCEv2 */
    uint8_t max_group_conns; /* of a link group of version 2.1, 16..255; default 255 */
    char host_name[33];      /* what a first contact of version 2 tells of us; may be "" */
    bool disabled;           /* declines every proposal */
    smcr_trace_hook *trace;  /* may be NULL */
    void *trace_ctx;
};

/* 0, -EINVAL or -ENOMEM. */
int smcr_create(const struct smcr_config *config, struct smcr **out);
/* Ends what is left, without waiting for peers: connections are reset, groups freed. Ports are removed. */
void smcr_destroy(struct smcr *smcr, uint64_t now_ns);

/* Ends gracefully: no new connection, DELETE LINK (all) on every group that has none left (SMCR-ABT-09). */
void smcr_retire(struct smcr *smcr, uint64_t now_ns);

/* Ends by DELETE LINK (all) the groups in which a connection has not said all: the rest is lost, as the peer
 * hears (RFC 7609 4.8.3). Other peers may still read the end of their streams. Returns whether any ended. */
bool smcr_retire_unheard(struct smcr *smcr, uint64_t now_ns);

/* Whether the caller should wait before smcr_destroy(): DELETE LINK is on its way, or, of a client, not
 * answered (SMCR-LGT-04), or Linux may still need acknowledgements (version 2); or the instance retires, and
 * connections still end: in version 1 half of times.llc_ns counts at most. */
bool smcr_lingers(const struct smcr *smcr, uint64_t now_ns);

/* Gives the RMB back that has this key on one of the links, if no connection uses it, however long that has
 * been: DELETE RKEY, when nothing else runs. Else it goes when it was idle for times.rmb_idle_ns, but for the
 * last one of a group (SMCR-RKY-07). */
void smcr_give_back(struct smcr *smcr, uint32_t rkey, uint64_t now_ns);

/* Takes the completions of all ports. After each progress of a device. Returns whether there were any. */
bool smcr_progress(struct smcr *smcr, uint64_t now_ns);
/* When smcr_expire() is due; NET_TIME_NONE: no timer runs. */
uint64_t smcr_deadline_ns(const struct smcr *smcr);
void smcr_expire(struct smcr *smcr, uint64_t now_ns);

/* --- ports --- */

#define SMCR_MAX_NETWORKS 16

struct smcr_network {
    struct nornic_addr addr; /* the interface's own address */
    uint8_t prefix_len;      /* of IPv4: 0..32 */
};

/* A port of an RNIC, by one GID of its device. */
struct smcr_port_config {
    struct roce_dev *dev; /* the caller's; outlives the port */
    unsigned sgid_index;  /* V2 entry: address, MAC and VLAN of the port */
    enum nornic_mtu path_mtu;
    bool moves_trains; /* the device's port takes trains (net_port_limits.train_tx_bytes) */
    struct smcr_network networks[SMCR_MAX_NETWORKS]; /* that its interface is attached to (SMCR-FC-02) */
    unsigned num_networks;
    char name[32];   /* for people */
    char pnetid[17]; /* physical network: ports and connections of another are not reached; "" is one too */
    /* Around every control call of the device's engine; may be NULL. Must not call back. */
    void (*lock)(void *ctx);
    void (*unlock)(void *ctx);
    /* Completions wait: smcr_progress() is due. Called by the engine inside its progress, maybe in another
     * thread than smcr's; must not call back. May be NULL. */
    void (*wake)(void *ctx);
    void *ctx;
};

/* The port is up from the start; groups that lack redundancy take it at once (SMCR-ALK-01, ALK-03). 0,
 * -EINVAL or -ENOMEM. */
int smcr_port_add(struct smcr *smcr, const struct smcr_port_config *config, uint64_t now_ns,
                  struct smcr_port **out);
/* Its links go down: connections fail over to others. */
void smcr_port_remove(struct smcr_port *port, uint64_t now_ns);
/* The link of the interface went down or came back (SMCR-ENG-08). */
void smcr_port_state(struct smcr_port *port, bool up, uint64_t now_ns);
/* The MTU of the interface changed: links made from now on have it. Those whose packets do not fit any more
 * go down, and their connections over to other links; where there is none, they go on with smaller writes. */
void smcr_port_set_mtu(struct smcr_port *port, enum nornic_mtu path_mtu, uint64_t now_ns);

/* --- connections --- */

/* The caller's TCP connection. Called inside calls of the core (reset() at their end); must not call back
 * into it. */
struct smcr_tcp {
    /* CLC bytes to send; borrowed. All are taken: what the socket does not take now, the caller keeps. 0, or
     * -errno: the connection is broken. */
    int (*send)(void *ctx, const uint8_t *bytes, size_t len_bytes);
    /* End it with RST. Nothing is sent on it any more. */
    void (*reset)(void *ctx);
};

struct smcr_conn_config {
    enum smcr_role role;
    struct nornic_addr local, remote; /* of the TCP connection */
    uint16_t local_port, remote_port;
    uint16_t vlan_id;
    /* Of the interface that the TCP connection leaves by: what a Proposal tells and is checked against. */
    struct smcr_network networks[SMCR_MAX_NETWORKS];
    unsigned num_networks;
    char pnetid[17];
    uint32_t rcvbuf_bytes; /* picks the RMBE's size (SMCR-RMB-03); default 64 KiB */
    uint32_t sndbuf_bytes; /* of the send buffer; default 64 KiB; rounded up to a power of two */
    bool in_place;         /* the caller moves the bytes itself: smcr_conn_rings() */
    int owner_pid;         /* of the process that it is lent to, for statistics; 0: none */
    const char *declines;  /* static: why it declines, in the place of its first message; NULL: it does not */
    struct smcr_tcp tcp;
    void *ctx; /* for `tcp`, and smcr_conn_ctx() */
};

/* What became of a connection since it was last asked. Levels are asked for with smcr_conn_status(). */
enum smcr_event {
    SMCR_EVENT_ESTABLISHED = 1 << 0, /* data goes by RDMA from now on */
    SMCR_EVENT_FALLBACK = 1 << 1,    /* plain TCP from now on: SMCR-CLC-42; the core is done with it */
    SMCR_EVENT_READABLE = 1 << 2,    /* bytes, end of stream or an error */
    SMCR_EVENT_WRITABLE = 1 << 3,    /* room after there was none, or an error */
    SMCR_EVENT_URGENT = 1 << 4,      /* urgent data is announced (SMCR-URG-03) */
    SMCR_EVENT_RESET = 1 << 5,       /* ended abnormally, in the handshake too; the error is in the status */
    SMCR_EVENT_CLOSED = 1 << 6,      /* all is over and freed on the wire: TCP may be closed (SMCR-CLS-01) */
    SMCR_EVENT_ASKED = 1 << 7,       /* in place: the peer waits to hear how far was read: smcr_conn_took() */
};

/* Connections beyond max_conns that may wait for their Proposal to be declined. */
#define SMCR_SURPLUS_CONNS 64

/* Both TCP options were seen: the client proposes, the server waits for it. 0, -EINVAL, -ENOMEM, -ENOSPC
 * (more than SMCR_SURPLUS_CONNS beyond max_conns). What the client cannot do (no port) is 0 as well: it
 * declines instead of proposing, and is in FALLBACK (SMCR-CLC-10). */
int smcr_conn_create(struct smcr *smcr, const struct smcr_conn_config *config, uint64_t now_ns,
                     struct smcr_conn **out);
/* Drops the caller's reference, in any state: a connection that still talks to its peer closes (or aborts,
 * with unread data) by itself and is freed when that is over; its `tcp` is not called any more but for
 * reset(). In its handshake it is reset. With `linger` one CLOSED still comes through smcr_next_event(),
 * whatever the state was: then it is released again. */
void smcr_conn_release(struct smcr_conn *conn, bool linger, uint64_t now_ns);

/* The caller's pointer of its configuration. */
void *smcr_conn_ctx(const struct smcr_conn *conn);

/* Bytes that the TCP connection received while negotiation runs, or after. Returns how many were taken: the
 * rest, after a FALLBACK, is the application's (SMCR-FBK-05), but while the status says `may_cross`: then it
 * is to be given again with what follows it. */
size_t smcr_conn_tcp_input(struct smcr_conn *conn, const uint8_t *bytes, size_t len_bytes, uint64_t now_ns);
#define SMCR_LONGEST_DECLINE_BYTES 44
/* Whether the bytes that TCP brings first after a FALLBACK with `may_cross` are the peer's Decline: then
 * `*decline_bytes` of them, SMCR_LONGEST_DECLINE_BYTES at the most, are no data (SMCR-FBK-05). MAYBE: so many
 * have to come to know. NO leaves it alone. */
enum smcr_crossed { SMCR_CROSSED_NO, SMCR_CROSSED_MAYBE, SMCR_CROSSED_YES };
enum smcr_crossed smcr_crossed_decline(const uint8_t peer_id[SMCR_PEER_ID_BYTES], const uint8_t *bytes,
                                       size_t len_bytes, size_t *decline_bytes);
enum smcr_tcp_end { SMCR_TCP_FIN, SMCR_TCP_RST };
/* The peer's FIN (SMCR-CLS-21) or RST (SMCR-ABT-05), or the socket's error. */
void smcr_conn_tcp_end(struct smcr_conn *conn, enum smcr_tcp_end how, uint64_t now_ns);

/* The next connection to which something happened, with what (enum smcr_event) in `*events`; NULL: none.
 * After each batch of calls. */
struct smcr_conn *smcr_next_event(struct smcr *smcr, unsigned *events);

enum smcr_send_flags {
    SMCR_SEND_URGENT = 1 << 0,  /* the last byte is urgent (SMCR-URG-01) */
    SMCR_SEND_MORE = 1 << 1,    /* more follows at once: may be corked up to cork_ns */
    SMCR_SEND_NODELAY = 1 << 2, /* is not corked behind what is in flight (SMCR-DAT-07) */
};
enum smcr_recv_flags {
    SMCR_RECV_PEEK = 1 << 0,
    SMCR_RECV_URGENT = 1 << 1, /* the urgent byte, out of line: -EINVAL: none; -EAGAIN: not there yet */
};

/* Copies into the send buffer what fits. Returns how many bytes, or -EAGAIN (full), -EPIPE (shut down),
 * -ECONNRESET, -ECONNABORTED, -ENOTCONN (not established). */
ssize_t smcr_conn_send(struct smcr_conn *conn, const void *bytes, size_t len_bytes, unsigned flags,
                       uint64_t now_ns);
/* Takes what has arrived. Returns how many bytes, 0 at the end of the stream, or -EAGAIN and the above. Stops
 * before the urgent byte like a TCP read, and does not return it in line unless asked (urgent_inline). */
ssize_t smcr_conn_recv(struct smcr_conn *conn, void *bytes, size_t len_bytes, unsigned flags,
                       uint64_t now_ns);
/* How many bytes the next smcr_conn_send() would copy in at most; 0: none, whatever it would return. */
size_t smcr_conn_send_room(const struct smcr_conn *conn);
/* How many bytes the next smcr_conn_recv() would copy out, given room: those before the urgent byte; 0: none,
 * whatever it would return. */
size_t smcr_conn_recv_next(const struct smcr_conn *conn);

/* Where the bytes of an established connection lie, for who moves them itself instead of by smcr_conn_send()
 * and smcr_conn_recv(). Positions count the bytes of one direction from 0 and never wrap; that of position p
 * is at p modulo the size of the ring. Valid until the connection has ended or is released. */
struct smcr_rings {
    uint8_t *tx_bytes; /* the send buffer, of a power of two bytes */
    uint32_t tx_size_bytes;
    uint64_t tx_head;  /* up to here the core knows of bytes to send */
    uint64_t tx_acked; /* those before are at the peer: their place is free */
    uint8_t *rx_bytes; /* the data of the RMBE */
    uint32_t rx_size_bytes;
    uint64_t rx_produced, rx_consumed;
    /* Once the application has read up to here the core is to be told, since the peer may wait for it. Before
     * that it need not be. UINT64_MAX: it does not matter now. */
    uint64_t rx_tell_at;
    uint64_t mark; /* where the last urgent byte is, or was, that was told of; UINT64_MAX: there was none */
    uint8_t mark_byte;
    bool is_urgent_announced; /* one is to come that is not there yet (SMCR-URG-03) */
};
/* False: there are none, before the connection is established and after it has failed. */
bool smcr_conn_rings(const struct smcr_conn *conn, struct smcr_rings *out);
/* The caller has put bytes up to position `head` into the send buffer; `flags` of enum smcr_send_flags. 0;
 * -EINVAL: there was no room for so many, nothing is sent; or as smcr_conn_send(). */
int smcr_conn_put(struct smcr_conn *conn, uint64_t head, unsigned flags, uint64_t now_ns);
/* The caller has read up to position `consumed`. The urgent byte counts as read when all before it is,
 * unless it is to come in line: then rx_consumed is one ahead. 0; -EINVAL: so much was not there; or as
 * smcr_conn_recv(). */
int smcr_conn_took(struct smcr_conn *conn, uint64_t consumed, uint64_t now_ns);
/* Has the peer hear how far was read, also where it does not wait for that yet: for a replay, whose peer has
 * heard it. Nothing, if it knows, or the connection has no data. */
void smcr_conn_tell(struct smcr_conn *conn, uint64_t now_ns);

/* For a caller with many connections that have something to send at a time: what is called between these two
 * posts its RDMA writes at once, and the CDC messages that tell of them behind all of these, as
 * smcr_release() comes, or a message of LLC. So writes of equal length leave one behind the other, and the
 * messages, which all are; a port that takes trains carries many by one. The order of a connection's own is
 * what it was. What is posted leaves with the device's next round, which is to come after smcr_release(). */
void smcr_hold(struct smcr *smcr);
void smcr_release(struct smcr *smcr);

/* SO_OOBINLINE; and whether the next byte to read is the urgent one (SIOCATMARK). */
void smcr_conn_set_urgent_inline(struct smcr_conn *conn, bool is_inline);
bool smcr_conn_at_mark(const struct smcr_conn *conn);
/* No more writes: D once all is delivered (SMCR-CLS-04). Idempotent. */
void smcr_conn_shutdown_write(struct smcr_conn *conn, uint64_t now_ns);
/* Ends abnormally, with A and RST (SMCR-ABT-01). */
void smcr_conn_abort(struct smcr_conn *conn, uint64_t now_ns);
/* SO_KEEPALIVE: a link is tested when both were idle for `idle_ns`; 0: off (SMCR-KAL-01). */
void smcr_conn_set_keepalive(struct smcr_conn *conn, uint64_t idle_ns, uint64_t now_ns);

struct smcr_conn_status {
    int error; /* -ECONNRESET and such; 0 */
    bool established, fallback, closed;
    uint32_t diagnosis; /* of a fallback: enum smcr_diagnosis; whose it was tells `declined_by_peer` */
    bool declined_by_peer;
    /* After a FALLBACK: both ends found the link dead, and the peer's Decline may have crossed ours. What
     * TCP brings next is looked at with smcr_crossed_decline(), or goes through smcr_conn_tcp_input(),
     * which takes such a Decline, before the application reads. */
    bool may_cross;
    uint8_t peer_id[SMCR_PEER_ID_BYTES]; /* of the peer, where it is known */
    const char *reason;                  /* of the fallback or error, in words; never NULL; static */
    size_t readable_bytes, writable_bytes;
    size_t readable_max_bytes; /* that can wait to be read at a time: what the RMBE holds */
    size_t unsent_bytes;       /* that the peer has not acknowledged at RC level yet: SIOCOUTQ, lingering */
    bool rx_ended;             /* nothing comes behind what is readable */
    bool eof;                  /* and nothing is readable */
    bool urgent;               /* announced, or there and not read yet, in line or not */
    bool write_closed;
    bool has_said_all; /* nothing is posted, the peer has read all and knows that no more comes: who goes now
                          leaves nothing behind */
};
void smcr_conn_status(const struct smcr_conn *conn, struct smcr_conn_status *out);

NORNIC_END_DECLS

#endif
