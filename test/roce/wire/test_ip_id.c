/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets whose IP header was not seen: what their ICRC says of the identification. */
#include "roce/wire/ip_id.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/wire/train.h"
#include "nornic/device.h"
#include "roce/wire/arrival.h"
#include "roce/wire/ip_id_restore.h"
#include "roce/dev/run.h"
#include "test/support/random.h"

#define TRAIN_BYTES 66000

static struct roce_ip_ids ids;

static struct nornic_addr addr_of(const char *text)
{
    struct nornic_addr addr;
    cr_assert_eq(nornic_addr_parse(text, &addr), 0);
    return addr;
}

/* A train of `n` packets of `payload_bytes` (the last: `last_bytes`) from `src`, numbered from `ip_id` on. */
static struct net_frame train_of(const char *src, uint32_t n, uint32_t payload_bytes, uint32_t last_bytes,
                                 uint16_t ip_id)
{
    struct roce_path path = {.vlan_tci = -1, .src = addr_of(src), .hop_limit = 64, .src_port = ROCE_UDP_PORT};
    struct roce_frame_template tmpl;
    struct roce_dest dest = {.qpn = 1};
    struct net_frame train = {.data = calloc(1, TRAIN_BYTES), .cap_bytes = TRAIN_BYTES};
    struct roce_run run;
    path.dst = addr_of(nornic_addr_is_v4(&path.src) ? "10.77.0.2" : "fd77::2");
    roce_frame_template_init(&tmpl, &path);
    roce_run_init(&run, &train, n, &ip_id);
    for (uint32_t i = 0; i < n; i++) {
        struct roce_bth bth = {.opcode = 4, .pkey = NORNIC_PKEY_DEFAULT, .dest_qpn = 17, .psn = i};
        uint32_t bytes = i == n - 1 ? last_bytes : payload_bytes;
        uint8_t *p = roce_run_begin(&run, &tmpl, &dest, ROCE_BTH_BYTES + bytes);
        cr_assert_not_null(p);
        memset(roce_bth_put(p, &bth), (int)i, bytes);
        roce_run_seal(&run);
    }
    return train;
}

/* As a socket hands it up. */
static void forget_id(struct net_frame *frame)
{
    net_checksum_ipv4_set_id(frame->data + 14, 0);
}

static unsigned renumbered; /* how often an identification was not the one that follows, in the last train */

/* Takes a frame apart as one whose identifications are not known. Returns how many packets are right, and in
 * `*foreign` how many of them bear others than nornic's. */
static unsigned take(struct net_frame *frame, unsigned *foreign)
{
    struct roce_arrival arrival;
    unsigned good = 0;
    *foreign = renumbered = 0;
    roce_arrival_begin(&arrival, frame, 0, &ids);
    for (uint32_t i = 0; i < arrival.train.count; i++) {
        uint16_t first = arrival.train.ip_id;
        bool is_good = roce_arrival_packet(&arrival, i) == ROCE_RX_TAKEN;
        good += is_good;
        renumbered += arrival.train.ip_id != first;
        *foreign += arrival.is_foreign;
        if (is_good) { /* and so it is for whoever looks at it, down to the IPv4 checksum */
            struct roce_pkt alone;
            const struct roce_pkt *pkt = &arrival.pkt;
            cr_assert_eq(roce_pkt_parse(&alone, pkt->frame, pkt->frame_bytes, 0), ROCE_RX_TAKEN);
        }
    }
    roce_arrival_end(&arrival);
    return good;
}

/* Every identification, behind every length. */
Test(ip_id, residual_names_the_identification)
{
    for (uint32_t payload_bytes = 0; payload_bytes <= 4096;
         payload_bytes += 512 + payload_bytes / 4 / 4 * 4) {
        for (uint32_t id = 0; id < 65536; id += 251) {
            struct net_frame frame = train_of("10.77.0.1", 1, payload_bytes, payload_bytes, (uint16_t)id);
            struct roce_pkt pkt;
            uint16_t difference = 1;
            forget_id(&frame);
            cr_assert_eq(roce_pkt_parse(&pkt, frame.data, frame.len_bytes, ROCE_PARSE_SKIP_ICRC),
                         ROCE_RX_TAKEN);
            cr_assert(roce_ip_id_find(&ids, pkt.icrc_found ^ pkt.icrc_expected,
                                      ROCE_BTH_BYTES + payload_bytes, &difference));
            cr_assert_eq(difference, id, "%u bytes: %u, not %u", payload_bytes, difference, id);
            free(frame.data);
        }
    }
}

/* Of damaged packets one in 65,536 looks like one with another identification: of 4,000 hardly one. */
Test(ip_id, damage_is_no_identification)
{
    struct test_random random = {5};
    unsigned taken = 0;
    for (unsigned round = 0; round < 4000; round++) {
        uint16_t difference;
        taken += roce_ip_id_find(&ids, (uint32_t)test_random_next(&random) | 1, 16 + 4 * (round % 64),
                                 &difference);
    }
    cr_assert_leq(taken, 2);
}

