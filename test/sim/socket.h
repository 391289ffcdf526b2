/* SPDX-License-Identifier: BSD-2-Clause */
/* What a kernel with an ordinary UDP socket makes of the frames of a wire: it drops what has a damaged IP
 * header, hands up payloads alone, and puts those of one flow together, whoever they are for (UDP_GRO);
 * what a udp port then makes of them are frames with an identification that nobody has seen. */
#ifndef NORNIC_TEST_SIM_SOCKET_H
#define NORNIC_TEST_SIM_SOCKET_H

#include "net/port.h"
#include "test/support/random.h"

/* Takes the frames of a burst, each in an allocation of its own, and puts those that the port lends in
 * their place, likewise; `random` decides where a train ends. Returns how many; `*dropped` grows by those
 * that the kernel keeps. */
unsigned sim_socket_take(struct net_frame *frames, unsigned n, struct test_random *random, uint64_t *dropped);

#endif
