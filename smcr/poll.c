/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions: each is a step, after which what it has left is done (smcr/progress.c). So whatever a message
 * brings about - the end of a link, or of a whole group - is over before the next one is looked at. */
#include <errno.h>

#include "smcr/conn/data.h"
#include "smcr/llc/llc.h"
#include "smcr/progress.h"

static unsigned poll_port(struct smcr_port *port, uint64_t now_ns);

/* A message that came: taken out of its receive buffer, which is posted again. */
struct arrival {
    size_t len_bytes;
    bool is_cdc;
    struct smcr_cdc cdc;
    uint8_t bytes[SMCR_LLC2_MAX_BYTES];
};

static void look(const struct smcr_link *link, const struct nornic_wc *wc, struct arrival *out)
{
    out->len_bytes = smcr_link_take_received(link, smcr_wr_recv_index(wc), wc->byte_len, out->bytes);
    out->is_cdc = out->len_bytes == SMCR_MSG_BYTES;
    if (out->is_cdc) {
        smcr_cdc_get(&out->cdc, out->bytes);
        out->is_cdc = out->cdc.type == SMCR_CDC;
    }
}

/* SMCR-FOV-08: the peer counts a CDC as delivered when our engine has acknowledged it, and may say so on
 * another link before we have looked at it here. Whatever came before the validation is taken before it. */
static void take_what_came_before(struct smcr_port *port, uint64_t now_ns)
{
    for (struct smcr_port *other = port->smcr->ports; other; other = other->next)
        if (other != port && !other->is_polled)
            poll_port(other, now_ns);
}

static void received(struct smcr_port *port, const struct nornic_wc *wc, uint64_t now_ns)
{
    struct smcr_link *link = smcr_port_link_of(port, wc);
    struct arrival a;
    look(link, wc, &a);
    link->last_heard_ns = now_ns;
    if (link->state != SMCR_LINK_DOWN)
        smcr_link_post_recv(link, smcr_wr_recv_index(wc)); /* a QP in error takes it too, and flushes it */
    if (wc->opcode != NORNIC_WC_RECV)
        return; /* SMCR-ENG-10 */
    if (a.is_cdc && a.cdc.failover_validation) {
        take_what_came_before(port, now_ns);
        link = smcr_port_link_of(port, wc); /* these were steps of their own, and may have ended it */
    }
    if (link && a.is_cdc)
        smcr_rx_cdc(link, &a.cdc, a.bytes, now_ns);
    else if (link)
        smcr_llc_rx(link, a.bytes, a.len_bytes, now_ns);
}

static void taken(struct smcr_port *port, const struct nornic_wc *wc, uint64_t now_ns)
{
    struct smcr_link *link = smcr_port_link_of(port, wc);
    if (!link)
        return;
    if (wc->status != NORNIC_WC_SUCCESS) {
        smcr_link_fail(link,
                       smcr_wr_kind_of(wc) == SMCR_WR_RECV ? "its queue pair went to error"
                                                           : nornic_wc_status_name(wc->status),
                       now_ns);
    } else if (smcr_wr_kind_of(wc) == SMCR_WR_RECV) {
        received(port, wc, now_ns);
    } else {
        link->last_heard_ns = now_ns;
        smcr_progress_post_ended(link, true, now_ns);
        smcr_tx_serve(link, now_ns);
    }
}

/* The CQ has overflowed: nothing tells any more what became of the posts. */
static void fail_all(struct smcr_port *port, uint64_t now_ns)
{
    for (struct smcr_link *link = port->links; link; link = link->next_on_port)
        smcr_link_fail(link, "the completion queue overflowed", now_ns);
}

static unsigned poll_port(struct smcr_port *port, uint64_t now_ns)
{
    unsigned count = 0, most = port->inbox.capacity;
    bool is_armed = false, was_polled = port->is_polled;
    port->is_polled = true;
    while (count < most) {
        struct nornic_wc wc;
        int n = smcr_port_next_wc(port, &wc);
        if (n < 0) {
            fail_all(port, now_ns);
            smcr_settle(port->smcr, now_ns);
        }
        if (n < 0 || (n == 0 && is_armed))
            break;
        if (n == 0) { /* what came before the arming fires nothing: SMCR-ENG-03's messages must not sleep */
            rdma_cq_req_notify(port->cq, false);
            is_armed = true;
            continue;
        }
        count++;
        taken(port, &wc, now_ns);
        smcr_settle(port->smcr, now_ns);
    }
    port->is_polled = was_polled;
    if (count == most && most > 0 && port->config.wake)
        port->config.wake(port->config.ctx); /* the rest is not announced by a completion */
    return count;
}

bool smcr_progress(struct smcr *smcr, uint64_t now_ns)
{
    unsigned taken = 0;
    for (struct smcr_port *port = smcr->ports; port; port = port->next)
        taken += poll_port(port, now_ns);
    return taken > 0;
}
