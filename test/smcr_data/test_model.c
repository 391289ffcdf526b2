/* SPDX-License-Identifier: BSD-2-Clause */
/* A model of the peer, with arithmetic of its own: it reads and writes at random, its messages and ours come
 * late, links fail with posts on them that arrived or did not, and every byte has to come once and in
 * order. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "test/smcr_data/rig.h"
#include "test/support/random.h"

#define STEPS 400

TestSuite(model, .timeout = 120);

struct model {
    struct rig *rig;
    struct test_random random;
    uint64_t seed;
    uint32_t cap, peer_cap; /* of our element, of the peer's */

    /* Our stream. */
    uint64_t given;         /* by the application */
    uint64_t urgent[STEPS]; /* where it was urgent: one past */
    unsigned num_urgent;
    unsigned delivered;          /* entries of the log that have reached the peer */
    uint16_t sr;                 /* its last CDC */
    uint64_t produced, consumed; /* as the peer sees them */
    uint64_t told;               /* consumed, as its last CDC says */
    uint64_t mark;               /* one past an urgent byte; nothing follows it until it is consumed */
    bool our_b, our_p, our_d, our_c;

    /* The peer's. */
    uint64_t peer_sent, taken; /* taken: by our application */
    uint64_t peer_knows;       /* how much of it was consumed */
    bool is_closing;
};

static uint32_t draw(struct model *m, uint32_t below)
{
    return test_random_below(&m->random, below);
}

static uint8_t our_byte(uint64_t position)
{
    return (uint8_t)(position * 7 + position / 255);
}

static uint8_t peer_byte(uint64_t position)
{
    return (uint8_t)(position * 11 + position / 254);
}

#define check(m, condition) cr_assert(condition, "seed %llu: %s", (unsigned long long)(m)->seed, #condition)

/* --- what the peer sends --- */

static void peer_tells(struct model *m)
{
    struct rig *rig = m->rig;
    m->told = m->consumed;
    rig->peer_producer =
        (struct smcr_cursor){(uint32_t)(4 + m->peer_sent % m->cap), (uint16_t)(m->peer_sent / m->cap)};
    rig->peer_consumer = (struct smcr_cursor){(uint32_t)(4 + m->consumed % m->peer_cap),
                                              (uint16_t)(m->consumed / m->peer_cap)};
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.writer_blocked = m->peer_sent - m->peer_knows == m->cap;
    cdc.update_requested = draw(m, 20) == 0;
    cdc.sending_done = m->is_closing;
    rig_take(rig, &cdc);
}

static void peer_writes(struct model *m)
{
    uint8_t *elem = smcr_elem(&m->rig->rmb, RIG_INDEX);
    uint64_t room = m->cap - (m->peer_sent - m->peer_knows);
    uint64_t n = draw(m, m->cap / 2) + 1;
    if (draw(m, 4) == 0)
        n = m->cap;
    for (n = n < room ? n : room; n > 0; n--, m->peer_sent++)
        elem[4 + m->peer_sent % m->cap] = peer_byte(m->peer_sent);
    peer_tells(m);
}

static void peer_reads(struct model *m, uint64_t most)
{
    uint64_t n = m->produced - m->consumed < most ? m->produced - m->consumed : most;
    for (uint64_t i = 0; i < n; i++, m->consumed++)
        check(m, m->rig->peer_elem[4 + m->consumed % m->peer_cap] == our_byte(m->consumed));
    uint64_t gain = m->consumed - m->told;
    bool passed = m->mark > m->told && m->mark <= m->consumed;
    if (gain > 0 && (m->our_b || passed || draw(m, 4) == 0 ||
                     (m->produced - m->told > m->peer_cap / 2 && gain >= m->peer_cap / 10)))
        peer_tells(m);
}

/* --- what reaches it --- */

static bool was_urgent(const struct model *m, uint64_t end)
{
    for (unsigned i = 0; i < m->num_urgent; i++)
        if (m->urgent[i] == end)
            return true;
    return false;
}

