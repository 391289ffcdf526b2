/* SPDX-License-Identifier: BSD-2-Clause */
/* What a run of two SMC-R instances does, drawn from a seed: the wires, the connections with what their
 * programs do, and the troubles. */
#ifndef NORNIC_TEST_SIM_SMCR_PLAN_H
#define NORNIC_TEST_SIM_SMCR_PLAN_H

#include "test/smcr_pair/pair.h"

#define SMCR_PLAN_CONNS    16
#define SMCR_PLAN_TROUBLES 8

/* How a program ends its side. */
enum smcr_ending {
    SMCR_END_DRAINED, /* when all is written and the peer's end of stream was read */
    SMCR_END_HALF,    /* shutdown(SHUT_WR) when all is written, close after the end of stream */
    SMCR_END_AT_ONCE, /* close when all is written, whatever the peer still sends */
    SMCR_END_ABORT,   /* smcr_conn_abort() after so many bytes */
    SMCR_END_RST,     /* TCP is reset after so many bytes */
    SMCR_END_COUNT
};

struct smcr_side_plan {
    uint64_t bytes;               /* that it writes */
    uint32_t write_max, read_max; /* each call 1 to so many */
    uint32_t pause_ppm;           /* after a call: sleeps with this probability */
    uint64_t pause_ns;            /* up to so long */
    uint32_t urgent_ppm;          /* a write is urgent */
    uint32_t more_ppm;            /* a write says that more follows */
    enum smcr_ending ending;
    uint64_t ending_after; /* ABORT, RST: bytes written and read */
};

struct smcr_conn_plan {
    uint64_t open_ns;
    unsigned client;
    uint32_t rcvbuf_bytes[2], sndbuf_bytes[2];
    struct smcr_side_plan side[2]; /* by node */
};

enum smcr_trouble_kind {
    SMCR_TROUBLE_CUT, /* the wire of a port dies */
    SMCR_TROUBLE_RESTORE,
    SMCR_TROUBLE_NOMEM, /* the next but `count` allocation of a node fails */
};
struct smcr_trouble {
    enum smcr_trouble_kind kind;
    uint64_t at_ns;
    unsigned node, port, count;
    bool noticed;
};

struct smcr_plan {
    struct pair_config pair;
    struct smcr_conn_plan conn[SMCR_PLAN_CONNS];
    unsigned num_conns;
    struct smcr_trouble trouble[SMCR_PLAN_TROUBLES]; /* in order of time */
    unsigned num_troubles;
    bool resets_allowed; /* something in it may end a connection that did nothing wrong */
    uint64_t limit_ns;   /* all connections are over by then */
};

/* What a plan may have. */
struct smcr_profile {
    unsigned ports_max, conns_max;
    uint64_t bytes_max;    /* of each direction */
    uint32_t loss_ppm_max; /* and duplicates, reordering */
    bool endings, urgent;  /* all endings, not DRAINED and HALF alone */
    bool cuts;             /* ports die, one fabric is always there */
    bool all_cuts;         /* and all of them may be dead at once */
    bool nomem;
    bool both_ways; /* either node opens connections */
    bool tiny;      /* writes and reads of a few bytes among the others */
};

void smcr_plan_draw(struct smcr_plan *plan, uint64_t seed, const struct smcr_profile *profile);
/* One line that says what it is. */
void smcr_plan_print(const struct smcr_plan *plan);

#endif
