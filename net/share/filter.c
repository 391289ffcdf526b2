/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share/filter.h"

#include <errno.h>
#include <sys/socket.h>

#define SERVICES_MAX 256 /* pairs of instructions; requests for the others are handed over */
#define QPN_MASK     0xffffffu

#ifndef SO_ATTACH_REUSEPORT_CBPF
#define SO_ATTACH_REUSEPORT_CBPF 51
#endif

struct program {
    struct sock_filter *code;
    unsigned count;
};

static void add(struct program *p, uint16_t code, uint32_t k)
{
    p->code[p->count++] = (struct sock_filter)BPF_STMT(code, k);
}

/* The accumulator is `k`: the next instruction, else the one behind it. */
static void add_if(struct program *p, uint32_t k)
{
    p->code[p->count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
}

/* A jump to the place that add_label() will set. */
static unsigned add_jump(struct program *p)
{
    add(p, BPF_JMP | BPF_JA, 0);
    return p->count - 1;
}

static void add_label(struct program *p, unsigned jump)
{
    p->code[jump].k = p->count - jump - 1;
}

static uint32_t index_of(const struct net_share_view *view, unsigned slot, const struct nornic_addr *addr,
                         uint32_t scope)
{
    const struct net_share_place *place =
        slot < NET_SHARE_SLOTS ? net_share_place_at(view, slot, addr, scope) : NULL;
    return place ? place->index : NET_SHARE_NO_INDEX;
}

/* The accumulator is a slot. */
static void add_slots(struct program *p, const struct net_share_view *view, const struct nornic_addr *addr,
                      uint32_t scope)
{
    for (unsigned i = 0; i < view->count; i++) {
        uint32_t index = index_of(view, view->slots[i], addr, scope);
        if (index == NET_SHARE_NO_INDEX)
            continue;
        add_if(p, view->slots[i]);
        add(p, BPF_RET | BPF_K, index);
    }
}

/* The accumulator is the lower half of a service id whose upper half is 0, as those of all port spaces. */
static void add_services(struct program *p, const struct net_share_view *view, const struct nornic_addr *addr,
                         uint32_t scope)
{
    unsigned left = SERVICES_MAX;
    for (unsigned i = 0; i < view->count; i++) {
        const struct net_share_record *record = &view->records[view->slots[i]];
        uint32_t index = index_of(view, view->slots[i], addr, scope);
        for (uint32_t k = 0; k < record->service_count && left && index != NET_SHARE_NO_INDEX; k++) {
            if (record->services[k] >> 32)
                continue;
            add_if(p, (uint32_t)record->services[k]);
            add(p, BPF_RET | BPF_K, index);
            left--;
        }
    }
}

/* Adds the answer to a packet of a trial, which names the index itself. */
static void add_trial(struct program *p)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, NET_SHARE_PSN_AT - 1);
    add(p, BPF_ALU | BPF_AND | BPF_K, QPN_MASK);
    add(p, BPF_RET | BPF_A, 0);
}

unsigned net_share_filter(const struct net_share_view *view, const struct nornic_addr *addr, uint32_t scope,
                          struct sock_filter out[NET_SHARE_FILTER_MAX])
{
    struct program p = {.code = out};
    uint32_t rest = index_of(view, net_share_default_at(view, addr, scope), addr, scope);
    add(&p, BPF_LD | BPF_W | BPF_ABS, NET_SHARE_QPN_AT - 1);
    add(&p, BPF_ALU | BPF_AND | BPF_K, QPN_MASK);
    add_if(&p, 0);
    unsigned to_trial = add_jump(&p);
    add_if(&p, 1);
    unsigned to_mad = add_jump(&p);
    add(&p, BPF_ALU | BPF_RSH | BPF_K, NET_SHARE_SLOT_BITS);
    add_slots(&p, view, addr, scope);
    add(&p, BPF_RET | BPF_K, NET_SHARE_NO_INDEX);

    add_label(&p, to_trial);
    add_trial(&p);

    add_label(&p, to_mad);
    add(&p, BPF_LD | BPF_B | BPF_ABS, NET_SHARE_CLASS_AT);
    p.code[p.count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NET_SHARE_CLASS_CM, 1, 0);
    add(&p, BPF_RET | BPF_K, rest);
    add(&p, BPF_LD | BPF_H | BPF_ABS, NET_SHARE_ATTR_AT);
    add_if(&p, NET_SHARE_REQ);
    unsigned to_service = add_jump(&p);
    add_if(&p, NET_SHARE_SIDR_REQ);
    unsigned to_service_too = add_jump(&p);
    add_if(&p, NET_SHARE_SIDR_REP);
    unsigned to_request = add_jump(&p);
    add(&p, BPF_LD | BPF_W | BPF_ABS, NET_SHARE_REMOTE_AT);
    unsigned to_id = add_jump(&p);
    add_label(&p, to_request);
    add(&p, BPF_LD | BPF_W | BPF_ABS, NET_SHARE_REQUEST_AT);
    add_label(&p, to_id);
    add(&p, BPF_ALU | BPF_RSH | BPF_K, NET_SHARE_ID_BITS);
    add_slots(&p, view, addr, scope);
    add(&p, BPF_RET | BPF_K, rest);

    add_label(&p, to_service);
    add_label(&p, to_service_too);
    add(&p, BPF_LD | BPF_W | BPF_ABS, NET_SHARE_SERVICE_AT);
    p.code[p.count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
    add(&p, BPF_RET | BPF_K, rest);
    add(&p, BPF_LD | BPF_W | BPF_ABS, NET_SHARE_SERVICE_AT + 4);
    add_services(&p, view, addr, scope);
    add(&p, BPF_RET | BPF_K, rest);
    return p.count;
}

int net_share_filter_attach(int fd, const struct sock_filter *code, unsigned count)
{
    struct sock_fprog program = {.len = (uint16_t)count, .filter = (struct sock_filter *)code};
    int err = setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program);
    return err < 0 ? -errno : 0;
}
