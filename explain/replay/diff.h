/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets, compared field by field. */
#ifndef NORNIC_EXPLAIN_REPLAY_DIFF_H
#define NORNIC_EXPLAIN_REPLAY_DIFF_H

#include "explain/replay/values.h"

/* Compares the layers `la` and `lb` of two packets, of one kind, field by field, but for those of which
 * `is_free` (asked of the recorded one) says so: appends to `diffs`, of which `*n` are told already. */
typedef bool explain_field_is_free(const struct explain_packet *p, unsigned layer, const struct net_field *f);

void explain_replay_diff_layer(const struct explain_packet *recorded, unsigned la,
                               const struct explain_packet *engine, unsigned lb,
                               explain_field_is_free *is_free, struct explain_field_diff *diffs, unsigned *n);
/* Compares two packets field by field, but for what is free: IPv4 identification and checksum, TTL, UDP
 * source port and checksum, the M bit, ICRC. AckReq is free in a request that is not the last of its
 * message, as a requester may ask when it likes. Returns how many fields differ; at most
 * EXPLAIN_DIFFS_MAX are told. */
unsigned explain_replay_diff(const struct explain_packet *recorded, const struct explain_packet *engine,
                             struct explain_field_diff *diffs);

#endif
