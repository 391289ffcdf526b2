/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions of a port. They are looked at one by one, so that whatever a message brings about - the end of
 * a link, or of a whole group - finds nothing of it in anybody's hands. */
#include <errno.h>
#include <string.h>

#include "smcr/cdc_wire.h"
#include "smcr/conn/conn.h"

/* Failover validation, of a CDC: SMCR section 14. */
#define CDC_FLAGS_AT 24
#define CDC_F        0x08

/* What `wc` is about, if that still exists. QPNs are not reused soon, so a late completion of a link that was
 * freed finds another one, or none, at its place. */
static struct smcr_link *link_of(const struct smcr_port *port, const struct nornic_wc *wc)
{
    uint32_t index = (uint32_t)(wc->wr_id >> 32);
    struct smcr_link *link = index < port->table_size ? port->table[index] : NULL;
    return link && link->local.qpn == wc->qp_num ? link : NULL;
}

static enum smcr_wr_kind kind_of(const struct nornic_wc *wc)
{
    return (enum smcr_wr_kind)(wc->wr_id >> 16 & 0xffff);
}

/* --- the inbox --- */

static void inbox_put(struct smcr_inbox *inbox, const struct nornic_wc *wc)
{
    inbox->ring[(inbox->first + inbox->count++) % inbox->capacity] = *wc;
}

static struct nornic_wc *inbox_at(struct smcr_inbox *inbox, uint32_t i)
{
    return &inbox->ring[(inbox->first + i) % inbox->capacity];
}

/* What was set aside is older than what is in the CQ. */
static int next_wc(struct smcr_port *port, struct nornic_wc *wc)
{
    struct smcr_inbox *inbox = &port->inbox;
    if (inbox->count == 0)
        return rdma_cq_poll(port->cq, wc, 1);
    *wc = *inbox_at(inbox, 0);
    inbox->first = (inbox->first + 1) % inbox->capacity;
    inbox->count--;
    return 1;
}

/* Moves all of the CQ to the inbox, which is as large. */
static void set_aside(struct smcr_port *port)
{
    struct nornic_wc wc;
    while (port->inbox.count < port->inbox.capacity && rdma_cq_poll(port->cq, &wc, 1) == 1)
        inbox_put(&port->inbox, &wc);
}

/* Takes those out of the inbox that `take` wants, in order. */
static void sift(struct smcr_link *link, bool (*take)(struct smcr_link *, const struct nornic_wc *, uint64_t),
                 uint64_t now_ns)
{
    struct smcr_port *port = link->port;
    uint32_t kept = 0, count = port->inbox.count;
    for (uint32_t i = 0; i < count; i++) {
        struct nornic_wc wc = *inbox_at(&port->inbox, i);
        if (link_of(port, &wc) != link || !take(link, &wc, now_ns))
            *inbox_at(&port->inbox, kept++) = wc;
    }
    port->inbox.count = kept;
}

static bool take_post(struct smcr_link *link, const struct nornic_wc *wc, uint64_t now_ns)
{
    if (wc->status == NORNIC_WC_SUCCESS && kind_of(wc) == SMCR_WR_RECV)
        return false;
    if (wc->status == NORNIC_WC_SUCCESS && kind_of(wc) == SMCR_WR_MESSAGE)
        smcr_link_post_ended(link, true, now_ns);
    return true;
}

void smcr_port_collect(struct smcr_link *link, uint64_t now_ns)
{
    set_aside(link->port);
    sift(link, take_post, now_ns);
}

static bool take_cdc(struct smcr_link *link, const struct nornic_wc *wc, uint64_t now_ns)
{
    const uint8_t *message = link->recv_bytes + (size_t)(wc->wr_id & 0xffff) * SMCR_RECV_BYTES;
    if (wc->status == NORNIC_WC_SUCCESS && kind_of(wc) == SMCR_WR_RECV && wc->opcode == NORNIC_WC_RECV &&
        wc->byte_len == SMCR_MSG_BYTES && message[0] == SMCR_CDC)
        smcr_conn_cdc_rx(link, message, SMCR_MSG_BYTES, now_ns);
    return true;
}

void smcr_port_take_cdcs(struct smcr_link *link, uint64_t now_ns)
{
    sift(link, take_cdc, now_ns);
}

/* --- the completions --- */

