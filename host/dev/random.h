/* SPDX-License-Identifier: BSD-2-Clause */
/* The randomness that engines are given. Internal to host/ and sock/. */
#ifndef NORNIC_HOST_RANDOM_H
#define NORNIC_HOST_RANDOM_H

#include "rdma/mem.h"

/* Keys, QP numbers, PSNs, instance ids: from the kernel (getrandom(2)), 64 bits a call; its context is not
 * used. Drawn on control calls only, so that a system call each is cheap enough. */
extern const struct rdma_random host_random;

#endif
