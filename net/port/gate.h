/* SPDX-License-Identifier: BSD-2-Clause */
/* The gate in front of a port's ring (net/port/gate.bpf.h), seen from the process that owns the port.
 * Internal to the ports. */
#ifndef NORNIC_NET_GATE_H
#define NORNIC_NET_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/port.h"

struct bpf_object;
struct net_gate_state;
struct net_gate_missing;

/* A compiled program with a gate in it, and how to load it. */
struct net_gate_program {
    const uint8_t *elf;
    uint64_t elf_bytes;
    const char *name;     /* of the program in the object, its only one */
    bool roce_v1;         /* it takes EtherType 0x8915 as well */
    uint32_t extra_flags; /* of BPF_PROG_LOAD */
};

/* A gate; all zero: none, and the calls do nothing. */
struct net_gate {
    struct bpf_object *object;
    int program_fd, rules_fd;     /* the object's */
    struct net_gate_state *state; /* in memory that the program sees too; the object's */
    /* Rules that the kernel had no room for. A closed gate would drop their packets. So the gate stays open
     * while there is one, and for good if this process had no memory to note one. */
    struct net_gate_missing *missing;
    uint32_t num_missing;
    size_t missing_room;
    bool has_forgotten;
};

/* Loads the program; the gate is open. 0, or the kernel's -errno (-EPERM: CAP_BPF is missing). */
int net_gate_load(struct net_gate *gate, const struct net_gate_program *program);
void net_gate_unload(struct net_gate *gate);

/* Sets the size of the ring after the gate, in frames of full size. The limit of NET_STEER_LIMITED is a
 * share of it. */
void net_gate_set_ring(struct net_gate *gate, uint32_t frames);

/* Sets a rule: net_port_steer(). Tries missing rules again. Returns false if there is no gate, or it
 * stays open for want of room. */
bool net_gate_steer(struct net_gate *gate, uint32_t dest_qpn, enum net_steer whose,
                    const struct nornic_addr *peer);

/* Adds the gate's drops to a port's counters. */
void net_gate_count(const struct net_gate *gate, struct net_port_counters *counters);

#endif
