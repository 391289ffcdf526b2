/* SPDX-License-Identifier: BSD-2-Clause */
/* The endpoint, rebuilt: an instance of smcr/ over a device of roce/ for each of its ports. No frame of
 * theirs travels: each is taken apart here. */
#include "explain/replay/smc/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/smc/learn.h"
#include "explain/replay/smc/rmbs.h"
#include "explain/replay/smc/who.h"
#include "explain/replay/smc/writes.h"
#include "explain/replay/tape.h"
#include "net/bytes.h"
#include "rdma/transport.h"
#include "roce/psn.h"
#include "roce/wire/frame.h"
#include "smcr/clc/networks.h"

#define PORT_MTU_BYTES 9000
#define FRAME_BYTES    (ROCE_FRAME_OVERHEAD_BYTES + ROCE_PMTU_MAX_BYTES)
#define MAX_QPS        512
#define MAX_REGIONS    8192
#define MAX_GROUPS     32
#define ROUNDS_MAX     4096                /* at one instant */
#define TIMERS_MAX     100000              /* between two packets */
#define NEVER_NS       (UINT64_C(1) << 60) /* links are tested when the recorded end does */
#define CORK_NS        1                   /* what the recorded end sent is not held back */

static uint64_t next_random(void *ctx)
{
    uint64_t *state = ctx;
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 20;
}

/* --- making, and ending --- */

/* The networks of a port: those of the first Proposal, as far as its GID or the TCP connection is from
 * there; else one of the same size around its GID, since a port of another fabric is in another network. */
static unsigned networks_of(const struct smcplay *s, const struct smcplay_port *port,
                            struct smcr_network *out)
{
    struct smcr_network named[SMCR_MAX_NETWORKS];
    struct explain_packet p;
    unsigned count = 0, n = 0;
    uint8_t prefix_len = nornic_addr_is_v4(&port->gid) ? 24 : 64;
    for (unsigned i = 0; i < s->conn_count && count == 0; i++) {
        const struct smcplay_conn *c = &s->conns[i];
        if (!c->is_own_known)
            continue;
        explain_tape_packet(s->tape, c->clc.proposal, &p);
        count = smcplay_networks(&p, &c->addr[c->is_own_server], named, SMCR_MAX_NETWORKS - 1);
    }
    for (unsigned i = 0; i < count; i++) {
        if (nornic_addr_is_v4(&named[i].addr) == nornic_addr_is_v4(&port->gid))
            prefix_len = named[i].prefix_len;
        if (smcr_network_has(&named[i], &port->gid) || port == s->ports)
            out[n++] = named[i];
    }
    out[n++] = (struct smcr_network){.addr = port->gid, .prefix_len = prefix_len};
    return n;
}

static int open_port(struct smcplay *s, struct smcplay_port *port)
{
    struct roce_dev_config dev = {.random = {.next = next_random, .ctx = &s->random},
                                  .max_qp = MAX_QPS,
                                  .max_mr = MAX_REGIONS,
                                  .port_mtu_bytes = PORT_MTU_BYTES,
                                  .parse_flags = ROCE_PARSE_ALLOW_NO_DF};
    struct nornic_gid gid = {.addr = port->gid, .mac = port->mac, .vlan_id = port->vlan_id};
    int err = roce_dev_create(&dev, &port->dev);
    int index = err ? 0 : roce_dev_gid_add(port->dev, &gid);
    if (err || index < 0)
        return err ? err : index;
    struct smcr_port_config config = {.dev = port->dev,
                                      .sgid_index = (unsigned)index,
                                      .path_mtu = s->mtu ? (enum nornic_mtu)s->mtu : NORNIC_MTU_1024};
    config.num_networks = networks_of(s, port, config.networks);
    return smcr_port_add(s->smcr, &config, s->now_ns, &port->port);
}

/* As Linux has one element an RMB; one that has more shows it as soon as it uses the second. */
static void configure_v2(const struct smcplay *s, struct smcr_config *config)
{
    size_t len = sizeof s->v2.host_name;
    while (len > 0 && (s->v2.host_name[len - 1] == ' ' || s->v2.host_name[len - 1] == 0))
        len--;
    memcpy(config->host_name, s->v2.host_name, len);
    memcpy(config->eids, s->v2.eids, sizeof config->eids);
    config->num_eids = s->v2.num_eids;
    config->only_v2 = !s->v2.offers_v1 && s->v2.num_eids > 0;
    config->max_group_conns = max_u32(s->v2.max_conns, SMCR_MIN_GROUP_CONNS);
    if (s->elems_per_rmb == 0)
        config->elems_per_rmb = 1;
    config->rmbs_serve_once = s->v2.gives_rmbs_back_soon;
    if (config->rmbs_serve_once)
        config->times.rmb_idle_ns = NEVER_NS; /* but when the recorded end does */
}

