/* SPDX-License-Identifier: BSD-2-Clause */
/* Who polls in vain: when to give the processor away.
 *
 * If whoever is to answer wants the same processor, nothing comes before it has it: the sooner it is given
 * away the better. If the answer comes from another processor, it comes in the time of a few polls, and
 * giving this one to a program that computes costs that program's whole time slice, which is hundreds of
 * answers. Nobody says which it is, but the polls show it: an answer that comes while this program has the
 * processor comes from elsewhere. So it keeps the processor for VERBS_IDLE_PATIENT polls until several
 * answers in a row have come only after it was given away; from then on for VERBS_IDLE_HASTY, and now and
 * then for longer, as a program may be moved to another processor. An answer that comes in time takes back
 * half of what the late ones have shown, and not all: the scheduler, too, may have given the processor
 * away. */
#ifndef NORNIC_VERBS_IDLE_H
#define NORNIC_VERBS_IDLE_H

#include <stdatomic.h>
#include <stdbool.h>

#define VERBS_IDLE_HASTY   16u
#define VERBS_IDLE_PATIENT 256u

/* Zero: nobody has polled yet. Of two threads that count at once one may be lost. */
struct verbs_idle {
    atomic_uint polls; /* in a row that found nothing */
    atomic_uint late;  /* how many answers came after the processor was given away, of the last few */
};

/* After a poll; `found`: something had come. Whether to give the processor away now. */
bool verbs_idle_count(struct verbs_idle *idle, bool found);

#endif
