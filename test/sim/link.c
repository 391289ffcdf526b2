/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/link.h"

#include <stdlib.h>
#include <string.h>

#include "net/bytes.h"
#include "test/support/random.h"

#define ETHERNET_HEADER_BYTES 14
#define ETHERNET_MIN_BYTES    60 /* without FCS */
#define TPID_VLAN             0x8100

struct in_flight {
    uint64_t due_ns;
    uint64_t order; /* of sending: ties come out in this order */
    uint8_t *bytes;
    uint32_t len_bytes;
    bool corrupted;
    uint64_t name; /* the watcher's */
};

/* `heap` is a binary heap, the next frame to come out at its root. */
struct sim_link {
    struct sim_link_config config;
    struct test_random random;
    struct sim_link_counters counters;
    struct sim_link_watch watch; /* all NULL: nobody looks */
    struct in_flight *heap;
    unsigned count, cap;
    uint64_t order;
    uint64_t free_ns; /* when the wire has sent what it was given (bits_per_s) */
};

static void *must(void *p)
{
    if (!p)
        abort();
    return p;
}

struct sim_link *sim_link_create(const struct sim_link_config *config, uint64_t seed)
{
    struct sim_link *link = must(calloc(1, sizeof *link));
    link->config = *config;
    link->random.state = seed;
    return link;
}

void sim_link_destroy(struct sim_link *link)
{
    if (!link)
        return;
    for (unsigned i = 0; i < link->count; i++)
        free(link->heap[i].bytes);
    free(link->heap);
    free(link);
}

void sim_link_calm(struct sim_link *link)
{
    link->config =
        (struct sim_link_config){.delay_ns = link->config.delay_ns, .bits_per_s = link->config.bits_per_s};
}

void sim_link_observe(struct sim_link *link, const struct sim_link_watch *watch)
{
    link->watch = *watch;
}

