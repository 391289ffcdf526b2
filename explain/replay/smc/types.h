/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside a replay of SMC-R. Only explain/replay/smc/ includes this.
 *
 * The peer's packets reach the engine as frames: the recorded ones, with the engine's QPN, keys and tokens
 * in the place of those that the recorded end had chosen, its PSNs as they are. The engine's packets are
 * taken from its devices and never travel: SENDs wait to be compared, RDMA writes are placed in an image
 * of the peer's element, and the peer's acknowledgement is made when the recorded one comes of the message
 * that was compared with it. The program of the endpoint is lazy: it writes, reads and closes when the
 * recorded CDC shows that it has. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_TYPES_H
#define NORNIC_EXPLAIN_REPLAY_SMC_TYPES_H

#include "explain/replay/smc/values.h"
#include "explain/replay/tape.h"
#include "explain/tcp/segment.h"
#include "smcr/cursor.h"
#include "smcr/smcr.h"
#include "smcr/wire/cdc.h"
#include "smcr/wire/clc2.h"
#include "smcr/wire/llc2.h"

#define SMCPLAY_PORTS_MAX 8
#define SMCPLAY_LINKS_MAX 255
#define SMCPLAY_CONNS_MAX 1024
#define SMCPLAY_SENDS     256 /* of a link, that may wait for their acknowledgement */
#define SMCPLAY_WRITES_BYTES \
    (64u << 20) /* more than all connections of a link have under way: older ones are nobody's */

/* A piece of an RDMA write. */
struct smcplay_piece {
    uint64_t va;
    size_t at; /* in `bytes` */
    uint32_t rkey, len_bytes;
};

/* The bytes that were written on a link, and that no CDC told of yet. All zero: nothing. */
struct smcplay_writes {
    struct smcplay_piece *pieces;
    size_t count, cap;
    uint8_t *bytes;
    size_t used, room;
    uint64_t next_va; /* of the write that goes on, */
    uint32_t next_rkey;
};

/* The place of an element for its writers on a link. */
struct smcplay_place {
    uint32_t rkey;
    uint64_t va;
};

/* An element, as its writer sees it. */
struct smcplay_image {
    uint32_t elem_bytes; /* 0: none */
    uint32_t start;      /* of its cursors: smcr_cursor_start() */
    struct smcr_cursor cursor;
    uint64_t position; /* of the cursor, in the stream */
    uint8_t *bytes, *known;
};

struct smcplay_end {
    struct nornic_addr gid;
    struct nornic_mac mac;
    uint32_t qpn;
};

/* A message of the engine's, not yet compared. */
struct smcplay_message {
    struct smcplay_message *next;
    uint64_t cause;
    uint32_t psn;
    bool is_misplaced;     /* a CDC: the bytes that it tells of are not those of the stream, */
    uint64_t misplaced_at; /* from this one on */
    uint64_t produced;     /* a CDC: position of its producer cursor in the stream */
    uint32_t len_bytes;
    uint8_t bytes[];
};

struct smcplay_port {
    struct nornic_mac mac;
    struct nornic_addr gid;
    uint16_t vlan_id;
    struct roce_dev *dev;
    struct smcr_port *port;
    bool is_down;
};

struct smcplay_link {
    struct smcplay_end own, peer; /* as recorded */
    uint16_t vlan_id;
    unsigned group;
    uint8_t number;                 /* in it; 0: not known */
    struct smcplay_writes recorded; /* learning */
    bool is_sent_known;
    uint32_t sent_psn; /* recorded: the next that was not sent before */

    unsigned port;
    uint32_t engine_qpn; /* 0: not known yet */
    struct smcplay_writes written;
    bool is_engine_psn_known;
    uint32_t engine_psn;
    struct smcplay_message *first, **last;
    struct {
        uint32_t recorded, engine;
    } sends[SMCPLAY_SENDS]; /* PSNs of the compared messages, newest last */
    unsigned send_count;
    uint8_t fed_request; /* type of the last request of LLC from the peer, */
    uint64_t fed_ns;     /* and when it came */
    bool is_ended;       /* the peer has deleted all links of the group, by a message on this one */
    bool has_acked;
    uint32_t acked_psn; /* of the engine */
};

/* A key of the endpoint's memory on a link. */
struct smcplay_key {
    unsigned link;
    uint32_t rkey[2]; /* recorded, engine's */
    uint64_t va[2];
};

/* The place of an RMB of the peer on a link. */
struct smcplay_rmb {
    unsigned id; /* of the RMB: the same on all links */
    const struct smcplay_link *link;
    struct smcplay_place place;
};

/* A CDC message that the recorded end sent. */
struct smcplay_cdc {
    size_t packet; /* of the tape */
    uint64_t produced, consumed;
    bool has_data; /* the capture has all the bytes that it tells of */
    struct smcr_cdc cdc;
};

/* The handshake of a connection, as it was recorded. */
struct smcplay_clc {
    size_t proposal; /* packet of the tape; */
    size_t own_at;   /* and that of the endpoint's Accept or Confirm; 0: there is none */
    unsigned seen;   /* messages, by type and sender: TCP may send them again */
    bool has_own_declined, has_accept, has_confirm;
    struct smcr_accept accept, confirm;
};

