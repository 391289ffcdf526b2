/* SPDX-License-Identifier: BSD-2-Clause */
/* FPDUs in a stream. */
#ifndef NORNIC_EXPLAIN_IWARP_FPDU_H
#define NORNIC_EXPLAIN_IWARP_FPDU_H

#include "explain/iwarp/types.h"

/* Takes all FPDUs of the side that are there. */
void explain_iwarp_walk(struct iwarp_view *v);
/* What is behind ULPDU_Length, in `f->plain`: fills the rest of `f`. */
void explain_iwarp_parse(struct iwarp_fpdu *f);
/* Whether these bytes may be the beginning of an FPDU. */
bool explain_iwarp_is_plausible(const uint8_t *bytes, uint32_t n);
/* Whether a whole FPDU with a good CRC and no markers begins there: that is no chance. */
bool explain_iwarp_is_proven(const uint8_t *bytes, uint32_t n);

#endif
