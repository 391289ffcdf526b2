/* SPDX-License-Identifier: BSD-2-Clause */
/* Links: made, taken through the states of their queue pair, stopped and freed. SMCR sections 2 and 9. */
#include "smcr/group/link.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>

#include "smcr/wire/cdc.h"
#include "smcr/group/group.h"

/* Timeout code 14 is 67 ms; after timeouts in a row the engine waits once, twice, then four times that, so
 * that seven retries end after 27 of them, 1.8 s: before any timer of LLC (SMCR-QP-06, FBK-06). A receiver
 * without buffers gets six times 41 ms. */
enum { ACK_TIMEOUT = 14, RETRIES = 7, RNR_TIMER = 24, RNR_RETRIES = 6 };
#define HOP_LIMIT 64
#define PSN_MASK  0xffffffu

const char *smcr_link_state_name(enum smcr_link_state state)
{
    static const char *const names[] = {
#define NAME(name) #name,
        SMCR_LINK_STATES(NAME)
#undef NAME
    };
    return names[state];
}

void smcr_link_effect(struct smcr_link *link, enum smcr_link_effect what)
{
    smcr_effect_leave(link->group->smcr, &link->effects, what);
}

void smcr_link_set_state(struct smcr_link *link, enum smcr_link_state state, const char *cause,
                         uint64_t now_ns)
{
    enum smcr_link_state from = link->state;
    if (from == state)
        return;
    link->state = state;
    smcr_trace(link->group->smcr,
               (struct smcr_trace){.type = SMCR_TRACE_LINK,
                                   .group = link->group,
                                   .link = link,
                                   .from = smcr_link_state_name(from),
                                   .to = smcr_link_state_name(state),
                                   .cause = cause},
               now_ns);
}

/* --- making one --- */

/* SMCR-QP-04. With the shifted ADD LINK a PSN whose low half is zero could not be told from our layout (A5).
 */
static uint32_t draw_psn(struct smcr *smcr)
{
    uint32_t psn;
    do
        psn = (uint32_t)smcr->config.random.next(smcr->config.random.ctx) & PSN_MASK;
    while (smcr->config.interop.shifted_add_link && (psn & 0xffff) == 0);
    return psn;
}

#define RECVS_BYTES ((size_t)SMCR_LINK_RECVS * SMCR_RECV_BYTES)
#define TAIL_BYTES  (SMCR_LLC2_MAX_BYTES - SMCR_RECV_BYTES) /* of a long message that comes */

static bool has_long_messages(const struct smcr_link *link)
{
    return link->group->version == 2;
}

static size_t message_memory_bytes(const struct smcr_link *link)
{
    return RECVS_BYTES + (has_long_messages(link) ? TAIL_BYTES + SMCR_LLC2_MAX_BYTES : 0);
}

int smcr_link_post_recv(struct smcr_link *link, unsigned index)
{
    struct nornic_sge sge[] = {{.addr = (uintptr_t)(link->recv_bytes + (size_t)index * SMCR_RECV_BYTES),
                                .len_bytes = SMCR_RECV_BYTES,
                                .lkey = link->recv_mr->lkey},
                               {.addr = (uintptr_t)(link->recv_bytes + RECVS_BYTES),
                                .len_bytes = TAIL_BYTES,
                                .lkey = link->recv_mr->lkey}};
    struct nornic_recv_wr wr = {.wr_id = smcr_wr_id(link, SMCR_WR_RECV, index),
                                .sg_list = sge,
                                .num_sge = has_long_messages(link) ? 2 : 1};
    return roce_post_recv(link->qp, &wr, NULL);
}

size_t smcr_link_take_received(const struct smcr_link *link, unsigned index, size_t len_bytes, uint8_t *out)
{
    size_t head = len_bytes < SMCR_RECV_BYTES ? len_bytes : SMCR_RECV_BYTES, tail = 0;
    memcpy(out, link->recv_bytes + (size_t)index * SMCR_RECV_BYTES, head);
    if (has_long_messages(link) && len_bytes > head) {
        tail = len_bytes - head < TAIL_BYTES ? len_bytes - head : TAIL_BYTES;
        memcpy(out + head, link->recv_bytes + RECVS_BYTES, tail);
    }
    return head + tail;
}

