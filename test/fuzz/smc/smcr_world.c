/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/fuzz/smc/smcr_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/bytes.h"
#include "smcr/instance.h"

#define CONNS       6
#define STEPS_MAX   64
#define PATCHES_MAX 8
#define END_NS      (700 * PAIR_S)

struct world {
    struct pair *pair;
    struct peer peer;
    struct peer_conn conn[CONNS];
    unsigned num_conns;
    struct fuzz_input in;
};

static void patch(struct world *w, uint8_t *bytes, size_t len_bytes)
{
    unsigned n = fuzz_u8(&w->in) % (PATCHES_MAX + 1);
    for (unsigned i = 0; i < n; i++) {
        uint8_t at = fuzz_u8(&w->in), value = fuzz_u8(&w->in);
        if (at < len_bytes)
            bytes[at] = value;
    }
}

static struct peer_conn *conn_of(struct world *w, uint8_t which)
{
    return w->num_conns > 0 ? &w->conn[which % w->num_conns] : NULL;
}

static struct raw_link *link_of(struct world *w, uint8_t which)
{
    return w->peer.num_links > 0 ? w->peer.link[which % w->peer.num_links].raw : NULL;
}

static void open_conn(struct world *w)
{
    if (w->num_conns == CONNS)
        return;
    if (w->peer.num_links == 0)
        peer_make_link(&w->peer, 0, 0);
    peer_conn_begin(&w->peer, &w->conn[w->num_conns++]);
}

static void step_tcp(struct world *w, struct peer_conn *c)
{
    uint8_t bytes[256], n = fuzz_u8(&w->in);
    for (unsigned i = 0; i < n; i++)
        bytes[i] = fuzz_u8(&w->in);
    if (c && n > 0)
        pair_tcp_send(c->end, bytes, n);
}

/* What the instance sent last teaches where its element is, and connects our queue pair. */
static void learn(struct world *w, struct peer_conn *c)
{
    uint8_t m[SMCR_CLC_MAX_BYTES];
    while (peer_clc_wait(c->end, m, sizeof m, 0) > 0)
        if (m[4] == SMCR_CLC_ACCEPT || m[4] == SMCR_CLC_CONFIRM) {
            bool first = w->peer.link[0].theirs.qpn == 0;
            peer_learn(c, m, first);
            if (first)
                (void)raw_ready(w->peer.link[0].raw, &w->peer.link[0].theirs);
        }
}

static void step_clc(struct world *w, struct peer_conn *c)
{
    uint8_t m[SMCR_CLC_MAX_BYTES], kind = fuzz_u8(&w->in);
    if (!c)
        return;
    pair_now(w->pair);
    learn(w, c);
    size_t len = 0;
    switch (kind & 3) {
    case 0:
        len = peer_proposal(&w->peer, m);
        break;
    case 1:
        len = peer_accept(c, SMCR_CLC_ACCEPT, kind & 0x80, 0, m);
        break;
    case 2:
        len = peer_accept(c, SMCR_CLC_CONFIRM, false, 0, m);
        break;
    case 3:
        len = peer_decline(&w->peer, kind & 0x80, m);
        break;
    }
    patch(w, m, len);
    pair_tcp_send(c->end, m, kind & 0x40 ? len / 2 : len);
}

static void llc_template(struct world *w, unsigned link, uint8_t kind, uint8_t *m)
{
    static const uint8_t types[] = {SMCR_LLC_DELETE_LINK, SMCR_LLC_CONFIRM_RKEY, SMCR_LLC_TEST_LINK,
                                    SMCR_LLC_CONFIRM_RKEY_CONT, SMCR_LLC_DELETE_RKEY};
    const struct peer_link *l = &w->peer.link[link];
    bool response = kind & 0x80;
    memset(m, 0, SMCR_MSG_BYTES);
    switch (kind & 7) {
    case 0:
        peer_confirm_link(&w->peer, link, response, m);
        return;
    case 1:
        peer_add_link(&w->peer, link, response, m);
        m[29] = (uint8_t)(l->number + (kind >> 4 & 3));
        return;
    case 2:
        peer_add_link_cont(&w->peer, link, response, m);
        return;
    default:
        m[0] = types[(kind & 7) - 3];
    }
    m[1] = SMCR_MSG_BYTES;
    m[3] = response ? 0x80 : 0;
    if (m[0] == SMCR_LLC_DELETE_LINK) {
        m[4] = l->number;
        put_be32(m + 5, SMCR_DELETE_OPERATOR);
    } else if (m[0] == SMCR_LLC_CONFIRM_RKEY) {
        put_be32(m + 5, 0x77770000u + kind);
        put_be64(m + 9, (uintptr_t)w->peer.rmb);
        if (w->peer.num_links > 1) {
            m[4] = 1;
            m[17] = w->peer.link[!link].number;
            put_be32(m + 18, 0x88880000u + kind);
        }
    } else if (m[0] == SMCR_LLC_DELETE_RKEY) {
        m[4] = 1;
        put_be32(m + 8, l->raw->rmb_mr->rkey);
    }
}