static bool sooner(const struct in_flight *a, const struct in_flight *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void heap_push(struct sim_link *link, struct in_flight item)
{
    if (link->count == link->cap) {
        link->cap = link->cap ? 2 * link->cap : 64;
        link->heap = must(realloc(link->heap, link->cap * sizeof *link->heap));
    }
    unsigned i = link->count++;
    for (; i > 0 && sooner(&item, &link->heap[(i - 1) / 2]); i = (i - 1) / 2)
        link->heap[i] = link->heap[(i - 1) / 2];
    link->heap[i] = item;
}

static struct in_flight heap_pop(struct sim_link *link)
{
    struct in_flight top = link->heap[0];
    struct in_flight last = link->heap[--link->count];
    unsigned i = 0;
    for (;;) {
        unsigned child = 2 * i + 1;
        if (child >= link->count)
            break;
        if (child + 1 < link->count && sooner(&link->heap[child + 1], &link->heap[child]))
            child++;
        if (!sooner(&link->heap[child], &last))
            break;
        link->heap[i] = link->heap[child];
        i = child;
    }
    if (link->count > 0)
        link->heap[i] = last;
    return top;
}

/* Sets ECN to 11 as a router would, the IPv4 header checksum corrected (RFC 3168, RFC 1624). */
static bool mark_ecn(uint8_t *frame, uint32_t len_bytes)
{
    uint8_t *l3 = frame + (get_be16(frame + 12) == TPID_VLAN ? 18 : ETHERNET_HEADER_BYTES);
    if (l3 + 20 > frame + len_bytes)
        return false;
    if (l3[0] >> 4 == 6) {
        l3[1] |= 0x30;
        return true;
    }
    uint16_t before = get_be16(l3);
    l3[1] |= 3;
    uint32_t sum = (uint16_t)~get_be16(l3 + 10) + (uint32_t)(uint16_t)~before + get_be16(l3);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    put_be16(l3 + 10, (uint16_t)~sum);
    return true;
}

bool sim_link_mark(uint8_t *frame, uint32_t len_bytes)
{
    uint8_t *l3 = frame + (get_be16(frame + 12) == TPID_VLAN ? 18 : ETHERNET_HEADER_BYTES);
    if (l3 + 20 > frame + len_bytes)
        return false;
    bool v6 = l3[0] >> 4 == 6;
    if ((v6 ? l3[1] & 0x30 : l3[1] & 3) == 0)
        return false;
    mark_ecn(frame, len_bytes);
    return true;
}

/* A CRC-32 finds any three bits, and the headers outside it carry nothing that a transport acts on. */
static void corrupt(struct sim_link *link, uint8_t *frame, uint32_t len_bytes)
{
    unsigned flips = 1 + test_random_below(&link->random, 3);
    uint32_t first = ETHERNET_HEADER_BYTES * 8, last = len_bytes * 8 - 1;
    uint32_t done[3];
    for (unsigned i = 0; i < flips; i++) {
        done[i] = (uint32_t)test_random_between(&link->random, first, last);
        for (unsigned j = 0; j < i; j++) /* the same bit twice would be no damage */
            if (done[i] == done[j])
                return;
        frame[done[i] / 8] ^= (uint8_t)(0x80 >> done[i] % 8);
    }
}

static uint64_t queueing_ns(const struct sim_link *link, uint64_t now_ns)
{
    return link->free_ns > now_ns ? link->free_ns - now_ns : 0;
}

static bool is_lost(struct sim_link *link, uint64_t now_ns)
{
    const struct sim_link_config *c = &link->config;
    for (unsigned i = 0; i < SIM_LINK_LOSE_MAX; i++)
        if (c->lose_frame[i] == link->counters.sent)
            return true;
    if (now_ns >= c->dark_from_ns && now_ns < c->dark_until_ns)
        return true;
    if (c->queue_ns && queueing_ns(link, now_ns) > c->queue_ns)
        return true;
    return test_random_chance(&link->random, c->loss_ppm);
}

/* When a frame that is handed over now has been put on the wire. */
static uint64_t departure_ns(struct sim_link *link, uint32_t len_bytes, uint64_t now_ns)
{
    if (link->config.bits_per_s == 0)
        return now_ns;
    link->free_ns =
        now_ns + queueing_ns(link, now_ns) + len_bytes * UINT64_C(8000000000) / link->config.bits_per_s;
    return link->free_ns;
}

static uint64_t tell(struct sim_link *link, const struct sim_link_pass *pass)
{
    return link->watch.passes ? link->watch.passes(link->watch.ctx, pass) : 0;
}

/* Nobody but the watcher hears of it. */
static void tell_lost(struct sim_link *link, const uint8_t *frame, uint32_t len_bytes, uint64_t now_ns)
{
    tell(link, &(struct sim_link_pass){.sent = frame,
                                       .sent_bytes = len_bytes,
                                       .fate = SIM_FATE_LOST,
                                       .sent_ns = now_ns,
                                       .due_ns = NET_TIME_NONE,
                                       .way_ns = queueing_ns(link, now_ns) + link->config.delay_ns});
}

void sim_link_lose(struct sim_link *link, const uint8_t *frame, uint32_t len_bytes, uint64_t now_ns)
{
    link->counters.sent++;
    link->counters.lost++;
    tell_lost(link, frame, len_bytes, now_ns);
}

static void put_in_flight(struct sim_link *link, struct sim_link_pass pass)
{
    const uint8_t *frame = pass.sent;
    uint32_t len_bytes = pass.sent_bytes;
    unsigned fate = pass.is_second ? 0 : pass.fate;
    uint32_t wire_bytes = link->config.pad && len_bytes < ETHERNET_MIN_BYTES ? ETHERNET_MIN_BYTES : len_bytes;
    uint8_t *bytes = must(calloc(1, wire_bytes));
    memcpy(bytes, frame, len_bytes);
    if (fate & SIM_FATE_MARKED)
        mark_ecn(bytes, len_bytes);
    if (fate & SIM_FATE_CORRUPTED)
        corrupt(link, bytes, len_bytes);
    pass.way_ns = pass.due_ns - pass.sent_ns;
    pass.out = bytes;
    pass.out_bytes = wire_bytes;
    heap_push(link, (struct in_flight){.due_ns = pass.due_ns,
                                       .order = link->order++,
                                       .bytes = bytes,
                                       .len_bytes = wire_bytes,
                                       .corrupted = fate & SIM_FATE_CORRUPTED,
                                       .name = tell(link, &pass)});
}

unsigned sim_link_send(struct sim_link *link, const uint8_t *frame, uint32_t len_bytes, uint64_t now_ns)
{
    const struct sim_link_config *c = &link->config;
    struct sim_link_counters *n = &link->counters;
    n->sent++;
    if (is_lost(link, now_ns)) {
        n->lost++;
        tell_lost(link, frame, len_bytes, now_ns);
        return SIM_FATE_LOST;
    }
    uint64_t due_ns = departure_ns(link, len_bytes, now_ns) + c->delay_ns;
    if (c->jitter_ns)
        due_ns += test_random_between(&link->random, 0, c->jitter_ns);
    unsigned fate = 0;
    if (test_random_chance(&link->random, c->reorder_ppm)) {
        fate |= SIM_FATE_HELD;
        n->held++;
        due_ns += c->hold_ns;
    }
    if (test_random_chance(&link->random, c->corrupt_ppm)) {
        fate |= SIM_FATE_CORRUPTED;
        n->corrupted++;
    }
    if (test_random_chance(&link->random, c->ecn_ppm)) {
        fate |= SIM_FATE_MARKED;
        n->marked++;
    }
    struct sim_link_pass pass = {
        .sent = frame, .sent_bytes = len_bytes, .fate = fate, .sent_ns = now_ns, .due_ns = due_ns};
    put_in_flight(link, pass);
    if (!test_random_chance(&link->random, c->duplicate_ppm))
        return fate;
    pass.is_second = true;
    pass.fate |= SIM_FATE_DUPLICATED;
    pass.due_ns += test_random_between(&link->random, 0, c->stale_ns);
    put_in_flight(link, pass);
    n->duplicated++;
    return pass.fate;
}

uint64_t sim_link_next_ns(const struct sim_link *link)
{
    return link->count > 0 ? link->heap[0].due_ns : NET_TIME_NONE;
}

unsigned sim_link_recv(struct sim_link *link, struct net_frame *frames, unsigned n, uint64_t now_ns)
{
    unsigned taken = 0;
    for (; taken < n && sim_link_next_ns(link) <= now_ns; taken++) {
        struct in_flight f = heap_pop(link);
        frames[taken] = (struct net_frame){
            .data = f.bytes, .len_bytes = f.len_bytes, .cap_bytes = f.len_bytes, .time_ns = f.due_ns};
        if (link->watch.arrives)
            link->watch.arrives(link->watch.ctx, f.name);
        link->counters.delivered++;
        link->counters.delivered_corrupted += f.corrupted;
    }
    return taken;
}

void sim_link_release(const struct net_frame *frames, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(frames[i].data);
}

const struct sim_link_counters *sim_link_counters(const struct sim_link *link)
{
    return &link->counters;
}
