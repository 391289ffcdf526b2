/* SPDX-License-Identifier: BSD-2-Clause */
/* Making trains of single packets, as a receiver does that coalesces (UDP_GRO): the other half of
 * net/wire/train.h. */
#ifndef NORNIC_TEST_SUPPORT_TRAIN_H
#define NORNIC_TEST_SUPPORT_TRAIN_H

#include <stdbool.h>

#include "net/port.h"
#include "test/support/random.h"

/* Puts the packet `pkt` behind the last of `train`, a frame or train with cap_bytes of room: if its headers
 * are those of the first but for what is a packet's own, its identification is the next, and it is as long as
 * the first or shorter (then it is the last). False: it does not belong there. */
bool test_train_append(struct net_frame *train, const struct net_frame *pkt);

/* Couples the frames of a burst, each in an allocation of its own length, into trains where they follow each
 * other; `random` decides where one ends. Returns how many frames are left, again in allocations of their
 * length. */
unsigned test_train_couple(struct net_frame *frames, unsigned n, struct test_random *random);

#endif