static void step_llc(struct world *w, uint8_t which)
{
    uint8_t m[SMCR_MSG_BYTES], kind = fuzz_u8(&w->in);
    struct raw_link *raw = link_of(w, which);
    if (!raw)
        return;
    llc_template(w, which % w->peer.num_links, kind, m);
    patch(w, m, sizeof m);
    raw_send(raw, m, sizeof m);
}

static void step_cdc(struct world *w, struct peer_conn *c)
{
    uint8_t m[SMCR_MSG_BYTES] = {0}, which = fuzz_u8(&w->in);
    struct raw_link *raw = link_of(w, which);
    struct smcr_cdc cdc;
    if (!c || !raw)
        return;
    peer_cdc(c, &cdc);
    cdc.seq = (uint16_t)(cdc.seq + (int8_t)which / 8);
    smcr_cdc_put(m, &cdc);
    patch(w, m, sizeof m);
    raw_send(raw, m, sizeof m);
}

static void step_raw(struct world *w, uint8_t which)
{
    uint8_t bytes[RAW_LONGEST], n = fuzz_u8(&w->in) % (RAW_LONGEST + 1);
    struct raw_link *raw = link_of(w, which);
    for (unsigned i = 0; i < n; i++)
        bytes[i] = fuzz_u8(&w->in);
    if (raw)
        raw_send(raw, bytes, n);
}

/* Honest data, if the window has room for it; else only bytes somewhere in the element, told by nobody. */
static void step_write(struct world *w, struct peer_conn *c)
{
    uint8_t bytes[4096], how = fuzz_u8(&w->in);
    uint32_t n = 1 + (uint32_t)fuzz_u16(&w->in) % sizeof bytes;
    if (!c || w->peer.num_links == 0 || !c->theirs.rkey)
        return;
    memset(bytes, how, sizeof bytes);
    if (how & 0x80)
        raw_write(w->peer.link[0].raw, bytes, n, c->theirs.va + (how & 0x7f) * 512u, c->theirs.rkey);
    else
        peer_write(c, how % w->peer.num_links, bytes, n);
}

static void step_app(struct world *w, struct peer_conn *c)
{
    static uint8_t bytes[70000];
    uint8_t what = fuzz_u8(&w->in);
    struct pair_end *end = c ? pair_other(c->end) : NULL;
    uint32_t n = 1 + fuzz_u16(&w->in);
    if (!end || !end->conn || end->given_back)
        return;
    uint64_t now_ns = w->pair->now_ns;
    switch (what & 7) {
    case 0:
        (void)smcr_conn_send(end->conn, bytes, n, what >> 3 & 7, now_ns);
        return;
    case 1:
        (void)smcr_conn_recv(end->conn, bytes, n, what >> 3 & 3, now_ns);
        return;
    case 2:
        smcr_conn_shutdown_write(end->conn, now_ns);
        return;
    case 3:
        pair_close(end);
        return;
    case 4:
        smcr_conn_abort(end->conn, now_ns);
        return;
    case 5:
        smcr_conn_set_keepalive(end->conn, n * PAIR_MS, now_ns);
        return;
    case 6:
        smcr_conn_set_urgent_inline(end->conn, what & 8);
        return;
    case 7:
        (void)smcr_conn_at_mark(end->conn);
        return;
    }
}

static void step_port(struct world *w, uint8_t how)
{
    unsigned node = how & 1, port = (how >> 1 & 3) % w->pair->node[node].num_ports;
    if (how & 8)
        pair_restore(w->pair, node, port);
    else
        pair_cut(w->pair, node, port, how & 16);
}

static void answer(struct world *w, unsigned link, const struct raw_message *in)
{
    uint8_t out[SMCR_MSG_BYTES];
    if (in->len_bytes != SMCR_MSG_BYTES || in->bytes[3] & 0x80)
        return;
    memcpy(out, in->bytes, sizeof out);
    out[3] |= 0x80;
    switch (in->bytes[0]) {
    case SMCR_LLC_CONFIRM_LINK:
        w->peer.link[link].number = in->bytes[29];
        peer_confirm_link(&w->peer, link, true, out);
        break;
    case SMCR_LLC_ADD_LINK:
        peer_add_link_reject(&w->peer, in->bytes[29], out);
        break;
    case SMCR_LLC_DELETE_LINK:
        put_be32(out + 5, 0);
        break;
    case SMCR_CDC:
        return;
    }
    raw_send(w->peer.link[link].raw, out, sizeof out);
}

static void step_answer(struct world *w, uint8_t which)
{
    struct raw_message m;
    struct raw_link *raw = link_of(w, which);
    pair_run_for(w->pair, 100 * PAIR_US);
    for (unsigned i = 0; i < 16 && raw && raw_take(raw, &m); i++)
        answer(w, which % w->peer.num_links, &m);
}

