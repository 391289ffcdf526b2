/* SPDX-License-Identifier: BSD-2-Clause */
/* The LLDP of a port, as far as RDMA depends on it: the lossless priorities, and the priority that RoCE is
 * told to use. */
#include "explain/flow/link/dcbx.h"

#include "explain/meaning/words.h"
#include "net/wire/ether.h"
#include "net/wire/lldp.h"
#include "roce/wire.h"

/* The findings in the frame's TLVs. */
struct dcbx {
    bool has_pfc;
    uint8_t lossless; /* bit N: priority N */
    uint8_t roce;     /* bit N: RoCE is to use priority N */
};

static void take_pfc(const uint8_t *at, struct dcbx *d, struct explain_meaning *m)
{
    d->has_pfc = true;
    d->lossless = at[1];
    explain_add_words(m, d->lossless ? "; lossless (PFC):" : "; no priority is lossless");
    for (unsigned i = 0; i < 8; i++)
        if (d->lossless >> i & 1)
            explain_add_words(m, " %u", i);
}

static void take_classes(const struct net_dcbx_ets_config *ets, struct explain_meaning *m)
{
    const uint8_t share[] = {ets->bw0, ets->bw1, ets->bw2, ets->bw3, ets->bw4, ets->bw5, ets->bw6, ets->bw7};
    explain_add_words(m, "; shares (ETS):");
    for (unsigned i = 0; i < 8; i++)
        if (share[i])
            explain_add_words(m, " class %u %u %%", i, share[i]);
}

static void take_application(const uint8_t *at, struct dcbx *d, struct explain_meaning *m)
{
    struct net_dcbx_app_entry app;
    net_dcbx_app_entry_get(&app, at);
    bool is_udp = app.selector == NET_DCBX_UDP || app.selector == NET_DCBX_PORT;
    bool is_v2 = is_udp && app.protocol == ROCE_UDP_PORT,
         is_v1 = app.selector == NET_DCBX_ETHERTYPE && app.protocol == NET_ETHERTYPE_ROCE;
    const char *selector = net_dcbx_selector_name(app.selector);
    if (is_v2 || is_v1) {
        d->roce |= (uint8_t)(1u << app.priority);
        explain_add_words(m, "; %s: priority %u", is_v2 ? "RoCEv2 (UDP port 4791)" : "RoCEv1", app.priority);
    } else {
        explain_add_words(
            m, app.selector == NET_DCBX_ETHERTYPE ? "; %s 0x%04x: priority %u" : "; %s %u: priority %u",
            selector ? selector : "selector", app.protocol, app.priority);
    }
}

void explain_lldp_take(const struct explain_packet *packet, struct explain_meaning *m)
{
    struct dcbx d = {0};
    explain_add_words(m, "LLDP");
    for (unsigned i = 0; i < packet->layer_count; i++) {
        const uint8_t *at = packet->frame + packet->layers[i].offset;
        enum explain_layer_id id = packet->layers[i].kind->id;
        if (id == EXPLAIN_LAYER_DCBX_PFC)
            take_pfc(at, &d, m);
        else if (id == EXPLAIN_LAYER_DCBX_APP_ENTRY)
            take_application(at, &d, m);
        else if (id == EXPLAIN_LAYER_DCBX_ETS_CONFIG) {
            struct net_dcbx_ets_config ets;
            net_dcbx_ets_config_get(&ets, at);
            take_classes(&ets, m);
        }
    }
    for (unsigned i = 0; i < 8; i++)
        if (d.has_pfc && d.roce >> i & 1 && !(d.lossless >> i & 1))
            explain_remark(
                m, EXPLAIN_FIND_DCBX, "", 0, 0,
                "RoCE is to use priority %u, which is not lossless here: its packets are dropped where "
                "a queue is full",
                i);
}
