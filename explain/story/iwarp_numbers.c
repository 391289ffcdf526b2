/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/story/iwarp_numbers.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/base.h"
#include "explain/story/quantiles.h"
#include "explain/story/units.h"
#include "iwarp/wire/wire.h"
#include "nornic/addr.h"

void explain_iwarp_numbers_deinit(struct explain_iwarp_numbers *numbers)
{
    for (unsigned i = 0; i < EXPLAIN_IWARP_NUMBERS_MAX; i++)
        free(numbers->of[i]);
}

static uint64_t latency_of(const struct explain_packet *packet, const struct explain_iwarp_done *done)
{
    return packet->time_ns > done->begin_ns ? packet->time_ns - done->begin_ns : 0;
}

void explain_iwarp_numbers_take(struct explain_iwarp_numbers *numbers, const struct explain_packet *packet,
                                const struct explain_meaning *m)
{
    for (uint32_t i = 0; i < m->iwarp.done; i++) {
        const struct explain_iwarp_done *done = &m->done[i];
        if (done->conn > EXPLAIN_IWARP_NUMBERS_MAX)
            return;
        struct explain_latency **of = &numbers->of[done->conn - 1];
        if (!*of)
            *of = calloc(2, sizeof **of);
        if (*of)
            explain_latency_add(&(*of)[done->side], latency_of(packet, done), done->is_with_later);
    }
}

/* Where the capture lacks bytes, an acknowledgement of its own may be among these. */
static struct explain_quantiles quantiles_of(const struct explain_iwarp_numbers *numbers,
                                             const struct explain_iwarp_conn *c, unsigned side)
{
    static const struct explain_latency none;
    const struct explain_latency *of =
        c->id <= EXPLAIN_IWARP_NUMBERS_MAX && numbers->of[c->id - 1] ? &numbers->of[c->id - 1][side] : &none;
    return explain_quantiles_of(of, c->untimed[side], true, c->lost_bytes[0] || c->lost_bytes[1]);
}

/* Bits a second, over the time of the connection; 0: it has no length. */
static double goodput(const struct explain_iwarp_conn *c, unsigned side)
{
    uint64_t ns = c->last_ns - c->first_ns;
    return ns ? (double)c->bytes[side] * 8 * 1e9 / (double)ns : 0;
}

static void put_side(struct explain_text *out, const struct explain_iwarp_numbers *numbers,
                     const struct explain_iwarp_conn *c, unsigned side)
{
    char addr[NORNIC_ADDR_STR_SIZE];
    struct explain_quantiles q = quantiles_of(numbers, c, side);
    explain_printf(out, "iWARP connection %" PRIu32 ", from %s: ", c->id,
                   nornic_addr_str(&c->addr[side], addr));
    explain_put_count(out, c->messages[side], "message", "messages");
    explain_put(out, ", ");
    explain_put_bytes(out, c->bytes[side]);
    explain_put_rate(out, goodput(c, side));
    explain_put_quantiles(out, &q);
    if (c->most_bytes[side]) {
        explain_put(out, "; at most ");
        explain_put_bytes(out, c->most_bytes[side]);
        explain_put(out, " outstanding");
    }
    explain_put(out, "\n");
}

void explain_iwarp_numbers_line(struct explain_text *out, const struct explain_iwarp_numbers *numbers,
                                const struct explain_iwarp_conn *c)
{
    for (unsigned side = 0; side < 2; side++)
        if (c->messages[side])
            put_side(out, numbers, c, side);
}

void explain_iwarp_numbers_json(struct explain_text *out, const struct explain_iwarp_numbers *numbers,
                                const struct explain_iwarp_conn *c)
{
    char addr[NORNIC_ADDR_STR_SIZE];
    explain_printf(out, "{\"iwarp_numbers\":{\"connection\":%" PRIu32 ",\"ends\":[", c->id);
    for (unsigned side = 0; side < 2; side++) {
        struct explain_quantiles q = quantiles_of(numbers, c, side);
        explain_printf(out,
                       "%s{\"addr\":\"%s\",\"messages\":%" PRIu64 ",\"bytes\":%" PRIu64
                       ",\"goodput_bps\":%.0f,\"most_bytes\":%" PRIu64 ",\"again_bytes\":%" PRIu64
                       ",\"operations\":%" PRIu64,
                       side ? "," : "", nornic_addr_str(&c->addr[side], addr), c->messages[side],
                       c->bytes[side], goodput(c, side), c->most_bytes[side], c->again_bytes[side],
                       q.count + q.left_out);
        explain_quantiles_json(out, &q);
        explain_put(out, "}");
    }
    explain_put(out, "]}}\n");
}

void explain_iwarp_csv_head(struct explain_text *out)
{
    explain_put(out,
                "connection,side,from,from_port,to,to_port,fpdus,messages,bytes,goodput_bps,tcp_again_bytes,"
                "missing_bytes,most_outstanding_bytes,operations,latency_left_out,latency_min_ns,"
                "latency_p50_ns,latency_p90_ns,latency_p99_ns,latency_max_ns\n");
}

void explain_iwarp_csv(struct explain_text *out, const struct explain_iwarp_numbers *numbers,
                       const struct explain_iwarp_conn *c)
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    for (unsigned side = 0; side < 2; side++) {
        struct explain_quantiles q = quantiles_of(numbers, c, side);
        explain_printf(out, "%" PRIu32 ",%u,%s,%u,%s,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.0f", c->id,
                       side, nornic_addr_str(&c->addr[side], a), c->port[side],
                       nornic_addr_str(&c->addr[!side], b), c->port[!side], c->fpdus[side], c->messages[side],
                       c->bytes[side], goodput(c, side));
        const uint64_t rest[] = {c->again_bytes[side],
                                 c->lost_bytes[side],
                                 c->most_bytes[side],
                                 q.count + q.left_out,
                                 q.left_out,
                                 q.min,
                                 q.p50,
                                 q.p90,
                                 q.p99,
                                 q.max};
        for (unsigned i = 0; i < array_len(rest); i++)
            explain_printf(out, ",%" PRIu64, rest[i]);
        explain_put(out, "\n");
    }
}

void explain_iwarp_operations_csv_head(struct explain_text *out)
{
    explain_put(
        out, "connection,side,message,operation,bytes,fpdus,first_packet,answer_packet,begin_ns,latency_ns,"
             "answer\n");
}

void explain_iwarp_operations_csv(struct explain_text *out, const struct explain_packet *packet,
                                  const struct explain_meaning *m)
{
    for (uint32_t i = 0; i < m->iwarp.done; i++) {
        const struct explain_iwarp_done *d = &m->done[i];
        explain_printf(out,
                       "%" PRIu32 ",%u,%" PRIu64 ",%s,%" PRIu64 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64
                       ",%" PRIu64 ",%" PRIu64 ",%s\n",
                       d->conn, d->side, d->message, iwarp_opcode_name(d->opcode), d->bytes, d->fpdus,
                       d->first_number, packet->number, d->begin_ns, latency_of(packet, d),
                       d->is_with_later ? "with a later one" : "its own");
    }
}
