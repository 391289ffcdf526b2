/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two sides of rping say to each other. */
#include <stdio.h>

#include "cli/peer/rping.h"
#include "net/bytes.h"

void rping_advert_put(const struct rping_advert *advert, uint8_t *out)
{
    put_be32(put_be32(put_be64(out, advert->addr), advert->rkey), advert->len_bytes);
}

struct rping_advert rping_advert_get(const uint8_t *bytes)
{
    return (struct rping_advert){
        .addr = get_be64(bytes), .rkey = get_be32(bytes + 8), .len_bytes = get_be32(bytes + 12)};
}

void rping_text(uint32_t round, char *buf, uint32_t len_bytes)
{
    static const uint32_t letters = 'z' - 'A' + 1;
    uint32_t at = (uint32_t)snprintf(buf, len_bytes, "rdma-ping-%u: ", round);
    for (uint32_t letter = round; at < len_bytes; at++, letter++)
        buf[at] = (char)('A' + letter % letters);
    buf[len_bytes - 1] = '\0';
}

static bool has_received(const struct peer *peer, const void *ctx)
{
    const uint32_t *received = ctx;
    /* What is sent again is read again from memory: it stays until it has been acknowledged. */
    return peer->conns[0].received >= *received && peer->conns[0].sent == peer->conns[0].posted;
}

int rping_await(struct peer *peer, uint32_t received, const char *what)
{
    return peer_wait(peer, has_received, &received, what);
}
