/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the replay of iWARP. Only explain/replay/iwarp/ includes this.
 *
 * A connection is a list of events in the order of the capture: streams.c makes them. The messages of the
 * recorded end come from them, and those of the engine from its output, by the same reader: messages.c.
 * learn.c says which memory, receives and refusals the end must have had; engine.c plays it; compare.c
 * compares, each class of messages in its own order: which of a request and an answer goes first is free. */
#ifndef NORNIC_EXPLAIN_REPLAY_IWARP_TYPES_H
#define NORNIC_EXPLAIN_REPLAY_IWARP_TYPES_H

#include "explain/replay/iwarp/values.h"
#include "explain/replay/tape.h"
#include "explain/tcp/stream.h"
#include "iwarp/qp.h"
#include "rdma/transport.h"

/* A longer READ of the end is not posted again. */
#define IWR_READ_BYTES_MAX (16u << 20)

enum iwr_kind {
    IWR_FRAME, /* of MPA */
    IWR_FPDU,  /* from ULPDU_Length to CRC */
    IWR_REST,  /* octets that are not a whole FPDU, before a FIN */
    IWR_FIN,
    IWR_RST,
};

struct iwr_event {
    enum iwr_kind kind;
    uint8_t side;    /* 0: the end that sent the SYN */
    uint64_t number; /* of the packet that completes it */
    uint64_t time_ns;
    uint8_t *bytes; /* owned */
    uint32_t len_bytes;
    bool has_bad_crc;
    bool is_refused; /* an FPDU that the recorded end's Terminate is about */
};

/* One direction of a TCP connection. */
struct iwr_way {
    struct explain_stream stream;
    bool has_frame, is_lost, has_fin, is_over;
    uint64_t fin_at; /* position of the FIN */
};

/* One TCP connection of the capture. */
struct iwr_conn {
    struct nornic_addr addr[2];
    uint16_t port[2];
    struct iwr_way way[2];
    bool is_closed, has_crc, has_markers;
    struct iwr_event *events;
    size_t event_count, event_cap;
};

struct iwr_conns {
    struct iwr_conn **items; /* each owned */
    size_t count, cap;
};

/* The class of a message: messages of one class keep their order. */
enum iwr_class { IWR_SOURCE, IWR_ANSWER, IWR_TERM, IWR_CLASS_COUNT };

struct iwr_message {
    uint64_t number; /* of the packet that completes it; 0: it is the engine's */
    uint64_t cause;  /* of the engine's: the last packet that it had got */
    size_t event;    /* of a recorded one: the event of its first segment */
    uint8_t opcode;
    bool is_tagged, is_whole, has_bad_crc;
    uint32_t stag, qn, msn, inv_stag;
    uint64_t to;
    uint8_t *data; /* owned */
    uint32_t len_bytes;
    size_t data_cap;
    uint32_t segments, longest; /* ULPDU */
};

struct iwr_messages {
    struct iwr_message *items[IWR_CLASS_COUNT];
    size_t count[IWR_CLASS_COUNT], cap[IWR_CLASS_COUNT];
};

/* A region that the peer named. */
struct iwr_region {
    uint32_t stag; /* as recorded */
    uint64_t from, to;
    uint32_t access;
    bool is_invalidated;
    uint8_t *bytes; /* owned */
    struct rdma_mr *mr;
};

/* A READ of the end: the place of its data. */
struct iwr_sink {
    uint64_t recorded_to, engine_to;
    uint32_t engine_stag;
    bool is_asked; /* by the engine, too */
};

/* The recorded end of a connection, and the engine in its place. */
struct iwr_end {
    const struct iwr_conn *conn;
    uint8_t side; /* of the end */
    struct iwr_messages recorded, engine;
    struct iwr_region *regions;
    size_t region_count;
    uint32_t *recv_bytes; /* owned: of each receive, in order */
    size_t recv_count;
    bool has_refused_message; /* there is no receive beyond these */
    uint8_t *arena;           /* owned: of sends, receives and READs */
    size_t arena_bytes, arena_used;
    uint32_t longest;             /* ULPDU */
    size_t rtr;                   /* how many of the first of IWR_SOURCE are the RTR: 0 or 1 */
    size_t posted, requests_seen; /* of the recorded source; READ REQUESTs of the peer */
    struct iwr_sink *sinks;       /* owned: one a READ of the end, in order */
    size_t sink_count, sinks_asked, sinks_done;
    uint64_t fin_cause; /* number of the packet with the peer's FIN or end; 0: none */
    uint64_t cause, now_ns, random;
    uint64_t work_requests, fed;
    unsigned nudges; /* of the engine: IWARP_NUDGE_NS */
    /* the engine */
    struct rdma_domain *domain;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct rdma_mr *arena_mr;
    struct iwarp_qp *qp;
    uint8_t *out; /* owned: the bytes that the engine has sent and that are not read yet */
    size_t out_bytes, out_cap;
    uint8_t *frame; /* owned: its MPA frame */
    size_t frame_bytes;
    uint64_t frame_cause;
};

#endif
