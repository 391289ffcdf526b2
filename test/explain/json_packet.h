/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet as a JSON object of its own. */
#ifndef NORNIC_TEST_EXPLAIN_JSON_PACKET_H
#define NORNIC_TEST_EXPLAIN_JSON_PACKET_H

#include "explain/show/json.h"

/* Appends the object, closed, and a newline. `meaning` may be NULL. */
static inline void json_packet(struct explain_text *out, const struct explain_packet *packet,
                               const struct explain_meaning *meaning)
{
    explain_json_packet_open(out, packet, meaning);
    explain_put(out, "}\n");
}

#endif
