/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests and completions of the device fuzzer, and the books that hold one against the other. */
#ifndef NORNIC_TEST_FUZZ_DEVICE_WORK_H
#define NORNIC_TEST_FUZZ_DEVICE_WORK_H

#include "test/fuzz/roce/device_world.h"

void fuzz_post_send(struct fuzz_world *world, unsigned dev, struct fuzz_input *in);
void fuzz_post_recv(struct fuzz_world *world, unsigned dev, struct fuzz_input *in);

/* Takes completions: each belongs to a request that is owed, none comes twice or out of order. */
void fuzz_poll(struct fuzz_world *world, unsigned dev, struct fuzz_input *in);

/* Any change of any attribute; requires that a refused one changed nothing (ROCE-QP-10). */
void fuzz_modify(struct fuzz_world *world, unsigned dev, struct fuzz_input *in);

#endif
