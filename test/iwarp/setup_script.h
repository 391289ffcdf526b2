/* SPDX-License-Identifier: BSD-2-Clause */
/* One side of the set-up against frames that stand in the test as octets. */
#ifndef NORNIC_TEST_IWARP_SETUP_SCRIPT_H
#define NORNIC_TEST_IWARP_SETUP_SCRIPT_H

#include "iwarp/wire/setup.h"
#include "test/support/iwarp_frames.h"

#define FLAG_M 0x80
#define FLAG_C 0x40
#define FLAG_R 0x20
#define FLAG_S 0x10

/* The side that is looked at, and another one. */
extern struct iwarp_setup one, other;
extern const struct iwarp_setup_config usual; /* depths of 16 and 8 */

/* Frames, with four octets of RFC 6581 where `flags` has S in revision 2. Their length. */
size_t request(uint8_t *to, uint8_t flags, uint8_t rev, uint32_t enhanced, const char *private_data);
size_t reply(uint8_t *to, uint8_t flags, uint8_t rev, uint32_t enhanced, const char *private_data);

void expect_output(const struct iwarp_setup *s, enum iwarp_example_name name);
void expect_private_data(const struct iwarp_setup *s, const char *wanted);
/* Makes `one` a responder of `config` that has taken a Request. */
void take_request(const struct iwarp_setup_config *config, uint8_t flags, uint8_t rev, uint32_t enhanced);
/* The Reply that it then sends: its flags, and the four octets or 0. */
uint8_t reply_of(uint32_t *enhanced);
/* Makes `one` an initiator of `config` that has its Reply. */
void take_reply(const struct iwarp_setup_config *config, uint8_t flags, uint8_t rev, uint32_t enhanced);
/* Fails unless `one` has failed so. */
void expect_failure(enum iwarp_setup_failure failure, uint16_t term, const char *what);

#endif
