/* SPDX-License-Identifier: BSD-2-Clause */
/* Two SMC-R instances under one virtual clock: RoCE devices on simulated wires, and TCP connections that
 * carry what the test wants, when it wants. No Criterion in here: fuzzers use it too. */
#ifndef NORNIC_TEST_SMCR_PAIR_PAIR_H
#define NORNIC_TEST_SMCR_PAIR_PAIR_H

#include "smcr/smcr.h"
#include "test/sim/link.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

#define PAIR_PORTS_MAX 3
#define PAIR_US        UINT64_C(1000)
#define PAIR_MS        UINT64_C(1000000)
#define PAIR_S         UINT64_C(1000000000)

struct pair;

enum pair_topology {
    PAIR_SWITCH, /* one network: every port reaches every other */
    PAIR_CABLES, /* port i reaches port i of the other node and nothing else; a subnet each */
};

/* Zero means the default where one is named. */
struct pair_config {
    uint64_t seed;
    enum pair_topology topology;
    unsigned ports[2]; /* of each node, 1..3; default 1 */
    bool no_ports[2];  /* a node without any */
    bool scripted[2];  /* a node without an instance: the test plays it */
    bool ipv6;
    uint16_t vlan_id;
    enum nornic_mtu path_mtu[2];               /* default 1024; the port's MTU is 9000 */
    bool moves_trains;                         /* so the ports say; frames are single ones all the same */
    struct sim_link_config wire;               /* of every port's sending direction; default: 5 us of delay */
    uint64_t tcp_delay_ns;                     /* default 20 us */
    uint32_t tcp_chunk_bytes;                  /* TCP delivers in pieces of so many bytes; 0: as sent */
    uint32_t rcvbuf_bytes[2], sndbuf_bytes[2]; /* of connections; default: the core's */
    struct smcr_config smcr[2];                /* templates: what has to be there is filled in */
    bool ladder;                               /* print every message and state to stderr */
    roce_trace_hook *roce_trace; /* sees what the devices do; its context is the port. May be NULL */
    void *roce_trace_ctx;        /* for it */
};

/* Bytes on their way in one direction of a TCP connection. */
struct pair_segment {
    struct pair_segment *next;
    uint64_t due_ns;
    enum { PAIR_TCP_BYTES, PAIR_TCP_FIN, PAIR_TCP_RST } kind;
    size_t len_bytes;
    uint8_t bytes[];
};

/* One end of a TCP connection, with what is on its way to it. */
struct pair_end {
    struct pair *pair;
    struct pair_conn *c;
    unsigned node;
    enum smcr_role role;
    struct smcr_conn *conn; /* NULL: scripted, not made, or given back and over */
    bool given_back;
    unsigned events; /* all that came: enum smcr_event; the test may clear it */
    bool reset_sent; /* the core ended TCP with RST */
    bool fin_sent, fin_seen, rst_seen;
    bool held; /* nothing is delivered to this end for now */
    struct pair_segment *head, **tail;
    uint8_t *plain; /* what TCP brought that is not the core's: a scripted end's, or after a fallback */
    size_t plain_bytes, plain_read;
    uint8_t *unread; /* given to the core, which did not take it yet */
    size_t unread_bytes;
    uint64_t tx_pos, rx_pos; /* of the pattern: pair_pump(), pair_drain() */
    uint64_t tx_offered;     /* by the smcr_conn_send() that runs, or ran last */
    bool eof;                /* pair_drain() saw the end of the stream */
    int error;               /* and what it got else: -ECONNRESET and such */
};

struct pair_conn {
    struct pair_conn *next;
    unsigned id;
    struct pair_end end[2]; /* by node */
};

struct pair_port {
    struct pair_node *node;
    unsigned index;
    struct roce_dev *dev;
    struct nornic_mac mac;
    struct nornic_addr addr;
    unsigned sgid_index;
    struct smcr_port *port; /* NULL: a scripted node's, or not added */
    struct sim_link *wire;  /* what it has sent */
    bool cut, told_up;      /* told_up: what the instance believes */
    bool notice;            /* the instance hears of `cut` at the next step */
};

struct pair_node {
    struct pair *pair;
    unsigned index, num_ports;
    struct test_alloc alloc; /* of the instance */
    struct test_alloc dev_alloc;
    struct test_random random;
    struct smcr *smcr;
    struct pair_port port[PAIR_PORTS_MAX];
    unsigned live_before; /* allocations of the instance once it and its ports stood */
    uint64_t sent[256];   /* LLC and CDC messages by type */
};

