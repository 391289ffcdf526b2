/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/show/flow_line.h"

#include <inttypes.h>
#include <stdio.h>

#include "nornic/addr.h"

static void put_end(struct explain_text *out, const struct explain_flow *f, unsigned end)
{
    char addr[NORNIC_ADDR_STR_SIZE];
    explain_put(out, nornic_addr_str(&f->addr[end], addr));
    if (f->qpn[end])
        explain_printf(out, " QP 0x%06x", f->qpn[end]);
}

static void put_before(struct explain_text *out, const struct explain_flow *f)
{
    uint32_t before = f->messages_before[0] + f->messages_before[1];
    explain_put(out, "; it is older than this capture");
    if (before)
        explain_printf(out, ", by %u message%s", before, before == 1 ? "" : "s");
}

static void put_place(struct explain_text *out, const struct explain_flow *f)
{
    char addr[2][NORNIC_ADDR_STR_SIZE];
    nornic_addr_str(&f->addr[0], addr[0]);
    nornic_addr_str(&f->addr[1], addr[1]);
    switch (f->place) {
    case EXPLAIN_PLACE_UNKNOWN:
        return;
    case EXPLAIN_PLACE_END_0:
    case EXPLAIN_PLACE_END_1:
        explain_printf(out, "; captured near %s", addr[f->place == EXPLAIN_PLACE_END_1]);
        return;
    case EXPLAIN_PLACE_NOT_END_0:
    case EXPLAIN_PLACE_NOT_END_1:
        explain_printf(out, "; captured behind the place where packets of %s were lost",
                       addr[f->place == EXPLAIN_PLACE_NOT_END_1]);
        return;
    case EXPLAIN_PLACE_BETWEEN:
        explain_put(out, "; captured between the two: packets of both were lost before they came there");
        return;
    }
}

void explain_flow_line(struct explain_text *out, const struct explain_flow *f, uint32_t index)
{
    if (!f->is_begun_before && !f->earlier && f->place == EXPLAIN_PLACE_UNKNOWN && !f->timeout_ns[0] &&
        !f->timeout_ns[1])
        return;
    explain_printf(out, "flow %u, ", index);
    put_end(out, f, 0);
    explain_put(out, " > ");
    put_end(out, f, 1);
    if (f->earlier == index)
        explain_put(out, "; two connections, the second with the QPNs and about the PSNs of the first");
    else if (f->earlier)
        explain_printf(out, "; another connection that uses a QPN of flow %u again", f->earlier);
    if (f->is_begun_before)
        put_before(out, f);
    put_place(out, f);
    for (unsigned d = 0; d < 2; d++)
        if (f->timeout_ns[d])
            explain_printf(out, "; %s's ack timer: %.1f ms, from %u silence%s", d ? "the other" : "the first",
                           (double)f->timeout_ns[d] / 1e6, f->timeout_samples[d],
                           f->timeout_samples[d] == 1 ? "" : "s");
    explain_put(out, "\n");
}
