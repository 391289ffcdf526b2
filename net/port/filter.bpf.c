/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The filter of a packet socket: RoCEv2 (UDP to port 4791), and where asked RoCEv1, if the gate lets it pass.
 * What goes by it is the kernel's all the same; the socket sees a copy. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <stddef.h>

#include "net/port/gate.bpf.h"

#define KEEP -1 /* the whole packet */
#define DROP 0

/* Set before the program is loaded; the verifier drops the branch that is not taken. */
const volatile __u32 nornic_roce_v1 = 0;

/* Where the UDP header is, and who sent it; or 0 if the packet is none of ours. */
static __always_inline __u32 udp_of(struct __sk_buff *skb, __be16 ether_type, struct gate_source *source)
{
    if (ether_type == bpf_htons(ETH_P_IP)) {
        struct iphdr ip;
        if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof ip) || ip.ihl != IPV4_NO_OPTIONS ||
            ip.protocol != IPPROTO_UDP || ip.frag_off & bpf_htons(IPV4_FRAGMENT))
            return 0;
        *source = gate_source_v4(ip.saddr);
        return ETH_HLEN + sizeof ip;
    }
    if (ether_type == bpf_htons(ETH_P_IPV6)) {
        struct ipv6hdr ip;
        if (bpf_skb_load_bytes(skb, ETH_HLEN, &ip, sizeof ip) || ip.nexthdr != IPPROTO_UDP)
            return 0;
        __builtin_memcpy(source, &ip.saddr, sizeof *source);
        return ETH_HLEN + sizeof ip;
    }
    return 0;
}

/* Where the BTH is, or would be if the packet went on so far; 0 if it is none of ours. The kernel has taken a
 * VLAN tag out before the filter sees the frame; one that is still there is the inner one of two. */
static __always_inline __u32 bth_of(struct __sk_buff *skb, struct gate_source *source)
{
    __be16 ether_type, port;
    if (bpf_skb_load_bytes(skb, offsetof(struct ethhdr, h_proto), &ether_type, sizeof ether_type))
        return 0;
    if (nornic_roce_v1 && ether_type == bpf_htons(ROCE_V1_TYPE)) {
        if (bpf_skb_load_bytes(skb, ETH_HLEN + GRH_SGID_OFFSET, source, sizeof *source))
            *source = (struct gate_source){{0}};
        return ETH_HLEN + GRH_BYTES;
    }
    __u32 udp = udp_of(skb, ether_type, source);
    if (!udp || bpf_skb_load_bytes(skb, udp + offsetof(struct udphdr, dest), &port, sizeof port) ||
        port != bpf_htons(ROCE_UDP_PORT))
        return 0;
    return udp + sizeof(struct udphdr);
}

SEC("socket")
int nornic_filter(struct __sk_buff *skb)
{
    struct gate_source source = {{0}};
    __be32 qpn_word;
    __u32 bth = bth_of(skb, &source);
    if (!bth)
        return DROP;
    if (!nornic_gate.is_closed)
        return KEEP;
    /* One that ends before its BTH does names no queue pair of ours. */
    if (bth + BTH_BYTES > skb->len ||
        bpf_skb_load_bytes(skb, bth + BTH_QPN_OFFSET, &qpn_word, sizeof qpn_word))
        return gate_drop(NET_GATE_NO_QP) ? KEEP : DROP;
    return gate_admits(qpn_word, &source) ? KEEP : DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
