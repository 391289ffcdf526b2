/* SPDX-License-Identifier: BSD-2-Clause */
/* The endpoint's program, as far as its CDC messages show its acts: they tell of past acts, so it reads,
 * writes and closes just before each is compared.
 *
 * Two things are seen only later, so that it looks ahead. A writer that is blocked has more to write: it
 * gets all up to the first CDC in which it is not any more. Urgent data is announced before it goes: all
 * up to the CDC that has it is one urgent write. */
#include "explain/replay/smc/program.h"

#include <string.h>

#include "base/base.h"
#include "explain/replay/smc/engine.h"

/* In one step: a read of recv() would be taken in pieces, each of which may tell the peer of room, and so
 * stand still behind the room of the recorded end, which the peer relies on. */
static void read_until(struct smcplay *s, struct smcplay_conn *c, uint64_t position)
{
    struct smcr_rings rings;
    if (!smcr_conn_rings(c->engine.conn, &rings))
        return;
    uint64_t to = min_u64(position, rings.rx_produced);
    if (to <= c->program.read || smcr_conn_took(c->engine.conn, to, s->now_ns) != 0)
        return;
    s->result->read += to - c->program.read;
    c->program.read = to;
    smcplay_engine_work(s);
}

/* The last byte that the program had given by now. */
static uint64_t given_by(const struct smcplay_conn *c, const struct smcplay_cdc *cdc, bool *is_urgent)
{
    const struct smcplay_cdc *end = c->cdc.list + c->cdc.count;
    bool announces = cdc->cdc.urgent_pending && !c->program.is_urgent;
    *is_urgent = announces || cdc->cdc.urgent_present;
    for (const struct smcplay_cdc *next = cdc; next < end && announces; next++)
        if (next->cdc.urgent_present && next->has_data && next->produced > c->program.written)
            return next->produced;
    while (cdc->cdc.writer_blocked && cdc + 1 < end && cdc[1].has_data)
        cdc++;
    return cdc->produced;
}

static void write_until(struct smcplay *s, struct smcplay_conn *c, uint64_t position, bool is_urgent)
{
    unsigned flags = SMCR_SEND_NODELAY | (is_urgent ? SMCR_SEND_URGENT : 0);
    while (c->program.written < position) {
        ssize_t n = smcr_conn_send(c->engine.conn, c->stream.bytes + c->program.written,
                                   position - c->program.written, flags, s->now_ns);
        if (n <= 0)
            break;
        c->program.written += (uint64_t)n;
        s->result->written += (uint64_t)n;
    }
    smcplay_engine_work(s);
}

static void close_as(struct smcplay *s, struct smcplay_conn *c, const struct smcr_cdc *cdc)
{
    if (cdc->abnormal_close)
        smcr_conn_abort(c->engine.conn, s->now_ns);
    else if (cdc->connection_closed)
        read_until(s, c, UINT64_MAX); /* else it would be an abort: SMCR-CLS-02 */
    if (cdc->abnormal_close || cdc->connection_closed) {
        smcr_conn_release(c->engine.conn, false, s->now_ns);
        c->engine.conn = NULL;
    } else if (cdc->sending_done && !c->program.has_shut) {
        smcr_conn_shutdown_write(c->engine.conn, s->now_ns);
        c->program.has_shut = true;
    }
    smcplay_engine_work(s);
}

void smcplay_program_acts(struct smcplay *s, struct smcplay_conn *c, const struct smcplay_cdc *cdc)
{
    bool is_urgent;
    uint64_t given = given_by(c, cdc, &is_urgent);
    if (!c->engine.conn || cdc->cdc.failover_validation)
        return;
    read_until(s, c, cdc->consumed);
    write_until(s, c, given, is_urgent);
    c->program.is_urgent = cdc->cdc.urgent_pending && !cdc->cdc.urgent_present;
    close_as(s, c, &cdc->cdc);
}
