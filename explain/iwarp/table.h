/* SPDX-License-Identifier: BSD-2-Clause */
/* The connections that are followed. */
#ifndef NORNIC_EXPLAIN_IWARP_TABLE_H
#define NORNIC_EXPLAIN_IWARP_TABLE_H

#include "explain/iwarp/types.h"

/* The connection between these ends, in either direction; `*side` is that of addr[0]. NULL: none is known. */
struct iwarp_conn *explain_iwarp_find(struct explain_iwarp *w, const struct explain_network *network,
                                      const struct explain_segment *segment, unsigned *side);
/* Returns a new one. Its side 0 is the sender of the segment. NULL: no memory. */
struct iwarp_conn *explain_iwarp_add(struct explain_iwarp *w, const struct explain_network *network,
                                     const struct explain_segment *segment);
/* Another one is between its ends: it is not found by these any more. */
void explain_iwarp_close(struct explain_iwarp *w, struct iwarp_conn *conn);
/* Frees it. */
void explain_iwarp_drop(struct explain_iwarp *w, struct iwarp_conn *conn);
struct iwarp_conn *explain_iwarp_by_id(const struct explain_iwarp *w, uint32_t id);
/* It is iWARP: it gets its id. */
void explain_iwarp_recognise(struct explain_iwarp *w, struct iwarp_conn *conn);
/* Notes that it was heard: forgets others if memory is short. */
void explain_iwarp_touch(struct explain_iwarp *w, struct iwarp_conn *conn);

#endif
