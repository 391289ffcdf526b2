/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that never leave a link: flow control, and LLDP with what DCBX says in it. */
#include "explain/packet/cursor.h"

#include "net/wire/lldp.h"
#include "net/wire/mac_control.h"

static const uint8_t *here(const struct explain_cursor *c)
{
    return c->packet->frame + c->at;
}

void explain_take_mac_control(struct explain_cursor *c)
{
    struct net_mac_control control;
    const uint8_t *at = here(c);
    if (!explain_take(c, EXPLAIN_LAYER_MAC_CONTROL))
        return;
    net_mac_control_get(&control, at);
    if ((control.opcode == NET_MAC_CONTROL_PAUSE && explain_take(c, EXPLAIN_LAYER_PAUSE)) ||
        (control.opcode == NET_MAC_CONTROL_PFC && explain_take(c, EXPLAIN_LAYER_PFC)))
        c->packet->kind = EXPLAIN_PAUSE;
}

/* --- LLDP --- */

static void take_applications(struct explain_cursor *c)
{
    if (!explain_take(c, EXPLAIN_LAYER_DCBX_APP))
        return;
    while (c->at < c->end && explain_take(c, EXPLAIN_LAYER_DCBX_APP_ENTRY))
        continue;
}

static void take_organization(struct explain_cursor *c)
{
    struct net_lldp_org org;
    const uint8_t *at = here(c);
    if (!explain_take(c, EXPLAIN_LAYER_LLDP_ORG))
        return;
    net_lldp_org_get(&org, at);
    if (org.oui != NET_LLDP_OUI_8021)
        return;
    if (org.subtype == NET_DCBX_ETS_CONFIG)
        explain_take(c, EXPLAIN_LAYER_DCBX_ETS_CONFIG);
    else if (org.subtype == NET_DCBX_ETS_RECOMMENDATION)
        explain_take(c, EXPLAIN_LAYER_DCBX_ETS_RECOMMENDATION);
    else if (org.subtype == NET_DCBX_PFC)
        explain_take(c, EXPLAIN_LAYER_DCBX_PFC);
    else if (org.subtype == NET_DCBX_APP)
        take_applications(c);
}

/* The value of a TLV, which ends where `c` does. */
static void take_value(struct explain_cursor *c, uint8_t type)
{
    if (type == NET_LLDP_CHASSIS_ID || type == NET_LLDP_PORT_ID)
        explain_take(c, EXPLAIN_LAYER_LLDP_ID);
    else if (type == NET_LLDP_TTL)
        explain_take(c, EXPLAIN_LAYER_LLDP_TTL);
    else if (type == NET_LLDP_ORGANIZATION)
        take_organization(c);
}

void explain_take_lldp(struct explain_cursor *c)
{
    struct net_lldp_tlv tlv = {.type = NET_LLDP_ORGANIZATION};
    c->packet->kind = EXPLAIN_LLDP;
    while (tlv.type != NET_LLDP_END) {
        const uint8_t *at = here(c);
        if (!explain_take(c, EXPLAIN_LAYER_LLDP_TLV))
            return;
        net_lldp_tlv_get(&tlv, at);
        struct explain_cursor value = *c;
        explain_end_at(&value, c->at, tlv.length);
        take_value(&value, tlv.type);
        c->at = value.end;
    }
}
