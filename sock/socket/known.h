/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the process that is there without asking the kernel: sock/socket/known.c says which, and why. Internal
 * to sock/. */
#ifndef NORNIC_SOCK_KNOWN_H
#define NORNIC_SOCK_KNOWN_H

#include <stddef.h>

/* Finds out where the program's data and its heap lie, from the C library and /proc. Once, before other
 * threads ask; until then, and where /proc is not there, only less is known. */
void smcr_known_learn(void);

/* How many of the `len_bytes` bytes at `at` are known to be readable, or writable, from the first one on. The
 * rest may be so too. */
size_t smcr_known_readable(const void *at, size_t len_bytes);
size_t smcr_known_writable(const void *at, size_t len_bytes);

#endif
