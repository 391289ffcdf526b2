/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/port/gate.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/base.h"
#include "net/port/gate_map.h"

static_assert((int)NET_STEER_PEER == NET_GATE_PEER, "the port's rules are the program's");
static_assert((int)NET_STEER_LIMITED == NET_GATE_LIMITED, "the port's rules are the program's");
static_assert(NET_STEER_WINDOW_NS >> NET_GATE_WINDOW_SHIFT == 1, "the port's window is the program's");

/* The program's only constant is the whole of its read-only data. */
static int set_roce_v1(struct bpf_object *object, uint32_t roce_v1)
{
    struct bpf_map *map = bpf_object__find_map_by_name(object, ".rodata");
    return map ? bpf_map__set_initial_value(map, &roce_v1, sizeof roce_v1) : -ENOENT;
}

static int load(struct bpf_object *object, const struct net_gate_program *wanted)
{
    struct bpf_program *program = bpf_object__find_program_by_name(object, wanted->name);
    if (!program)
        return -ENOENT;
    bpf_program__set_flags(program, bpf_program__flags(program) | wanted->extra_flags);
    int err = set_roce_v1(object, wanted->roce_v1);
    return err ? err : bpf_object__load(object);
}

/* Finds what is in a loaded object. Its memory is mapped here, as libbpf does that for skeletons only. */
static int bind(struct net_gate *gate, const char *program_name)
{
    struct bpf_object *object = gate->object;
    int state_fd = bpf_object__find_map_fd_by_name(object, NET_GATE_STATE_MAP);
    gate->program_fd = bpf_program__fd(bpf_object__find_program_by_name(object, program_name));
    gate->rules_fd = bpf_object__find_map_fd_by_name(object, NET_GATE_RULES_MAP);
    if (gate->rules_fd < 0 || state_fd < 0)
        return -ENOENT;
    void *state = mmap(NULL, sizeof *gate->state, PROT_READ | PROT_WRITE, MAP_SHARED, state_fd, 0);
    if (state == MAP_FAILED)
        return -errno;
    gate->state = state;
    gate->state->limit = NET_STEER_LIMIT;
    return 0;
}

int net_gate_load(struct net_gate *gate, const struct net_gate_program *program)
{
    LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "nornic");
    libbpf_print_fn_t print = libbpf_set_print(NULL); /* whoever asked has a sentence of its own */
    *gate = (struct net_gate){.object = bpf_object__open_mem(program->elf, program->elf_bytes, &options)};
    int err = gate->object ? load(gate->object, program) : -errno;
    libbpf_set_print(print);
    if (!err)
        err = bind(gate, program->name);
    if (err)
        net_gate_unload(gate);
    return err;
}

void net_gate_unload(struct net_gate *gate)
{
    if (gate->state)
        munmap(gate->state, sizeof *gate->state);
    bpf_object__close(gate->object);
    free(gate->missing);
    *gate = (struct net_gate){.object = NULL};
}

void net_gate_set_ring(struct net_gate *gate, uint32_t frames)
{
    if (gate->state)
        __atomic_store_n(&gate->state->limit, min_u32(frames / 4, NET_STEER_LIMIT), __ATOMIC_RELAXED);
}

/* --- rules --- */

struct net_gate_missing {
    uint32_t dest_qpn;
    struct net_gate_rule rule;
};

static int set_rule(const struct net_gate *gate, const struct net_gate_missing *m)
{
    return bpf_map_update_elem(gate->rules_fd, &m->dest_qpn, &m->rule, BPF_ANY);
}

static void remember(struct net_gate *gate, const struct net_gate_missing *m)
{
    struct net_gate_missing *missing =
        array_room(gate->missing, &gate->missing_room, gate->num_missing + 1, sizeof *missing);
    if (!missing) {
        gate->has_forgotten = true;
        return;
    }
    gate->missing = missing;
    gate->missing[gate->num_missing++] = *m;
}

/* A number that has another rule now, or none. */
static void forget(struct net_gate *gate, uint32_t dest_qpn)
{
    for (uint32_t i = 0; i < gate->num_missing; i++)
        if (gate->missing[i].dest_qpn == dest_qpn)
            gate->missing[i] = gate->missing[--gate->num_missing];
}

bool net_gate_steer(struct net_gate *gate, uint32_t dest_qpn, enum net_steer whose,
                    const struct nornic_addr *peer)
{
    struct net_gate_missing wanted = {.dest_qpn = dest_qpn, .rule.whose = whose};
    if (!gate->state)
        return false;
    if (whose == NET_STEER_PEER)
        memcpy(wanted.rule.peer, peer->b, sizeof wanted.rule.peer);
    forget(gate, dest_qpn);
    if (whose == NET_STEER_NOBODY)
        bpf_map_delete_elem(gate->rules_fd, &dest_qpn); /* or there was none */
    else if (set_rule(gate, &wanted))
        remember(gate, &wanted);
    while (gate->num_missing > 0 && set_rule(gate, &gate->missing[gate->num_missing - 1]) == 0)
        gate->num_missing--;
    bool is_closed = gate->num_missing == 0 && !gate->has_forgotten;
    __atomic_store_n(&gate->state->is_closed, is_closed, __ATOMIC_RELAXED);
    return is_closed;
}

void net_gate_count(const struct net_gate *gate, struct net_port_counters *counters)
{
    if (!gate->state)
        return;
    const __u64 *dropped = gate->state->dropped;
    counters->rx_no_qp = __atomic_load_n(&dropped[NET_GATE_NO_QP], __ATOMIC_RELAXED);
    counters->rx_stranger = __atomic_load_n(&dropped[NET_GATE_STRANGER], __ATOMIC_RELAXED);
    counters->rx_limited = __atomic_load_n(&dropped[NET_GATE_TOO_MANY], __ATOMIC_RELAXED);
}
