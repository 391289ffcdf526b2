/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/smcr_pair/trace.h"

#include <stdio.h>

#include "smcr/wire/cdc.h"
#include "smcr/clc_wire.h"
#include "smcr/conn/conn.h"
#include "smcr/group/group.h"
#include "smcr/wire/llc.h"

static const char *const names[] = {
    [SMCR_TRACE_CLC_TX] = "CLC ->", [SMCR_TRACE_CLC_RX] = "CLC <-", [SMCR_TRACE_LLC_TX] = "LLC ->",
    [SMCR_TRACE_LLC_RX] = "LLC <-", [SMCR_TRACE_CDC_TX] = "CDC ->", [SMCR_TRACE_CDC_RX] = "CDC <-",
    [SMCR_TRACE_CONN] = "conn",     [SMCR_TRACE_LINK] = "link",     [SMCR_TRACE_GROUP] = "group",
    [SMCR_TRACE_MOVED] = "moved",   [SMCR_TRACE_DROP] = "drop",
};

static const char *or_none(const char *text)
{
    return text ? text : "?";
}

static void print_cdc(const uint8_t *message)
{
    struct smcr_cdc m;
    smcr_cdc_get(&m, message);
    fprintf(stderr, " seq %u token %08x prod %u/%u cons %u/%u%s%s%s%s%s%s%s%s", m.seq, m.alert_token,
            m.producer_cursor, m.producer_wrap, m.consumer_cursor, m.consumer_wrap,
            m.writer_blocked ? " B" : "", m.urgent_pending ? " P" : "", m.urgent_present ? " U" : "",
            m.update_requested ? " R" : "", m.failover_validation ? " F" : "", m.sending_done ? " D" : "",
            m.connection_closed ? " C" : "", m.abnormal_close ? " A" : "");
}

static void print_message(const struct smcr_trace *t)
{
    bool clc = t->type == SMCR_TRACE_CLC_TX || t->type == SMCR_TRACE_CLC_RX;
    if (!t->message || t->len_bytes < 8)
        return;
    if (clc) {
        fprintf(stderr, " %s%s", or_none(smcr_clc_type_name(t->message[4])),
                t->message[7] & 0x08 ? " F/S" : "");
    } else if (t->message[0] == SMCR_CDC && t->len_bytes >= SMCR_MSG_BYTES) {
        print_cdc(t->message);
    } else {
        fprintf(stderr, " %s%s", or_none(smcr_llc_type_name(t->message[0])),
                t->message[3] & 0x80 ? " response" : "");
        for (unsigned i = 2; i < 10; i++)
            fprintf(stderr, " %02x", t->message[i]);
    }
}

void pair_trace_print(const struct pair_node *node, const struct smcr_trace *t)
{
    fprintf(stderr, "%12.3f us %s %s", (double)t->now_ns / 1e3, node->index == 0 ? "0      " : "      1",
            names[t->type]);
    if (t->group)
        fprintf(stderr, " g%u", t->group->id);
    if (t->link)
        fprintf(stderr, " link %u", t->link->number);
    if (t->conn) {
        const struct pair_end *end = smcr_conn_ctx(t->conn);
        fprintf(stderr, " c%u", end && end->c ? end->c->id : 9999);
    }
    print_message(t);
    if (t->from || t->to)
        fprintf(stderr, " %s -> %s", or_none(t->from), or_none(t->to));
    if (t->cause)
        fprintf(stderr, " (%s)", t->cause);
    fputc('\n', stderr);
}