/* Under the lock of the device. */
static int create_objects(struct smcr_link *link)
{
    struct smcr_port *port = link->port;
    int err = rdma_pd_create(roce_dev_domain(port->config.dev), &link->pd);
    if (!err)
        err = rdma_mr_reg(link->pd, link->recv_bytes, message_memory_bytes(link), NORNIC_ACCESS_LOCAL_WRITE,
                          &link->recv_mr);
    if (err)
        return err;
    struct roce_qp_config config = {.type = NORNIC_QPT_RC,
                                    .pd = link->pd,
                                    .send_cq = port->cq,
                                    .recv_cq = port->cq,
                                    .caps = {.max_send_wr = SMCR_LINK_SENDS,
                                             .max_recv_wr = SMCR_LINK_RECVS,
                                             .max_send_sge = 1,
                                             .max_recv_sge = has_long_messages(link) ? 2 : 1,
                                             .max_inline_bytes = SMCR_MSG_BYTES}};
    err = roce_qp_create(port->config.dev, &config, &link->qp);
    if (err)
        return err;
    struct nornic_qp_attr attr = {
        .state = NORNIC_QPS_INIT, .port = 1, .access_flags = NORNIC_ACCESS_REMOTE_WRITE};
    return roce_qp_modify(
        link->qp, &attr, NORNIC_QP_STATE | NORNIC_QP_PORT | NORNIC_QP_PKEY_INDEX | NORNIC_QP_ACCESS_FLAGS, 0);
}

static int set_up(struct smcr_link *link)
{
    smcr_port_lock(link->port);
    int err = create_objects(link);
    smcr_port_unlock(link->port);
    if (err)
        return err;
    link->local.qpn = roce_qp_num(link->qp);
    for (unsigned i = 0; i < SMCR_LINK_RECVS && !err; i++)
        err = smcr_link_post_recv(link, i);
    return err ? err : smcr_group_register(link->group, link);
}

static void free_objects(struct smcr_link *link)
{
    struct rdma_mem *mem = &link->group->smcr->mem;
    if (link->pd)
        smcr_group_deregister(link->group, link);
    smcr_port_lock(link->port);
    if (link->qp)
        roce_qp_destroy(link->qp);
    if (link->recv_mr)
        rdma_mr_dereg(link->recv_mr);
    if (link->pd)
        rdma_pd_destroy(link->pd);
    smcr_port_unlock(link->port);
    mem->free(mem->ctx, link->recv_bytes);
    link->qp = NULL;
    link->recv_mr = NULL;
    link->pd = NULL;
    link->recv_bytes = NULL;
    smcr_port_leave(link);
}

static struct smcr_link *free_slot(struct smcr_group *group)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].state == SMCR_LINK_FREE)
            return &group->links[i];
    return NULL;
}

static void test_due(struct rdma_timer *timer, uint64_t now_ns)
{
    (void)now_ns;
    smcr_link_effect(container_of(timer, struct smcr_link, test_timer), SMCR_LINK_TEST_DUE);
}

static void delete_due(struct rdma_timer *timer, uint64_t now_ns)
{
    (void)now_ns;
    smcr_link_effect(container_of(timer, struct smcr_link, delete_timer), SMCR_LINK_DELETE_DUE);
}

int smcr_link_create(struct smcr_group *group, struct smcr_port *port, uint8_t number, struct smcr_link **out)
{
    struct smcr *smcr = group->smcr;
    struct smcr_link *link = free_slot(group);
    if (!link)
        return -ENOSPC;
    *link = (struct smcr_link){.group = group,
                               .effects.of = SMCR_OF_LINK,
                               .test_timer.fire = test_due,
                               .delete_timer.fire = delete_due,
                               .slot = (unsigned)(link - group->links),
                               .number = number,
                               .user_id =
                                   1 + rdma_number_of(&smcr->link_user_ids, smcr->links_made++ % UINT32_MAX),
                               .sends_left = SMCR_LINK_SENDS,
                               .local = {.mac = port->mac,
                                         .gid = port->gid,
                                         .psn = draw_psn(smcr),
                                         .mtu = (uint8_t)port->config.path_mtu}};
    link->waiting_tail = &link->waiting_head;
    int err = smcr_port_join(port, link);
    if (err)
        return err;
    link->recv_bytes = smcr->mem.alloc(smcr->mem.ctx, message_memory_bytes(link));
    err = link->recv_bytes ? set_up(link) : -ENOMEM;
    if (err) {
        free_objects(link);
        return err;
    }
    link->state = SMCR_LINK_ALLOCATED;
    smcr->counters.links_added++;
    *out = link;
    return 0;
}

