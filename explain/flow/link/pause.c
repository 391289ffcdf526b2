/* SPDX-License-Identifier: BSD-2-Clause */
/* A PAUSE or PFC frame is for whoever sits at the other end of the link: that one is to send nothing (PFC:
 * nothing of that class) towards the station that sent the frame. So packets to that station's MAC address
 * stand still. Where the station is no end of a flow it is a switch's port, and which flows lie behind it
 * the frame does not say: those are named that really sent nothing from the beginning of the pause to its
 * end.
 *
 * A pause ends with a frame of time 0, or when its time is up, in quanta of 512 bits of the link's speed.
 * That speed no frame names: unless it was given, 100 Gbit/s are assumed, and said to be. */
#include "explain/flow/link/pause.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/meaning/words.h"
#include "net/ipv4.h"
#include "net/wire/ether.h"
#include "net/wire/ipv6.h"
#include "net/wire/mac_control.h"

#define ASSUMED_BPS   UINT64_C(100000000000)
#define WHOLE_LINK    NET_PFC_CLASSES
#define SLOWEST_BPS   UINT64_C(1000000000) /* where there is flow control */
#define ON_THE_WAY_NS (10 * NS_PER_US)     /* what was sent before the pause came is still seen */

static uint64_t speed(const struct explain_pauses *all)
{
    return all->link_bps ? all->link_bps : ASSUMED_BPS;
}

static uint64_t quanta_ns(const struct explain_pauses *all, uint16_t quanta)
{
    return (uint64_t)((unsigned __int128)quanta * NET_PAUSE_QUANTUM_BITS * NS_PER_S / speed(all));
}

/* --- the frames --- */

static struct nornic_mac source_of(const struct explain_packet *packet)
{
    struct nornic_mac mac = {{0}};
    struct net_ether ether;
    if (packet->layers[0].kind->id == EXPLAIN_LAYER_ETH) {
        net_ether_get(&ether, packet->frame);
        memcpy(mac.b, ether.src, sizeof mac.b);
    }
    return mac;
}

static struct explain_pause *slot_of(struct explain_pauses *all, const struct nornic_mac *station,
                                     uint8_t class)
{
    for (unsigned i = 0; i < all->count; i++)
        if (all->pauses[i].class == class && memcmp(&all->pauses[i].station, station, sizeof *station) == 0)
            return &all->pauses[i];
    struct explain_pause *p = &all->pauses[all->next];
    all->next = (all->next + 1) % EXPLAIN_PAUSES_MAX;
    all->count = min_u32(all->count + 1, EXPLAIN_PAUSES_MAX);
    *p = (struct explain_pause){.station = *station, .class = class, .is_over = true};
    return p;
}

/* When the pause is over at the latest. That a frame ends it shows that its time was not up, whatever speed
 * was assumed. */
static uint64_t latest_end_ns(const struct explain_pauses *all, const struct explain_pause *p)
{
    return all->link_bps ? p->end_ns : p->begin_ns + (p->end_ns - p->begin_ns) * (ASSUMED_BPS / SLOWEST_BPS);
}

/* Takes what the frame says of one class. */
static void take_class(struct explain_pauses *all, const struct explain_packet *packet, uint8_t class,
                       uint16_t quanta, struct explain_meaning *m)
{
    struct nornic_mac station = source_of(packet);
    struct explain_pause *p = slot_of(all, &station, class);
    bool goes_on = !p->is_over && packet->time_ns <= (quanta ? p->end_ns : latest_end_ns(all, p));
    if (quanta && !goes_on) {
        p->number = packet->number;
        p->begin_ns = packet->time_ns;
    }
    if (quanta || goes_on)
        p->end_ns = packet->time_ns + quanta_ns(all, quanta);
    p->is_over = quanta == 0;
    if (!quanta)
        explain_add_words(m, " may send again");
    else
        explain_add_words(m, " stops for %u quanta (%.1f us at %s%" PRIu64 " Gbit/s)", quanta,
                          (double)quanta_ns(all, quanta) / 1e3, all->link_bps ? "" : "an assumed ",
                          speed(all) / 1000000000);
}

static void take_pfc(struct explain_pauses *all, const struct explain_packet *packet, const uint8_t *at,
                     struct explain_meaning *m)
{
    struct net_pfc pfc;
    net_pfc_get(&pfc, at);
    const bool enabled[] = {pfc.e0, pfc.e1, pfc.e2, pfc.e3, pfc.e4, pfc.e5, pfc.e6, pfc.e7};
    const uint16_t quanta[] = {pfc.t0, pfc.t1, pfc.t2, pfc.t3, pfc.t4, pfc.t5, pfc.t6, pfc.t7};
    const char *between = "PFC:";
    for (uint8_t class = 0; class < NET_PFC_CLASSES; class ++) {
        if (!enabled[class])
            continue;
        explain_add_words(m, "%s class %u", between, class);
        take_class(all, packet, class, quanta[class], m);
        between = ",";
    }
    if (!m->words[0])
        explain_add_words(m, "PFC of no class");
}

