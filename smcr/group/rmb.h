/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of a link group: the RMBs that the peer writes into, what we know of the peer's, and the send
 * buffers. SMCR section 13, SMCR-RKY-01. A key is valid on one link only, so all of it has a column per
 * link slot. */
#ifndef NORNIC_SMCR_RMB_H
#define NORNIC_SMCR_RMB_H

#include "smcr/instance.h"

#define SMCR_LINK_SLOTS     9   /* 8 symmetric links and an asymmetric one: SMCR-ARC-14, ARC-16 */
#define SMCR_MAX_RMBS       255 /* of each peer in a group: SMCR-RKY-10 */
#define SMCR_MAX_ELEMS      255 /* of an RMB: SMCR-RMB-01 */
#define SMCR_PAGE_BYTES     4096
#define SMCR_EYE_BYTES      4
#define SMCR_MIN_ELEM_BYTES (16u << 10)
#define SMCR_MAX_ELEM_BYTES (512u << 10)

struct smcr_group;
struct smcr_link;

struct smcr_rtoken {
    uint32_t rkey;
    uint64_t va;
    bool is_known;
};

/* One of ours. `elems[i]` is the connection that has element i + 1, or NULL. */
struct smcr_rmb {
    struct smcr_group *group;
    struct smcr_rmb *next;
    uint8_t *block; /* what was allocated for: */
    uint8_t *bytes; /* num_elems * elem_bytes, page-aligned */
    uint32_t elem_bytes;
    unsigned num_elems, used;
    struct smcr_conn *elems[SMCR_MAX_ELEMS];
    bool is_dirty[SMCR_MAX_ELEMS];       /* it was used: zeroed before it is used again */
    struct rdma_mr *mr[SMCR_LINK_SLOTS]; /* remote write only (SMCR-ENG-05) */
    bool is_confirmed;                   /* the peer knows its RTokens of all links (SMCR-RKY-03) */
    bool is_deleting;                    /* it goes: DELETE RKEY is out, or will be */
    bool is_doubtful;       /* DELETE RKEY was lost with its link: the peer may know it, or not */
    uint64_t idle_since_ns; /* while none is used */
};

/* One of the peer's. `elems[i]`: our connection that writes into its element i + 1. */
struct smcr_peer_rmb {
    struct smcr_peer_rmb *next;
    struct smcr_rtoken token[SMCR_LINK_SLOTS];
    struct smcr_conn *elems[SMCR_MAX_ELEMS];
};

/* A send buffer: a ring of a power of two bytes, read by the RDMA engine. */
struct smcr_send_buf {
    struct smcr_send_buf *next, *next_free; /* of all of the group; of those not in use */
    uint8_t *bytes;
    uint32_t size_bytes;
    struct rdma_mr *mr[SMCR_LINK_SLOTS];
};

/* The RMBE size for a TCP receive buffer: SMCR-RMB-03; and its Bsize code and back (0: not one). */
uint32_t smcr_elem_bytes_for(uint32_t rcvbuf_bytes);
uint8_t smcr_bsize_of(uint32_t elem_bytes);
uint32_t smcr_elem_bytes_of(uint8_t bsize);

/* Gives `conn` an element of its size (conn->rmb, conn->rmb_index), zeroed, with its eye catcher
 * (SMCR-RMB-05). 0: ready. -EINPROGRESS: a new RMB waits for its CONFIRM RKEY; SMCR_CONN_RMB follows,
 * with conn->rmb NULL when it never will be. -ENOSPC: 255 RMBs (SMCR-SC-12). -ENOMEM. */
int smcr_rmb_get_elem(struct smcr_group *group, struct smcr_conn *conn);
/* Gives it back; the RMB that has none in use goes after rmb_idle_ns (SMCR-RKY-07). */
void smcr_rmb_put_elem(struct smcr_conn *conn, uint64_t now_ns);
/* The RMB with that key on one of the links goes now, if it is one that no connection uses. */
void smcr_rmb_give_back(struct smcr_group *group, uint32_t rkey);
static inline uint8_t *smcr_elem(const struct smcr_rmb *rmb, uint8_t index)
{
    return rmb->bytes + (size_t)(index - 1) * rmb->elem_bytes;
}
/* SMCR-RMB-07. */
bool smcr_elem_is_sound(const struct smcr_rmb *rmb, uint8_t index);

/* The peer's RMB by its RToken on a link; makes it if `may_add` and it is new. NULL: unknown, or no memory,
 * or 255 of them. */
struct smcr_peer_rmb *smcr_peer_rmb_find(struct smcr_group *group, const struct smcr_link *link,
                                         uint32_t rkey, uint64_t va, bool may_add);

/* Frees one that no connection writes to any more: the peer took it back (SMCR-LLC-61). */
void smcr_peer_rmb_free(struct smcr_group *group, struct smcr_peer_rmb *rmb);
/* The one of that R_Key on that link; NULL: unknown. */
struct smcr_peer_rmb *smcr_peer_rmb_by_key(const struct smcr_group *group, const struct smcr_link *link,
                                           uint32_t rkey);

/* Its CONFIRM RKEY was answered: the connections that wait for it go on. */
void smcr_rmb_confirmed(struct smcr_rmb *rmb);
/* The peer does not know it any more, or never will: frees it. Connections that waited for it go without. */
void smcr_rmb_deleted(struct smcr_rmb *rmb);

/* A send buffer of at least so many bytes, registered on every link of the group; taken from the group's
 * free ones where one fits. NULL: no memory. */
struct smcr_send_buf *smcr_send_buf_get(struct smcr_group *group, uint32_t size_bytes);
void smcr_send_buf_put(struct smcr_group *group, struct smcr_send_buf *buf);

/* For a new group, and one that is freed. */
void smcr_rmb_init(struct smcr_group *group);
void smcr_rmb_deinit(struct smcr_group *group);
/* Those of ours that the peer knows: what ADD LINK CONTINUATION lists (SMCR-LLC-37). The first, the next. */
struct smcr_rmb *smcr_rmb_known(struct smcr_rmb *rmb);
unsigned smcr_rmb_count_known(const struct smcr_group *group);

void smcr_send_bufs_deinit(struct smcr_group *group);

/* A region of the link's domain for `bytes`, if the link has one and `*out` is NULL. 0 or -errno. */
int smcr_mr_make(struct smcr_link *link, uint8_t *bytes, uint64_t len_bytes, uint32_t access,
                 struct rdma_mr **out);
void smcr_mr_free(struct smcr_link *link, struct rdma_mr **mr);

/* Registers, or deregisters, all of a group's memory for a link slot. 0 or -errno with nothing left. */
int smcr_group_register(struct smcr_group *group, struct smcr_link *link);
void smcr_group_deregister(struct smcr_group *group, struct smcr_link *link);

#endif