/* --- SMCR-QP-01 to QP-03 --- */

int smcr_link_receive(struct smcr_link *link, const struct smcr_link_end *peer, uint64_t now_ns)
{
    if (link->state != SMCR_LINK_ALLOCATED)
        return -ENOTCONN;                                                    /* it failed meanwhile */
    uint8_t mtu = peer->mtu < link->local.mtu ? peer->mtu : link->local.mtu; /* SMCR-QP-02 */
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_RTR,
                                  .av = {.dgid = peer->gid,
                                         .sgid_index = (uint8_t)link->port->config.sgid_index,
                                         .hop_limit = HOP_LIMIT,
                                         .dst_mac = peer->mac}, /* SMCR-ENG-07 */
                                  .path_mtu = (enum nornic_mtu)mtu,
                                  .dest_qpn = peer->qpn,
                                  .rq_psn = peer->psn,
                                  .min_rnr_timer = RNR_TIMER};
    smcr_port_lock(link->port);
    int err = roce_qp_modify(link->qp, &attr,
                             NORNIC_QP_STATE | NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN |
                                 NORNIC_QP_RQ_PSN | NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER,
                             now_ns);
    smcr_port_unlock(link->port);
    if (err)
        return err;
    link->peer = *peer;
    link->last_heard_ns = now_ns;
    smcr_link_set_state(link, SMCR_LINK_CONFIRMING, "the peer's end is known", now_ns);
    return 0;
}

int smcr_link_send_ready(struct smcr_link *link, uint64_t now_ns)
{
    if (link->state != SMCR_LINK_CONFIRMING)
        return -ENOTCONN;
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_RTS,
                                  .timeout = ACK_TIMEOUT,
                                  .retry_cnt = RETRIES,
                                  .rnr_retry = RNR_RETRIES,
                                  .sq_psn = link->local.psn};
    smcr_port_lock(link->port);
    int err = roce_qp_modify(link->qp, &attr,
                             NORNIC_QP_STATE | NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY |
                                 NORNIC_QP_SQ_PSN | NORNIC_QP_MAX_QP_RD_ATOMIC,
                             now_ns);
    smcr_port_unlock(link->port);
    return err;
}

/* --- posts: RDMA writes are unsignalled and end with the message that follows them; so what is left of the
 * send queue is known here, and nothing is posted that has no room --- */

static bool sends(const struct smcr_link *link)
{
    return smcr_link_talks(link) && roce_qp_state(link->qp) == NORNIC_QPS_RTS;
}

/* Where a message is posted from: itself, inline; a long one has its place. */
static struct nornic_sge message_sge(struct smcr_link *link, const uint8_t *message, size_t len_bytes)
{
    if (len_bytes <= SMCR_MSG_BYTES)
        return (struct nornic_sge){.addr = (uintptr_t)message, .len_bytes = (uint32_t)len_bytes};
    uint8_t *out = link->recv_bytes + RECVS_BYTES + TAIL_BYTES;
    memcpy(out, message, len_bytes);
    return (struct nornic_sge){
        .addr = (uintptr_t)out, .len_bytes = (uint32_t)len_bytes, .lkey = link->recv_mr->lkey};
}

void smcr_link_post_held(struct smcr_link *link)
{
    struct nornic_send_wr wrs[SMCR_LINK_HELD];
    struct nornic_sge sges[SMCR_LINK_HELD];
    uint32_t n = link->num_held;
    if (n == 0)
        return;
    for (uint32_t i = 0; i < n; i++) {
        sges[i] = message_sge(link, link->held[i], SMCR_MSG_BYTES);
        wrs[i] = (struct nornic_send_wr){.next = i + 1 < n ? &wrs[i + 1] : NULL,
                                         .wr_id = smcr_wr_id(link, SMCR_WR_MESSAGE, 0),
                                         .sg_list = &sges[i],
                                         .num_sge = 1,
                                         .opcode = NORNIC_WR_SEND,
                                         .send_flags = NORNIC_SEND_SIGNALED | NORNIC_SEND_INLINE};
    }
    link->num_held = 0;
    (void)roce_post_send(link->qp, wrs, NULL); /* it went to error, and the poll will tell */
}

