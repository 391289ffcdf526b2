/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside a replay of SMC-R. Only explain/replay/smc/ includes this.
 *
 * What the peer sends reaches the engine as frames: the recorded ones, with the engine's QPN, keys and
 * tokens in the place of those that the recorded end had chosen, its PSNs as they are. What the engine
 * sends is taken from its devices and never travels: SENDs wait to be compared, RDMA writes are placed in
 * an image of the peer's element, and the peer's acknowledgement is made when the recorded one comes of the
 * message that was compared with it. The program of the endpoint is lazy: it writes, reads and closes when
 * the recorded CDC shows that it has. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_INNER_H
#define NORNIC_EXPLAIN_REPLAY_SMC_INNER_H

#include "explain/replay/smc/smc_replay.h"
#include "explain/tcp/segment.h"
#include "smcr/cdc_wire.h"
#include "smcr/clc2_wire.h"
#include "smcr/cursor.h"
#include "smcr/llc2_wire.h"
#include "smcr/smcr.h"

#define SMCPLAY_PORTS_MAX 8
#define SMCPLAY_LINKS_MAX 255
#define SMCPLAY_CONNS_MAX 1024
#define SMCPLAY_SENDS     256 /* of a link, that may wait for their acknowledgement */

/* --- writes.c: what RDMA writes leave in an element --- */

#define SMCPLAY_WRITES_BYTES \
    (64u << 20) /* more than all connections of a link have under way: older ones are nobody's */

/* A piece of an RDMA write. */
struct smcplay_piece {
    uint64_t va;
    size_t at; /* in `bytes` */
    uint32_t rkey, len_bytes;
};

/* What was written on a link and not told of by a CDC yet. All zero: nothing. */
struct smcplay_writes {
    struct smcplay_piece *pieces;
    size_t count, cap;
    uint8_t *bytes;
    size_t used, room;
    uint64_t next_va; /* of the write that goes on, */
    uint32_t next_rkey;
};

/* Where an element lies, to those who write to it on a link. */
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

int smcplay_writes_add(struct smcplay_writes *w, const struct roce_pkt *pkt);
void smcplay_writes_free(struct smcplay_writes *w);
int smcplay_image_init(struct smcplay_image *image, uint32_t elem_bytes, uint32_t start);
void smcplay_image_free(struct smcplay_image *image);
/* Bytes from the cursor to `to`; negative: that is no place ahead of it. */
int64_t smcplay_image_ahead(const struct smcplay_image *image, const struct smcr_cursor *to);
/* Takes what was written to the element, which lies at `place` on that link, up to a cursor that a CDC tells
 * of. What is of other elements stays for theirs. */
void smcplay_image_place(struct smcplay_image *image, const struct smcplay_place *place,
                         struct smcplay_writes *w, const struct smcr_cursor *to);
/* Takes the next byte of the stream. False: it was not written. */
bool smcplay_image_next(struct smcplay_image *image, uint8_t *byte);

/* --- who.c: who is who; learn.c, learn_clc.c: what the capture tells --- */

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
    } sends[SMCPLAY_SENDS]; /* PSNs of what was compared, newest last */
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

/* Where an RMB of the peer lies on a link. */
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
    uint64_t elem_at;           /* and where in it, in bytes */
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

/* The endpoint with that address: its Peer ID, and whether it is there. */
void smcplay_find_endpoint(struct smcplay *s, struct nornic_addr addr);
/* The connection between these ends, newest first; NULL: none. `*is_own`: the endpoint sent the segment. */
struct smcplay_conn *smcplay_conn_of(struct smcplay *s, const struct explain_segment *segment, bool *is_own);
/* The link that a packet travels on; NULL: none. */
struct smcplay_link *smcplay_link_of(struct smcplay *s, const struct roce_pkt *pkt, bool *is_own);
/* The connection whose peer gave out that token; NULL: none. */
struct smcplay_conn *smcplay_conn_by_peer_token(struct smcplay *s, uint32_t token, size_t before);
const struct smcr_accept *smcplay_own(const struct smcplay_conn *c);
const struct smcr_accept *smcplay_peer(const struct smcplay_conn *c);
static inline uint32_t smcplay_elem_bytes(const struct smcr_accept *a)
{
    return 16384u << (a->bsize > 5 ? 5 : a->bsize);
}
/* Of its cursors. */
static inline uint32_t smcplay_start(const struct smcplay_conn *c)
{
    return smcr_cursor_start(c->is_version_2 ? 2 : 1);
}
/* Whether it is one message of LLC or CDC, in a SEND of one packet. */
bool smcplay_is_message(const struct roce_pkt *pkt);
bool smcplay_has_message(const struct explain_packet *p);
/* What version 1 calls the type of a message: enum smcr_llc_type. */
static inline uint8_t smcplay_type(const uint8_t *message)
{
    return smcr_llc_is_v2(message[0]) ? smcr_llc2_v1_type(message[0]) : message[0];
}
/* The GID, QPN and number of a link in an ADD LINK of whichever layout. */
struct smcr_add_link smcplay_add_link(const uint8_t *message);
/* enum smcr_clc_type of the layer that a CLC message of either version is; 0: it is none. */
unsigned smcplay_clc_type(enum explain_layer_id id);
/* The networks that a Proposal names, seen from `local`. Returns how many of them, at most `max`. */
unsigned smcplay_networks(const struct explain_packet *p, const struct nornic_addr *local,
                          struct smcr_network *out, unsigned max);
