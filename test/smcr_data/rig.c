/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/smcr_data/rig.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "net/port.h"
#include "rdma/mr.h"

static struct rig *the_rig; /* a test has one, in a process of its own */

/* --- what the other files of smcr/ would do --- */

static unsigned link_index(const struct smcr_link *link)
{
    return (unsigned)(link - the_rig->group.links);
}

uint32_t smcr_link_write_most(const struct smcr_link *link)
{
    return link->write_max_bytes ? link->write_max_bytes : UINT32_MAX;
}

int smcr_link_post_write(struct smcr_link *link, const struct smcr_write *w)
{
    struct rig *rig = the_rig;
    unsigned i = link_index(link);
    uint64_t elem = rig->peer_rmb.token[i].va + (uint64_t)(RIG_PEER_RMBE - 1) * rig->conn->peer_elem_bytes;
    cr_assert_eq(link->state, SMCR_LINK_ACTIVE);
    cr_assert_gt(smcr_link_room(link), 0);
    cr_assert_eq(w->lkey, rig->mr[i].lkey, "SMCR-FOV-13: the keys are those of the link");
    cr_assert_eq(w->rkey, rig->peer_rmb.token[i].rkey);
    cr_assert(w->remote_va >= elem + SMCR_CURSOR_START, "SMCR-RMB-08: the eye catcher is never written");
    cr_assert(w->remote_va + w->len_bytes <= elem + rig->conn->peer_elem_bytes);
    cr_assert(w->local >= rig->buf.bytes && w->local + w->len_bytes <= rig->buf.bytes + rig->buf.size_bytes);
    cr_assert(w->remote_va + w->len_bytes + w->spare_bytes <= elem + rig->conn->peer_elem_bytes);
    if (w->spare_bytes > 0)
        cr_assert_eq(w->remote_va + w->len_bytes, elem + rig->conn->data->tx.cursor.offset_bytes,
                     "what is behind the last byte that was sent is spare, and nothing else");
    if (!rig->is_deferred) /* whatever is there then, nobody reads it before it is written */
        memset(rig->peer_elem + (w->remote_va - elem) + w->len_bytes, 0x5a, w->spare_bytes);
    cr_assert_lt(rig->num_log, RIG_LOG);
    rig->log[rig->num_log++] = (struct rig_post){.link = i,
                                                 .offset_bytes = (uint32_t)(w->remote_va - elem),
                                                 .len_bytes = w->len_bytes,
                                                 .bytes = malloc(w->len_bytes)};
    memcpy(rig->log[rig->num_log - 1].bytes, w->local, w->len_bytes);
    if (!rig->is_deferred)
        rig_carry_out(rig, rig->num_log - 1);
    link->sends_left--;
    return 0;
}

int smcr_link_post_message(struct smcr_link *link, const uint8_t *message, size_t len_bytes,
                           struct smcr_post what)
{
    cr_assert_eq(len_bytes, SMCR_MSG_BYTES);
    struct rig *rig = the_rig;
    cr_assert_eq(link->state, SMCR_LINK_ACTIVE);
    cr_assert_gt(smcr_link_room(link), 0);
    cr_assert_lt(rig->num_log, RIG_LOG);
    struct rig_post *post = &rig->log[rig->num_log++];
    *post = (struct rig_post){.link = link_index(link), .is_cdc = true};
    smcr_cdc_get(&post->cdc, message);
    memcpy(post->message, message, SMCR_MSG_BYTES);
    cr_assert_eq(what.kind, SMCR_POST_CDC);
    cr_assert_eq(what.conn, rig->conn);
    cr_assert_eq(what.value, post->cdc.seq);
    cr_assert_eq(post->cdc.alert_token, rig->peer_token);
    link->sends_left--;
    return 0;
}

void smcr_link_fail(struct smcr_link *link, const char *cause, uint64_t now_ns)
{
    (void)link, (void)cause, (void)now_ns;
    the_rig->links_failed++;
}

