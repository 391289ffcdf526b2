/* SPDX-License-Identifier: BSD-2-Clause */
/* The connection manager itself: creation, and its progress. */
#include "base/base.h"
#include "roce/cm/cm.h"

#include <errno.h>

#include "roce/cm/gsi.h"
#include "roce/cm/id.h"

#define MAX_IDS          16384 /* ROCE-CM-35 and the choices of this engine */
#define RESPONSE_TIMEOUT 20
#define PACKET_LIFE_TIME 16
#define ACK_DELAY        15 /* ROCE-LIM-2 */
#define MRA_TIMEOUT      24
#define MAX_RETRIES      15

/* Like a port GUID that Linux gives an interface without one: the MAC address with ff:fe in the middle. */
static uint64_t guid_of_mac(const struct nornic_mac *mac)
{
    uint64_t guid = 0;
    for (unsigned i = 0; i < NORNIC_MAC_BYTES; i++) {
        guid = guid << 8 | (mac->b[i] ^ (i == 0 ? 2u : 0u));
        if (i == 2)
            guid = guid << 16 | 0xfffe;
    }
    return guid;
}

static uint32_t comm_id_mask(const struct roce_cm_config *c)
{
    return c->comm_id_bits && c->comm_id_bits < 32 ? (UINT32_C(1) << c->comm_id_bits) - 1 : UINT32_MAX;
}

/* Each id that there may be at once has some numbers to take turns. */
static bool comm_ids_are_good(const struct roce_cm_config *c)
{
    uint32_t mask = comm_id_mask(c), max_ids = c->max_ids ? c->max_ids : MAX_IDS;
    return (c->first_comm_id & mask) == 0 && max_ids <= mask / 8;
}

static bool config_is_good(const struct roce_cm_config *c)
{
    return c->random.next && (!c->wire || c->wire->send) && nornic_mtu_for_port(c->port_mtu_bytes) != 0 &&
           c->max_ids < UINT32_C(1) << 24 && c->response_timeout < 32 && c->packet_life_time < 32 &&
           comm_ids_are_good(c) && c->ack_delay < 32 && c->mra_timeout < 32 && c->max_retries < 16;
}

static void complete_config(struct roce_cm_config *c, const struct roce_dev *dev)
{
    const struct nornic_gid *gid = roce_dev_gid_get(dev, 0);
    if (c->ca_guid == 0 && gid)
        c->ca_guid = guid_of_mac(&gid->mac);
    if (c->ca_guid == 0)
        c->ca_guid = c->random.next(c->random.ctx) | 1;
    c->max_ids = c->max_ids ? c->max_ids : MAX_IDS;
    c->response_timeout = c->response_timeout ? c->response_timeout : RESPONSE_TIMEOUT;
    c->packet_life_time = c->packet_life_time ? c->packet_life_time : PACKET_LIFE_TIME;
    c->ack_delay = c->ack_delay ? c->ack_delay : ACK_DELAY;
    c->mra_timeout = c->mra_timeout ? c->mra_timeout : MRA_TIMEOUT;
    c->max_retries = c->max_retries ? c->max_retries : MAX_RETRIES;
}

static int alloc_tables(struct roce_cm *cm)
{
    struct roce_cm_table *const tables[] = {&cm->by_service, &cm->by_peer, &cm->by_request, &cm->by_peer_qpn,
                                            &cm->by_local_qpn};
    uint32_t n = cm->config.max_ids;
    for (unsigned i = 0; i < array_len(tables); i++)
        if (roce_cm_table_init(tables[i], &cm->mem, n, roce_cm_random(cm)) != 0)
            return -ENOMEM;
    cm->slots = cm->mem.alloc(cm->mem.ctx, n * sizeof(struct roce_cm_id *));
    cm->free_slots = cm->mem.alloc(cm->mem.ctx, n * sizeof *cm->free_slots);
    cm->generation = cm->mem.alloc(cm->mem.ctx, n * sizeof *cm->generation);
    if (!cm->slots || !cm->free_slots || !cm->generation)
        return -ENOMEM;
    return rdma_timers_init(&cm->timers, &cm->mem, n);
}

