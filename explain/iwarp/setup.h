/* SPDX-License-Identifier: BSD-2-Clause */
/* The set-up of MPA. */
#ifndef NORNIC_EXPLAIN_IWARP_SETUP_H
#define NORNIC_EXPLAIN_IWARP_SETUP_H

#include "explain/iwarp/types.h"

/* The set-up, or a part of it, is not in the capture: says so. */
void explain_iwarp_is_older(struct iwarp_view *v);
/* Whether the first bytes of a direction may be those of an MPA frame; `n` of them are there. */
bool explain_iwarp_is_key(const uint8_t *bytes, uint32_t n);
/* Takes the MPA frame of the side; false: it is not there as a whole. */
bool explain_iwarp_setup(struct iwarp_view *v);

#endif
