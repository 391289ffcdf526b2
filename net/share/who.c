/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share/who.h"

#include "net/bytes.h"

static bool is_at(const struct net_share_record *record, uint32_t i, const struct nornic_addr *addr,
                  uint32_t scope)
{
    return i < record->place_count && record->places[i].scope == scope &&
           nornic_addr_equal(&record->places[i].addr, addr);
}

const struct net_share_place *net_share_place_of(const struct net_share_record *record,
                                                 const struct nornic_addr *addr, uint32_t scope)
{
    for (uint32_t i = 0; i < record->place_count; i++)
        if (is_at(record, i, addr, scope))
            return &record->places[i];
    return NULL;
}

const struct net_share_place *net_share_place_at(const struct net_share_view *view, unsigned slot,
                                                 const struct nornic_addr *addr, uint32_t scope)
{
    const struct net_share_record *record = &view->records[slot];
    const uint32_t last = view->last ? view->last[slot] : 0;
    if (is_at(record, last, addr, scope))
        return &record->places[last];
    const struct net_share_place *found = is_at(record, last + 1, addr, scope)
                                              ? &record->places[last + 1]
                                              : net_share_place_of(record, addr, scope);
    if (found && view->last)
        view->last[slot] = (uint8_t)(found - record->places);
    return found;
}

unsigned net_share_count_at(const struct net_share_view *view, const struct nornic_addr *addr, uint32_t scope)
{
    unsigned count = 0;
    for (unsigned i = 0; i < view->count; i++)
        count += net_share_place_at(view, view->slots[i], addr, scope) != NULL;
    return count;
}

static bool serves(const struct net_share_record *record, uint64_t service_id)
{
    for (uint32_t i = 0; i < record->service_count; i++)
        if (record->services[i] == service_id)
            return true;
    return false;
}

unsigned net_share_server_at(const struct net_share_view *view, const struct nornic_addr *addr,
                             uint32_t scope, uint64_t service_id)
{
    for (unsigned i = 0; i < view->count; i++) {
        const struct net_share_record *record = &view->records[view->slots[i]];
        if (serves(record, service_id) && net_share_place_at(view, view->slots[i], addr, scope))
            return view->slots[i];
    }
    return NET_SHARE_NOBODY;
}

unsigned net_share_default_at(const struct net_share_view *view, const struct nornic_addr *addr,
                              uint32_t scope)
{
    const struct net_share_record *oldest = NULL;
    for (unsigned i = 0; i < view->count; i++) {
        const struct net_share_record *record = &view->records[view->slots[i]];
        if (record->has_qp1 && (!oldest || record->opened_ns < oldest->opened_ns) &&
            net_share_place_at(view, view->slots[i], addr, scope))
            oldest = record;
    }
    return oldest ? (unsigned)(oldest - view->records) : NET_SHARE_NOBODY;
}

static bool is_there(const struct net_share_view *view, unsigned slot)
{
    for (unsigned i = 0; i < view->count; i++)
        if (view->slots[i] == slot)
            return true;
    return false;
}

/* Of a message of the CM to queue pair 1; NET_SHARE_NOBODY: it names nobody who is there. */
static unsigned whose_message(const struct net_share_view *view, const struct nornic_addr *addr,
                              uint32_t scope, const uint8_t *payload)
{
    uint16_t attr = get_be16(payload + NET_SHARE_ATTR_AT);
    if (attr == NET_SHARE_REQ || attr == NET_SHARE_SIDR_REQ)
        return net_share_server_at(view, addr, scope, get_be64(payload + NET_SHARE_SERVICE_AT));
    uint32_t id =
        get_be32(payload + (attr == NET_SHARE_SIDR_REP ? NET_SHARE_REQUEST_AT : NET_SHARE_REMOTE_AT));
    if (id == 0)
        return NET_SHARE_ALL;
    return is_there(view, id >> NET_SHARE_ID_BITS) ? id >> NET_SHARE_ID_BITS : NET_SHARE_NOBODY;
}

unsigned net_share_whose(const struct net_share_view *view, const struct nornic_addr *addr, uint32_t scope,
                         const uint8_t *payload, uint32_t bytes)
{
    if (bytes < NET_SHARE_PSN_AT + 3)
        return NET_SHARE_NOBODY;
    uint32_t qpn = get_be24(payload + NET_SHARE_QPN_AT);
    if (qpn == 0)
        return NET_SHARE_TRIAL;
    if (qpn != 1)
        return is_there(view, qpn >> NET_SHARE_SLOT_BITS) ? qpn >> NET_SHARE_SLOT_BITS : NET_SHARE_NOBODY;
    unsigned whose = NET_SHARE_NOBODY;
    if (bytes >= NET_SHARE_MAD_BYTES && payload[NET_SHARE_CLASS_AT] == NET_SHARE_CLASS_CM)
        whose = whose_message(view, addr, scope, payload);
    return whose == NET_SHARE_NOBODY ? net_share_default_at(view, addr, scope) : whose;
}
