/* SPDX-License-Identifier: BSD-2-Clause */
/* The side that asks, and its peer, which the test plays: for tests of what a queue pair sends for the work
 * that is posted, and what it makes of the answers. Those of the suite `request` find both made; those of
 * `request_cases` make them for each case. */
#ifndef NORNIC_TEST_IWARP_ASKER_H
#define NORNIC_TEST_IWARP_ASKER_H

#include "test/iwarp/world.h"

/* Between asker_make() and asker_free(). */
extern struct side asker; /* the first 64 KiB of its memory tell where they stand; an EMSS of 1460 octets */
extern struct peer asked;

void asker_make(void);
void asker_free(void);

/* The READ Request that the peer hears next, which has that MSN. */
struct iwarp_read_req asker_read_request(uint32_t msn);
/* The peer answers it with `data`, of as many octets as it asks for, in one segment. */
void asker_answer(const struct iwarp_read_req *req, const void *data);

#endif
