/* SPDX-License-Identifier: BSD-2-Clause */
/* Small expressions over the fields of a packet:
 *   bth.opcode == RC_RDMA_WRITE_FIRST && (bth.psn > 100 || ip.src == 10.0.0.1) && !aeth
 * A term is a layer (it is there), a field (it is not 0), or a comparison (== != < <= > >=) of a field, or of
 * n, len, flow, message or connection (of SMC-R), with a number (decimal or 0x...), the name of a value
 * (blanks written as _, case as you like), or an address, also with the length of a prefix (10.0.0.0/8).
 * `finding` is any finding, `finding == timeout` one of that kind. A field of a layer that the packet does
 * not have compares as false. */
#ifndef NORNIC_EXPLAIN_SHOW_FILTER_H
#define NORNIC_EXPLAIN_SHOW_FILTER_H

#include "explain/analysis.h"
#include "net/error.h"

struct explain_filter;

/* NULL, with a sentence in `why` that names the place: wrong syntax, or no such layer, field or value. */
struct explain_filter *explain_filter_parse(const char *expression, struct nornic_error *why);
void explain_filter_free(struct explain_filter *filter);

/* `meaning` may be NULL: then flow and message are 0. */
bool explain_filter_matches(const struct explain_filter *filter, const struct explain_packet *packet,
                            const struct explain_meaning *meaning);

#endif