int smcplay_engine_open(struct smcplay *s)
{
    struct smcr_config config = {.random = {.next = next_random, .ctx = &s->random},
                                 .instance_id = get_be16(s->peer_id),
                                 .times = {.test_link_ns = NEVER_NS, .cork_ns = CORK_NS},
                                 .interop = {.shifted_add_link = s->has_shifted_add_link},
                                 .max_conns = SMCPLAY_CONNS_MAX,
                                 .max_groups = MAX_GROUPS,
                                 .max_links = s->max_links < 2 || s->max_links > 8 ? 2 : s->max_links,
                                 .elems_per_rmb = s->elems_per_rmb};
    s->random = 1;
    if (s->v2.is_spoken)
        configure_v2(s, &config);
    for (unsigned i = 0; i < s->link_count; i++)
        s->links[i].last = &s->links[i].first;
    int err = smcr_create(&config, &s->smcr);
    for (unsigned i = 0; i < s->port_count && !err; i++)
        err = open_port(s, &s->ports[i]);
    return err;
}

void smcplay_engine_close(struct smcplay *s)
{
    if (s->smcr)
        smcr_destroy(s->smcr, s->now_ns);
    for (unsigned i = 0; i < s->port_count; i++)
        if (s->ports[i].dev)
            roce_dev_destroy(s->ports[i].dev);
}

/* --- what it sends --- */

/* The bytes that a CDC of the engine tells of are those of the recorded stream. */
static void check_stream(struct smcplay *s, struct smcplay_link *l, struct smcplay_message *m)
{
    struct smcr_cdc cdc;
    smcr_cdc_get(&cdc, m->bytes);
    struct smcplay_conn *c = smcplay_conn_by_peer_token(s, cdc.alert_token, s->tape->count);
    if (!c || cdc.failover_validation)
        return;
    c->engine.is_done = cdc.sending_done;
    c->engine.is_closed = cdc.connection_closed;
    struct smcr_cursor to = {cdc.producer_cursor, cdc.producer_wrap};
    struct smcplay_place place;
    if (smcplay_place_of(s, c, l, &place))
        smcplay_image_place(&c->engine.image, &place, &l->written, &to);
    int64_t n = smcplay_image_ahead(&c->engine.image, &to);
    for (int64_t i = 0; i < n; i++) {
        uint8_t byte;
        uint64_t at = c->engine.image.position;
        bool is_right =
            smcplay_image_next(&c->engine.image, &byte) && at < c->stream.len && byte == c->stream.bytes[at];
        if (is_right || m->is_misplaced)
            continue;
        m->is_misplaced = true;
        m->misplaced_at = at;
    }
    m->produced = c->engine.image.position;
    if (cdc.urgent_present)
        c->engine.urgent = m->produced;
}

static void keep_message(struct smcplay *s, struct smcplay_link *l, const struct roce_pkt *pkt)
{
    struct smcplay_message *m = calloc(1, sizeof *m + pkt->payload_bytes);
    if (!m) {
        s->is_out_of_memory = true;
        return;
    }
    m->cause = s->cause;
    m->psn = pkt->bth.psn;
    m->len_bytes = pkt->payload_bytes;
    memcpy(m->bytes, pkt->payload, pkt->payload_bytes);
    *l->last = m;
    l->last = &m->next;
    if (m->bytes[0] == SMCR_CDC)
        check_stream(s, l, m);
}

static void take_frame(struct smcplay *s, const uint8_t *frame, uint32_t len_bytes)
{
    struct roce_pkt pkt;
    bool is_own;
    if (roce_pkt_parse(&pkt, frame, len_bytes, ROCE_PARSE_ALLOW_NO_DF) != ROCE_RX_TAKEN ||
        !(pkt.op->flags & ROCE_PKT_REQUEST))
        return; /* answers of RC are compared elsewhere */
    struct smcplay_link *l = smcplay_link_of(s, &pkt, &is_own);
    if (!l || !is_own || (l->is_engine_psn_known && roce_psn_diff(pkt.bth.psn, l->engine_psn) < 0))
        return;
    l->is_engine_psn_known = true;
    l->engine_psn = roce_psn_add(pkt.bth.psn, 1);
    if (pkt.op->flags & ROCE_PKT_WRITE)
        s->is_out_of_memory |= smcplay_writes_add(&l->written, &pkt) != 0;
    else if (smcplay_is_message(&pkt))
        keep_message(s, l, &pkt);
}

