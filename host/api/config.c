/* SPDX-License-Identifier: BSD-2-Clause */
/* Structs that may grow: nornic/decls.h. */
#include "host/api/config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"

static bool is_zero(const uint8_t *bytes, size_t len_bytes)
{
    for (size_t i = 0; i < len_bytes; i++)
        if (bytes[i])
            return false;
    return true;
}

int host_config_take(void *own, size_t own_bytes, const void *config)
{
    size_t len_bytes;
    memcpy(&len_bytes, config, sizeof len_bytes);
    if (len_bytes < sizeof len_bytes)
        return -EINVAL;
    if (len_bytes > own_bytes && !is_zero((const uint8_t *)config + own_bytes, len_bytes - own_bytes))
        return -E2BIG;
    memset(own, 0, own_bytes);
    memcpy(own, config, min_u64(len_bytes, own_bytes));
    return 0;
}

void host_config_give(void *out, size_t out_bytes, const void *own, size_t own_bytes)
{
    memset(out, 0, out_bytes);
    memcpy(out, own, min_u64(out_bytes, own_bytes));
}
