/* SPDX-License-Identifier: BSD-2-Clause */
/* What the values of a field mean, listed from the tables that packets are read with: for the guide. */
#ifndef NORNIC_EXPLAIN_SHOW_VALUES_H
#define NORNIC_EXPLAIN_SHOW_VALUES_H

#include "explain/packet/registry.h"
#include "explain/show/text.h"

/* Whether explain_values() knows something of the field: a word, a time, a size. */
bool explain_has_values(const struct explain_layer_kind *kind, const struct net_field *field);

/* Appends a headline, and a line for each value that has a meaning: the value, its word, what more there is
 * to say (how long, how many, which headers). Neighbours of which the same is said share a line. */
void explain_values(struct explain_text *out, const struct explain_layer_kind *kind,
                    const struct net_field *field);

#endif
