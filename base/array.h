/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that grow by doubling, so that appending to one costs the same however long it is. */
#ifndef NORNIC_BASE_ARRAY_H
#define NORNIC_BASE_ARRAY_H

#include <stddef.h>

/* `array`, the caller's, which has room for `*room` elements of `element_bytes` (NULL: for none): as it is if
 * `needed` fit, or moved to where they do, and `*room` says how many do now. To be freed with free(). NULL:
 * no memory, and `array` is as it was. */
void *array_room(void *array, size_t *room, size_t needed, size_t element_bytes);

#endif
