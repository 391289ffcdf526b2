/* SPDX-License-Identifier: BSD-2-Clause */
/* Every kind of layer that a frame can have, by its key. */
#ifndef NORNIC_EXPLAIN_PACKET_REGISTRY_H
#define NORNIC_EXPLAIN_PACKET_REGISTRY_H

#include "net/field.h"

struct explain_layer_kind {
    const char *key;
    const struct net_header *header;
    const char *words; /* what it is, for --help and the guide */
};

/* Ends with a NULL key. */
extern const struct explain_layer_kind explain_layer_kinds[];

/* The kind named by the first `n` bytes of `key`, or NULL. */
const struct explain_layer_kind *explain_layer_kind(const char *key, size_t n);
/* The field named by the first `n` bytes of `name`, or NULL. */
const struct net_field *explain_header_field(const struct net_header *header, const char *name, size_t n);

#endif