/* Bytes that the endpoint sent. */
struct smcplay_stream {
    uint8_t *bytes;
    size_t len, cap;
    bool is_broken; /* some are not in the capture: those behind them are not known */
};

/* The CDC messages that the endpoint sent. */
struct smcplay_cdcs {
    struct smcplay_cdc *list;
    size_t count, cap;
    size_t next;        /* to be played */
    unsigned link;      /* that the newest recorded one went over, from 1; 0: none yet */
    uint16_t seq_shift; /* engine's minus recorded sequence numbers */
    bool has_moved;     /* the newest recorded one is a failover validation */
};

/* The connection in the engine. */
struct smcplay_engine {
    struct smcr_conn *conn; /* NULL: not made, or given back */
    bool is_begun;
    struct smcplay_image image;
    bool is_done, is_closed; /* its newest CDC said so */
    uint64_t urgent;         /* position behind its last urgent byte */
};

/* The program over the engine, which does as the recorded one did. */
struct smcplay_program {
    uint64_t written, read;
    bool is_urgent, has_shut;
};

/* The peer's Proposal or Accept, which waits. */
struct smcplay_held {
    bool is_there;
    size_t packet; /* of the tape, */
    uint32_t at;   /* and the place in it */
};

struct smcplay_conn {
    struct nornic_addr addr[2]; /* client, server */
    uint16_t port[2];
    struct smcplay_clc clc;
    bool is_own_server, is_own_known, is_version_2, is_older;
    unsigned rmb;               /* that the peer's element is in: smcplay_rmb.id, */
    uint64_t elem_at;           /* and the place in it, in bytes */
    struct smcplay_image image; /* recorded: the peer's element */
    struct smcr_cursor consumer;
    uint64_t consumed;
    struct smcplay_stream stream;
    struct smcplay_cdcs cdc;

    /* playing */
    struct smcplay_engine engine;
    struct smcplay_program program;
    struct smcplay_held held;
    struct smcplay *play;
    uint32_t index;
    uint8_t sent[SMCR_CLC_MAX_BYTES]; /* CLC that the engine sent and nothing was compared with */
    size_t sent_bytes;
    uint32_t own_token[2]; /* recorded, engine's; 0: not known */
};

struct smcplay {
    const struct explain_tape *tape;
    const struct explain_smc_replay_config *config;
    struct explain_smc_replay_result *result;
    uint8_t peer_id[SMCR_PEER_ID_BYTES]; /* of the endpoint, */
    struct nornic_addr addr;             /* and one that its TCP connections have */
    bool is_found;
    size_t at; /* of the tape, the packet that is played; packets of one train share a frame's number */
    struct smcplay_port ports[SMCPLAY_PORTS_MAX];
    unsigned port_count;
    struct smcplay_link *links; /* SMCPLAY_LINKS_MAX */
    unsigned link_count, group_count;
    struct smcplay_conn *conns; /* SMCPLAY_CONNS_MAX */
    unsigned conn_count;
    uint8_t mtu, max_links, elems_per_rmb;
    bool has_shifted_add_link;
    struct {            /* of version 2 */
        bool is_spoken; /* the endpoint has sent a message of it */
        uint8_t eids[SMCR_MAX_EIDS][SMCR_EID_LEN];
        unsigned num_eids;
        bool offers_v1;
        uint8_t max_conns;                    /* of a group; 0: not told */
        uint8_t host_name[SMCR_EID_LEN];      /* with blanks behind it; all zero: not told */
        uint64_t closed_ns;                   /* the endpoint's newest CDC that says so */
        bool is_closed, gives_rmbs_back_soon; /* each RMB when its connection has ended */
    } v2;
    struct { /* learning: the last ADD LINK of each side */
        struct smcplay_end end;
        uint8_t number;
        bool is_there;
        size_t packet; /* of the tape */
    } offered[2];
    struct smcplay_rmb *rmbs; /* newest last */
    size_t rmb_count, rmb_cap;
    unsigned confirmed_rmb; /* by the peer's last CONFIRM RKEY */

    struct smcr *smcr;
    struct smcplay_key *keys;
    size_t key_count, key_cap;
    uint64_t random, now_ns, skew_ns, cause;
    bool is_out_of_memory;
};

static inline uint32_t smcplay_elem_bytes(const struct smcr_accept *a)
{
    return 16384u << (a->bsize > 5 ? 5 : a->bsize);
}

/* Of its cursors. */
static inline uint32_t smcplay_start(const struct smcplay_conn *c)
{
    return smcr_cursor_start(c->is_version_2 ? 2 : 1);
}

/* Returns the name of a message's type in version 1: enum smcr_llc_type. */
static inline uint8_t smcplay_type(const uint8_t *message)
{
    return smcr_llc_is_v2(message[0]) ? smcr_llc2_v1_type(message[0]) : message[0];
}

/* Keys and addresses, one after the other, that a message tells of: their places in it. */
struct smcplay_key_place {
    uint8_t rkey_at, va_at; /* `va_at` 0: no address */
    uint8_t link_at;        /* the byte that says on which link; 0: the one that carries the message */
};

#endif
