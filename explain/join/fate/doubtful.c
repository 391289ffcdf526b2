/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/join/fate/doubtful.h"

void join_waiting_settle(struct join_waiting *w, struct join_doubtful *all,
                         bool (*is_done)(void *ctx, struct join_doubtful *d), void *ctx)
{
    uint32_t before = JOIN_NONE;
    for (uint32_t i = w->first, n = w->count; n--; i = all[i].next)
        if (is_done(ctx, &all[i]))
            join_waiting_take(w, all, before, i);
        else
            before = i;
}
