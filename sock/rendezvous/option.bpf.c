/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The TCP option of the rendezvous (SMCR section 4), on the sockets that ask for it by an entry in
 * `nornic_sockets`, or, where `nornic_mode` says so, by TCP_SAVE_SYN: those of programs that know nothing of
 * SMC-R, for whom a library asks. All other sockets of the cgroup stay as they are. */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "base/smc_mark.h"
#include "sock/rendezvous/map.h"

#define AF_INET      2
#define IPPROTO_TCP  6
#define TCP_SAVE_SYN 27

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

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} nornic_mode SEC(".maps");

static __always_inline int all_offer(void)
{
    __u32 first = 0, *mode = bpf_map_lookup_elem(&nornic_mode, &first);
    return mode && *mode;
}

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

/* What the owner has said by TCP_SAVE_SYN: so it asks, where it has no way to nornic_sockets, for SMC-R to be
 * offered (base/smc_mark.h). Kernels that do not tell (before 6.1): all ask. */
static __always_inline int asked(struct bpf_sock_ops *ops)
{
    int mark = 0;
    return bpf_getsockopt(ops, IPPROTO_TCP, TCP_SAVE_SYN, &mark, sizeof mark) == 0 ? mark : SMC_MARK_ASKED;
}

static __always_inline int set_mark(struct bpf_sock_ops *ops, int mark)
{
    return bpf_setsockopt(ops, IPPROTO_TCP, TCP_SAVE_SYN, &mark, sizeof mark);
}

/* Of a socket that connects: to an address of this host, and from the same one or from another for
 * loopback. */
static __always_inline int stays_here(struct bpf_sock_ops *ops)
{
    __u32 net = bpf_htonl(0xff000000), loopback = bpf_htonl(0x7f000000);
    if (ops->family == AF_INET)
        return ops->local_ip4 == ops->remote_ip4 || (ops->local_ip4 & net) == loopback;
    return ops->local_ip6[0] == ops->remote_ip6[0] && ops->local_ip6[1] == ops->remote_ip6[1] &&
           ops->local_ip6[2] == ops->remote_ip6[2] && ops->local_ip6[3] == ops->remote_ip6[3];
}

/* A socket is about to connect or to listen. */
static __always_inline void begin(struct bpf_sock_ops *ops, int connects)
{
    int mark = all_offer() ? asked(ops) : SMC_MARK_ASKED;
    if (mark == SMC_MARK_PROBE && !connects)
        set_mark(ops, SMC_MARK_ASKED);
    if (mark != SMC_MARK_ASKED || (all_offer() && connects && stays_here(ops)))
        return;
    struct smcr_rendezvous *rendezvous = of_socket(ops, all_offer() ? BPF_SK_STORAGE_GET_F_CREATE : 0);
    if (!rendezvous)
        return;
    if (all_offer()) {
        rendezvous->wants = 1;
        rendezvous->seen = 0;
        if (set_mark(ops, SMC_MARK_ASKED) != 0)
            return;
    }
    if (rendezvous->wants)
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
    if (rendezvous->seen && all_offer())
        set_mark(ops, SMC_MARK_SEEN);
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
    if (all_offer())
        set_mark(ops, SMC_MARK_SEEN);
}

SEC("sockops")
int nornic_rendezvous(struct bpf_sock_ops *ops)
{
    switch (ops->op) {
    case BPF_SOCK_OPS_TCP_CONNECT_CB:
        begin(ops, 1);
        break;
    case BPF_SOCK_OPS_TCP_LISTEN_CB:
        begin(ops, 0);
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
