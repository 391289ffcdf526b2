/* SPDX-License-Identifier: BSD-2-Clause */
/* Two packets, field by field, by the lists that describe their headers. */
#include "explain/replay/diff.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

/* What is not compared: a network changes it, or an endpoint chooses it freely. */
static const struct {
    enum explain_layer_id layer;
    const char *field;
} freedoms[] = {
    {EXPLAIN_LAYER_IP, "id"},        {EXPLAIN_LAYER_IP, "ecn"},       {EXPLAIN_LAYER_IP6, "ecn"},
    {EXPLAIN_LAYER_IP, "ttl"},       {EXPLAIN_LAYER_IP, "checksum"},  {EXPLAIN_LAYER_IP6, "hop_limit"},
    {EXPLAIN_LAYER_UDP, "src_port"}, {EXPLAIN_LAYER_UDP, "checksum"}, {EXPLAIN_LAYER_BTH, "mig_req"},
};

static bool is_free(const struct explain_packet *p, unsigned layer, const struct net_field *f)
{
    enum explain_layer_id id = p->layers[layer].kind->id;
    uint32_t flags = p->roce.op->flags;
    for (size_t i = 0; i < array_len(freedoms); i++)
        if (id == freedoms[i].layer && strcmp(f->name, freedoms[i].field) == 0)
            return true;
    /* ROCE-RC-12: when to ask within a message is the requester's choice. */
    return flags & ROCE_PKT_REQUEST && flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE) &&
           id == EXPLAIN_LAYER_BTH && strcmp(f->name, "ack_req") == 0;
}

/* The layer of `other` that the i-th one of `p` is to be compared with: the first with the first of its kind,
 * the second with the second; -1: there is none. */
static int layer_like(const struct explain_packet *p, unsigned i, const struct explain_packet *other)
{
    unsigned before = 0;
    for (unsigned k = 0; k < i; k++)
        before += p->layers[k].kind == p->layers[i].kind;
    for (unsigned k = 0; k < other->layer_count; k++)
        if (other->layers[k].kind == p->layers[i].kind && before-- == 0)
            return (int)k;
    return -1;
}

static struct explain_field_diff *add(struct explain_field_diff *diffs, unsigned *n, const char *layer,
                                      const char *field)
{
    static struct explain_field_diff beyond;
    struct explain_field_diff *d = *n < EXPLAIN_DIFFS_MAX ? &diffs[*n] : &beyond;
    (*n)++;
    *d = (struct explain_field_diff){.layer = layer, .field = field};
    return d;
}

static bool is_equal(const struct explain_packet *a, unsigned la, const struct explain_packet *b, unsigned lb,
                     const struct net_field *f)
{
    if (!f->is_bytes)
        return explain_field_value(a, la, f) == explain_field_value(b, lb, f);
    return memcmp(a->frame + a->layers[la].offset + f->first_bit / 8,
                  b->frame + b->layers[lb].offset + f->first_bit / 8, f->width_bits / 8) == 0;
}

void explain_replay_diff_layer(const struct explain_packet *a, unsigned la, const struct explain_packet *b,
                               unsigned lb, explain_field_is_free *is_free_here,
                               struct explain_field_diff *diffs, unsigned *n)
{
    const struct explain_layer *layer = &a->layers[la];
    for (unsigned i = 0; i < layer->kind->header->field_count; i++) {
        const struct net_field *f = &layer->kind->header->fields[i];
        if (is_equal(a, la, b, lb, f) || is_free_here(a, la, f))
            continue;
        struct explain_field_diff *d = add(diffs, n, layer->kind->key, f->name);
        explain_field_text(a, la, f, d->recorded, sizeof d->recorded);
        explain_field_text(b, lb, f, d->engine, sizeof d->engine);
    }
}

static void diff_payload(const struct explain_packet *a, const struct explain_packet *b,
                         struct explain_field_diff *diffs, unsigned *n)
{
    uint32_t at = 0;
    if (a->payload_bytes != b->payload_bytes) {
        struct explain_field_diff *d = add(diffs, n, "payload", "bytes");
        snprintf(d->recorded, sizeof d->recorded, "%" PRIu32, a->payload_bytes);
        snprintf(d->engine, sizeof d->engine, "%" PRIu32, b->payload_bytes);
        return;
    }
    const uint8_t *x = a->frame + a->payload_offset, *y = b->frame + b->payload_offset;
    while (at < a->payload_bytes && x[at] == y[at])
        at++;
    if (at == a->payload_bytes)
        return;
    struct explain_field_diff *d = add(diffs, n, "payload", "data");
    snprintf(d->recorded, sizeof d->recorded, "0x%02x at byte %" PRIu32, x[at], at);
    snprintf(d->engine, sizeof d->engine, "0x%02x at byte %" PRIu32, y[at], at);
}

static void absent(struct explain_field_diff *d, bool in_engine)
{
    snprintf(d->recorded, sizeof d->recorded, "%s", in_engine ? "there" : "absent");
    snprintf(d->engine, sizeof d->engine, "%s", in_engine ? "absent" : "there");
}

unsigned explain_replay_diff(const struct explain_packet *recorded, const struct explain_packet *engine,
                             struct explain_field_diff *diffs)
{
    unsigned n = 0;
    if (engine->verdict != recorded->verdict) {
        struct explain_field_diff *d = add(diffs, &n, "frame", "verdict");
        snprintf(d->recorded, sizeof d->recorded, "%s", roce_rx_verdict_words(recorded->verdict));
        snprintf(d->engine, sizeof d->engine, "%s", roce_rx_verdict_words(engine->verdict));
    }
    for (unsigned i = 0; i < recorded->layer_count; i++) {
        int other = layer_like(recorded, i, engine);
        if (other >= 0)
            explain_replay_diff_layer(recorded, i, engine, (unsigned)other, is_free, diffs, &n);
        else
            absent(add(diffs, &n, recorded->layers[i].kind->key, "header"), true);
    }
    for (unsigned i = 0; i < engine->layer_count; i++)
        if (layer_like(engine, i, recorded) < 0)
            absent(add(diffs, &n, engine->layers[i].kind->key, "header"), false);
    diff_payload(recorded, engine, diffs, &n);
    return n;
}