static void note_post(struct smcr_link *link, struct smcr_post what)
{
    what.writes = link->pending_writes;
    link->pending_writes = 0;
    link->sends_left--;
    link->posts[(link->first_post + link->num_posts++) % SMCR_LINK_SENDS] = what;
}

/* A CDC whose time comes with smcr_release(). */
static void hold(struct smcr_link *link, const uint8_t *message)
{
    if (link->num_held == SMCR_LINK_HELD)
        smcr_link_post_held(link);
    memcpy(link->held[link->num_held++], message, SMCR_MSG_BYTES);
}

int smcr_link_post_message(struct smcr_link *link, const uint8_t *message, size_t len_bytes,
                           struct smcr_post what)
{
    if (!sends(link))
        return -ENOTCONN;
    uint32_t room = what.kind == SMCR_POST_CDC ? smcr_link_room(link) : link->sends_left;
    if (room == 0)
        return -EAGAIN;
    if (what.kind == SMCR_POST_CDC && link->group->smcr->holds) {
        hold(link, message);
        note_post(link, what);
        return 0;
    }
    smcr_link_post_held(link);
    struct nornic_sge sge = message_sge(link, message, len_bytes);
    unsigned is_inline = len_bytes <= SMCR_MSG_BYTES ? NORNIC_SEND_INLINE : 0;
    struct nornic_send_wr wr = {.wr_id = smcr_wr_id(link, SMCR_WR_MESSAGE, 0),
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_SEND,
                                .send_flags = NORNIC_SEND_SIGNALED | is_inline};
    if (roce_post_send(link->qp, &wr, NULL))
        return -ENOTCONN; /* it went to error, and the poll will tell */
    note_post(link, what);
    return 0;
}

/* What a port moves in trains costs the kernel a train at a time, and the packets of one are equally long,
 * but for a shorter last one. Of a write of several packets the first is longer by its RETH: it is a train
 * alone, the others are the second, and the message behind them is the third. As writes of one packet each,
 * all with a RETH, the same bytes and their message are one train, in which TRAIN_BYTES fit at each path MTU.
 *
 * A write of a few bytes is shorter than its message, which so could not be the last of its train. Zeros
 * behind them make it as long, where the peer has room: the next bytes overwrite them before a cursor tells
 * of these. They must not come late, over bytes that another link has brought meanwhile. So the link has to
 * be the only one when they are posted. One that is added later is agreed on by messages that this one
 * carries behind them (RC delivers in order), and so begins when they have arrived. */
#define TRAIN_BYTES  (32u << 10)
#define TRAIN_WRITES 32

uint32_t smcr_link_write_most(const struct smcr_link *link)
{
    if (link->write_max_bytes)
        return link->write_max_bytes;
    return link->port && link->port->config.moves_trains ? TRAIN_BYTES : UINT32_MAX;
}

/* In how many writes it leaves: in one where the send queue has not much room left. */
static uint32_t writes_of(const struct smcr_link *link, uint32_t packet_bytes, uint32_t len_bytes)
{
    uint32_t n = (len_bytes + packet_bytes - 1) / packet_bytes;
    bool is_train = link->port->config.moves_trains && len_bytes <= TRAIN_BYTES && n <= TRAIN_WRITES;
    return is_train && n + SMCR_LINK_WRITES <= smcr_link_room(link) ? n : 1;
}

static bool is_alone(const struct smcr_link *link)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (i != link->slot && link->group->links[i].state != SMCR_LINK_FREE)
            return false;
    return true;
}

static bool is_filled_up(const struct smcr_link *link, const struct smcr_write *w)
{
    return link->port->config.moves_trains && w->len_bytes < SMCR_SHORT_BYTES &&
           w->len_bytes + w->spare_bytes >= SMCR_SHORT_BYTES && is_alone(link);
}