static void contact(struct world *w, unsigned links)
{
    if (w->num_conns > 0 || w->peer.num_links > 0)
        return;
    links = links < w->pair->node[1].num_ports ? links : w->pair->node[1].num_ports;
    (void)peer_first_contact(&w->peer, &w->conn[w->num_conns++], links);
}

static void step(struct world *w)
{
    enum smcr_step what = (enum smcr_step)(fuzz_u8(&w->in) & 15);
    uint8_t which = fuzz_u8(&w->in);
    struct peer_conn *c = conn_of(w, which);
    struct test_alloc *alloc = &w->pair->node[!w->peer.node].alloc;
    switch (what) {
    case SMCR_STEP_TCP:
        return step_tcp(w, c);
    case SMCR_STEP_CLC:
        return step_clc(w, c);
    case SMCR_STEP_TCP_END:
        if (c && which & 0x80)
            pair_tcp_rst(pair_other(c->end));
        else if (c)
            pair_tcp_fin(c->end);
        return;
    case SMCR_STEP_OPEN:
        return open_conn(w);
    case SMCR_STEP_WAIT:
        return pair_run_for(w->pair, UINT64_C(1) << which % 38);
    case SMCR_STEP_LLC:
        return step_llc(w, which);
    case SMCR_STEP_CDC:
        return step_cdc(w, c);
    case SMCR_STEP_RAW:
        return step_raw(w, which);
    case SMCR_STEP_WRITE:
        return step_write(w, c);
    case SMCR_STEP_APP:
        return step_app(w, c);
    case SMCR_STEP_PORT:
        return step_port(w, which);
    case SMCR_STEP_FAIL:
        alloc->fail_at = alloc->calls + 1 + which % 32;
        return;
    case SMCR_STEP_ANSWER:
        return step_answer(w, which);
    case SMCR_STEP_BREAK:
        if (link_of(w, which))
            raw_break(link_of(w, which));
        return;
    case SMCR_STEP_RETIRE:
        return smcr_retire(w->pair->node[!w->peer.node].smcr, w->pair->now_ns);
    case SMCR_STEP_CONTACT:
        return contact(w, 1 + (which & 1));
    }
}

static void begin(struct world *w, bool with_group)
{
    uint8_t how = fuzz_u8(&w->in);
    struct pair_config config = {.seed = 1,
                                 .ports = {2, 2},
                                 .scripted[1] = true,
                                 .ipv6 = how & SMCR_FUZZ_IPV6,
                                 .tcp_chunk_bytes = how & SMCR_FUZZ_CHUNKS ? 1 : 0,
                                 .rcvbuf_bytes = {16380},
                                 .sndbuf_bytes = {16384},
                                 .smcr[0] = {.elems_per_rmb = 4, .max_conns = 8}};
    config.smcr[0].interop.shifted_add_link = how & SMCR_FUZZ_SHIFTED;
    if (how & SMCR_FUZZ_EID)
        smcr_eid_parse("NORNIC.LAB", config.smcr[0].eids[config.smcr[0].num_eids++]);
    config.ladder = getenv("SMCR_FUZZ_LADDER") != NULL;
    unsigned links = how & SMCR_FUZZ_TWO_LINKS ? 2 : 1;
    if (links == 1)
        config.ports[0] = config.ports[1] = 1;
    w->pair = pair_new(&config);
    peer_init(&w->peer, w->pair, 1, how & SMCR_FUZZ_SERVER ? SMCR_SERVER : SMCR_CLIENT);
    if (!with_group)
        return;
    contact(w, links);
    if (how & SMCR_FUZZ_SECOND)
        (void)peer_subsequent_contact(&w->peer, &w->conn[w->num_conns++]);
}

/* Everything ends by itself: the peer says nothing any more, and the program has left. */
static void end(struct world *w)
{
    for (struct pair_conn *c = w->pair->conns; c; c = c->next)
        pair_close(&c->end[0]);
    pair_run_for(w->pair, END_NS);
    for (struct pair_conn *c = w->pair->conns; c; c = c->next)
        if (c->end[0].conn)
            pair_fail(w->pair, "connection %u does not end", c->id);
    if (w->pair->node[0].smcr->num_conns != 0)
        pair_fail(w->pair, "connections stay");
    peer_deinit(&w->peer);
    const char *why = pair_free(w->pair);
    if (why)
        fprintf(stderr, "%s\n", why);
    FUZZ_REQUIRE(!why);
}

void smcr_fuzz(const uint8_t *data, size_t size, bool with_group)
{
    static struct world world;
    world = (struct world){.in = {.p = data, .left = size}};
    begin(&world, with_group);
    for (unsigned i = 0; i < STEPS_MAX && world.in.left > 0; i++)
        step(&world);
    end(&world);
}
