/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests in words. */
#ifndef NORNIC_EXPLAIN_FLOW_MESSAGE_DESCRIBE_H
#define NORNIC_EXPLAIN_FLOW_MESSAGE_DESCRIBE_H

#include "explain/meaning/meaning.h"

/* Sets m->words: operation, message, piece and bytes, as far as `m` knows them. */
void explain_describe(const struct explain_packet *packet, struct explain_meaning *m);
/* Appends why the packet was sent again. `before`: the copy before it, 0: none is in this capture. */
void explain_describe_again(struct explain_meaning *m, const struct explain_why *why, uint64_t before);

#endif