struct smcr_link *smcr_group_pick_link(struct smcr_group *group, const struct smcr_link *not_this)
{
    for (unsigned i = 0; i < RIG_LINKS; i++)
        if (group->links[i].state == SMCR_LINK_ACTIVE && &group->links[i] != not_this)
            return &group->links[i];
    return NULL;
}

void smcr_group_remove_conn(struct smcr_group *group, struct smcr_conn *conn, uint64_t now_ns)
{
    (void)group, (void)conn, (void)now_ns;
    cr_assert(!the_rig->group_is_left);
    the_rig->group_is_left = true;
}

struct smcr_conn *smcr_token_find(const struct smcr_group *group, uint32_t token)
{
    (void)group;
    return token == RIG_TOKEN && !the_rig->elem_is_back ? the_rig->conn : NULL;
}

void smcr_token_put(struct smcr_group *group, uint32_t token)
{
    (void)group;
    cr_assert_eq(token, RIG_TOKEN);
}

void smcr_rmb_put_elem(struct smcr_conn *conn, uint64_t now_ns)
{
    (void)now_ns;
    cr_assert_eq(conn->posts, 0);
    cr_assert(!the_rig->elem_is_back);
    the_rig->elem_is_back = true;
    conn->rmb = NULL;
}

bool smcr_elem_is_sound(const struct smcr_rmb *rmb, uint8_t index)
{
    uint32_t eye;
    memcpy(&eye, smcr_elem(rmb, index), sizeof eye);
    return eye == the_rig->eye;
}

struct smcr_send_buf *smcr_send_buf_get(struct smcr_group *group, uint32_t size_bytes)
{
    (void)group;
    cr_assert_eq(size_bytes, the_rig->buf.size_bytes);
    return &the_rig->buf;
}

void smcr_send_buf_put(struct smcr_group *group, struct smcr_send_buf *buf)
{
    (void)group;
    cr_assert_eq(buf, &the_rig->buf);
}

void smcr_link_effect(struct smcr_link *link, enum smcr_link_effect what)
{
    smcr_effect_leave(&the_rig->smcr, &link->effects, what);
}

static void tcp_reset(void *ctx)
{
    ((struct rig *)ctx)->tcp_resets++;
}

static int tcp_send(void *ctx, const uint8_t *bytes, size_t len_bytes)
{
    (void)ctx, (void)bytes, (void)len_bytes;
    return 0;
}

/* What smcr/progress.c does for a connection alone, and what it would for its link is noted. */
static void settle(struct rig *rig)
{
    struct smcr_effects *node;
    while ((node = rig->smcr.effects)) {
        unsigned due = smcr_effect_take(&rig->smcr, node);
        if (node->of == SMCR_OF_LINK) {
            rig->links_tested += due & SMCR_LINK_TEST ? 1 : 0;
            if (rig->test_fails && !rig->elem_is_back)
                smcr_end_kill(rig->conn, -ECONNRESET, "no link is left", rig->now_ns);
            continue;
        }
        struct smcr_conn *conn = container_of(node, struct smcr_conn, effects);
        if (due & SMCR_CONN_RST)
            conn->config.tcp.reset(conn->config.ctx);
        if (due & SMCR_CONN_REFUSED)
            rig->is_abandoned = true;
        if (due & SMCR_CONN_RESTS && smcr_conn_rests(conn, rig->now_ns))
            smcr_conn_free(conn);
    }
}

/* --- the calls of smcr/calls.c --- */

void smcr_conn_release(struct smcr_conn *conn, bool linger, uint64_t now_ns)
{
    if (conn->state == SMCR_CONN_HANDSHAKE)
        the_rig->is_abandoned = true;
    smcr_conn_let_go(conn, linger);
    if (!smcr_conn_is_ended(conn))
        smcr_end_close(conn, now_ns);
    settle(the_rig);
}

