/* SPDX-License-Identifier: BSD-2-Clause */
/* Structs of programs that may grow (nornic/decls.h): taking in those of other versions, and filling
 * them. */
#ifndef NORNIC_HOST_CONFIG_H
#define NORNIC_HOST_CONFIG_H

#include <stddef.h>

/* Copies a caller's config, which begins with its length in bytes, into ours of `own_bytes`: what the
 * caller does not have is zero. 0; -EINVAL (the length is not set, or no config is so short); or -E2BIG:
 * it has a value that this library does not know. */
int host_config_take(void *own, size_t own_bytes, const void *config);

/* Copies `own` into a caller's struct of `out_bytes`: what this library does not have is zero. */
void host_config_give(void *out, size_t out_bytes, const void *own, size_t own_bytes);

#endif
