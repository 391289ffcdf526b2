/* SPDX-License-Identifier: BSD-2-Clause */
/* Structs that may grow (nornic/decls.h), the objects that a device counts, the version. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "host/api.h"

static bool is_zero(const uint8_t *bytes, size_t len_bytes)
{
    for (size_t i = 0; i < len_bytes; i++)
        if (bytes[i])
            return false;
    return true;
}

int host_api_take_config(void *own, size_t own_bytes, const void *config)
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

void host_api_give(void *out, size_t out_bytes, const void *own, size_t own_bytes)
{
    memset(out, 0, out_bytes);
    memcpy(out, own, min_u64(out_bytes, own_bytes));
}

void *host_api_new(struct nornic_dev *dev, enum host_api_kind kind, size_t bytes)
{
    void *object = calloc(1, bytes);
    if (object)
        atomic_fetch_add(&dev->objects[kind], 1);
    return object;
}

void host_api_free(struct nornic_dev *dev, enum host_api_kind kind, void *object)
{
    atomic_fetch_sub(&dev->objects[kind], 1);
    free(object);
}

const char *nornic_version(void)
{
    return NORNIC_VERSION;
}

unsigned nornic_version_number(void)
{
    return NORNIC_VERSION_NUMBER;
}