void smcr_conn_abort(struct smcr_conn *conn, uint64_t now_ns)
{
    if (conn->state == SMCR_CONN_HANDSHAKE)
        the_rig->is_abandoned = true;
    else
        smcr_end_reset(conn, -ECONNABORTED, "aborted by the application", now_ns);
    settle(the_rig);
}

void smcr_conn_tcp_end(struct smcr_conn *conn, enum smcr_tcp_end how, uint64_t now_ns)
{
    smcr_end_tcp(conn, how, now_ns);
    settle(the_rig);
}

size_t smcr_conn_tcp_input(struct smcr_conn *conn, const uint8_t *bytes, size_t len_bytes, uint64_t now_ns)
{
    (void)bytes;
    if (len_bytes > 0 && !smcr_conn_is_ended(conn))
        smcr_end_reset(conn, -ECONNRESET, "data on the TCP connection after the switch to RDMA", now_ns);
    settle(the_rig);
    return len_bytes;
}

void smcr_conn_shutdown_write(struct smcr_conn *conn, uint64_t now_ns)
{
    smcr_end_shutdown(conn, now_ns);
    settle(the_rig);
}

ssize_t smcr_conn_send(struct smcr_conn *conn, const void *bytes, size_t len_bytes, unsigned flags,
                       uint64_t now_ns)
{
    ssize_t n = smcr_tx_send(conn, bytes, len_bytes, flags, now_ns);
    settle(the_rig);
    return n;
}

int smcr_conn_put(struct smcr_conn *conn, uint64_t head, unsigned flags, uint64_t now_ns)
{
    int err = smcr_tx_put(conn, head, flags, now_ns);
    settle(the_rig);
    return err;
}

int smcr_conn_took(struct smcr_conn *conn, uint64_t consumed, uint64_t now_ns)
{
    int err = smcr_rx_took(conn, consumed, now_ns);
    settle(the_rig);
    return err;
}

ssize_t smcr_conn_recv(struct smcr_conn *conn, void *bytes, size_t len_bytes, unsigned flags, uint64_t now_ns)
{
    ssize_t n = smcr_rx_recv(conn, bytes, len_bytes, flags, now_ns);
    settle(the_rig);
    return n;
}

void smcr_conn_set_keepalive(struct smcr_conn *conn, uint64_t idle_ns, uint64_t now_ns)
{
    conn->keepalive_ns = idle_ns;
    smcr_conn_start_keepalive(conn, now_ns);
}

void rig_kill(struct rig *rig, const char *cause)
{
    smcr_end_kill(rig->conn, -ECONNRESET, cause, rig->now_ns);
    settle(rig);
}

void rig_move(struct rig *rig, unsigned link)
{
    smcr_move_to(rig->conn, &rig->group.links[link], rig->now_ns);
    settle(rig);
}

void rig_activate(struct rig *rig)
{
    smcr_conn_activate(rig->conn, rig->now_ns);
    settle(rig);
}

/* --- making and ending --- */

static void make_instance(struct rig *rig)
{
    test_alloc_init(&rig->alloc);
    rig->smcr.mem = rig->alloc.mem;
    rig->smcr.changed_tail = &rig->smcr.changed_head;
    rig->smcr.effects_tail = &rig->smcr.effects;
    rig->smcr.config.max_conns = 1;
    rig->smcr.config.times = (struct smcr_times){.test_answer_ns = 2000 * RIG_MS,
                                                 .close_guard_ns = 60000 * RIG_MS,
                                                 .abort_guard_ns = 5000 * RIG_MS,
                                                 .stale_cursor_ns = 200 * RIG_MS,
                                                 .cork_ns = 5 * RIG_MS};
    cr_assert_eq(rdma_timers_init(&rig->smcr.timers, &rig->smcr.mem, 8), 0);
}

