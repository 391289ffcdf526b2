/* SPDX-License-Identifier: BSD-2-Clause */
/* Our RMBs: pools of receive buffers that grow by one RMB when no element is free, and shrink when one was
 * not used for a while. SMCR section 13, SMCR-RKY-02 to RKY-07. */
#include "base/base.h"
#include "smcr/group/rmb.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "smcr/conn/conn.h"

/* Private to us (SMCR-RMB-08): a peer that writes offsets 0 to 3 of an element destroys it. */
static const uint8_t eye_catcher[SMCR_EYE_BYTES] = {0x4e, 0x6f, 0x52, 0x6e};

/* --- sizes: SMCR-CLC-31, RMB-03 --- */

uint32_t smcr_elem_bytes_for(uint32_t rcvbuf_bytes)
{
    uint32_t size = SMCR_MIN_ELEM_BYTES;
    while (size < SMCR_MAX_ELEM_BYTES && size - SMCR_EYE_BYTES < rcvbuf_bytes)
        size *= 2;
    return size;
}

uint32_t smcr_elem_bytes_of(uint8_t bsize)
{
    uint32_t size = bsize < 8 ? SMCR_MIN_ELEM_BYTES << bsize : 0;
    return size <= SMCR_MAX_ELEM_BYTES ? size : 0;
}

uint8_t smcr_bsize_of(uint32_t elem_bytes)
{
    uint8_t bsize = 0;
    while (smcr_elem_bytes_of(bsize) < elem_bytes)
        bsize++;
    return bsize;
}

/* --- RMBs --- */

static void free_rmb(struct smcr_rmb *rmb)
{
    struct smcr_group *group = rmb->group;
    struct rdma_mem *mem = &group->smcr->mem, *buffers = &group->smcr->buffers;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        smcr_mr_free(&group->links[i], &rmb->mr[i]);
    buffers->free(buffers->ctx, rmb->block);
    mem->free(mem->ctx, rmb);
}

static void unlink_rmb(struct smcr_rmb *rmb)
{
    struct smcr_rmb **at = &rmb->group->rmbs;
    while (*at != rmb)
        at = &(*at)->next;
    *at = rmb->next;
    rmb->group->num_rmbs--;
}

static struct smcr_rmb *alloc_rmb(struct smcr_group *group, uint32_t elem_bytes)
{
    struct rdma_mem *mem = &group->smcr->mem, *buffers = &group->smcr->buffers;
    struct smcr_rmb *rmb = mem->alloc(mem->ctx, sizeof *rmb);
    if (!rmb)
        return NULL;
    rmb->group = group;
    rmb->elem_bytes = elem_bytes;
    rmb->num_elems = group->smcr->config.elems_per_rmb;
    rmb->block = buffers->alloc(buffers->ctx, (size_t)rmb->num_elems * elem_bytes + SMCR_PAGE_BYTES);
    if (!rmb->block) {
        mem->free(mem->ctx, rmb);
        return NULL;
    }
    uintptr_t page = ((uintptr_t)rmb->block + SMCR_PAGE_BYTES - 1) & ~(uintptr_t)(SMCR_PAGE_BYTES - 1);
    rmb->bytes = (uint8_t *)page;
    return rmb;
}

/* Registered on every link before it is told of: SMCR-RKY-02. */
static struct smcr_rmb *make_rmb(struct smcr_group *group, uint32_t elem_bytes)
{
    struct smcr_rmb *rmb = alloc_rmb(group, elem_bytes);
    if (!rmb)
        return NULL;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (smcr_mr_make(&group->links[i], rmb->bytes, (uint64_t)rmb->num_elems * elem_bytes,
                         NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE, &rmb->mr[i])) {
            free_rmb(rmb);
            return NULL;
        }
    struct smcr_rmb **end = &group->rmbs;
    while (*end)
        end = &(*end)->next;
    *end = rmb;
    group->num_rmbs++;
    return rmb;
}

