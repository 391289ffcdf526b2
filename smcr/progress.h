/* SPDX-License-Identifier: BSD-2-Clause */
/* The one place that carries out what steps leave: smcr/effects.h says how they do. */
#ifndef NORNIC_SMCR_PROGRESS_H
#define NORNIC_SMCR_PROGRESS_H

#include "smcr/group/link.h"

/* All that is left, until nothing is. After each step: a completion, a timer, a call of the application. */
void smcr_settle(struct smcr *smcr, uint64_t now_ns);
/* One of our posts on the link has ended: a step. */
void smcr_progress_post_ended(struct smcr_link *link, bool ok, uint64_t now_ns);
/* Takes a link down, and reports how each of its posts has ended: after this nothing of it is outstanding
 * (SMCR-FOV-04). */
void smcr_progress_stop(struct smcr_link *link, const char *cause, uint64_t now_ns);
/* The port of a link goes away: what it has brought is taken, what it has of it freed. */
void smcr_progress_unplug(struct smcr_link *link, uint64_t now_ns);

#endif
