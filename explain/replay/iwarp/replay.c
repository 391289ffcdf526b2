/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/replay/iwarp/replay.h"

#include <string.h>

#include "explain/replay/iwarp/compare.h"
#include "explain/replay/iwarp/engine.h"
#include "explain/replay/iwarp/learn.h"
#include "explain/replay/iwarp/streams.h"
#include "net/error.h"

const struct explain_outcome *explain_iwarp_replay_outcome_of(enum explain_iwarp_replay_outcome outcome)
{
#define ROW_(id, key, fails, words) {key, words, fails},
    static const struct explain_outcome rows[] = {EXPLAIN_IWARP_REPLAY_OUTCOMES(ROW_)};
#undef ROW_
    return &rows[outcome];
}

/* Which side of the connection the end is; -1: neither. */
static int side_of(const struct iwr_conn *c, const struct nornic_addr *addr)
{
    for (int side = 0; side < 2; side++)
        if (nornic_addr_equal(&c->addr[side], addr))
            return side;
    return -1;
}

bool explain_iwarp_replay_is_there(const struct explain_tape *tape, const struct nornic_addr *addr)
{
    struct iwr_conns conns = {0};
    bool is_there = false;
    if (explain_iwr_read(tape, &conns) == 0)
        for (size_t i = 0; i < conns.count; i++)
            is_there |= side_of(conns.items[i], addr) >= 0;
    explain_iwr_conns_free(&conns);
    return is_there;
}

static int replay_conn(struct iwr_conn *c, uint8_t side, uint32_t number,
                       const struct explain_iwarp_replay_config *config,
                       struct explain_iwarp_replay_result *result)
{
    struct iwr_end end;
    int err = explain_iwr_learn(&end, c, side);
    err = err ? err : explain_iwr_play(&end);
    if (!err) {
        explain_iwr_compare(&end, number, config, result);
        result->fed += end.fed;
        result->work_requests += end.work_requests;
        result->connections++;
    }
    explain_iwr_engine_free(&end);
    explain_iwr_end_free(&end);
    return err;
}

int explain_iwarp_replay(const struct explain_tape *tape, const struct nornic_addr *addr,
                         const struct explain_iwarp_replay_config *config,
                         struct explain_iwarp_replay_result *result, struct nornic_error *why)
{
    struct iwr_conns conns = {0};
    *result = (struct explain_iwarp_replay_result){0};
    int err = explain_iwr_read(tape, &conns);
    for (size_t i = 0; i < conns.count && !err; i++) {
        int side = side_of(conns.items[i], addr);
        if (side < 0)
            continue;
        if (conns.items[i]->has_markers || !explain_iwr_frame_of(conns.items[i], (uint8_t)side))
            result->left_out++;
        else
            err = replay_conn(conns.items[i], (uint8_t)side, (uint32_t)i + 1, config, result);
    }
    explain_iwr_conns_free(&conns);
    return err ? net_error_set(why, -err, "connections of iWARP cannot be replayed: %s", strerror(-err)) : 0;
}