static uint64_t distance(uint64_t position, uint32_t cap, uint32_t cursor, uint16_t wrap)
{
    uint64_t turns = (uint16_t)(wrap - (uint16_t)(position / cap));
    return turns * cap + cursor - 4 - position % cap;
}

static void peer_takes(struct model *m, const struct smcr_cdc *cdc)
{
    if (cdc->failover_validation) {
        check(m, (int16_t)(uint16_t)(cdc->seq - m->sr) <= 0);
        return;
    }
    if ((int16_t)(uint16_t)(cdc->seq - m->sr) <= 0)
        return;
    check(m, !m->our_c || cdc->connection_closed); /* said again when its acknowledgement was lost */
    m->sr = cdc->seq;
    uint64_t more = distance(m->produced, m->peer_cap, cdc->producer_cursor, cdc->producer_wrap);
    check(m, more <= m->peer_cap - (m->produced - m->told));
    check(m, more == 0 || m->mark <= m->told); /* SMCR-URG-04 */
    check(m, more == 0 || !m->our_d);
    m->produced += more;
    uint64_t read = distance(m->peer_knows, m->cap, cdc->consumer_cursor, cdc->consumer_wrap);
    check(m, read <= m->peer_sent - m->peer_knows);
    m->peer_knows += read;
    m->our_b = cdc->writer_blocked;
    m->our_d = m->our_d || cdc->sending_done || cdc->connection_closed;
    m->our_c = cdc->connection_closed;
    if (cdc->urgent_present && m->mark != m->produced) {
        check(m, was_urgent(m, m->produced));
        m->mark = m->produced;
    }
    check(m, !m->our_d || m->produced == m->given);
}

static void deliver(struct model *m, unsigned n)
{
    for (; n > 0 && m->delivered < m->rig->num_log; n--, m->delivered++) {
        const struct rig_post *post = &m->rig->log[m->delivered];
        if (post->is_cdc)
            peer_takes(m, &post->cdc);
        else
            rig_carry_out(m->rig, m->delivered);
    }
}

static void acknowledge(struct model *m, unsigned n)
{
    struct rig *rig = m->rig;
    while (n-- > 0 && rig->completed < m->delivered) {
        unsigned cdcs = 0;
        for (unsigned i = rig->completed; i < m->delivered; i++)
            cdcs += rig->log[i].is_cdc;
        if (cdcs == 0 || rig_complete(rig, 1) == 0)
            break;
    }
    if (rig->completed == rig->num_log && m->delivered == rig->num_log) {
        rig_forget(rig);
        m->delivered = 0;
    }
}

/* Some of what was posted arrived, whatever was acknowledged; the rest never will. */
static void lose(struct model *m)
{
    struct rig *rig = m->rig;
    unsigned lost = (unsigned)(rig->conn->link - rig->group.links);
    deliver(m, draw(m, rig->num_log - m->delivered + 1));
    unsigned before = rig->num_log;
    rig_lose_link(rig);
    check(m, rig->conn->link != &rig->group.links[lost]);
    m->delivered = before;
    rig->group.links[lost].state = SMCR_LINK_ACTIVE; /* repaired */
    rig->group.links[lost].sends_left = SMCR_LINK_SENDS;
}

/* --- our application --- */

static void give(struct model *m)
{
    static uint8_t bytes[40000];
    size_t n = draw(m, 3) ? draw(m, 300) + 1 : draw(m, sizeof bytes) + 1;
    unsigned flags = draw(m, 8); /* URGENT, MORE, NODELAY */
    for (size_t i = 0; i < n; i++)
        bytes[i] = our_byte(m->given + i);
    ssize_t got = rig_send(m->rig, bytes, n, flags);
    check(m, got > 0 || got == -EAGAIN);
    if (got < 0)
        return;
    m->given += (uint64_t)got;
    if (flags & SMCR_SEND_URGENT && (size_t)got == n)
        m->urgent[m->num_urgent++] = m->given;
}