static int post_filled_up(struct smcr_link *link, const struct smcr_write *w)
{
    uint8_t bytes[SMCR_SHORT_BYTES] = {0};
    memcpy(bytes, w->local, w->len_bytes);
    struct nornic_sge sge = {.addr = (uintptr_t)bytes, .len_bytes = SMCR_SHORT_BYTES};
    struct nornic_send_wr wr = {.wr_id = smcr_wr_id(link, SMCR_WR_WRITE, 0),
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_RDMA_WRITE,
                                .send_flags = NORNIC_SEND_INLINE,
                                .remote_addr = w->remote_va,
                                .rkey = w->rkey};
    return roce_post_send(link->qp, &wr, NULL);
}

static int post_writes(struct smcr_link *link, const struct smcr_write *w, uint32_t n, uint32_t packet_bytes)
{
    struct nornic_send_wr wrs[TRAIN_WRITES];
    struct nornic_sge sges[TRAIN_WRITES];
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = i * packet_bytes, len = i + 1 < n ? packet_bytes : w->len_bytes - at;
        sges[i] = (struct nornic_sge){.addr = (uintptr_t)w->local + at, .len_bytes = len, .lkey = w->lkey};
        wrs[i] = (struct nornic_send_wr){.next = i + 1 < n ? &wrs[i + 1] : NULL,
                                         .wr_id = smcr_wr_id(link, SMCR_WR_WRITE, 0),
                                         .sg_list = &sges[i],
                                         .num_sge = 1,
                                         .opcode = NORNIC_WR_RDMA_WRITE,
                                         .remote_addr = w->remote_va + at,
                                         .rkey = w->rkey};
    }
    return roce_post_send(link->qp, wrs, NULL);
}

int smcr_link_post_write(struct smcr_link *link, const struct smcr_write *w)
{
    if (!sends(link))
        return -ENOTCONN;
    if (smcr_link_room(link) < 2) /* the message that ends it needs room too */
        return -EAGAIN;
    uint32_t packet_bytes = nornic_mtu_bytes(smcr_link_mtu(link));
    uint32_t n = writes_of(link, packet_bytes, w->len_bytes);
    if (is_filled_up(link, w) ? post_filled_up(link, w) : post_writes(link, w, n, packet_bytes))
        return -ENOTCONN;
    link->sends_left -= n;
    link->pending_writes += n;
    return 0;
}

bool smcr_link_post_ended(struct smcr_link *link, struct smcr_post *out)
{
    if (link->num_posts == 0)
        return false;
    *out = link->posts[link->first_post];
    link->first_post = (link->first_post + 1) % SMCR_LINK_SENDS;
    link->num_posts--;
    link->sends_left += 1 + out->writes;
    smcr_link_has_less(link);
    return true;
}

/* --- the end of one --- */

void smcr_link_take_down(struct smcr_link *link, const char *cause, uint64_t now_ns)
{
    if (link->state == SMCR_LINK_FREE || link->state == SMCR_LINK_DOWN)
        return;
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_ERR};
    link->num_held = 0;
    smcr_link_set_state(link, SMCR_LINK_DOWN, cause, now_ns);
    smcr_cancel(link->group->smcr, &link->test_timer);
    link->is_tested = false;
    smcr_port_lock(link->port);
    roce_qp_modify(link->qp, &attr, NORNIC_QP_STATE, now_ns);
    smcr_port_unlock(link->port);
}

void smcr_link_fail(struct smcr_link *link, const char *cause, uint64_t now_ns)
{
    if (link->state == SMCR_LINK_FREE || link->state == SMCR_LINK_DOWN)
        return;
    link->group->smcr->counters.links_failed++;
    link->down_cause = cause;
    smcr_link_take_down(link, cause, now_ns);
    smcr_link_effect(link, SMCR_LINK_LOST);
}

void smcr_link_unplug(struct smcr_link *link)
{
    if (link->port)
        free_objects(link);
}

void smcr_link_free(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    smcr_link_unplug(link);
    smcr_cancel(group->smcr, &link->test_timer);
    smcr_cancel(group->smcr, &link->delete_timer);
    smcr_effect_take(group->smcr, &link->effects);
    if (link->peer.qpn)
        group->gone[group->num_gone++ % SMCR_GONE_LINKS] = link->peer;
    link->delete_step = SMCR_LINK_STAYS;
    smcr_link_set_state(link, SMCR_LINK_FREE, "freed", now_ns);
}
