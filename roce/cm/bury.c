/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends connections of dead processes, as their notes have them (roce/cm/note.c). */
#include <errno.h>

#include "base/base.h"
#include "roce/cm/estate.h"
#include "roce/cm/id.h"
#include "roce/cm/note.h"

#define DREQ_WAIT_NS (250 * NS_PER_MS)
#define DREQ_RETRIES 3

static bool is_sound(const struct roce_cm_connection *c)
{
    bool is_asking = c->state == ROCE_CM_REQ_SENT_STATE || c->state == ROCE_CM_MRA_REQ_RCVD_STATE;
    return c->state <= ROCE_CM_SIDR_REP_SENT_STATE && roce_cm_owes_word((enum roce_cm_state)c->state) &&
           c->comm_id != 0 && (is_asking || (c->remote_comm_id != 0 && roce_cm_qpn_is_good(c->remote_qpn))) &&
           c->path.remote_qpn == 1 && !nornic_addr_is_zero(&c->path.av.dgid);
}

static int index_id(struct roce_cm *cm, struct roce_cm_id *id)
{
    if (!cm->by_comm_id.buckets &&
        roce_cm_table_init(&cm->by_comm_id, &cm->mem, cm->config.max_ids, roce_cm_random(cm)) != 0)
        return -ENOMEM;
    roce_cm_table_add(&cm->by_comm_id, &id->by_comm_id, roce_cm_qpn_key(0, id->comm_id), id);
    return 0;
}

/* Gives the id the number, the peer and the state of the connection. A DREQ that had left is sent again: it
 * may be lost, and the peer answers each. */
static void take_over(struct roce_cm_id *id, const struct roce_cm_connection *c)
{
    id->comm_id = c->comm_id;
    id->was_used = true;
    id->path = c->path;
    id->local_addr = c->local;
    id->service_id = c->service_id;
    id->tid = id->dreq_tid = c->tid;
    id->remote_comm_id = c->remote_comm_id;
    id->remote_qpn = c->remote_qpn;
    id->local_qpn = c->local_qpn;
    id->base_wait_ns = DREQ_WAIT_NS;
    id->max_retries = DREQ_RETRIES;
    id->state =
        c->state == ROCE_CM_DREQ_SENT_STATE ? ROCE_CM_ESTABLISHED_STATE : (enum roce_cm_state)c->state;
    id->is_owned = true;
    id->cm->owned_count++;
}

int roce_cm_bury(struct roce_cm *cm, const struct roce_cm_connection *connection, uint64_t now_ns)
{
    if (!is_sound(connection))
        return -EINVAL;
    if (cm->free_count == 0)
        return -ENOSPC;
    struct roce_cm_id *id = roce_cm_id_new(cm, NORNIC_PS_TCP);
    if (!id)
        return -ENOMEM;
    take_over(id, connection);
    int err = index_id(cm, id);
    if (err)
        roce_cm_id_free(id);
    else
        roce_cm_id_destroy(id, now_ns);
    return err;
}

unsigned roce_cm_count_ending(const struct roce_cm *cm)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < cm->config.max_ids; i++)
        count += cm->slots[i] && cm->slots[i]->state == ROCE_CM_DREQ_SENT_STATE;
    return count;
}
