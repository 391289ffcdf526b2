/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets as JSON, one object a line. */
#ifndef NORNIC_EXPLAIN_SHOW_JSON_H
#define NORNIC_EXPLAIN_SHOW_JSON_H

#include "explain/analysis.h"
#include "explain/show/text.h"

/* Appends the object of one packet, without the brace and newline at its end, so that members can be added:
 * n, time_ns, len, kind, layers with all fields, payload, icrc and verdict of a RoCE packet; with `meaning`
 * (may be NULL) qp, smc, message, words and remarks. A layer that comes again has _2, _3 at the end of its
 * key. Integers of up to
 * 32 bits are numbers, longer ones and keys strings of hex, addresses as they are usually written. */
void explain_json_packet_open(struct explain_text *out, const struct explain_packet *packet,
                              const struct explain_meaning *meaning);

/* The object of a finding, without a newline. */
void explain_json_finding(struct explain_text *out, const struct explain_finding *finding);

/* The objects of a connection and of a link group of SMC-R, without a newline. */
void explain_json_smc_conn(struct explain_text *out, const struct explain_smc_conn *conn);
void explain_json_smc_group(struct explain_text *out, const struct explain_smc_group *group);

/* The object of a flow, without a newline. */
void explain_json_flow(struct explain_text *out, const struct explain_flow *flow, uint32_t index);

#endif
