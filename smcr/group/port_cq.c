/* SPDX-License-Identifier: BSD-2-Clause */
/* The links on a port and their completions: a table that finds the link of a completion, one CQ that grows
 * with them, and an inbox for completions that were taken out of it before their turn. */
#include <errno.h>
#include <string.h>

#include "smcr/group/group.h"

#define CQES_PER_LINK (SMCR_LINK_SENDS + SMCR_LINK_RECVS) /* so many may wait at a time: it never overflows */

/* --- the table and the CQ --- */

/* One more link's completions fit. */
static int grow_cq(struct smcr_port *port)
{
    struct rdma_mem *mem = &port->smcr->mem;
    uint32_t wanted = (port->num_links + 1) * CQES_PER_LINK;
    if (wanted <= port->inbox.capacity)
        return 0;
    struct smcr_inbox *inbox = &port->inbox;
    struct nornic_wc *ring = mem->alloc(mem->ctx, 2 * (size_t)wanted * sizeof *ring);
    if (!ring)
        return -ENOMEM;
    smcr_port_lock(port);
    int err = rdma_cq_resize(port->cq, 2 * wanted);
    smcr_port_unlock(port);
    if (err) {
        mem->free(mem->ctx, ring);
        return err;
    }
    for (uint32_t i = 0; i < inbox->count; i++)
        ring[i] = inbox->ring[(inbox->first + i) % inbox->capacity];
    mem->free(mem->ctx, inbox->ring);
    *inbox = (struct smcr_inbox){.ring = ring, .capacity = 2 * wanted, .count = inbox->count};
    return 0;
}

static int grow_table(struct smcr_port *port)
{
    struct rdma_mem *mem = &port->smcr->mem;
    uint32_t size = port->table_size ? 2 * port->table_size : 4;
    struct smcr_link **table = mem->alloc(mem->ctx, size * sizeof *table);
    if (!table)
        return -ENOMEM;
    if (port->table)
        memcpy(table, port->table, port->table_size * sizeof *table);
    mem->free(mem->ctx, port->table);
    port->table = table;
    port->table_size = size;
    return 0;
}

int smcr_port_join(struct smcr_port *port, struct smcr_link *link)
{
    int err = grow_cq(port);
    uint32_t index = 0;
    while (index < port->table_size && port->table[index])
        index++;
    if (!err && index == port->table_size)
        err = grow_table(port);
    if (err)
        return err;
    port->table[index] = link;
    link->port_index = index;
    link->port = port;
    link->next_on_port = port->links;
    port->links = link;
    port->num_links++;
    return 0;
}

void smcr_port_leave(struct smcr_link *link)
{
    struct smcr_port *port = link->port;
    struct smcr_link **at = &port->links;
    while (*at != link)
        at = &(*at)->next_on_port;
    *at = link->next_on_port;
    port->table[link->port_index] = NULL;
    port->num_links--;
    link->port = NULL;
}

/* --- completions --- */

struct smcr_link *smcr_port_link_of(const struct smcr_port *port, const struct nornic_wc *wc)
{
    uint32_t index = (uint32_t)(wc->wr_id >> 32);
    struct smcr_link *link = index < port->table_size ? port->table[index] : NULL;
    return link && link->local.qpn == wc->qp_num ? link : NULL;
}

static struct nornic_wc *inbox_at(struct smcr_inbox *inbox, uint32_t i)
{
    return &inbox->ring[(inbox->first + i) % inbox->capacity];
}

int smcr_port_next_wc(struct smcr_port *port, struct nornic_wc *wc)
{
    struct smcr_inbox *inbox = &port->inbox;
    if (inbox->count == 0)
        return rdma_cq_poll(port->cq, wc, 1);
    *wc = *inbox_at(inbox, 0);
    inbox->first = (inbox->first + 1) % inbox->capacity;
    inbox->count--;
    return 1;
}

void smcr_port_set_aside(struct smcr_port *port)
{
    struct smcr_inbox *inbox = &port->inbox;
    struct nornic_wc wc;
    while (inbox->count < inbox->capacity && rdma_cq_poll(port->cq, &wc, 1) == 1)
        *inbox_at(inbox, inbox->count++) = wc;
}

static bool is_message(const struct nornic_wc *wc)
{
    return wc->status == NORNIC_WC_SUCCESS && smcr_wr_kind_of(wc) == SMCR_WR_RECV;
}

unsigned smcr_port_drop_posts(struct smcr_link *link)
{
    struct smcr_port *port = link->port;
    uint32_t kept = 0, count = port->inbox.count;
    unsigned delivered = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct nornic_wc wc = *inbox_at(&port->inbox, i);
        bool is_its = smcr_port_link_of(port, &wc) == link;
        if (!is_its || is_message(&wc))
            *inbox_at(&port->inbox, kept++) = wc;
        else
            delivered += wc.status == NORNIC_WC_SUCCESS && smcr_wr_kind_of(&wc) == SMCR_WR_MESSAGE;
    }
    port->inbox.count = kept;
    return delivered;
}

bool smcr_port_take_message(struct smcr_link *link, struct nornic_wc *wc)
{
    struct smcr_inbox *inbox = &link->port->inbox;
    for (uint32_t i = 0; i < inbox->count; i++) {
        *wc = *inbox_at(inbox, i);
        if (smcr_port_link_of(link->port, wc) != link || !is_message(wc))
            continue;
        for (inbox->count--; i < inbox->count; i++)
            *inbox_at(inbox, i) = *inbox_at(inbox, i + 1);
        return true;
    }
    return false;
}
