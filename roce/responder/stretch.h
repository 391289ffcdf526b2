/* SPDX-License-Identifier: BSD-2-Clause */
/* A stretch: MIDDLE packets of one message, one behind the other in a train, that differ by PSN and payload
 * alone. The first is taken like any packet. What was found out with it, whom it is for, that its sender may
 * send it, where its message goes, holds for those behind it as well: nothing else happens in between. So of
 * these only the BTH is compared and the ICRC checked, and their payload is copied. What is not as expected
 * ends the stretch and is taken like any packet, so that errors, gaps, the end of a message and everything
 * rare have one place. Inside roce/ only. */
#ifndef NORNIC_ROCE_STRETCH_H
#define NORNIC_ROCE_STRETCH_H

#include "roce/wire/arrival.h"
#include "roce/dev/inner.h"

/* Takes the packets of `arrival` from `next` on that continue the packet before, which was taken, as a
 * stretch. Returns how many. */
uint32_t roce_stretch_take(struct roce_dev *dev, struct roce_arrival *arrival, uint32_t next,
                           uint64_t now_ns);

#endif
