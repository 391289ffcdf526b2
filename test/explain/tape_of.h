/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture of pcaps/ on a tape to be replayed, as it is or with packets changed. */
#ifndef NORNIC_TEST_EXPLAIN_TAPE_OF_H
#define NORNIC_TEST_EXPLAIN_TAPE_OF_H

#include "explain/replay/tape.h"

/* Changes a packet before it comes on the tape; false: it is left out. Numbers count from 1. */
typedef bool tape_edit(uint64_t number, uint8_t *bytes);
/* Makes its checksums right again. */
typedef void tape_mend(uint8_t *bytes, uint32_t len_bytes);

/* pcaps/NAME.pcap. `change` and `mend`, which each packet goes through in this order, may be NULL. The tape
 * is to be given back by explain_tape_free(). Fails the test if it cannot be read. */
void tape_of(const char *name, tape_edit *change, tape_mend *mend, struct explain_tape *tape);

#endif