struct pair {
    struct pair_config config;
    uint64_t now_ns;
    struct pair_node node[2];
    struct pair_conn *conns;
    unsigned num_conns;
    uint16_t next_tcp_port;
    /* Called after anything happened; returns whether it did something itself. May be NULL. */
    bool (*app)(void *ctx, struct pair *pair);
    void *app_ctx;
    uint64_t app_next_ns; /* it wants to be called then at the latest; 0: no */
    /* Sees every trace of the instances. Must not call into them; pair_cut() is fine. May be NULL. */
    void (*on_trace)(void *ctx, struct pair_node *node, const struct smcr_trace *trace);
    void *trace_ctx;
    /* Sees what leaves: a RoCE frame (`end` is NULL), or what an instance sends over TCP. May be NULL. */
    void (*on_wire)(void *ctx, const struct pair_end *end, const uint8_t *bytes, size_t len_bytes);
    void *wire_ctx;
    bool failed;
    char failure[400]; /* the first thing that went wrong */
    uint8_t *tx_bytes; /* buffers that devices build frames in */
};

/* --- the pair --- */

/* Ends the program if it cannot be made. Allocations of the instances do not fail before this returns. */
struct pair *pair_new(const struct pair_config *config);
/* Ends everything. Returns NULL, or what went wrong first: a leak too. The words live until the next call. */
const char *pair_free(struct pair *pair);
/* Allocations that the instance of a node has beyond those at its start, and what its ports keep. */
int pair_held(const struct pair_node *node);
/* Remembers the first failure, as one line. */
void pair_fail(struct pair *pair, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Everything that happens until the virtual clock stands so much later. */
void pair_run_for(struct pair *pair, uint64_t ns);
/* Until `is_it` says yes. False: it did not within `max_ns`. */
bool pair_run_until(struct pair *pair, bool (*is_it)(void *ctx, struct pair *pair), void *ctx,
                    uint64_t max_ns);
/* Until nothing is on its way, no device retries, and no instance has a timer within a second: at most
 * `max_ns`. Returns whether it came to that. */
bool pair_settle(struct pair *pair, uint64_t max_ns);
/* What is due now, without time passing. */
void pair_now(struct pair *pair);

/* A port's wire dies: frames on it and those sent later are lost, both ways. `noticed`: the node's instance
 * is told (SMCR-ENG-08); else only the silence tells. And it comes back. Fine inside on_trace. */
void pair_cut(struct pair *pair, unsigned node, unsigned port, bool noticed);
void pair_restore(struct pair *pair, unsigned node, unsigned port);
/* Gives the node one port more. */
void pair_add_port(struct pair *pair, unsigned node);
/* And takes the last one, links and all. */
void pair_remove_port(struct pair *pair, unsigned node);

/* --- connections --- */

/* A TCP connection that `client` opened, both options seen: both ends are handed to their instances. */
struct pair_conn *pair_open(struct pair *pair, unsigned client);
/* The same, run until both ends are established; NULL: they were not within 10 s. */
struct pair_conn *pair_connect(struct pair *pair, unsigned client);
bool pair_is_established(const struct pair_conn *c);
bool pair_is_fallback(const struct pair_conn *c);
/* Both ends were given back and are over. */
bool pair_is_over(const struct pair_conn *c);

/* The application closes: gives the end back. It goes on by itself until it is over, then TCP is closed. */
void pair_close(struct pair_end *end);

/* The stream of an end is a pattern of its own. Sends the next up to `max` bytes of it: how many, or what
 * smcr_conn_send() said. After a fallback it goes over TCP. */
ssize_t pair_pump(struct pair_end *end, size_t max_bytes, unsigned flags);
/* Reads and checks up to `max` bytes of the peer's: how many, 0 at the end, or what smcr_conn_recv() said. A
 * wrong byte is a failure. */
ssize_t pair_drain(struct pair_end *end, size_t max_bytes);
/* Pumps `n` bytes at `from` and drains them at the other end. False: not all came within `max_ns`. */
bool pair_transfer(struct pair *pair, struct pair_end *from, uint64_t n, uint64_t max_ns);
static inline struct pair_end *pair_other(struct pair_end *end)
{
    return &end->c->end[!end->node];
}

/* What a node's program, or its kernel, does with TCP: bytes, FIN, and an RST that `end` receives. */
void pair_tcp_send(struct pair_end *end, const uint8_t *bytes, size_t len_bytes);
void pair_tcp_fin(struct pair_end *end);
void pair_tcp_rst(struct pair_end *end);

#endif
