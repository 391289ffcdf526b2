/* SPDX-License-Identifier: BSD-2-Clause */
/* iWARP of a capture, replayed: one end of its TCP connections is rebuilt with the engine of iwarp/, gets
 * the octets that the other end sent, and each MPA frame and RDMAP message that it sends is compared with
 * the recorded one.
 *
 * Connections with their SYN in the capture, without markers. Names for the end's own memory (STags, and
 * the place of a Read Response in it) are the engine's: incoming ones are turned to them, with a CRC made
 * anew, that stays bad if it was. */
#ifndef NORNIC_EXPLAIN_REPLAY_IWARP_REPLAY_H
#define NORNIC_EXPLAIN_REPLAY_IWARP_REPLAY_H

#include "explain/replay/iwarp/values.h"
#include "explain/replay/tape.h"
#include "net/error.h"

const struct explain_outcome *explain_iwarp_replay_outcome_of(enum explain_iwarp_replay_outcome outcome);
/* Whether any of the TCP connections is iWARP, with `addr` at an end. */
bool explain_iwarp_replay_is_there(const struct explain_tape *tape, const struct nornic_addr *addr);
/* The connections of the end with address `addr`; of one to itself, its initiator. 0, whatever the comparison
 * says, and when there is none (all of `result` is 0); or -errno with a sentence in `why`. */
int explain_iwarp_replay(const struct explain_tape *tape, const struct nornic_addr *addr,
                         const struct explain_iwarp_replay_config *config,
                         struct explain_iwarp_replay_result *result, struct nornic_error *why);

#endif