Test(ip_id, peer_is_held_to_what_it_does)
{
    struct nornic_addr own = addr_of("10.77.0.1"), foreign = addr_of("10.77.0.9");
    cr_assert(roce_ip_id_admit(&ids, &own, 0));
    cr_assert(roce_ip_id_admit(&ids, &foreign, 4711), "the first packet says what a peer is");
    for (unsigned i = 1; i < ROCE_FOREIGN_IP_IDS; i++) {
        cr_assert(roce_ip_id_admit(&ids, &own, ROCE_OWN_IP_IDS - 1));
        cr_assert_not(roce_ip_id_admit(&ids, &own, ROCE_OWN_IP_IDS), "number %u is taken for damage", i);
    }
    cr_assert(roce_ip_id_admit(&ids, &own, 9999), "damage is not so frequent");
    cr_assert(roce_ip_id_admit(&ids, &own, 65535));
    cr_assert(roce_ip_id_admit(&ids, &foreign, 65535));
}

/* covers: ROCE-ICRC-4, ROCE-FRM-15 */
Test(ip_id, train_of_a_udp_port_is_right_as_it_stands)
{
    unsigned foreign;
    struct net_frame train = train_of("10.77.0.1", 60, 1024, 20, 0);
    cr_assert_eq(take(&train, &foreign), 60);
    cr_assert_eq(foreign, 0);
    free(train.data);
}

/* The rest of one train, or the end of one with the beginning of the next behind it. */
Test(ip_id, train_that_was_cut_elsewhere_is_found_out)
{
    unsigned foreign;
    for (uint16_t first = 1; first < 40; first += 13) {
        struct net_frame rest = train_of("10.77.0.1", 20, 1024, 1024, first);
        struct net_frame next = train_of("10.77.0.1", 20, 1024, 1024, 0);
        forget_id(&rest);
        memcpy(rest.data + rest.len_bytes, next.data + 42, next.len_bytes - 42);
        rest.len_bytes += next.len_bytes - 42;
        cr_assert_eq(take(&rest, &foreign), 40, "from %u on", first);
        cr_assert_eq(foreign, 0);
        cr_assert_eq(renumbered, 2, "searched for where either begins, not %u times", renumbered);
        free(rest.data);
        free(next.data);
    }
}

/* One bad packet inside costs itself, whatever the numbers of the others. */
Test(ip_id, bad_packet_is_dropped_alone)
{
    unsigned foreign;
    for (uint32_t bad = 0; bad < 8; bad++) {
        struct net_frame train = train_of("10.77.0.1", 8, 1024, 1024, 3);
        forget_id(&train);
        train.data[42 + bad * 1040 + 100] ^= 4;
        cr_assert_eq(take(&train, &foreign), 7, "packet %u", bad);
        free(train.data);
    }
}

Test(ip_id, foreign_peer_is_taken_and_counted)
{
    unsigned foreign;
    struct net_frame frame = train_of("10.77.0.5", 3, 256, 256, 0xfffe);
    forget_id(&frame);
    cr_assert_eq(take(&frame, &foreign), 3);
    cr_assert_eq(foreign, 2, "0xfffe and 0xffff; then 0");
    free(frame.data);
}

Test(ip_id, own_peer_does_not_become_a_foreign_one_by_damage)
{
    unsigned foreign;
    struct net_frame own = train_of("10.77.0.1", 2, 256, 256, 0),
                     other = train_of("10.77.0.1", 2, 256, 256, 777);
    cr_assert_eq(take(&own, &foreign), 2);
    forget_id(&other);
    cr_assert_eq(take(&other, &foreign), 0);
    free(own.data);
    free(other.data);
}

Test(ip_id, ipv6_has_none)
{
    unsigned foreign;
    struct net_frame train = train_of("fd77::1", 20, 1024, 1000, 0);
    cr_assert_eq(take(&train, &foreign), 20);
    train.data[62 + 500] ^= 1;
    cr_assert_eq(take(&train, &foreign), 19);
    free(train.data);
}

/* What is written down is what was on the wire; of a damaged packet, what came. */
Test(ip_id, restored_packet_is_the_one_that_was_sent)
{
    for (unsigned v = 0; v < 2; v++) {
        struct net_frame frame = train_of(v ? "fd77::1" : "10.77.0.1", 1, 300, 300, 40000);
        uint8_t *sent = malloc(frame.len_bytes);
        memcpy(sent, frame.data, frame.len_bytes);
        if (v == 0)
            forget_id(&frame);
        roce_ip_id_restore(frame.data, frame.len_bytes);
        cr_assert_arr_eq(frame.data, sent, frame.len_bytes);
        frame.data[80] ^= 1;
        sent[80] ^= 1;
        roce_ip_id_restore(frame.data, frame.len_bytes);
        cr_assert_arr_eq(frame.data, sent, frame.len_bytes);
        roce_ip_id_restore(frame.data, 20); /* too short for anything */
        cr_assert_arr_eq(frame.data, sent, frame.len_bytes);
        free(frame.data);
        free(sent);
    }
}
