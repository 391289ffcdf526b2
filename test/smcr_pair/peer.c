/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/smcr_pair/peer.h"

#include <stdlib.h>
#include <string.h>

#include "net/bytes.h"

void peer_init(struct peer *peer, struct pair *pair, unsigned node, enum smcr_role role)
{
    const struct pair_port *port = &pair->node[node].port[0];
    *peer = (struct peer){.pair = pair, .node = node, .role = role};
    put_be16(peer->peer_id, 0x0bad);
    memcpy(peer->peer_id + 2, port->mac.b, sizeof port->mac.b);
    peer->rmb = calloc(PEER_ELEMS, PEER_ELEM_BYTES);
    if (!peer->rmb)
        abort();
}

void peer_deinit(struct peer *peer)
{
    for (unsigned i = 0; i < PEER_LINKS; i++)
        raw_free(peer->link[i].raw);
    free(peer->rmb);
}

/* --- CLC --- */

static void clc_header(const struct peer *peer, uint8_t *out, enum smcr_clc_type type, size_t len_bytes,
                       bool flag)
{
    struct smcr_clc h = {.eye_catcher = SMCR_EYE_CATCHER,
                         .type = (uint8_t)type,
                         .length = (uint16_t)len_bytes,
                         .version = 1,
                         .flag = flag};
    memset(out, 0, len_bytes);
    smcr_clc_put(out, &h);
    memcpy(out + SMCR_CLC_BYTES, peer->peer_id, sizeof peer->peer_id);
    put_be32(out + len_bytes - SMCR_CLC_TRAIL_BYTES, SMCR_EYE_CATCHER);
}

size_t peer_proposal(const struct peer *peer, uint8_t *out)
{
    const struct pair_port *port = &peer->pair->node[peer->node].port[0];
    bool ipv6 = peer->pair->config.ipv6;
    size_t len =
        SMCR_PROPOSAL_BYTES + SMCR_SUBNET_BYTES + (ipv6 ? SMCR_PREFIX_BYTES : 0) + SMCR_CLC_TRAIL_BYTES;
    clc_header(peer, out, SMCR_CLC_PROPOSAL, len, false);
    memcpy(out + 16, port->addr.b, 16);
    memcpy(out + 32, port->mac.b, 6);
    uint8_t *area = out + SMCR_PROPOSAL_BYTES;
    if (!ipv6) {
        memcpy(area, port->addr.b + 12, 3);
        area[4] = 24;
    } else {
        area[7] = 1;
        memcpy(area + SMCR_SUBNET_BYTES, port->addr.b, 8);
        area[SMCR_SUBNET_BYTES + 16] = 64;
    }
    return len;
}

size_t peer_accept(const struct peer_conn *conn, enum smcr_clc_type type, bool first_contact, unsigned link,
                   uint8_t *out)
{
    const struct peer *peer = conn->peer;
    const struct raw_link *raw = peer->link[link].raw;
    struct smcr_accept a = {.eye_catcher = SMCR_EYE_CATCHER,
                            .type = (uint8_t)type,
                            .length = SMCR_ACCEPT_BYTES,
                            .version = 1,
                            .flag = first_contact,
                            .qpn = raw->local.qpn,
                            .rkey = raw->rmb_mr->rkey,
                            .rmbe_index = conn->index,
                            .alert_token = conn->token,
                            .bsize = 0,
                            .mtu = raw->local.mtu,
                            .va = (uintptr_t)peer->rmb,
                            .psn = raw->local.psn,
                            .trailer = SMCR_EYE_CATCHER};
    memcpy(a.peer_id, peer->peer_id, sizeof a.peer_id);
    memcpy(a.gid, raw->local.gid.b, sizeof a.gid);
    memcpy(a.mac, raw->local.mac.b, sizeof a.mac);
    smcr_accept_put(out, &a);
    return SMCR_ACCEPT_BYTES;
}

size_t peer_decline(const struct peer *peer, bool out_of_sync, uint8_t *out)
{
    clc_header(peer, out, SMCR_CLC_DECLINE, SMCR_DECLINE_BYTES, out_of_sync);
    put_be32(out + 16, SMCR_DIAG_CONFIG);
    return SMCR_DECLINE_BYTES;
}

struct clc_wait {
    struct pair_end *end;
    size_t len_bytes;
};

static bool clc_has_come(void *ctx, struct pair *pair)
{
    struct clc_wait *w = ctx;
    (void)pair;
    size_t left = w->end->plain_bytes - w->end->plain_read;
    if (left < SMCR_CLC_BYTES)
        return false;
    w->len_bytes = get_be16(w->end->plain + w->end->plain_read + 5);
    return left >= w->len_bytes;
}

size_t peer_clc_wait(struct pair_end *end, uint8_t *out, size_t size, uint64_t max_ns)
{
    struct clc_wait w = {.end = end};
    if (!pair_run_until(end->pair, clc_has_come, &w, max_ns) || w.len_bytes > size)
        return 0;
    memcpy(out, end->plain + end->plain_read, w.len_bytes);
    end->plain_read += w.len_bytes;
    return w.len_bytes;
}

/* --- LLC and CDC --- */