static void make_group(struct rig *rig)
{
    rig->group.smcr = &rig->smcr;
    rig->group.version = 1;
    for (unsigned i = 0; i < RIG_LINKS; i++) {
        struct smcr_link *link = &rig->group.links[i];
        link->group = &rig->group;
        link->effects.of = SMCR_OF_LINK;
        link->slot = i;
        link->number = (uint8_t)(i + 1);
        link->state = SMCR_LINK_ACTIVE;
        link->sends_left = SMCR_LINK_SENDS;
        link->waiting_tail = &link->waiting_head;
        rig->peer_rmb.token[i] = (struct smcr_rtoken){
            .rkey = 0x1000 + i, .va = 0x7f0000000000 + i * 0x100000000ull, .is_known = true};
        rig->mr[i].lkey = 0x2000 + i;
        rig->buf.mr[i] = &rig->mr[i];
    }
}

static void make_memory(struct rig *rig, uint32_t elem_bytes, uint32_t peer_elem_bytes, uint32_t sndbuf_bytes)
{
    rig->rmb_bytes = calloc(4, elem_bytes);
    rig->peer_elem = calloc(1, peer_elem_bytes);
    rig->buf_bytes = calloc(1, sndbuf_bytes);
    rig->buf.bytes = rig->buf_bytes;
    rig->buf.size_bytes = sndbuf_bytes;
    rig->rmb = (struct smcr_rmb){
        .group = &rig->group, .bytes = rig->rmb_bytes, .elem_bytes = elem_bytes, .num_elems = 4};
    rig->eye = 0xc0ffee11;
    memcpy(smcr_elem(&rig->rmb, RIG_INDEX), &rig->eye, sizeof rig->eye);
}

struct rig *rig_new_in_handshake(uint32_t elem_bytes, uint32_t peer_elem_bytes, uint32_t sndbuf_bytes)
{
    struct rig *rig = calloc(1, sizeof *rig);
    the_rig = rig;
    make_instance(rig);
    make_group(rig);
    make_memory(rig, elem_bytes, peer_elem_bytes, sndbuf_bytes);
    rig->now_ns = RIG_MS;
    rig->peer_producer.offset_bytes = rig->peer_consumer.offset_bytes = SMCR_CURSOR_START;
    struct smcr_conn_config config = {
        .role = SMCR_SERVER, .sndbuf_bytes = sndbuf_bytes, .tcp = {tcp_send, tcp_reset}, .ctx = rig};
    cr_assert_eq(smcr_conn_make(&rig->smcr, &config, &rig->conn), 0);
    struct smcr_conn *conn = rig->conn;
    conn->group = &rig->group;
    conn->rmb = &rig->rmb;
    conn->rmb_index = RIG_INDEX;
    conn->token = RIG_TOKEN;
    conn->peer_rmb = &rig->peer_rmb;
    conn->peer_index = RIG_PEER_RMBE;
    rig->peer_rmb.elems[RIG_PEER_RMBE - 1] = conn;
    conn->peer_elem_bytes = peer_elem_bytes;
    conn->cursor_start = SMCR_CURSOR_START;
    conn->peer_token = rig->peer_token = RIG_PEER;
    cr_assert_eq(smcr_conn_prepare(conn, rig->now_ns), 0);
    return rig;
}

struct rig *rig_new(uint32_t elem_bytes, uint32_t peer_elem_bytes, uint32_t sndbuf_bytes)
{
    struct rig *rig = rig_new_in_handshake(elem_bytes, peer_elem_bytes, sndbuf_bytes);
    rig_activate(rig);
    cr_assert_eq(rig->conn->state, SMCR_CONN_ACTIVE);
    return rig;
}

static struct smcr_cursor cursor_at(uint64_t position, uint32_t elem_bytes)
{
    uint32_t cap = elem_bytes - SMCR_CURSOR_START;
    return (struct smcr_cursor){SMCR_CURSOR_START + (uint32_t)(position % cap), (uint16_t)(position / cap)};
}

