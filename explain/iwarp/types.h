/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the analysis: connections of iWARP, and the view of one packet. Of two sides, [0] is the end that
 * asked for the connection. Only explain/iwarp/ includes this. */
#ifndef NORNIC_EXPLAIN_IWARP_TYPES_H
#define NORNIC_EXPLAIN_IWARP_TYPES_H

#include "explain/meaning/meaning.h"
#include "explain/tcp/segment.h"
#include "explain/tcp/stream.h"
#include "iwarp/wire/opcode.h"
#include "iwarp/wire/size.h"
#include "iwarp/wire/wire.h"

#define IWARP_ASKED_MAX   256 /* Reads and atomics of a side that wait for their answers */
#define IWARP_SENT_MAX    256 /* messages of a side that TCP has not acknowledged */
#define IWARP_SEEN_MAX    32  /* segments of a side that are known again */
#define IWARP_BUCKETS     16384
#define IWARP_PLAIN_BYTES (UINT16_MAX + IWARP_MPA_LENGTH_BYTES + 3 + IWARP_MPA_CRC_BYTES)
#define IWARP_RAW_BYTES   (IWARP_PLAIN_BYTES + (IWARP_PLAIN_BYTES / 508 + 2) * IWARP_MARKER_BYTES)

/* A message in several segments: of a queue, or tagged. */
struct iwarp_open {
    bool is_open;
    uint8_t opcode;
    uint32_t stag; /* of a tagged one */
    uint64_t to;   /* the place of its next segment; of an untagged one its MO */
    uint64_t bytes, message;
    uint64_t number; /* of the packet that began it */
    struct explain_stream_origin origin;
    uint32_t fpdus;
    bool is_doubtful; /* its beginning may be in a hole of the capture */
};

/* A message that ends before `end`. */
struct iwarp_sent {
    uint64_t end;
    struct explain_iwarp_done is;
};

/* One of the queues of untagged messages. */
struct iwarp_order {
    bool is_known;
    uint32_t next_msn;
    struct iwarp_open open;
};

/* A Read or an atomic that was asked for. */
struct iwarp_asked {
    uint64_t number, time_ns;
    struct explain_iwarp_done is;
    uint32_t msn, stag, size; /* `stag` and `to`: the place of the data of a Read */
    uint64_t to, done;
    uint32_t request_id; /* of an atomic */
    bool is_atomic;
};

/* A segment that was seen. */
struct iwarp_seen {
    uint64_t from, number;
    uint32_t len;
    uint16_t ip_id;
    bool has_ip_id;
};

/* The FPDUs of one side, as far as they are found in its stream. */
struct iwarp_framing {
    bool has_begun;  /* its MPA frame is behind the reader: FPDUs follow */
    bool is_lost;    /* the begin of the next FPDU is not known */
    bool is_trusted; /* the place of the FPDUs is sure */
    bool has_markers;
    uint64_t origin;   /* the first position behind the MPA frame: markers count from here */
    uint64_t tried;    /* while lost: no FPDU begins before it */
    uint64_t begun_at; /* the newest FPDU that was told of when it began; UINT64_MAX: none */
};

/* The Reads and atomics of one side that have no answer. */
struct iwarp_asks {
    struct iwarp_asked *list; /* a ring of IWARP_ASKED_MAX, in the order of the requests; NULL: none was */
    uint32_t first, count;
    bool has_forgotten;
};

/* The stream of one side. */
struct iwarp_half {
    struct explain_stream stream;
    struct iwarp_framing framing;
    bool is_heard; /* a segment of it was seen: the capture may have one direction alone */
    bool is_holey; /* the capture lacks bytes of it: these may explain an apparent error */
    struct iwarp_mpa_frame frame;
    struct iwarp_mpa_enhanced enhanced; /* zero if there is none */
    uint64_t frame_number;              /* of the packet that completes it */
    struct iwarp_order order[IWARP_QN_COUNT];
    struct iwarp_open write, response;
    struct iwarp_asks asked;
    struct iwarp_sent *sent; /* a ring of IWARP_SENT_MAX, in their order; NULL: none was */
    uint32_t sent_first, sent_count;
    uint64_t terminate_number;              /* of the packet with its Terminate; 0: none */
    uint64_t fin_at;                        /* its FIN stands there; UINT64_MAX: none was seen */
    struct iwarp_seen seen[IWARP_SEEN_MAX]; /* a ring */
    unsigned next_seen;
};

struct iwarp_conn {
    struct iwarp_conn *next_by_ends;  /* in a chain */
    struct iwarp_conn *older, *newer; /* by their last packets */
    struct iwarp_conn *next_by_id;
    size_t counted_bytes; /* of memory */
    bool has_syn;
    bool is_closed;     /* another one is between its ends now */
    bool is_recognised; /* else it is a TCP connection of which nothing but the beginning was seen */
    bool is_rtr_due;    /* the Reply asks for an RTR message, which did not come yet */
    struct explain_iwarp_conn shown;
    struct iwarp_half half[2];
};

struct explain_iwarp {
    size_t max_bytes;
    struct iwarp_conn *buckets[IWARP_BUCKETS]; /* by ends */
    struct iwarp_conn *by_id[IWARP_BUCKETS];
    struct iwarp_conn *oldest, *newest;
    size_t bytes; /* of memory, as counted when they were last touched */
    uint32_t conn_count, forgotten_count;
    uint32_t ending, ending_asked; /* the place of the end: connections, and the open requests of one */
    uint8_t raw[IWARP_RAW_BYTES], plain[IWARP_PLAIN_BYTES];
};

/* An FPDU, as far as it is there. */
struct iwarp_fpdu {
    uint64_t at;                         /* position in its stream */
    struct explain_stream_origin origin; /* of its first byte */
    uint32_t raw_bytes;                  /* of it with its markers */
    uint32_t ulpdu_len;
    const uint8_t *plain; /* without markers, from ULPDU_Length on; */
    uint32_t known;       /* so much of it is there */
    enum explain_crc crc;
    bool has_ctrl, has_ddp, has_header; /* DDP header; that of RDMAP */
    struct iwarp_ctrl ctrl;
    struct iwarp_tagged tagged;
    struct iwarp_untagged untagged;
    const struct iwarp_opcode *op; /* NULL: reserved */
    uint32_t header_at;            /* the first byte behind the DDP header, in `plain` */
    uint32_t payload;              /* bytes behind the DDP header; 0 without one */
    uint64_t message;              /* number; 0: of none */
    bool is_rtr;
};

/* The view of one packet. */
struct iwarp_view {
    struct explain_iwarp *w;
    struct explain_packet *packet;
    struct explain_meaning *m;
    struct iwarp_conn *conn;
    unsigned side; /* of the sender */
    struct explain_segment segment;
    uint64_t from;   /* position of its first byte */
    unsigned told;   /* FPDUs that the words tell of */
    unsigned untold; /* and others, */
    bool is_silent;  /* of which the newest one is */
};

static inline bool iwarp_is_tagged(const struct iwarp_opcode *op)
{
    return op->flags & IWARP_MSG_TAGGED;
}

static inline struct iwarp_half *iwarp_half_of(const struct iwarp_view *v)
{
    return &v->conn->half[v->side];
}

static inline struct iwarp_half *iwarp_other_half(const struct iwarp_view *v)
{
    return &v->conn->half[!v->side];
}

#endif