void explain_pause_take(struct explain_pauses *all, const struct explain_packet *packet,
                        struct explain_meaning *m)
{
    const struct explain_layer *last = &packet->layers[packet->layer_count - 1];
    const uint8_t *at = packet->frame + last->offset;
    if (last->kind->id == EXPLAIN_LAYER_PFC) {
        take_pfc(all, packet, at, m);
    } else {
        struct net_pause pause;
        net_pause_get(&pause, at);
        explain_add_words(m, "PAUSE: the link");
        take_class(all, packet, WHOLE_LINK, pause.quanta, m);
    }
    explain_remark(m, EXPLAIN_FIND_PAUSE, "", 0, 0, "%.150s", m->words);
}

/* --- the flows --- */

/* A packet as a link sees it: sender and receiver outside of all tunnels, and the class. The class is the
 * priority of a tag. Without a tag it is the upper three bits of the DSCP, as in most switches that trust
 * the DSCP. */
struct link_view {
    struct nornic_mac src, dst;
    uint8_t class;
};

static bool view_of(const struct explain_packet *packet, struct link_view *view)
{
    struct net_ether ether;
    if (packet->layer_count < 2 || packet->layers[0].kind->id != EXPLAIN_LAYER_ETH)
        return false;
    net_ether_get(&ether, packet->frame);
    memcpy(view->src.b, ether.src, sizeof view->src.b);
    memcpy(view->dst.b, ether.dst, sizeof view->dst.b);
    const uint8_t *at = packet->frame + packet->layers[1].offset;
    if (packet->layers[1].kind->id == EXPLAIN_LAYER_VLAN)
        view->class = (uint8_t)net_bits_get(at, 0, 3);
    else if (packet->layers[1].kind->id == EXPLAIN_LAYER_IP)
        view->class = (uint8_t)net_bits_get(at, 8, 3);
    else if (packet->layers[1].kind->id == EXPLAIN_LAYER_IP6)
        view->class = (uint8_t)net_bits_get(at, 4, 3);
    else
        return false;
    return true;
}

static bool is_mac(const struct nornic_mac *a, const struct nornic_mac *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* For how long of `before_ns` to `now_ns` this pause held the sender back; 0: not, or nothing tells. Of a
 * station that is no end of a flow the silence itself has to tell, by being mostly this pause. */
static uint64_t held(const struct explain_pause *p, const struct link_view *view, uint64_t before_ns,
                     uint64_t now_ns)
{
    uint64_t end_ns = min_u64(p->end_ns, now_ns);
    if (!p->number || (p->class != view->class && p->class != WHOLE_LINK) || is_mac(&p->station, &view->src))
        return 0;
    uint64_t from_ns = max_u64(p->begin_ns, before_ns);
    if (before_ns > p->begin_ns + ON_THE_WAY_NS || end_ns <= from_ns)
        return 0;
    uint64_t ns = end_ns - from_ns;
    if (is_mac(&p->station, &view->dst))
        return ns;
    return !p->is_known && p->end_ns <= now_ns && ns > (now_ns - before_ns) / 2 ? ns : 0;
}

uint64_t explain_pause_stood(struct explain_pauses *all, const struct explain_packet *packet,
                             uint64_t before_ns, struct explain_meaning *m)
{
    const struct explain_pause *longest = NULL;
    struct link_view view;
    uint64_t most_ns = 0;
    if (all->count == 0 || !view_of(packet, &view))
        return 0;
    for (unsigned i = 0; i < all->count; i++) {
        struct explain_pause *p = &all->pauses[i];
        p->is_known |= is_mac(&p->station, &view.src) || is_mac(&p->station, &view.dst);
        uint64_t ns = before_ns ? held(p, &view, before_ns, packet->time_ns) : 0;
        if (ns > most_ns) {
            most_ns = ns;
            longest = p;
        }
    }
    if (!longest)
        return 0;
    char what[24] = "the link";
    if (longest->class != WHOLE_LINK)
        snprintf(what, sizeof what, "class %u", longest->class);
    explain_remark(m, EXPLAIN_FIND_PAUSED, "", 0, longest->number,
                   "%s%s stood still for %.3f ms, as #%" PRIu64 " asked%s",
                   is_mac(&longest->station, &view.dst) ? "" : "most likely ", what, (double)most_ns / 1e6,
                   longest->number,
                   longest->is_over || all->link_bps ? "" : ", if the link has the speed assumed");
    return most_ns;
}