static void take(struct model *m, size_t most)
{
    static uint8_t bytes[65536];
    ssize_t got = rig_recv(m->rig, bytes, most < sizeof bytes ? most : sizeof bytes, 0);
    check(m, got > 0 || got == -EAGAIN || (got == 0 && m->is_closing));
    for (ssize_t i = 0; i < got; i++, m->taken++)
        check(m, bytes[i] == peer_byte(m->taken));
}

static void step(struct model *m)
{
    struct rig *rig = m->rig;
    switch (draw(m, 14)) {
    case 0:
    case 1:
    case 2:
        give(m);
        break;
    case 3:
    case 4:
        take(m, draw(m, 3) ? draw(m, 1000) + 1 : 65536);
        break;
    case 5:
    case 6:
        deliver(m, draw(m, 10));
        break;
    case 7:
    case 8:
        acknowledge(m, draw(m, 6));
        break;
    case 9:
        peer_reads(m, draw(m, 3) ? draw(m, 1000) : m->peer_cap);
        break;
    case 10:
        peer_writes(m);
        break;
    case 11:
        if (draw(m, 4) == 0)
            lose(m);
        break;
    case 12:
        if (draw(m, 6) == 0)
            rig_move(rig, draw(m, RIG_LINKS));
        break;
    case 13:
        rig_wait(rig, draw(m, 8) * RIG_MS);
        break;
    }
    check(m, rig->conn->state == SMCR_CONN_ACTIVE);
}

/* No more surprises: all that was given comes, without timers. */
static void come_to_rest(struct model *m)
{
    rig_send(m->rig, "", 0, 0); /* no MORE */
    for (int i = 0; i < 200; i++) {
        deliver(m, RIG_LOG);
        acknowledge(m, RIG_LOG);
        peer_reads(m, m->peer_cap);
        take(m, 65536);
    }
    check(m, m->produced == m->given);
    check(m, m->consumed == m->given);
    check(m, m->rig->conn->data->tx.acked == m->given);
    check(m, m->taken == m->peer_sent);
    check(m, m->cap - (m->peer_sent - m->peer_knows) >= m->cap / 2); /* SMCR-WIN-08 */
    check(m, m->rig->conn->posts == 0);
}

static void run(uint64_t seed)
{
    static const uint32_t sizes[] = {10000, 16384, 32768, 65536};
    struct model m = {.seed = seed};
    m.random.state = seed;
    uint32_t elem = sizes[draw(&m, 4)], peer_elem = sizes[draw(&m, 4)], sndbuf = 4096u << draw(&m, 5);
    m.cap = elem - 4;
    m.peer_cap = peer_elem - 4;
    m.rig = rig_new(elem, peer_elem, sndbuf);
    m.rig->is_deferred = true;
    for (int i = 0; i < STEPS; i++)
        step(&m);
    come_to_rest(&m);
    smcr_conn_shutdown_write(m.rig->conn, m.rig->now_ns);
    lose(&m);
    come_to_rest(&m);
    check(&m, m.our_d);
    m.is_closing = true;
    peer_tells(&m);
    rig_close(m.rig);
    if (seed % 2)
        lose(&m);
    deliver(&m, RIG_LOG);
    acknowledge(&m, RIG_LOG);
    check(&m, m.our_c);
    rig_peer_flag(m.rig, false, true, false);
    check(&m, smcr_conn_is_over(m.rig->conn));
    rig_free(m.rig);
}

/* covers: SMCR-DAT-01, SMCR-DAT-02, SMCR-DAT-03, SMCR-DAT-11, SMCR-WIN-08, SMCR-URG-04, SMCR-CLS-03 */
/* covers: SMCR-FOV-05, SMCR-FOV-07, SMCR-FOV-09, SMCR-FOV-10, SMCR-FOV-12, SMCR-FOV-15, SMCR-FOV-18 */
Test(model, SMCR_FOV_09_every_byte_once_and_in_order_whatever_fails)
{
    for (uint64_t seed = 1; seed <= 1000; seed++)
        run(seed);
}