struct smcr_rmb *smcr_rmb_known(struct smcr_rmb *rmb)
{
    while (rmb && (!rmb->is_confirmed || rmb->is_doubtful))
        rmb = rmb->next;
    return rmb;
}

unsigned smcr_rmb_count_known(const struct smcr_group *group)
{
    unsigned count = 0;
    for (struct smcr_rmb *rmb = smcr_rmb_known(group->rmbs); rmb; rmb = smcr_rmb_known(rmb->next))
        count++;
    return count;
}

/* --- elements --- */

static bool has_room(const struct smcr_rmb *rmb)
{
    bool has_served = rmb->group->smcr->config.rmbs_serve_once && rmb->used == 0 && rmb->is_dirty[0];
    return rmb->used < rmb->num_elems && !rmb->is_deleting && !has_served;
}

static struct smcr_rmb *with_room(const struct smcr_group *group, uint32_t elem_bytes)
{
    struct smcr_rmb *found = NULL;
    for (struct smcr_rmb *rmb = group->rmbs; rmb; rmb = rmb->next)
        if (rmb->elem_bytes == elem_bytes && has_room(rmb) &&
            (!found || rmb->is_confirmed > found->is_confirmed))
            found = rmb;
    return found;
}

/* SMCR-RMB-05, SEC-09. */
static void give_elem(struct smcr_rmb *rmb, struct smcr_conn *conn)
{
    unsigned i = 0;
    while (rmb->elems[i])
        i++;
    uint8_t *elem = smcr_elem(rmb, (uint8_t)(i + 1));
    if (rmb->is_dirty[i])
        memset(elem, 0, rmb->elem_bytes);
    if (smcr_cursor_start(rmb->group->version) > 0)
        memcpy(elem, eye_catcher, sizeof eye_catcher);
    rmb->is_dirty[i] = true;
    rmb->elems[i] = conn;
    rmb->used++;
    conn->rmb = rmb;
    conn->rmb_index = (uint8_t)(i + 1);
}

int smcr_rmb_get_elem(struct smcr_group *group, struct smcr_conn *conn)
{
    uint32_t elem_bytes = smcr_elem_bytes_for(conn->config.rcvbuf_bytes);
    struct smcr_rmb *rmb = with_room(group, elem_bytes);
    if (rmb) {
        give_elem(rmb, conn);
        return rmb->is_confirmed ? 0 : -EINPROGRESS;
    }
    if (group->num_rmbs >= SMCR_MAX_RMBS)
        return -ENOSPC; /* SMCR-SC-12 */
    rmb = make_rmb(group, elem_bytes);
    if (!rmb)
        return -ENOMEM;
    give_elem(rmb, conn);
    if (group->state == SMCR_GROUP_FIRST_CONTACT) {
        rmb->is_confirmed = true; /* CLC tells it, and ADD LINK CONTINUATION: SMCR-FC-13 */
        return 0;
    }
    smcr_group_effect(group, SMCR_GROUP_ADVANCE); /* CONFIRM RKEY, when nothing else runs */
    return -EINPROGRESS;
}

bool smcr_elem_is_sound(const struct smcr_rmb *rmb, uint8_t index)
{
    return smcr_cursor_start(rmb->group->version) == 0 ||
           memcmp(smcr_elem(rmb, index), eye_catcher, sizeof eye_catcher) == 0;
}

/* --- shrinking --- */

static bool is_idle(const struct smcr_rmb *rmb)
{
    return rmb->used == 0 && rmb->is_confirmed && !rmb->is_deleting;
}

/* The next connection finds one without a CONFIRM RKEY, so the last one stays. */
static bool may_go(const struct smcr_rmb *rmb)
{
    return is_idle(rmb) && smcr_rmb_count_known(rmb->group) > 1;
}