void rig_at(struct rig *rig, uint64_t sent, uint64_t received, uint16_t seq)
{
    struct smcr_tx *tx = &rig->conn->data->tx;
    struct smcr_rx *rx = &rig->conn->data->rx;
    tx->acked = tx->sent = tx->head = tx->peer_consumed = sent;
    tx->cursor = tx->peer_consumer = rig->peer_consumer = cursor_at(sent, rig->conn->peer_elem_bytes);
    tx->seq = tx->completed_seq = seq;
    rx->produced = rx->consumed = rx->told = received;
    rx->producer = rx->consumer = rig->peer_producer = cursor_at(received, rig->rmb.elem_bytes);
}

void rig_free(struct rig *rig)
{
    struct smcr_conn *conn = rig->smcr.conns; /* NULL: it is over and was given back */
    if (conn) {
        cr_assert_eq(conn, rig->conn);
        rig_kill(rig, "the test ends");
        rig_complete_all(rig);
        if (rig->smcr.conns && smcr_conn_is_over(conn))
            smcr_conn_release(conn, false, rig->now_ns);
    }
    cr_assert_null(rig->smcr.conns);
    cr_assert_eq(rig->smcr.timers.count, 0, "a timer of a connection that is gone");
    rdma_timers_deinit(&rig->smcr.timers, &rig->smcr.mem);
    cr_assert_eq(rig->alloc.live, 0, "a leak");
    rig->completed = rig->num_log;
    rig_forget(rig);
    free(rig->rmb_bytes);
    free(rig->peer_elem);
    free(rig->buf_bytes);
    free(rig);
}

/* --- what was posted --- */

void rig_carry_out(struct rig *rig, unsigned entry)
{
    struct rig_post *post = &rig->log[entry];
    if (!post->bytes)
        return;
    memcpy(rig->peer_elem + post->offset_bytes, post->bytes, post->len_bytes);
    free(post->bytes);
    post->bytes = NULL;
}

void rig_forget(struct rig *rig)
{
    cr_assert_eq(rig->completed, rig->num_log);
    for (unsigned i = 0; i < rig->num_log; i++)
        free(rig->log[i].bytes);
    rig->num_log = rig->seen = rig->completed = 0;
}

const struct rig_post *rig_next(struct rig *rig)
{
    return rig->seen < rig->num_log ? &rig->log[rig->seen++] : NULL;
}

const struct smcr_cdc *rig_next_cdc(struct rig *rig)
{
    for (const struct rig_post *post; (post = rig_next(rig));)
        if (post->is_cdc)
            return &post->cdc;
    return NULL;
}

unsigned rig_unseen(const struct rig *rig, bool cdcs)
{
    unsigned n = 0;
    for (unsigned i = rig->seen; i < rig->num_log; i++)
        n += rig->log[i].is_cdc == cdcs;
    return n;
}

void rig_room(struct rig *rig, unsigned link, uint32_t posts)
{
    rig->group.links[link].sends_left = SMCR_LLC_SENDS + posts;
}

void rig_kick(struct rig *rig, unsigned index)
{
    smcr_tx_serve(&rig->group.links[index], rig->now_ns);
    settle(rig);
}

void rig_cdc_ended(struct rig *rig, const struct rig_post *post, bool ok)
{
    smcr_tx_completed(rig->conn, post->cdc.seq, ok, rig->now_ns);
    if (ok) /* what a link leaves with its end is part of one step */
        settle(rig);
}

/* One post ends. Returns whether it was a CDC. */
static bool end_one(struct rig *rig, bool ok)
{
    const struct rig_post *post = &rig->log[rig->completed++];
    struct smcr_link *link = &rig->group.links[post->link];
    link->sends_left++;
    if (!post->is_cdc)
        return false;
    rig_cdc_ended(rig, post, ok);
    if (ok)
        rig_kick(rig, post->link);
    return true;
}

unsigned rig_complete(struct rig *rig, unsigned n)
{
    unsigned done = 0;
    for (unsigned end = rig->num_log; done < n && rig->completed < end;)
        done += end_one(rig, true);
    return done;
}

