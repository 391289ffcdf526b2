/* SPDX-License-Identifier: BSD-2-Clause */
/* The knowledge of a process about the others, and theirs about it. */
#include <string.h>

#include "base/base.h"
#include "net/share/filter.h"
#include "net/share/hand.h"
#include "net/share/inner.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x100000001b3); /* FNV-1a, by words */
}

/* Another number whenever somebody has come or gone, anywhere or at an address of ours. */
static uint64_t sign(const struct net_share *share)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (unsigned i = 0; i < share->view.count; i++)
        hash = mix(mix(hash, share->view.slots[i]), share->view.records[share->view.slots[i]].opened_ns);
    for (uint32_t i = 0; i < share->own.place_count; i++) {
        const struct net_share_place *place = &share->own.places[i];
        hash = mix(hash, i);
        for (unsigned k = 0; k < share->view.count; k++)
            if (net_share_place_at(&share->view, share->view.slots[k], &place->addr, place->scope))
                hash = mix(hash, share->view.slots[k]);
    }
    return hash;
}

/* Reads the record of another process, unless it is known. Returns whether the process lives, which is asked
 * of a known one in a census only. */
static bool is_there(struct net_share *share, unsigned slot, uint64_t mark, bool *has_dead)
{
    const bool is_known = mark == share->marks[slot];
    if (mark == 0 || (is_known && !share->is_census_due))
        return mark != 0;
    share->marks[slot] = 0;
    if (!net_share_table_is_leased(&share->table, slot)) {
        *has_dead = true;
        return false;
    }
    if (!is_known && !net_share_table_read(&share->table, slot, &share->view.records[slot]))
        return false;
    share->marks[slot] = mark;
    return true;
}

bool net_share_catch_up(struct net_share *share)
{
    uint64_t marks[NET_SHARE_SLOTS];
    struct net_share_view *view = &share->view;
    bool has_dead = false;
    share->seen_writes = net_share_table_writes(&share->table);
    net_share_table_marks(&share->table, marks);
    view->count = 0;
    for (unsigned slot = 0; slot < NET_SHARE_SLOTS; slot++)
        if (slot == share->slot || is_there(share, slot, marks[slot], &has_dead))
            view->slots[view->count++] = (uint8_t)slot;
    if (share->slot != NET_SHARE_NOBODY)
        view->records[share->slot] = share->own;
    share->is_census_due = false;
    share->seen_ns = share->now_ns;
    net_share_watch_next(share);
    uint64_t signature = sign(share);
    if (signature != share->signature) {
        share->signature = signature;
        net_share_trial_begin(share);
        net_share_renew_look(share);
    }
    return has_dead;
}

bool net_share_refresh(struct net_share *share)
{
    share->is_census_due = true;
    return net_share_catch_up(share);
}

static void attach(const struct net_share *share, unsigned i)
{
    struct sock_filter code[NET_SHARE_FILTER_MAX];
    const struct net_share_place *place = &share->own.places[i];
    unsigned count = net_share_filter(&share->view, &place->addr, place->scope, code);
    /* Without a filter the kernel chooses by the flow, and everything is handed over. */
    (void)net_share_filter_attach(share->sites[i].fd, code, count);
}

/* Returns whether all groups need new filters, not those of new places alone: others have written since this
 * process gave its groups theirs, or it serves other things. */
static bool is_steered_anew(const struct net_share *share, uint64_t writes)
{
    const struct net_share_record *own = &share->own, *said = &share->said;
    return share->is_filter_suspect || writes != share->steered_writes || own->has_qp1 != said->has_qp1 ||
           own->service_count != said->service_count ||
           memcmp(own->services, said->services, sizeof own->services) != 0;
}

/* Gives the groups their filters: all, or those of new places. A process that comes with hundreds of
 * addresses writes hundreds of times, and each time one group is new. */
static void steer(struct net_share *share, bool is_anew)
{
    for (uint32_t i = 0; i < share->own.place_count; i++) {
        const struct net_share_place *place = &share->own.places[i];
        bool is_new =
            i >= share->said.place_count || memcmp(place, &share->said.places[i], sizeof *place) != 0;
        if ((is_anew || is_new) && net_share_count_at(&share->view, &place->addr, place->scope) > 1)
            attach(share, i);
    }
    share->is_filter_suspect = false;
    share->steered_writes = net_share_table_writes(&share->table);
}

/* Several processes see that another one has died: the first does it all, and the others find it done. */
void net_share_say(struct net_share *share)
{
    const uint64_t writes = net_share_table_writes(&share->table);
    bool has_buried = net_share_bury(&share->table, share->slot);
    bool is_news = memcmp(&share->own, &share->said, sizeof share->own) != 0;
    share->say_error = is_news ? net_share_table_write(&share->table, share->slot, &share->own) : 0;
    if (has_buried || is_news)
        net_share_tell(share);
    net_share_catch_up(share);
    if (has_buried || is_news || share->is_filter_suspect)
        steer(share, has_buried || is_steered_anew(share, writes));
    if (is_news && !share->say_error)
        share->said = share->own;
    share->is_unsaid = memcmp(&share->own, &share->said, sizeof share->own) != 0;
}
