/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads, atomics and their answers. */
#ifndef NORNIC_EXPLAIN_IWARP_ANSWER_H
#define NORNIC_EXPLAIN_IWARP_ANSWER_H

#include "explain/iwarp/types.h"

/* A Read or an atomic was asked for; fills number, time and `is` of `asked`. */
void explain_iwarp_ask(struct iwarp_view *v, const struct iwarp_fpdu *f, struct iwarp_asked *asked);
void explain_iwarp_read_response(struct iwarp_view *v, struct iwarp_fpdu *f);
void explain_iwarp_atomic_response(struct iwarp_view *v, struct iwarp_fpdu *f);

#endif
