/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/replay/tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "explain/packet/train.h"
#include "net/wire/ether.h"

static bool room(struct explain_tape *tape)
{
    struct explain_taped *packets = array_room(tape->packets, &tape->cap, tape->count + 1, sizeof *packets);
    if (packets)
        tape->packets = packets;
    return packets;
}

/* Where the tape's copy of the datagram begins: behind its Ethernet header and its innermost tag. */
static uint32_t link_bytes(const struct roce_pkt *pkt)
{
    return NET_ETHER_BYTES + (pkt->vlan_tci < 0 ? 0 : NET_VLAN_BYTES);
}

/* An engine speaks Ethernet: of a RoCE packet that came in a tunnel, below several tags, or on a link of
 * another type, the tape holds the frame that it would have been without. */
static void put_link(uint8_t *bytes, const struct roce_pkt *pkt)
{
    static const uint16_t ethertypes[] = {[ROCE_L3_IPV4] = NET_ETHERTYPE_IPV4,
                                          [ROCE_L3_IPV6] = NET_ETHERTYPE_IPV6,
                                          [ROCE_L3_GRH] = NET_ETHERTYPE_ROCE};
    struct net_ether ether = {.ethertype = pkt->vlan_tci < 0 ? ethertypes[pkt->l3_kind] : NET_ETHERTYPE_VLAN};
    memcpy(ether.dst, pkt->dst_mac.b, sizeof ether.dst);
    memcpy(ether.src, pkt->src_mac.b, sizeof ether.src);
    bytes = net_ether_put(bytes, &ether);
    if (pkt->vlan_tci < 0)
        return;
    struct net_vlan vlan = {.pcp = (uint8_t)(pkt->vlan_tci >> 13),
                            .dei = pkt->vlan_tci >> 12 & 1,
                            .vid = pkt->vlan_tci & 0xfff,
                            .ethertype = ethertypes[pkt->l3_kind]};
    net_vlan_put(bytes, &vlan);
}

/* Copies the record, as the tape holds it. False: no memory. */
static bool copy(struct explain_taped *taped, const struct explain_packet *packet, enum net_link captured)
{
    bool is_roce = packet->kind == EXPLAIN_ROCE || packet->kind == EXPLAIN_CM;
    uint32_t link = is_roce ? link_bytes(&packet->roce) : 0, skipped = is_roce ? packet->l3_offset : 0;
    bool is_plain = !is_roce || (link == skipped && packet->layers[0].kind->id == EXPLAIN_LAYER_ETH);
    if (is_plain)
        link = skipped = 0;
    *taped = (struct explain_taped){.bytes = malloc(link + packet->len_bytes - skipped + 1),
                                    .len_bytes = link + packet->len_bytes - skipped,
                                    .wire_bytes = link + packet->wire_bytes - skipped,
                                    .link = is_roce ? NET_LINK_ETHERNET : captured,
                                    .number = packet->number,
                                    .train = packet->train,
                                    .time_ns = packet->time_ns};
    if (!taped->bytes)
        return false;
    if (!is_plain)
        put_link(taped->bytes, &packet->roce);
    memcpy(taped->bytes + link, packet->frame + skipped, packet->len_bytes - skipped);
    return true;
}

static int add(struct explain_tape *tape, struct explain_packet *packet)
{
    struct explain_meaning meaning;
    if (!room(tape))
        return -ENOMEM;
    struct explain_taped *taped = &tape->packets[tape->count];
    if (!copy(taped, packet, packet->link))
        return -ENOMEM;
    tape->count++;
    explain_analysis_next(tape->analysis, packet, &meaning);
    taped->flow = meaning.is_recapture ? 0 : meaning.flow;
    taped->direction = (uint8_t)meaning.direction;
    return 0;
}

int explain_tape_add(struct explain_tape *tape, const struct net_capture_record *record)
{
    struct explain_cutter cutter;
    struct explain_packet packet;
    int err = 0;
    if (!tape->analysis)
        tape->analysis = explain_analysis_create(&(struct explain_analysis_config){0});
    if (!tape->analysis)
        return -ENOMEM;
    explain_cutter_begin(&cutter, record, ++tape->frames);
    while (!err && explain_cutter_next(&cutter, &packet))
        err = add(tape, &packet);
    explain_cutter_end(&cutter);
    return err;
}

void explain_tape_free(struct explain_tape *tape)
{
    for (size_t i = 0; i < tape->count; i++)
        free(tape->packets[i].bytes);
    free(tape->packets);
    if (tape->analysis)
        explain_analysis_destroy(tape->analysis);
    *tape = (struct explain_tape){0};
}

void explain_tape_packet(const struct explain_tape *tape, size_t i, struct explain_packet *packet)
{
    const struct explain_taped *t = &tape->packets[i];
    struct net_capture_record record = {.data = t->bytes,
                                        .len_bytes = t->len_bytes,
                                        .wire_bytes = t->wire_bytes,
                                        .time_ns = t->time_ns,
                                        .link = t->link};
    explain_dissect(packet, &record, t->number);
    packet->train = t->train;
    for (unsigned k = 0; k < packet->layer_count; k++) /* what the capture cut cannot be replayed */
        if (!explain_layer_is_whole(&packet->layers[k]))
            packet->layer_count = k;
}

uint32_t explain_tape_flow(const struct explain_tape *tape, size_t i, unsigned *direction)
{
    const struct explain_taped *t = &tape->packets[i];
    struct explain_same same = {.flow = t->flow};
    if (t->flow)
        same = explain_analysis_flow_is(tape->analysis, t->flow);
    *direction = t->direction ^ same.is_turned;
    return same.flow;
}
