/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The TCP option of the rendezvous (SMCR section 4), on the sockets that ask for it by an entry in
 * `nornic_sockets`. All other sockets of the cgroup stay as they are. */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

#include "sock/rendezvous_map.h"

#define TCP_FLAG_SYN 0x02
#define TCP_FLAG_ACK 0x10

#define OPTION_BYTES 6
/* SMCR-REN-01. A macro: the helpers want it on the stack. */
#define OPTION                                     \
    {                                              \
        0xfe, OPTION_BYTES, 0xe2, 0xd4, 0xc3, 0xd9 \
    }

struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct smcr_rendezvous);
} nornic_sockets SEC(".maps");

static __always_inline struct smcr_rendezvous *of_socket(struct bpf_sock_ops *ops, __u64 flags)
{
    struct bpf_sock *sk = ops->sk;
    return sk ? bpf_sk_storage_get(&nornic_sockets, sk, 0, flags) : 0;
}

/* The packet's options, or with `flags` those of the SYN that came, have it. The search matches kind and all
 * four bytes of the ExID (SMCR-REN-01). */
static __always_inline int has_option(struct bpf_sock_ops *ops, __u64 flags)
{
    __u8 option[OPTION_BYTES] = OPTION;
    return bpf_load_hdr_opt(ops, option, sizeof option, flags) == OPTION_BYTES;
}

static __always_inline void set_writing(struct bpf_sock_ops *ops, int on)
{
    __u32 flag = BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;
    bpf_sock_ops_cb_flags_set(ops,
                              on ? ops->bpf_sock_ops_cb_flags | flag : ops->bpf_sock_ops_cb_flags & ~flag);
}

/* A socket is about to connect or to listen. */
static __always_inline void begin(struct bpf_sock_ops *ops)
{
    struct smcr_rendezvous *rendezvous = of_socket(ops, 0);
    if (rendezvous && rendezvous->wants)
        set_writing(ops, 1);
}

/* Whether the packet about to be built gets the option: a SYN, each time that it is sent (SMCR-REN-02); a
 * SYN-ACK if the SYN had it (SMCR-REN-03), but not that of a SYN cookie, which remembers nothing, and not
 * that of a simultaneous open, which comes from a connecting socket (SMCR-REN-09). No other: SMCR-REN-04. */
static __always_inline int is_ours(struct bpf_sock_ops *ops)
{
    __u32 tcp_flags = ops->skb_tcp_flags;
    if (!(tcp_flags & TCP_FLAG_SYN))
        return 0;
    if (!(tcp_flags & TCP_FLAG_ACK))
        return 1;
    if (ops->is_fullsock)
        return 0;
    return has_option(ops, BPF_LOAD_HDR_OPT_TCP_SYN);
}

static __always_inline void write_option(struct bpf_sock_ops *ops)
{
    __u8 option[OPTION_BYTES] = OPTION;
    if (is_ours(ops))
        bpf_store_hdr_opt(ops, option, sizeof option, 0);
}

/* A connecting socket has its SYN-ACK. */
static __always_inline void connected(struct bpf_sock_ops *ops)
{
    struct smcr_rendezvous *rendezvous = of_socket(ops, 0);
    if (!rendezvous || !rendezvous->wants)
        return;
    set_writing(ops, 0);
    rendezvous->seen = has_option(ops, 0);
}

/* A listening socket has a child, which inherited its flags; the kernel keeps the child's SYN
 * (TCP_SAVE_SYN). */
static __always_inline void accepted(struct bpf_sock_ops *ops)
{
    if (!(ops->bpf_sock_ops_cb_flags & BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG))
        return;
    set_writing(ops, 0);
    if (!has_option(ops, BPF_LOAD_HDR_OPT_TCP_SYN))
        return;
    struct smcr_rendezvous *rendezvous = of_socket(ops, BPF_SK_STORAGE_GET_F_CREATE);
    if (rendezvous)
        rendezvous->seen = 1;
}

SEC("sockops")
int nornic_rendezvous(struct bpf_sock_ops *ops)
{
    switch (ops->op) {
    case BPF_SOCK_OPS_TCP_CONNECT_CB:
    case BPF_SOCK_OPS_TCP_LISTEN_CB:
        begin(ops);
        break;
    case BPF_SOCK_OPS_HDR_OPT_LEN_CB:
        if (ops->args[0] != BPF_WRITE_HDR_TCP_SYNACK_COOKIE && is_ours(ops))
            bpf_reserve_hdr_opt(ops, OPTION_BYTES, 0);
        break;
    case BPF_SOCK_OPS_WRITE_HDR_OPT_CB:
        write_option(ops);
        break;
    case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
        connected(ops);
        break;
    case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
        accepted(ops);
        break;
    }
    return 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
