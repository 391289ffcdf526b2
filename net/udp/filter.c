/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/udp/filter.h"

#include <errno.h>
#include <sys/socket.h>

#include "net/bytes.h"
#include "net/share/who.h"
#include "net/wire/udp.h"

/* The program sees the datagram from its UDP header on, and the IP header by offsets of its own. */
#define QPN_WORD_AT    (NET_UDP_BYTES + NET_SHARE_QPN_AT - 1)
#define QPN_MASK       0xffffffu
#define IPV4_SOURCE_AT ((uint32_t)SKF_NET_OFF + 12)
#define IPV6_SOURCE_AT ((uint32_t)SKF_NET_OFF + 8)
#define RANDOM_AT      ((uint32_t)SKF_AD_OFF + SKF_AD_RANDOM)
#define ALL            0xffffffffu
#define WORDS          4 /* of an address */

/* Cells of the program's memory: the number, then the words of the source. */
enum { CELL_QPN, CELL_SOURCE };

struct program {
    struct sock_filter *code;
    unsigned count;
    bool is_v4;
};

static void add(struct program *p, uint16_t code, uint32_t k)
{
    p->code[p->count++] = (struct sock_filter)BPF_STMT(code, k);
}

static void add_jump(struct program *p, uint16_t how, uint32_t k, uint8_t if_so, uint8_t else_so)
{
    p->code[p->count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | how | BPF_K, k, if_so, else_so);
}

static void add_return(struct program *p, uint32_t bytes)
{
    add(p, BPF_RET | BPF_K, bytes);
}

/* The accumulator is `k`: all of the packet. */
static void add_take(struct program *p, uint32_t k)
{
    add_jump(p, BPF_JEQ, k, 0, 1);
    add_return(p, ALL);
}

/* The accumulator is within one of the ranges: all of the packet, or, with `jumps`, on where end_jump() of
 * each will say. */
static void add_ranges(struct program *p, const struct net_udp_ranges *ranges, unsigned *jumps)
{
    for (unsigned i = 0; i < ranges->count; i++) {
        add_jump(p, BPF_JGE, ranges->at[i].first, 0, 2);
        add_jump(p, BPF_JGT, ranges->at[i].last, 1, 0);
        if (jumps) {
            jumps[i] = p->count;
            add(p, BPF_JMP | BPF_JA, 0);
        } else {
            add_return(p, ALL);
        }
    }
}

static void end_jump(struct program *p, unsigned jump)
{
    p->code[jump].k = p->count - jump - 1;
}

static void add_source(struct program *p)
{
    for (unsigned i = p->is_v4 ? WORDS - 1 : 0; i < WORDS; i++) {
        add(p, BPF_LD | BPF_W | BPF_ABS, p->is_v4 ? IPV4_SOURCE_AT : IPV6_SOURCE_AT + i * 4);
        add(p, BPF_ST, CELL_SOURCE + i);
    }
}

/* The source is `addr`: all of the packet. The last words differ most. */
static void add_take_from(struct program *p, const struct nornic_addr *addr)
{
    unsigned words = p->is_v4 ? 1 : WORDS;
    for (unsigned i = 0; i < words; i++) {
        unsigned word = WORDS - 1 - i;
        add(p, BPF_LD | BPF_MEM, CELL_SOURCE + word);
        add_jump(p, BPF_JEQ, get_be32(addr->b + word * 4), 0, (uint8_t)(2 * (words - 1 - i) + 1));
    }
    add_return(p, ALL);
}

/* Of so many, one by chance. */
static void add_limited(struct program *p, const struct net_udp_wanted *wanted)
{
    if (wanted->thin_shift) {
        add(p, BPF_LD | BPF_W | BPF_ABS, RANDOM_AT);
        add(p, BPF_ALU | BPF_AND | BPF_K, (1u << wanted->thin_shift) - 1);
        add_take(p, 0);
        add_return(p, 0);
    } else {
        add_return(p, ALL);
    }
}

static void add_peers(struct program *p, const struct net_udp_wanted *wanted)
{
    if (wanted->has_all_peers) {
        add_return(p, ALL);
        return;
    }
    for (unsigned i = 0; i < wanted->peer_count; i++)
        if (nornic_addr_is_v4(&wanted->peers[i]) == p->is_v4)
            add_take_from(p, &wanted->peers[i]);
    add_return(p, 0);
}

unsigned net_udp_filter(const struct net_udp_wanted *wanted, const struct nornic_addr *own,
                        struct sock_filter out[NET_UDP_FILTER_MAX])
{
    struct program p = {.code = out, .is_v4 = nornic_addr_is_v4(own)};
    unsigned to_peers[NET_UDP_RANGES_MAX], to_limited[NET_UDP_LIMITED_MAX];
    add_source(&p);
    add(&p, BPF_LD | BPF_W | BPF_ABS, QPN_WORD_AT); /* one that is shorter is dropped */
    add(&p, BPF_ALU | BPF_AND | BPF_K, QPN_MASK);
    add(&p, BPF_ST, CELL_QPN);
    add_ranges(&p, &wanted->open, NULL);
    for (unsigned i = 0; i < wanted->limited_count; i++) {
        add_jump(&p, BPF_JEQ, wanted->limited[i], 0, 1);
        to_limited[i] = p.count;
        add(&p, BPF_JMP | BPF_JA, 0);
    }
    add_ranges(&p, &wanted->paired, to_peers); /* which may go around numbers of the two above */
    add(&p, BPF_ALU | BPF_RSH | BPF_K, NET_SHARE_SLOT_BITS);
    for (unsigned i = 0; i < wanted->slot_count; i++)
        add_take(&p, wanted->slots[i]);
    /* A trial of net/share/share.h: to queue pair 0, from the socket itself. */
    add(&p, BPF_LD | BPF_MEM, CELL_QPN);
    add_jump(&p, BPF_JEQ, 0, 1, 0);
    add_return(&p, 0);
    add_take_from(&p, own);
    add_return(&p, 0);

    for (unsigned i = 0; i < wanted->limited_count; i++)
        end_jump(&p, to_limited[i]);
    add_limited(&p, wanted);
    for (unsigned i = 0; i < wanted->paired.count; i++)
        end_jump(&p, to_peers[i]);
    add_peers(&p, wanted);
    return p.count;
}

int net_udp_filter_attach(int fd, const struct sock_filter *code, unsigned count)
{
    struct sock_fprog program = {.len = (uint16_t)count, .filter = (struct sock_filter *)code};
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) == 0)
        return 0;
    int err = -errno;
    net_udp_filter_detach(fd);
    return err;
}

void net_udp_filter_detach(int fd)
{
    int none = 0;
    (void)setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &none, sizeof none);
}
