/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Steers RoCEv2 (UDP to port 4791), and where asked RoCEv1 (an EtherType of its own), to the AF_XDP socket of
 * its receive queue, if the gate lets it pass, and drops it if not. All else goes on to the kernel, as does
 * RoCE that may pass where no socket waits. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include "net/port/gate.bpf.h"

#define XSKS_MAX_ENTRIES 256 /* receive queues */

/* Set before the program is loaded (xdp/steer.c); the verifier drops the branch that is not taken. */
const volatile __u32 nornic_roce_v1 = 0;

struct vlan_tag {
    __be16 tci;
    __be16 ether_type;
};

struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, XSKS_MAX_ENTRIES);
    __type(key, __u32);
    __type(value, __u32);
} nornic_xsks SEC(".maps");

/* Where the UDP header is, and who sent it; or NULL if the packet is none of ours. */
static __always_inline struct udphdr *udp_of(void *l3, __be16 ether_type, void *end,
                                             struct gate_source *source)
{
    if (ether_type == bpf_htons(ETH_P_IP)) {
        struct iphdr *ip = l3;
        if ((void *)(ip + 1) > end || ip->ihl != IPV4_NO_OPTIONS || ip->protocol != IPPROTO_UDP ||
            ip->frag_off & bpf_htons(IPV4_FRAGMENT))
            return 0;
        *source = gate_source_v4(ip->saddr);
        return (struct udphdr *)(ip + 1);
    }
    if (ether_type == bpf_htons(ETH_P_IPV6)) {
        struct ipv6hdr *ip = l3;
        if ((void *)(ip + 1) > end || ip->nexthdr != IPPROTO_UDP)
            return 0;
        __builtin_memcpy(source, &ip->saddr, sizeof *source);
        return (struct udphdr *)(ip + 1);
    }
    return 0;
}

/* Where the BTH is, or would be if the packet went on so far; NULL if it is none of ours. */
static __always_inline void *bth_of(void *l3, __be16 ether_type, void *end, struct gate_source *source)
{
    if (nornic_roce_v1 && ether_type == bpf_htons(ROCE_V1_TYPE)) {
        if (l3 + GRH_BYTES <= end)
            __builtin_memcpy(source, l3 + GRH_SGID_OFFSET, sizeof *source);
        return l3 + GRH_BYTES;
    }
    struct udphdr *udp = udp_of(l3, ether_type, end, source);
    if (!udp || (void *)(udp + 1) > end || udp->dest != bpf_htons(ROCE_UDP_PORT))
        return 0;
    return udp + 1;
}

/* One that ends before its number names no queue pair of ours. */
static __always_inline bool may_pass(void *bth, void *end, const struct gate_source *source)
{
    if (!nornic_gate.is_closed)
        return true;
    if (bth + BTH_BYTES > end)
        return gate_drop(NET_GATE_NO_QP);
    return gate_admits(*(__be32 *)(bth + BTH_QPN_OFFSET), source);
}

/* Frames longer than one buffer come in fragments (xdp/steer.c sets the flag that allows them where the
 * kernel can); the headers looked at are always in the first. */
SEC("xdp")
int nornic_steer(struct xdp_md *ctx)
{
    void *end = (void *)(long)ctx->data_end;
    struct ethhdr *ether = (void *)(long)ctx->data;
    void *l3 = ether + 1;
    if (l3 > end)
        return XDP_PASS;
    __be16 ether_type = ether->h_proto;
    if (ether_type == bpf_htons(ETH_P_8021Q)) {
        struct vlan_tag *tag = l3;
        l3 = tag + 1;
        if (l3 > end)
            return XDP_PASS;
        ether_type = tag->ether_type;
    }
    struct gate_source source = {{0}};
    void *bth = bth_of(l3, ether_type, end, &source);
    if (!bth)
        return XDP_PASS;
    if (!may_pass(bth, end, &source))
        return XDP_DROP;
    return bpf_redirect_map(&nornic_xsks, ctx->rx_queue_index, XDP_PASS);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