/* The endpoint with that address. 0, -ENOMEM or -E2BIG with a sentence; `is_found` says whether it is
 * there. */
int smcplay_learn(struct smcplay *s, const struct nornic_addr *addr, struct nornic_error *why);

/* --- rmbs.c: where the peer's memory lies, as its CLC and LLC messages tell --- */
/* The RMB with that key on the link, known or new. 0 or -ENOMEM. */
int smcplay_rmb_of(struct smcplay *s, const struct smcplay_link *link, uint32_t rkey, uint64_t va,
                   unsigned *id);
/* A message of LLC of the peer's that came on `via`, after what it tells of links is known. 0 or -ENOMEM. */
int smcplay_rmbs_learn(struct smcplay *s, const struct smcplay_link *via, const uint8_t *message);
/* The peer's element on the link; false: it is not known there. */
bool smcplay_place_of(const struct smcplay *s, const struct smcplay_conn *c, const struct smcplay_link *link,
                      struct smcplay_place *out);

/* --- engine.c: the instance, and its devices --- */
int smcplay_engine_open(struct smcplay *s);
void smcplay_engine_close(struct smcplay *s);
/* Timers fire until then; what the engine sends is taken. */
void smcplay_engine_advance(struct smcplay *s, uint64_t until_ns);
/* What can be done now is done. */
void smcplay_engine_work(struct smcplay *s);
/* The next timer fires, if it is due within `most_ns`. False: there is none. */
bool smcplay_engine_jump(struct smcplay *s, uint64_t most_ns);
void smcplay_engine_feed(struct smcplay *s, const struct smcplay_link *l, uint8_t *frame, uint32_t len_bytes);
/* The peer acknowledges what the engine sent up to that PSN. */
void smcplay_engine_ack(struct smcplay *s, struct smcplay_link *l, uint32_t psn);
void smcplay_engine_port(struct smcplay *s, unsigned port, bool is_up);

/* --- match.c: comparing --- */
/* Compares the message in the recorded packet, `at` bytes into it, with the engine's. */
void smcplay_compare(const struct explain_packet *p, uint32_t at, const uint8_t *engine, size_t engine_bytes,
                     struct explain_smc_compared *c);
void smcplay_tell(struct smcplay *s, struct explain_smc_compared *c, enum explain_smc_replay_outcome outcome);
/* "LLC ADD LINK request" of a message's bytes. */
const char *smcplay_message_name(const uint8_t *message);
uint8_t smcplay_link_number(const struct smcplay *s, const struct smcplay_link *l);

/* --- keys.c: the endpoint's own values, recorded and the engine's --- */
/* Keys and addresses, one after the other, that a message tells of: their places in it. */
struct smcplay_key_place {
    uint8_t rkey_at, va_at; /* `va_at` 0: no address */
    uint8_t link_at;        /* the byte that says on which link; 0: the one that carries the message */
};
/* Those of a message of that type; `*count` of them. NULL: it has none. */
const struct smcplay_key_place *smcplay_key_places(const uint8_t *message, unsigned *count);
/* RTokens of an ADD LINK of version 2, as far as they are in the message: how many. */
unsigned smcplay_rtokens(const uint8_t *message);
struct smcr_rtoken2 smcplay_rtoken(const uint8_t *message, unsigned i);
void smcplay_keys_pair(struct smcplay *s, unsigned link, const uint32_t rkey[2], const uint64_t va[2]);
const struct smcplay_key *smcplay_key_of(const struct smcplay *s, unsigned link, uint32_t rkey);
/* What the two messages say of the endpoint's own values, once they were compared. */
void smcplay_keys_learn(struct smcplay *s, struct smcplay_link *l, const uint8_t *recorded,
                        const uint8_t *engine);
/* The endpoint's end of a link was told: the link of the recorded QPN has that one in the engine, unless it
 * has one already. NULL: there is no such link. */
struct smcplay_link *smcplay_link_made(struct smcplay *s, const struct nornic_addr *gid,
                                       uint32_t recorded_qpn, uint32_t engine_qpn);
/* A link of the group of `via` that the engine has; NULL: none. */
struct smcplay_link *smcplay_link_by_number(struct smcplay *s, const struct smcplay_link *via,
                                            uint8_t number);
/* Puts the engine's values into a message of the peer's. */
void smcplay_keys_translate(struct smcplay *s, const struct smcplay_link *l, uint8_t *message);

/* --- clc.c, messages.c: what is recorded, one by one --- */
void smcplay_clc(struct smcplay *s, size_t i, const struct explain_packet *p, struct smcplay_conn *c,
                 bool is_own);
/* The endpoint tells of a key: the connection whose buffer that is has its turn. */
void smcplay_clc_release(struct smcplay *s, uint32_t rkey);
void smcplay_sent(struct smcplay *s, struct smcplay_link *l, const struct explain_packet *p);
void smcplay_got(struct smcplay *s, struct smcplay_link *l, size_t i, const struct explain_packet *p);
/* --- program.c: what the endpoint's program did --- */
void smcplay_program_acts(struct smcplay *s, struct smcplay_conn *c, const struct smcplay_cdc *cdc);

#endif
