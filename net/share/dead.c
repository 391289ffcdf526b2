/* SPDX-License-Identifier: BSD-2-Clause */
/* What the dead leave: a process that is killed its record and the names of its sockets, and where it was the
 * last of a network namespace the table, too. The leases are gone, so that nothing of it is ever taken for
 * alive; but a directory that outlives the namespaces would grow with each of them. */
#include <dirent.h>
#include <string.h>

#include "net/share/hand.h"
#include "net/share/inner.h"

/* Whoever leases a slot for a moment knows that nobody is in it. */
bool net_share_bury(struct net_share_table *table, unsigned own_slot)
{
    bool is_any = false;
    uint64_t marks[NET_SHARE_SLOTS];
    net_share_table_marks(table, marks);
    for (unsigned slot = 0; slot < NET_SHARE_SLOTS; slot++) {
        if (!marks[slot] || slot == own_slot || net_share_table_lease(table, slot) != 0)
            continue;
        net_share_hand_remove(table, slot);
        net_share_table_write(table, slot, NULL);
        net_share_table_release(table, slot);
        is_any = true;
    }
    return is_any;
}

void net_share_tidy(const struct net_share_dir *dir)
{
    const struct net_share_table none = {.path = "/"};
    net_share_sweep(dir, &none);
}

void net_share_sweep(const struct net_share_dir *dir, const struct net_share_table *own)
{
    const char *own_name = strrchr(own->path, '/') + 1;
    DIR *list = dir->is_common ? NULL : opendir(dir->path);
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        struct net_share_table table;
        if (strcmp(entry->d_name, own_name) == 0 ||
            net_share_table_open_named(dir, entry->d_name, &table) != 0)
            continue;
        if (!net_share_table_has_leases(&table)) {
            net_share_bury(&table, NET_SHARE_NOBODY);
            net_share_table_remove(&table);
        }
        net_share_table_close(&table);
    }
    if (list)
        closedir(list);
}
