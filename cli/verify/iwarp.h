/* SPDX-License-Identifier: BSD-2-Clause */
/* The CRCs of iWARP in a capture: FPDUs, which are found by following their TCP streams. */
#ifndef NORNIC_CLI_VERIFY_IWARP_H
#define NORNIC_CLI_VERIFY_IWARP_H

#include <json-c/json.h>

#include "explain/iwarp/iwarp.h"

#define CLI_BAD_FPDUS_MAX 256 /* are named; the others are only counted */

/* All zero: nothing was seen. */
struct cli_verify_iwarp {
    struct explain_iwarp *follower; /* NULL until a TCP connection begins */
    uint64_t fpdus, crcs[4];        /* by enum explain_crc */
    uint64_t bad_count;             /* findings: a bad CRC, a length or marker that cannot be */
    struct explain_finding *bad;    /* the first CLI_BAD_FPDUS_MAX of these; NULL: none */
    uint32_t conns;
};

/* Takes the next packet of a file; false: no memory. */
bool cli_verify_iwarp_take(struct cli_verify_iwarp *w, struct explain_packet *packet);
/* Adds up what a file holds. */
void cli_verify_iwarp_add(struct cli_verify_iwarp *total, const struct cli_verify_iwarp *file);
void cli_verify_iwarp_end(struct cli_verify_iwarp *w);

/* Nothing where there is no iWARP. */
void cli_verify_iwarp_print(const struct cli_verify_iwarp *w);
void cli_verify_iwarp_to_json(const struct cli_verify_iwarp *w, json_object *object);

#endif
