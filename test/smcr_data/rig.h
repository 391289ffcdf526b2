/* SPDX-License-Identifier: BSD-2-Clause */
/* One established connection over links that a test plays: what it posts is noted and carried out in a
 * picture of the peer's RMBE, what the peer would send is handed in, posts end when the test says so.
 * Elements may have sizes that no RMB has, like the 10,000 bytes of RFC 7609 4.7. */
#ifndef NORNIC_TEST_SMCR_DATA_RIG_H
#define NORNIC_TEST_SMCR_DATA_RIG_H

#include "smcr/conn/data.h"
#include "test/support/alloc.h"

#define RIG_LINKS     3
#define RIG_LOG       4096
#define RIG_TOKEN     0xc3d40001u /* of the connection */
#define RIG_PEER      0xa1b20001u /* of the peer's */
#define RIG_INDEX     3           /* of our element in its RMB */
#define RIG_PEER_RMBE 7
#define RIG_MS        UINT64_C(1000000)

/* A post: an RDMA write, or a CDC. */
struct rig_post {
    unsigned link; /* 0.. */
    bool is_cdc;
    struct smcr_cdc cdc;
    uint8_t message[SMCR_MSG_BYTES];
    uint32_t offset_bytes; /* of a write, in the peer's element */
    uint32_t len_bytes;
    uint8_t *bytes; /* of a write that has not been carried out */
};

struct rig {
    struct smcr smcr;
    struct smcr_group group;
    struct smcr_rmb rmb;
    struct smcr_peer_rmb peer_rmb;
    struct smcr_send_buf buf;
    struct smcr_conn *conn;
    struct test_alloc alloc;
    struct rdma_mr mr[RIG_LINKS], *mrs[RIG_LINKS];
    uint8_t *rmb_bytes, *buf_bytes;
    uint8_t *peer_elem; /* as the writes made it */
    uint32_t peer_token;
    uint32_t eye; /* what stands before our element */

    struct rig_post log[RIG_LOG];
    unsigned num_log;
    unsigned seen;      /* entries that rig_next() has returned */
    unsigned completed; /* entries whose end was reported */
    bool is_deferred;   /* writes are carried out by rig_carry_out() */

    /* The peer, as sender. */
    uint16_t peer_seq;
    struct smcr_cursor peer_producer, peer_consumer;

    unsigned events; /* all so far */
    unsigned tcp_resets, links_failed, links_tested;
    bool is_abandoned, elem_is_back, group_is_left;
    bool test_fails; /* a TEST LINK cannot be sent: the last link is lost, and the connection with it */
    uint64_t now_ns;
};

/* ACTIVE on link 0. The send buffer is `sndbuf_bytes`, a power of two. */
struct rig *rig_new(uint32_t elem_bytes, uint32_t peer_elem_bytes, uint32_t sndbuf_bytes);
/* The same, before smcr_conn_activate(). */
struct rig *rig_new_in_handshake(uint32_t elem_bytes, uint32_t peer_elem_bytes, uint32_t sndbuf_bytes);
/* As if so many bytes had gone each way, all of them read and reported, in `seq` CDCs of ours. Before
 * anything else. */
void rig_at(struct rig *rig, uint64_t sent, uint64_t received, uint16_t seq);
/* Ends the connection too, and looks for leaks. */
void rig_free(struct rig *rig);

/* The next post that the test has not seen, or NULL. */
const struct rig_post *rig_next(struct rig *rig);
/* The next CDC; writes before it are passed over. */
const struct smcr_cdc *rig_next_cdc(struct rig *rig);
/* How many writes, and how many CDCs, were posted and not seen. */
unsigned rig_unseen(const struct rig *rig, bool cdcs);
/* Up to `n` CDCs that are posted end well; returns how many there were. */
unsigned rig_complete(struct rig *rig, unsigned n);
static inline unsigned rig_complete_all(struct rig *rig)
{
    return rig_complete(rig, RIG_LOG);
}
/* An RDMA write reaches the peer's memory, if it has not. */
void rig_carry_out(struct rig *rig, unsigned entry);
/* Begins the log again; all of it has completed. */
void rig_forget(struct rig *rig);
/* A link has room for so many posts; and the first that waits for it is told, as after a completion. */
void rig_room(struct rig *rig, unsigned link, uint32_t posts);
void rig_kick(struct rig *rig, unsigned link);
/* The link that it sends over fails: all that is posted ends badly, then smcr_move_lost(). */
void rig_lose_link(struct rig *rig);

/* A CDC of ours ended. The connection is killed; moves in order; is established, after
 * rig_new_in_handshake(). */
void rig_cdc_ended(struct rig *rig, const struct rig_post *post, bool ok);
void rig_kill(struct rig *rig, const char *cause);
void rig_move(struct rig *rig, unsigned link);
void rig_activate(struct rig *rig);

/* The flags and cursors of the peer's next CDC: those of its last one. */
struct smcr_cdc rig_peer_cdc(struct rig *rig);
void rig_take(struct rig *rig, const struct smcr_cdc *cdc);
/* The peer writes `n` bytes and tells, with these changes to the CDC. */
void rig_peer_sends(struct rig *rig, const void *bytes, uint32_t n);
void rig_peer_writes(struct rig *rig, const void *bytes, uint32_t n); /* and does not tell */
/* It tells that it has read all that was posted, or `n` bytes. */
void rig_peer_reads(struct rig *rig, uint32_t n);
void rig_peer_flag(struct rig *rig, bool done, bool closed, bool aborted);

/* Time passes, timers fire. */
void rig_wait(struct rig *rig, uint64_t ns);
/* What happened since the last call: enum smcr_event. */
unsigned rig_events(struct rig *rig);
ssize_t rig_send(struct rig *rig, const void *bytes, size_t n, unsigned flags);
ssize_t rig_recv(struct rig *rig, void *bytes, size_t n, unsigned flags);
void rig_close(struct rig *rig);

#endif
