/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

#define FIRST_COUNT 64

void *array_room(void *array, size_t *room, size_t needed, size_t element_bytes)
{
    size_t more = *room ? *room : FIRST_COUNT;
    if (array && needed <= *room)
        return array;
    if (needed > SIZE_MAX / 2) /* which doubling would pass by */
        return NULL;
    while (more < needed)
        more *= 2;
    void *grown = reallocarray(array, more, element_bytes);
    if (grown)
        *room = more;
    return grown;
}