static bool take_frames(struct smcplay *s, struct smcplay_port *port)
{
    uint8_t bytes[FRAME_BYTES];
    bool moved = false;
    for (unsigned i = 0; i < ROUNDS_MAX; i++) {
        struct net_frame frame = {.data = bytes, .cap_bytes = sizeof bytes};
        if (roce_dev_tx(port->dev, &frame, 1, s->now_ns) == 0)
            break;
        take_frame(s, bytes, frame.len_bytes);
        moved = true;
    }
    return moved;
}

void smcplay_engine_work(struct smcplay *s)
{
    bool moved = true;
    for (unsigned round = 0; round < ROUNDS_MAX && moved; round++) {
        unsigned events;
        moved = false;
        for (unsigned i = 0; i < s->port_count; i++)
            moved |= take_frames(s, &s->ports[i]);
        moved |= smcr_progress(s->smcr, s->now_ns);
        while (smcr_next_event(s->smcr, &events))
            moved = true;
    }
}

/* --- time --- */

static uint64_t next_deadline(const struct smcplay *s)
{
    uint64_t deadline_ns = smcr_deadline_ns(s->smcr);
    for (unsigned i = 0; i < s->port_count; i++)
        deadline_ns = min_u64(deadline_ns, roce_dev_deadline_ns(s->ports[i].dev));
    return deadline_ns;
}

static void expire(struct smcplay *s, uint64_t now_ns)
{
    s->now_ns = max_u64(s->now_ns, now_ns);
    for (unsigned i = 0; i < s->port_count; i++)
        if (roce_dev_deadline_ns(s->ports[i].dev) <= s->now_ns)
            roce_dev_expire(s->ports[i].dev, s->now_ns);
    if (smcr_deadline_ns(s->smcr) <= s->now_ns)
        smcr_expire(s->smcr, s->now_ns);
    smcplay_engine_work(s);
}

void smcplay_engine_advance(struct smcplay *s, uint64_t until_ns)
{
    for (unsigned i = 0; i < TIMERS_MAX && next_deadline(s) <= until_ns; i++)
        expire(s, next_deadline(s));
    s->now_ns = max_u64(s->now_ns, until_ns);
}

bool smcplay_engine_jump(struct smcplay *s, uint64_t most_ns)
{
    uint64_t deadline_ns = next_deadline(s);
    if (deadline_ns == NET_TIME_NONE || deadline_ns > s->now_ns + most_ns)
        return false;
    s->skew_ns += deadline_ns > s->now_ns ? deadline_ns - s->now_ns : 0;
    expire(s, deadline_ns);
    return true;
}

/* --- what it gets --- */

void smcplay_engine_feed(struct smcplay *s, const struct smcplay_link *l, uint8_t *frame, uint32_t len_bytes)
{
    struct net_frame f = {.data = frame, .len_bytes = len_bytes};
    roce_dev_rx(s->ports[l->port].dev, &f, 1, s->now_ns);
    s->result->fed++;
    smcplay_engine_work(s);
}

void smcplay_engine_ack(struct smcplay *s, struct smcplay_link *l, uint32_t psn)
{
    const struct smcplay_port *port = &s->ports[l->port];
    struct roce_path path = {.src_mac = l->peer.mac,
                             .dst_mac = port->mac,
                             .vlan_tci = port->vlan_id ? port->vlan_id : -1,
                             .src = l->peer.gid,
                             .dst = port->gid,
                             .hop_limit = 64,
                             .src_port = ROCE_UDP_PORT};
    struct roce_frame_template t;
    uint8_t frame[FRAME_BYTES];
    uint32_t transport_bytes = ROCE_BTH_BYTES + ROCE_AETH_BYTES;
    if (!l->engine_qpn || (l->has_acked && roce_psn_diff(psn, l->acked_psn) <= 0))
        return;
    l->has_acked = true;
    l->acked_psn = psn;
    roce_frame_template_init(&t, &path);
    uint8_t *p = roce_frame_begin(&t, frame, transport_bytes, 0);
    p = roce_bth_put(p, &(struct roce_bth){.opcode = ROCE_OPCODE(ROCE_SERVICE_RC, ROCE_OP_ACK),
                                           .pkey = NORNIC_PKEY_DEFAULT,
                                           .dest_qpn = l->engine_qpn,
                                           .psn = psn});
    roce_aeth_put(p, &(struct roce_aeth){.syndrome = ROCE_SYNDROME_ACK_UNLIMITED});
    smcplay_engine_feed(s, l, frame, roce_frame_seal(&t, frame, transport_bytes));
}

void smcplay_engine_port(struct smcplay *s, unsigned port, bool is_up)
{
    struct smcplay_port *p = &s->ports[port];
    if (p->is_down != is_up)
        return;
    p->is_down = !is_up;
    roce_dev_port_state(p->dev, is_up);
    smcr_port_state(p->port, is_up, s->now_ns);
    smcplay_engine_work(s);
}