static void free_all(struct roce_cm *cm)
{
    struct rdma_mem mem = cm->mem;
    if (cm->gsi)
        roce_cm_gsi_destroy(cm->gsi);
    if (cm->timers.heap)
        rdma_timers_deinit(&cm->timers, &mem);
    mem.free(mem.ctx, cm->generation);
    mem.free(mem.ctx, cm->free_slots);
    mem.free(mem.ctx, cm->slots);
    roce_cm_table_deinit(&cm->by_comm_id, &mem);
    roce_cm_table_deinit(&cm->by_local_qpn, &mem);
    roce_cm_table_deinit(&cm->by_peer_qpn, &mem);
    roce_cm_table_deinit(&cm->by_request, &mem);
    roce_cm_table_deinit(&cm->by_peer, &mem);
    roce_cm_table_deinit(&cm->by_service, &mem);
    mem.free(mem.ctx, cm);
}

static int open_wire(struct roce_cm *cm)
{
    if (cm->config.wire) {
        cm->wire = *cm->config.wire;
        return 0;
    }
    int err = roce_cm_gsi_create(cm->dev, &cm->mem, &cm->counters.tx_dropped, &cm->gsi);
    cm->wire = (struct roce_cm_wire){.send = roce_cm_gsi_send, .ctx = cm->gsi};
    return err;
}

int roce_cm_create(struct roce_dev *dev, const struct roce_cm_config *config, struct roce_cm **out)
{
    if (!config_is_good(config))
        return -EINVAL;
    struct rdma_mem mem = config->mem ? *config->mem : rdma_mem_libc;
    struct roce_cm *cm = mem.alloc(mem.ctx, sizeof *cm);
    if (!cm)
        return -ENOMEM;
    *cm = (struct roce_cm){.dev = dev, .config = *config, .mem = mem};
    complete_config(&cm->config, dev);
    cm->event_last = &cm->event_first;
    int err = alloc_tables(cm);
    if (!err)
        err = open_wire(cm);
    if (err) {
        free_all(cm);
        return err;
    }
    for (uint32_t i = 0; i < cm->config.max_ids; i++)
        cm->free_slots[i] = i;
    cm->free_count = cm->config.max_ids;
    rdma_slot_numbers_init(&cm->comm_ids, &cm->config.random, cm->config.max_ids, 0,
                           (uint64_t)comm_id_mask(&cm->config) + 1);
    cm->tid_high = (uint32_t)roce_cm_random(cm);
    *out = cm;
    return 0;
}

int roce_cm_destroy(struct roce_cm *cm)
{
    if (cm->owned_count > 0)
        return -EBUSY;
    for (uint32_t i = 0; i < cm->config.max_ids; i++)
        if (cm->slots[i])
            roce_cm_id_free(cm->slots[i]);
    free_all(cm);
    return 0;
}

bool roce_cm_progress(struct roce_cm *cm, uint64_t now_ns)
{
    struct rdma_timer *timer;
    if (cm->gsi)
        roce_cm_gsi_poll(cm->gsi, cm, now_ns);
    while ((timer = rdma_timers_pop(&cm->timers, now_ns)))
        roce_cm_timer_fire(timer, now_ns);
    return cm->event_first != NULL;
}

bool roce_cm_is_sending(const struct roce_cm *cm)
{
    return cm->gsi && roce_cm_gsi_is_sending(cm->gsi);
}

bool roce_cm_is_paced(const struct roce_cm *cm)
{
    return cm->gsi && roce_cm_gsi_deadline_ns(cm->gsi) != NET_TIME_NONE;
}

bool roce_cm_is_crowded(const struct roce_cm *cm)
{
    return cm->gsi && roce_cm_gsi_is_crowded(cm->gsi);
}

uint64_t roce_cm_deadline_ns(const struct roce_cm *cm)
{
    const uint64_t timer_ns = rdma_timers_next_ns(&cm->timers);
    return cm->gsi ? min_u64(timer_ns, roce_cm_gsi_deadline_ns(cm->gsi)) : timer_ns;
}

const struct roce_cm_counters *roce_cm_counters(const struct roce_cm *cm)
{
    return &cm->counters;
}

const char *roce_cm_state_name(enum roce_cm_state state)
{
    switch (state) {
#define STATE_CASE(name)         \
    case ROCE_CM_##name##_STATE: \
        return #name;
        ROCE_CM_STATES(STATE_CASE)
#undef STATE_CASE
    }
    return "?";
}
