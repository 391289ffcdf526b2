/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/story/iwarp.h"

#include "explain/story/units.h"
#include "nornic/addr.h"

/* All connections together. */
struct sum {
    uint32_t conns;
    const struct explain_iwarp_conn *only; /* if there is one */
    uint64_t messages[2], bytes[2];
};

static struct sum add_up(const struct explain_analysis *analysis)
{
    struct sum sum = {.conns = explain_analysis_iwarp_forgotten(analysis)};
    for (uint32_t i = 1; i <= explain_analysis_iwarp_conn_count(analysis); i++) {
        const struct explain_iwarp_conn *c = explain_analysis_iwarp_conn(analysis, i);
        if (!c)
            continue;
        sum.only = sum.conns++ ? NULL : c;
        for (unsigned side = 0; side < 2; side++) {
            sum.messages[side] += c->messages[side];
            sum.bytes[side] += c->bytes[side];
        }
    }
    return sum;
}

static void put_carried(struct explain_text *out, uint64_t messages, uint64_t bytes)
{
    explain_put_count(out, messages, "message", "messages");
    explain_put(out, ", ");
    explain_put_bytes(out, bytes);
    explain_put(out, ",");
}

static void put_only(struct explain_text *out, const struct sum *sum)
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    const struct explain_iwarp_conn *c = sum->only;
    nornic_addr_str(&c->addr[0], a);
    nornic_addr_str(&c->addr[1], b);
    if (c->is_refused) {
        explain_printf(out, "%s refused the iWARP connection that %s asked for,", b, a);
        return;
    }
    explain_printf(out, "%s sent ", a);
    put_carried(out, sum->messages[0], sum->bytes[0]);
    explain_printf(out, " to %s by iWARP", b);
    if (!sum->messages[1])
        return;
    explain_put(out, ", which sent ");
    put_carried(out, sum->messages[1], sum->bytes[1]);
    explain_put(out, " back");
}

bool explain_story_iwarp(struct explain_text *out, const struct explain_analysis *analysis)
{
    struct sum sum = add_up(analysis);
    if (!sum.conns)
        return false;
    if (sum.only) {
        put_only(out, &sum);
        return true;
    }
    explain_put_count(out, sum.conns, "iWARP connection", "iWARP connections");
    explain_put(out, " carried ");
    put_carried(out, sum.messages[0] + sum.messages[1], sum.bytes[0] + sum.bytes[1]);
    return true;
}

void explain_story_iwarp_too(struct explain_text *out, const struct explain_analysis *analysis)
{
    struct sum sum = add_up(analysis);
    if (!sum.conns)
        return;
    explain_put(out, "; by iWARP: ");
    explain_put_count(out, sum.conns, "connection", "connections");
    explain_put(out, ", ");
    explain_put_count(out, sum.messages[0] + sum.messages[1], "message", "messages");
    explain_put(out, ", ");
    explain_put_bytes(out, sum.bytes[0] + sum.bytes[1]);
}