void peer_confirm_link(const struct peer *peer, unsigned link, bool response, uint8_t *out)
{
    const struct peer_link *l = &peer->link[link];
    struct smcr_confirm_link m = {.type = SMCR_LLC_CONFIRM_LINK,
                                  .length = SMCR_MSG_BYTES,
                                  .response = response,
                                  .qpn = l->raw->local.qpn,
                                  .link = l->number,
                                  .link_user_id = 0x0bad0000 + l->number,
                                  .max_links = 2};
    memcpy(m.mac, l->raw->local.mac.b, sizeof m.mac);
    memcpy(m.gid, l->raw->local.gid.b, sizeof m.gid);
    smcr_confirm_link_put(out, &m);
}

void peer_add_link(const struct peer *peer, unsigned link, bool response, uint8_t *out)
{
    const struct peer_link *l = &peer->link[link];
    struct smcr_add_link m = {.type = SMCR_LLC_ADD_LINK,
                              .length = SMCR_MSG_BYTES,
                              .response = response,
                              .qpn = l->raw->local.qpn,
                              .link = l->number,
                              .mtu = l->raw->local.mtu,
                              .psn = l->raw->local.psn};
    memcpy(m.mac, l->raw->local.mac.b, sizeof m.mac);
    memcpy(m.gid, l->raw->local.gid.b, sizeof m.gid);
    smcr_add_link_put(out, &m);
}

void peer_add_link_reject(const struct peer *peer, uint8_t number, uint8_t *out)
{
    const struct raw_link *raw = peer->link[0].raw;
    struct smcr_add_link m = {.type = SMCR_LLC_ADD_LINK,
                              .length = SMCR_MSG_BYTES,
                              .response = 1,
                              .rejected = 1,
                              .reason = SMCR_ADD_LINK_NO_PATH,
                              .link = number};
    memcpy(m.mac, raw->local.mac.b, sizeof m.mac);
    memcpy(m.gid, raw->local.gid.b, sizeof m.gid);
    smcr_add_link_put(out, &m);
}

void peer_add_link_cont(const struct peer *peer, unsigned link, bool response, uint8_t *out)
{
    struct smcr_add_link_cont m = {.type = SMCR_LLC_ADD_LINK_CONT,
                                   .length = SMCR_MSG_BYTES,
                                   .response = response,
                                   .link = peer->link[link].number,
                                   .rtokens_left = 1,
                                   .reference_rkey_1 = peer->link[0].raw->rmb_mr->rkey,
                                   .rkey_1 = peer->link[link].raw->rmb_mr->rkey,
                                   .va_1 = (uintptr_t)peer->rmb};
    smcr_add_link_cont_put(out, &m);
}

void peer_cdc(struct peer_conn *conn, struct smcr_cdc *out)
{
    *out = (struct smcr_cdc){.type = SMCR_CDC,
                             .length = SMCR_MSG_BYTES,
                             .seq = ++conn->seq,
                             .alert_token = conn->theirs.alert_token,
                             .producer_wrap = conn->producer.wrap,
                             .producer_cursor = conn->producer.offset_bytes,
                             .consumer_wrap = conn->consumer.wrap,
                             .consumer_cursor = conn->consumer.offset_bytes};
}

void peer_send_cdc(struct peer_conn *conn, unsigned link, const struct smcr_cdc *cdc)
{
    uint8_t bytes[SMCR_MSG_BYTES] = {0};
    smcr_cdc_put(bytes, cdc);
    raw_send(conn->peer->link[link].raw, bytes, sizeof bytes);
}

static uint32_t their_elem_bytes(const struct peer_conn *conn)
{
    return UINT32_C(16384) << conn->theirs.bsize;
}

void peer_write(struct peer_conn *conn, unsigned link, const uint8_t *bytes, uint32_t len_bytes)
{
    const struct peer_link *l = &conn->peer->link[link];
    uint32_t elem_bytes = their_elem_bytes(conn);
    /* its Accept or Confirm names the RMB as one of the links knows it */
    bool named = conn->theirs.qpn == l->theirs.qpn && memcmp(conn->theirs.mac, l->theirs.mac.b, 6) == 0;
    uint32_t rkey = named ? conn->theirs.rkey : l->rkey;
    uint64_t base = (named ? conn->theirs.va : l->va) + (uint64_t)(conn->theirs.rmbe_index - 1) * elem_bytes;
    struct smcr_cdc cdc;
    while (len_bytes > 0) {
        uint32_t n = elem_bytes - conn->producer.offset_bytes;
        n = n < len_bytes ? n : len_bytes;
        n = n < 4096 ? n : 4096;
        raw_write(l->raw, bytes, n, base + conn->producer.offset_bytes, rkey);
        conn->producer = smcr_cursor_advance(SMCR_CURSOR_START, conn->producer, n, elem_bytes);
        bytes += n;
        len_bytes -= n;
    }
    peer_cdc(conn, &cdc);
    peer_send_cdc(conn, link, &cdc);
}

bool peer_cdc_wait(struct peer_conn *conn, unsigned link, struct smcr_cdc *out, uint64_t max_ns)
{
    struct raw_message m;
    uint64_t end_ns = conn->peer->pair->now_ns + max_ns;
    while (raw_wait(conn->peer->link[link].raw, SMCR_CDC, false, &m, end_ns - conn->peer->pair->now_ns)) {
        smcr_cdc_get(out, m.bytes);
        if (out->alert_token == conn->token)
            return true;
    }
    return false;
}
