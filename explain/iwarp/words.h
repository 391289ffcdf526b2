/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of a packet. */
#ifndef NORNIC_EXPLAIN_IWARP_WORDS_H
#define NORNIC_EXPLAIN_IWARP_WORDS_H

#include "explain/iwarp/types.h"

/* Appends to the words of the packet. */
void explain_iwarp_say(struct iwarp_view *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends the words for an FPDU, with the text that parts it from the one before. A packet with many tells of
 * the first ones. */
void explain_iwarp_tell(struct iwarp_view *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends to the words of an FPDU; nothing if these were left out. */
void explain_iwarp_go_on(struct iwarp_view *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* All FPDUs were told of. */
void explain_iwarp_told(struct iwarp_view *v);

#endif
