/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/show/json_iwarp.h"

#include <inttypes.h>

#include "base/base.h"
#include "nornic/addr.h"

static const char *truth(bool is)
{
    return is ? "true" : "false";
}

static void put_fpdu(struct explain_text *out, const struct explain_iwarp_fpdu *f)
{
    explain_printf(out, "{\"at\":%" PRIu64 ",\"ulpdu_len\":%" PRIu32 ",\"crc\":\"%s\"", f->at, f->ulpdu_len,
                   explain_crc_key(f->crc));
    if (f->opcode != UINT8_MAX)
        explain_printf(out, ",\"opcode\":%u,\"tagged\":%s,\"last\":%s", f->opcode, truth(f->is_tagged),
                       truth(f->is_last));
    if (f->opcode != UINT8_MAX && !f->is_tagged)
        explain_printf(out, ",\"msn\":%" PRIu32, f->msn);
    if (f->message)
        explain_printf(out, ",\"message\":%" PRIu64, f->message);
    explain_put(out, "}");
}

void explain_json_iwarp(struct explain_text *out, const struct explain_meaning *m)
{
    const struct explain_iwarp_meaning *w = &m->iwarp;
    explain_printf(out, ",\"iwarp\":{\"connection\":%" PRIu32 ",\"sender\":\"%s\",\"from\":%" PRIu64, w->conn,
                   w->sender ? "responder" : "initiator", w->from);
    if (w->again)
        explain_printf(out, ",\"again_bytes\":%" PRIu32, w->again);
    explain_printf(out, ",\"fpdu_count\":%" PRIu32 ",\"fpdus\":[", w->fpdus);
    for (uint32_t i = 0; i < min_u32(w->fpdus, EXPLAIN_IWARP_FPDUS_MAX); i++) {
        explain_put(out, i ? "," : "");
        put_fpdu(out, &m->fpdus[i]);
    }
    explain_put(out, "]}");
}

static void put_pair(struct explain_text *out, const char *key, const uint64_t values[2])
{
    explain_printf(out, ",\"%s\":[%" PRIu64 ",%" PRIu64 "]", key, values[0], values[1]);
}

static void put_flags(struct explain_text *out, const char *key, bool first, bool second)
{
    explain_printf(out, ",\"%s\":[%s,%s]", key, truth(first), truth(second));
}

/* Writes a frame; null for a frame that was not seen. */
static void put_frame(struct explain_text *out, const struct explain_iwarp_frame *frame)
{
    if (!frame->is_there) {
        explain_put(out, "null");
        return;
    }
    explain_printf(out, "{\"revision\":%u,\"crc\":%s,\"markers\":%s", frame->rev, truth(frame->wants_crc),
                   truth(frame->wants_markers));
    if (frame->is_enhanced)
        explain_printf(out, ",\"ird\":%u,\"ord\":%u", frame->ird, frame->ord);
    explain_put(out, "}");
}

void explain_json_iwarp_conn(struct explain_text *out, const struct explain_iwarp_conn *c)
{
    static const char *const crc_words[] = {
        [EXPLAIN_CRCS_UNKNOWN] = "null", [EXPLAIN_CRCS_UNUSED] = "false", [EXPLAIN_CRCS_USED] = "true"};
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    explain_printf(out, "{\"connection\":%" PRIu32 ",\"addr\":[\"%s\",\"%s\"],\"port\":[%u,%u]", c->id,
                   nornic_addr_str(&c->addr[0], a), nornic_addr_str(&c->addr[1], b), c->port[0], c->port[1]);
    explain_put(out, ",\"request\":");
    put_frame(out, &c->frame[0]);
    explain_put(out, ",\"reply\":");
    put_frame(out, &c->frame[1]);
    explain_printf(out, ",\"refused\":%s,\"begins_before\":%s,\"rtr\":%s,\"crc\":%s", truth(c->is_refused),
                   truth(c->is_older), truth(c->has_rtr), crc_words[c->crc_use]);
    put_pair(out, "fpdus", c->fpdus);
    for (unsigned crc = 0; crc <= EXPLAIN_CRC_UNSEEN; crc++)
        explain_printf(out, ",\"crc_%s\":[%" PRIu64 ",%" PRIu64 "]", explain_crc_key(crc), c->crcs[0][crc],
                       c->crcs[1][crc]);
    put_pair(out, "bytes", c->bytes);
    put_pair(out, "messages", c->messages);
    put_pair(out, "sends", c->sends);
    put_pair(out, "writes", c->writes);
    put_pair(out, "reads", c->reads);
    put_pair(out, "atomics", c->atomics);
    put_pair(out, "immediates", c->immediates);
    put_pair(out, "tcp_again_bytes", c->again_bytes);
    put_pair(out, "missing_bytes", c->lost_bytes);
    put_flags(out, "terminate", c->end[0].has_terminate, c->end[1].has_terminate);
    put_flags(out, "fin", c->end[0].has_fin, c->end[1].has_fin);
    put_flags(out, "rst", c->end[0].has_rst, c->end[1].has_rst);
    explain_printf(out, ",\"first\":%" PRIu64 ",\"last\":%" PRIu64 "}", c->first_number, c->last_number);
}
