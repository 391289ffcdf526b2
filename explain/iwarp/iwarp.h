/* SPDX-License-Identifier: BSD-2-Clause */
/* iWARP in a capture: TCP connections that begin with MPA (or show FPDUs with a good CRC, where their
 * beginning is older than the capture), followed FPDU by FPDU and message by message. Memory is bounded: the
 * connection that was silent longest is forgotten first. */
#ifndef NORNIC_EXPLAIN_IWARP_IWARP_H
#define NORNIC_EXPLAIN_IWARP_IWARP_H

#include "explain/meaning/meaning.h"

struct explain_iwarp;

/* Whether a packet may be the first of an iWARP connection: what explain_iwarp_create() is called for,
 * so that a capture without TCP costs nothing. */
bool explain_iwarp_may_begin(const struct explain_packet *packet);

/* NULL: no memory. `max_bytes` of memory for connections; 0: 48 MiB. */
struct explain_iwarp *explain_iwarp_create(size_t max_bytes);
void explain_iwarp_destroy(struct explain_iwarp *iwarp);

/* Takes a packet in the order of the capture. One of iWARP becomes of the kind EXPLAIN_IWARP, the
 * headers of the FPDUs that begin in it become layers, and `m` says what they are. Others are left alone. */
void explain_iwarp_take(struct explain_iwarp *iwarp, struct explain_packet *packet,
                        struct explain_meaning *m);

/* The capture ended at `last_ns`: the next Read or atomic without an answer; false: there is no more. */
bool explain_iwarp_next_open(struct explain_iwarp *iwarp, uint64_t last_ns, struct explain_finding *f);

/* Connections by id 1..count; those that were forgotten are NULL. */
uint32_t explain_iwarp_conn_count(const struct explain_iwarp *iwarp);
const struct explain_iwarp_conn *explain_iwarp_get_conn(const struct explain_iwarp *iwarp, uint32_t id);
/* How many were forgotten for room. */
uint32_t explain_iwarp_forgotten(const struct explain_iwarp *iwarp);

#endif
