/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/packet/cursor.h"

bool explain_take(struct explain_cursor *c, enum explain_layer_id id)
{
    struct explain_packet *p = c->packet;
    const struct net_header *header = explain_layer_kinds[id].header;
    uint32_t n = min_u32(c->end - c->at, header->len_bytes);
    bool is_whole = n == header->len_bytes;
    bool is_cut = c->takes_cut && n > 0 && c->wire_end - c->at >= header->len_bytes;
    if (!(is_whole || is_cut) || p->layer_count == EXPLAIN_LAYERS_MAX)
        return false;
    p->layers[p->layer_count++] =
        (struct explain_layer){.kind = &explain_layer_kinds[id], .offset = c->at, .len_bytes = (uint16_t)n};
    c->at += n;
    return is_whole;
}

void explain_show(struct explain_cursor *c, enum explain_layer_id id, uint32_t offset)
{
    struct explain_cursor inner = *c;
    if (offset > c->end)
        return;
    inner.at = offset;
    explain_take(&inner, id);
}

void explain_take_parts(struct explain_cursor *c, unsigned count, unsigned most, enum explain_layer_id id)
{
    for (unsigned i = 0; i < count && i < most; i++)
        if (!explain_take(c, id))
            return;
}