static void kick_waiting(struct smcr_link *link, uint64_t now_ns)
{
    /* Those that wait again come after those that wait now. */
    for (uint32_t n = link->conns; n > 0 && link->waiting_head && smcr_link_room(link) > 0; n--) {
        struct smcr_conn *conn = link->waiting_head;
        link->waiting_head = conn->wait_next;
        if (!link->waiting_head)
            link->waiting_tail = &link->waiting_head;
        conn->is_waiting = false;
        smcr_conn_kick(conn, now_ns);
    }
}

/* SMCR-FOV-08: the peer counts a CDC as delivered when our engine has acknowledged it, and may say so on
 * another link before we have looked at it here. Whatever came before the validation is taken before it. */
static void take_what_came_before(struct smcr_port *port, uint64_t now_ns)
{
    for (struct smcr_port *other = port->smcr->ports; other; other = other->next)
        if (other != port && !other->is_polled)
            smcr_port_poll(other, now_ns);
}

static void dispatch(struct smcr_link *link, const uint8_t *message, size_t len_bytes, uint64_t now_ns)
{
    if (len_bytes == SMCR_MSG_BYTES && message[0] == SMCR_CDC)
        smcr_conn_cdc_rx(link, message, len_bytes, now_ns);
    else
        smcr_llc_rx(link, message, len_bytes, now_ns);
}

static void received(struct smcr_port *port, const struct nornic_wc *wc, uint64_t now_ns)
{
    struct smcr_link *link = link_of(port, wc);
    unsigned index = (unsigned)(wc->wr_id & 0xffff);
    uint8_t message[SMCR_RECV_BYTES];
    size_t len_bytes = wc->byte_len < sizeof message ? wc->byte_len : sizeof message;
    memcpy(message, link->recv_bytes + (size_t)index * SMCR_RECV_BYTES, len_bytes);
    link->last_heard_ns = now_ns;
    if (link->state != SMCR_LINK_DOWN)
        smcr_link_post_recv(link, index); /* a QP in error takes it too, and flushes it */
    if (wc->opcode != NORNIC_WC_RECV)
        return; /* SMCR-ENG-10 */
    if (len_bytes == SMCR_MSG_BYTES && message[0] == SMCR_CDC && message[CDC_FLAGS_AT] & CDC_F) {
        take_what_came_before(port, now_ns);
        link = link_of(port, wc);
    }
    if (link)
        dispatch(link, message, len_bytes, now_ns);
}

static void taken(struct smcr_port *port, const struct nornic_wc *wc, uint64_t now_ns)
{
    struct smcr_link *link = link_of(port, wc);
    if (!link)
        return;
    if (wc->status != NORNIC_WC_SUCCESS) {
        smcr_link_failed(link,
                         kind_of(wc) == SMCR_WR_RECV ? "its queue pair went to error"
                                                     : nornic_wc_status_name(wc->status),
                         now_ns);
        return;
    }
    if (kind_of(wc) == SMCR_WR_RECV) {
        received(port, wc, now_ns);
        return;
    }
    link->last_heard_ns = now_ns;
    smcr_link_post_ended(link, true, now_ns);
    link = link_of(port, wc);
    if (link && link->waiting_head)
        kick_waiting(link, now_ns);
    link = link_of(port, wc);
    if (link && link->delete_step == SMCR_LINK_DRAINS)
        smcr_llc_drained(link, now_ns);
}

/* The CQ has overflowed: nothing tells any more what became of the posts. */
static void fail_all(struct smcr_port *port, uint64_t now_ns)
{
    for (uint32_t i = 0; i < port->table_size; i++)
        if (port->table[i] && port->table[i]->state != SMCR_LINK_DOWN)
            smcr_link_failed(port->table[i], "the completion queue overflowed", now_ns);
}

unsigned smcr_port_poll(struct smcr_port *port, uint64_t now_ns)
{
    unsigned count = 0, most = port->inbox.capacity;
    bool is_armed = false, was_polled = port->is_polled;
    port->is_polled = true;
    while (count < most) {
        struct nornic_wc wc;
        int n = next_wc(port, &wc);
        if (n < 0)
            fail_all(port, now_ns);
        if (n < 0 || (n == 0 && is_armed))
            break;
        if (n == 0) { /* what came before the arming fires nothing: SMCR-ENG-03's messages must not sleep */
            rdma_cq_req_notify(port->cq, false);
            is_armed = true;
            continue;
        }
        count++;
        taken(port, &wc, now_ns);
    }
    port->is_polled = was_polled;
    if (count == most && most > 0 && port->config.wake)
        port->config.wake(port->config.ctx); /* the rest is not announced by a completion */
    return count;
}
