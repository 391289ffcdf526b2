/* SPDX-License-Identifier: BSD-2-Clause */
/* The gate in front of a port's ring (net/gate.bpf.h), seen from the process that owns the port. Internal to
 * the ports. */
#ifndef NORNIC_NET_GATE_H
#define NORNIC_NET_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "net/port.h"

struct bpf_object;
struct net_gate_state;

/* A compiled program with a gate in it, and how to load it. */
struct net_gate_program {
    const uint8_t *elf;
    uint64_t elf_bytes;
    const char *name;     /* of the program in the object, its only one */
    bool roce_v1;         /* it takes EtherType 0x8915 as well */
    uint32_t extra_flags; /* of BPF_PROG_LOAD */
};

/* All zero: there is none, and its calls do nothing. */
struct net_gate {
    struct bpf_object *object;
    int program_fd, rules_fd;     /* the object's */
    struct net_gate_state *state; /* in memory that the program sees too; the object's */
    bool has_failed;              /* a rule found no room, so the gate stands open */
};

/* Loads the program; the gate is open. 0, or the kernel's -errno (-EPERM: CAP_BPF is missing). */
int net_gate_load(struct net_gate *gate, const struct net_gate_program *program);
void net_gate_unload(struct net_gate *gate);

/* net_port_steer(). Where the kernel has no room for a rule, the gate stands open from then on. */
void net_gate_steer(struct net_gate *gate, uint32_t dest_qpn, enum net_steer whose,
                    const struct nornic_addr *peer);

/* Puts what the gate has dropped into a port's counters. */
void net_gate_count(const struct net_gate *gate, struct net_port_counters *counters);

#endif
