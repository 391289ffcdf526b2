/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/train.h"

#include <stdlib.h>
#include <string.h>

#include "net/wire/parse.h"
#include "net/wire/train.h"

/* The length of the headers of a UDP packet that a train may hold; 0: it is none. */
static uint32_t head_bytes_of(const struct net_frame *pkt)
{
    struct net_parsed at;
    if (net_parse(&at, pkt->data, pkt->len_bytes) != NET_PARSE_UDP || at.l4_bytes != at.udp_bytes ||
        at.l4_offset + at.udp_bytes != pkt->len_bytes || at.udp_bytes <= 8)
        return 0;
    return at.l4_offset + 8;
}

bool test_train_append(struct net_frame *train, const struct net_frame *pkt)
{
    uint32_t head_bytes = head_bytes_of(pkt);
    struct net_train_size size = net_train_size(train);
    struct net_frame longer = *train;
    if (!longer.seg_bytes)
        longer.seg_bytes = train->len_bytes - head_bytes;
    uint32_t payload_bytes = pkt->len_bytes - head_bytes;
    if (!head_bytes || (!train->seg_bytes && head_bytes_of(train) != head_bytes) ||
        payload_bytes > longer.seg_bytes ||
        train->len_bytes != head_bytes + size.pkts * longer.seg_bytes || /* the last was shorter */
        train->len_bytes + payload_bytes > train->cap_bytes)
        return false;
    memcpy(train->data + train->len_bytes, pkt->data + head_bytes, payload_bytes);
    longer.len_bytes += payload_bytes;
    /* It belongs there if cutting gives it back. */
    struct net_train walk;
    net_train_begin(&walk, &longer);
    struct net_frame cut = net_train_packet(&walk, walk.count - 1);
    bool is_next = walk.count == size.pkts + 1 && cut.len_bytes == pkt->len_bytes &&
                   memcmp(cut.data, pkt->data, pkt->len_bytes) == 0;
    net_train_end(&walk);
    if (is_next)
        *train = longer;
    return is_next;
}

/* Appends `pkt` to a train in an allocation of its own length. */
static bool join(struct net_frame *train, const struct net_frame *pkt)
{
    struct net_frame longer = *train;
    longer.cap_bytes = train->len_bytes + pkt->len_bytes;
    longer.data = malloc(longer.cap_bytes);
    if (!longer.data)
        abort();
    memcpy(longer.data, train->data, train->len_bytes);
    bool joined = test_train_append(&longer, pkt);
    uint8_t *kept = joined ? longer.data : train->data;
    free(joined ? train->data : longer.data);
    if (joined)
        *train = longer;
    train->data = joined ? realloc(kept, longer.len_bytes) : kept;
    return joined;
}

unsigned test_train_couple(struct net_frame *frames, unsigned n, struct test_random *random)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++) {
        bool ends = kept == 0 || test_random_below(random, 8) == 0;
        if (!ends && join(&frames[kept - 1], &frames[i]))
            free(frames[i].data);
        else
            frames[kept++] = frames[i];
    }
    return kept;
}
