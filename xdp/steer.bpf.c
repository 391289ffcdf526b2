/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Steers RoCEv2 (UDP to port 4791), and where asked RoCEv1 (an EtherType of its own), to the AF_XDP socket of
 * its receive queue. All else goes on to the kernel, as does RoCE itself where no socket waits. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ROCE_UDP_PORT    4791
#define ROCE_V1_TYPE     0x8915
#define IPV4_NO_OPTIONS  5      /* header words */
#define IPV4_FRAGMENT    0x3fff /* more fragments, or an offset */
#define XSKS_MAX_ENTRIES 64

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

/* Where the UDP header is, or NULL if the packet is none of ours. */
static __always_inline struct udphdr *udp_of(void *l3, __be16 ether_type, void *end)
{
    if (ether_type == bpf_htons(ETH_P_IP)) {
        struct iphdr *ip = l3;
        if ((void *)(ip + 1) > end || ip->ihl != IPV4_NO_OPTIONS || ip->protocol != IPPROTO_UDP ||
            ip->frag_off & bpf_htons(IPV4_FRAGMENT))
            return 0;
        return (struct udphdr *)(ip + 1);
    }
    if (ether_type == bpf_htons(ETH_P_IPV6)) {
        struct ipv6hdr *ip = l3;
        if ((void *)(ip + 1) > end || ip->nexthdr != IPPROTO_UDP)
            return 0;
        return (struct udphdr *)(ip + 1);
    }
    return 0;
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
    if (nornic_roce_v1 && ether_type == bpf_htons(ROCE_V1_TYPE))
        return bpf_redirect_map(&nornic_xsks, ctx->rx_queue_index, XDP_PASS);
    struct udphdr *udp = udp_of(l3, ether_type, end);
    if (!udp || (void *)(udp + 1) > end || udp->dest != bpf_htons(ROCE_UDP_PORT))
        return XDP_PASS;
    return bpf_redirect_map(&nornic_xsks, ctx->rx_queue_index, XDP_PASS);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
