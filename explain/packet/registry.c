/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/packet/registry.h"

#include "iwarp/wire/wire.h"
#include "net/ipv4.h"
#include "net/wire/ether.h"
#include "net/wire/ipv6.h"
#include "net/wire/link.h"
#include "net/wire/lldp.h"
#include "net/wire/mac_control.h"
#include "net/wire/tcp.h"
#include "net/wire/tunnel.h"
#include "net/wire/udp.h"
#include "roce/cm/mad.h"
#include "roce/wire.h"
#include "smcr/wire/cdc.h"
#include "smcr/wire/clc2.h"
#include "smcr/wire/llc2.h"

const struct explain_layer_kind explain_layer_kinds[EXPLAIN_LAYER_COUNT + 1] = {
#define ROW(id, key, header, words) {EXPLAIN_LAYER_##id, key, &header##_header, words},
    EXPLAIN_LAYERS(ROW)
#undef ROW
        {EXPLAIN_LAYER_COUNT, NULL, NULL, NULL}};

const struct explain_layer_kind *explain_layer_kind(const char *key, size_t n)
{
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++)
        if (strlen(k->key) == n && memcmp(k->key, key, n) == 0)
            return k;
    return NULL;
}

const struct net_field *explain_header_field(const struct net_header *header, const char *name, size_t n)
{
    for (unsigned i = 0; i < header->field_count; i++)
        if (strlen(header->fields[i].name) == n && memcmp(header->fields[i].name, name, n) == 0)
            return &header->fields[i];
    return NULL;
}
