/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/packet/registry.h"

#include "iwarp/wire.h"
#include "net/ether.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/link.h"
#include "net/lldp.h"
#include "net/mac_control.h"
#include "net/tcp.h"
#include "net/tunnel.h"
#include "net/udp.h"
#include "roce/cm/mad.h"
#include "roce/wire.h"
#include "smcr/cdc_wire.h"
#include "smcr/clc2_wire.h"
#include "smcr/llc2_wire.h"

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
