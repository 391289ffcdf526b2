/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that ended. */
#ifndef NORNIC_EXPLAIN_IWARP_DONE_H
#define NORNIC_EXPLAIN_IWARP_DONE_H

#include "explain/iwarp/types.h"

/* The segment `f` is the last of the message `open`, which needs no answer: it is done when TCP acknowledges
 * it. */
void explain_iwarp_sent(struct iwarp_view *v, const struct iwarp_fpdu *f, const struct iwarp_open *open);
/* The packet acknowledges what the other side sent. */
void explain_iwarp_acked(struct iwarp_view *v);
/* The packet has the last of the answer that the other side asked for. */
void explain_iwarp_answered(struct iwarp_view *v, const struct iwarp_asked *asked);

#endif