static void plan_shrinking(struct smcr_group *group)
{
    uint64_t idle_ns = group->smcr->config.times.rmb_idle_ns, due_ns = UINT64_MAX;
    for (struct smcr_rmb *rmb = group->rmbs; rmb; rmb = rmb->next)
        if (may_go(rmb) && rmb->idle_since_ns + idle_ns < due_ns)
            due_ns = rmb->idle_since_ns + idle_ns;
    if (due_ns != UINT64_MAX && group->state == SMCR_GROUP_USABLE)
        smcr_arm(group->smcr, &group->rmb_timer, due_ns);
    else
        smcr_cancel(group->smcr, &group->rmb_timer);
}

static void shrink(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_group *group = container_of(timer, struct smcr_group, rmb_timer);
    uint64_t idle_ns = group->smcr->config.times.rmb_idle_ns;
    for (struct smcr_rmb *rmb = group->rmbs; rmb; rmb = rmb->next)
        if (may_go(rmb) && now_ns >= rmb->idle_since_ns + idle_ns) {
            rmb->is_deleting = true; /* DELETE RKEY, when nothing else runs */
            smcr_group_effect(group, SMCR_GROUP_ADVANCE);
            break; /* one at a time: they are exclusive anyway */
        }
    plan_shrinking(group);
}

static bool has_key(const struct smcr_rmb *rmb, uint32_t rkey)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (rmb->mr[i] && rmb->mr[i]->rkey == rkey)
            return true;
    return false;
}

void smcr_rmb_give_back(struct smcr_group *group, uint32_t rkey)
{
    for (struct smcr_rmb *rmb = group->rmbs; rmb; rmb = rmb->next)
        if (has_key(rmb, rkey) && is_idle(rmb)) {
            rmb->is_deleting = true;
            smcr_group_effect(group, SMCR_GROUP_ADVANCE);
        }
}

void smcr_rmb_put_elem(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_rmb *rmb = conn->rmb;
    rmb->elems[conn->rmb_index - 1] = NULL;
    conn->rmb = NULL;
    conn->rmb_index = 0;
    if (--rmb->used > 0)
        return;
    rmb->idle_since_ns = now_ns;
    plan_shrinking(rmb->group);
}

/* --- what became of an RKey exchange --- */

void smcr_rmb_confirmed(struct smcr_rmb *rmb)
{
    rmb->is_confirmed = true;
    for (unsigned i = 0; i < rmb->num_elems; i++)
        if (rmb->elems[i])
            smcr_conn_effect(rmb->elems[i], SMCR_CONN_RMB);
    if (rmb->used == 0)
        plan_shrinking(rmb->group);
}

void smcr_rmb_deleted(struct smcr_rmb *rmb)
{
    struct smcr_group *group = rmb->group;
    for (unsigned i = 0; i < rmb->num_elems; i++) {
        struct smcr_conn *conn = rmb->elems[i];
        if (!conn)
            continue; /* those that wait for it hear that it will never be */
        conn->rmb = NULL;
        conn->rmb_index = 0;
        smcr_conn_effect(conn, SMCR_CONN_RMB);
    }
    unlink_rmb(rmb);
    free_rmb(rmb);
    plan_shrinking(group);
}

/* --- with the group --- */

void smcr_rmb_init(struct smcr_group *group)
{
    group->rmb_timer.fire = shrink;
}

void smcr_rmb_deinit(struct smcr_group *group)
{
    struct rdma_mem *mem = &group->smcr->mem;
    smcr_cancel(group->smcr, &group->rmb_timer);
    while (group->rmbs) {
        struct smcr_rmb *rmb = group->rmbs;
        unlink_rmb(rmb);
        free_rmb(rmb);
    }
    while (group->peer_rmbs) {
        struct smcr_peer_rmb *rmb = group->peer_rmbs;
        group->peer_rmbs = rmb->next;
        mem->free(mem->ctx, rmb);
    }
    group->num_peer_rmbs = 0;
    smcr_send_bufs_deinit(group);
}