void rig_lose_link(struct rig *rig)
{
    struct smcr_link *link = rig->conn->link;
    link->state = SMCR_LINK_DOWN;
    while (rig->completed < rig->num_log)
        end_one(rig, false);
    smcr_move_lost(rig->conn, rig->now_ns);
    settle(rig);
}

/* --- the peer --- */

struct smcr_cdc rig_peer_cdc(struct rig *rig)
{
    return (struct smcr_cdc){.type = SMCR_CDC,
                             .length = SMCR_MSG_BYTES,
                             .seq = (uint16_t)(rig->peer_seq + 1),
                             .alert_token = RIG_TOKEN,
                             .producer_cursor = rig->peer_producer.offset_bytes,
                             .producer_wrap = rig->peer_producer.wrap,
                             .consumer_cursor = rig->peer_consumer.offset_bytes,
                             .consumer_wrap = rig->peer_consumer.wrap};
}

void rig_take(struct rig *rig, const struct smcr_cdc *cdc)
{
    uint8_t message[SMCR_MSG_BYTES] = {0};
    smcr_cdc_put(message, cdc);
    if (!cdc->failover_validation)
        rig->peer_seq = cdc->seq;
    smcr_rx_cdc(&rig->group.links[0], cdc, message, rig->now_ns);
    settle(rig);
}

void rig_peer_writes(struct rig *rig, const void *bytes, uint32_t n)
{
    const uint8_t *p = bytes;
    uint8_t *elem = smcr_elem(&rig->rmb, RIG_INDEX);
    uint32_t tail = rig->rmb.elem_bytes - rig->peer_producer.offset_bytes;
    if (tail > n)
        tail = n;
    if (p) {
        memcpy(elem + rig->peer_producer.offset_bytes, p, tail);
        memcpy(elem + SMCR_CURSOR_START, p + tail, n - tail);
    }
    rig->peer_producer = smcr_cursor_advance(SMCR_CURSOR_START, rig->peer_producer, n, rig->rmb.elem_bytes);
}

void rig_peer_sends(struct rig *rig, const void *bytes, uint32_t n)
{
    rig_peer_writes(rig, bytes, n);
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    rig_take(rig, &cdc);
}

void rig_peer_reads(struct rig *rig, uint32_t n)
{
    rig->peer_consumer =
        smcr_cursor_advance(SMCR_CURSOR_START, rig->peer_consumer, n, rig->conn->peer_elem_bytes);
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    rig_take(rig, &cdc);
}

void rig_peer_flag(struct rig *rig, bool done, bool closed, bool aborted)
{
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.sending_done = done;
    cdc.connection_closed = closed;
    cdc.abnormal_close = aborted;
    rig_take(rig, &cdc);
}

/* --- time and the application --- */

void rig_wait(struct rig *rig, uint64_t ns)
{
    uint64_t end = rig->now_ns + ns;
    while (rdma_timers_next_ns(&rig->smcr.timers) <= end) {
        uint64_t next = rdma_timers_next_ns(&rig->smcr.timers);
        rig->now_ns = next > rig->now_ns ? next : rig->now_ns;
        struct rdma_timer *timer = rdma_timers_pop(&rig->smcr.timers, rig->now_ns);
        timer->fire(timer, rig->now_ns);
        settle(rig);
    }
    rig->now_ns = end;
}

unsigned rig_events(struct rig *rig)
{
    unsigned events = 0, all = 0;
    while (smcr_next_event(&rig->smcr, &events))
        all |= events;
    rig->events |= all;
    return all;
}

ssize_t rig_send(struct rig *rig, const void *bytes, size_t n, unsigned flags)
{
    return smcr_conn_send(rig->conn, bytes, n, flags, rig->now_ns);
}

ssize_t rig_recv(struct rig *rig, void *bytes, size_t n, unsigned flags)
{
    return smcr_conn_recv(rig->conn, bytes, n, flags, rig->now_ns);
}

void rig_close(struct rig *rig)
{
    smcr_conn_release(rig->conn, true, rig->now_ns);
}
