/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/packet/cursor.h"

bool explain_take(struct explain_cursor *c, const struct net_header *header, const char *key)
{
    struct explain_packet *p = c->packet;
    if (c->end - c->at < header->len_bytes || p->layer_count == EXPLAIN_LAYERS_MAX)
        return false;
    p->layers[p->layer_count++] = (struct explain_layer){.header = header, .key = key, .offset = c->at};
    c->at += header->len_bytes;
    return true;
}

void explain_show(struct explain_cursor *c, const struct net_header *header, const char *key, uint32_t offset)
{
    struct explain_cursor inner = {.packet = c->packet, .at = offset, .end = c->end};
    explain_take(&inner, header, key);
}

void explain_take_parts(struct explain_cursor *c, unsigned count, unsigned most,
                        const struct net_header *header, const char *key)
{
    for (unsigned i = 0; i < count && i < most; i++)
        if (!explain_take(c, header, key))
            return;
}
