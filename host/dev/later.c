/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/dev/later.h"

#include <stddef.h>

void host_later_add(struct host_later_list *list, struct host_later *later)
{
    if (later->is_listed)
        return;
    later->is_listed = true;
    STAILQ_INSERT_TAIL(list, later, entry);
}

void host_later_tell(struct host_later_list *list)
{
    struct host_later *later;
    while ((later = STAILQ_FIRST(list))) {
        STAILQ_REMOVE_HEAD(list, entry);
        later->is_listed = false;
        later->tell(later);
    }
}
