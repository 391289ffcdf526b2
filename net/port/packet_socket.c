/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/port/packet_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/port/filter_object.h"
#include "net/wire/ether.h"
#include "net/wire/udp.h"

#define BLOCK_BYTES (128u << 10)
#define TAG_BYTES   4 /* 802.1Q: the kernel takes it out of the frame, and we put it back */
/* What precedes a frame in its slot at most: the header of the slot, the kernel's link-level address and its
 * alignment, room for the tag. */
#define SLOT_HEAD_BYTES   128u
#define SEND_BUFFER_BYTES (64 << 20)

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

/* For who may not load net/port/filter.bpf.c, which does this and steers by queue pairs besides.
 *
 * UDP to port 4791 over IPv4 (no options, no fragment) or IPv6: what the XDP program takes, too. The kernel
 * has taken a VLAN tag out before the filter sees the frame; one that is still there is the inner one of two.
 */
static struct sock_filter roce_filter[] = {
    /* RoCEv1 by its EtherType; a filter without it begins after these. */
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NET_ETHERTYPE_ROCE, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12), /* EtherType */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 8),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14), /* version and header words */
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x45, 0, 11),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 9),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 20), /* more fragments, or an offset */
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x3fff, 7, 0),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 36), /* destination port */
    BPF_JUMP(BPF_JMP | BPF_JA, 4, 0, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 4),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 20),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 2),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 56),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NET_ROCE_UDP_PORT, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, 0),
    BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
};

#define V1_STEPS 3 /* of roce_filter */

static int set_option(int fd, int level, int option, const void *value, socklen_t bytes)
{
    return setsockopt(fd, level, option, value, bytes) < 0 ? -errno : 0;
}

/* The filter that steers, or the plain one: CAP_NET_RAW alone does for that. */
static int set_filter(struct net_packet_socket *packet, bool roce_v1)
{
    const struct net_gate_program program = {.elf = net_filter_object,
                                             .elf_bytes = net_filter_object_bytes,
                                             .name = "nornic_filter",
                                             .roce_v1 = roce_v1};
    unsigned skip = roce_v1 ? 0 : V1_STEPS;
    struct sock_fprog plain = {.len = (unsigned short)(sizeof roce_filter / sizeof *roce_filter - skip),
                               .filter = roce_filter + skip};
    if (net_gate_load(&packet->gate, &program) == 0) {
        int fd = packet->gate.program_fd;
        if (set_option(packet->fd, SOL_SOCKET, SO_ATTACH_BPF, &fd, sizeof fd) == 0)
            return 0;
        net_gate_unload(&packet->gate);
    }
    return set_option(packet->fd, SOL_SOCKET, SO_ATTACH_FILTER, &plain, sizeof plain);
}

/* Everything that must be set before the first packet can come. */
static int set_options(struct net_packet_socket *packet, bool roce_v1)
{
    int version = TPACKET_V2, on = 1, reserve = TAG_BYTES, send_buffer = SEND_BUFFER_BYTES, fd = packet->fd;
    int err = set_filter(packet, roce_v1);
    if (!err)
        err = set_option(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof version);
    if (!err)
        err = set_option(fd, SOL_PACKET, PACKET_RESERVE, &reserve, sizeof reserve);
    if (!err)
        err = set_option(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on);
    if (!err) /* a frame that the kernel finds faulty is skipped, and does not block the ring */
        err = set_option(fd, SOL_PACKET, PACKET_LOSS, &on, sizeof on);
    /* The rest only makes it faster. */
    set_option(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
    if (set_option(fd, SOL_SOCKET, SO_SNDBUFFORCE, &send_buffer, sizeof send_buffer) < 0)
        set_option(fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    return err;
}

static int add_ring(int fd, int option, struct net_packet_ring *ring, uint32_t frame_bytes, uint32_t frames)
{
    ring->slot_bytes =
        (SLOT_HEAD_BYTES + frame_bytes + TPACKET_ALIGNMENT - 1) / TPACKET_ALIGNMENT * TPACKET_ALIGNMENT;
    ring->block_bytes = ring->slot_bytes > BLOCK_BYTES ? 2 * BLOCK_BYTES : BLOCK_BYTES;
    ring->slots_per_block = ring->block_bytes / ring->slot_bytes;
    uint32_t blocks = (frames + ring->slots_per_block - 1) / ring->slots_per_block;
    ring->slot_count = blocks * ring->slots_per_block;
    struct tpacket_req request = {.tp_block_size = ring->block_bytes,
                                  .tp_block_nr = blocks,
                                  .tp_frame_size = ring->slot_bytes,
                                  .tp_frame_nr = ring->slot_count};
    return set_option(fd, SOL_PACKET, option, &request, sizeof request);
}

static size_t ring_bytes(const struct net_packet_ring *ring)
{
    return (size_t)ring->slot_count / ring->slots_per_block * ring->block_bytes;
}

static int make_rings(struct net_packet_socket *socket, uint32_t frame_bytes, uint32_t ring_frames)
{
    int err = add_ring(socket->fd, PACKET_RX_RING, &socket->rx, frame_bytes, ring_frames);
    if (!err)
        err = add_ring(socket->fd, PACKET_TX_RING, &socket->tx, frame_bytes, ring_frames);
    if (err < 0)
        return err;
    socket->map_bytes = ring_bytes(&socket->rx) + ring_bytes(&socket->tx);
    socket->map = mmap(NULL, socket->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, socket->fd, 0);
    if (socket->map == MAP_FAILED)
        return -errno;
    socket->rx.base = socket->map;
    socket->tx.base = socket->map + ring_bytes(&socket->rx);
    return 0;
}

static int bind_interface(int fd, unsigned ifindex)
{
    struct sockaddr_ll address = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)ifindex};
    return bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}

int net_packet_socket_open(struct net_packet_socket *packet, const struct net_interface *interface,
                           uint32_t ring_frames, bool roce_v1, struct nornic_error *why)
{
    const char *name = interface->name;
    *packet = (struct net_packet_socket){.fd = -1};
    /* Protocol 0 receives nothing until bind() names one. */
    packet->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (packet->fd < 0 && (errno == EPERM || errno == EACCES))
        return net_error_set(why, errno, "the packet port on %s needs root, or the capability CAP_NET_RAW",
                             name);
    if (packet->fd < 0)
        return net_error_set(why, errno, "cannot open a packet socket for %s: %s", name, strerror(errno));
    int err = set_options(packet, roce_v1);
    if (!err)
        err = make_rings(packet, interface->mtu_bytes + ETH_HLEN + TAG_BYTES, ring_frames);
    if (!err) {
        net_gate_set_ring(&packet->gate, packet->rx.slot_count);
        net_guard_open(&packet->guard, interface);
        err = bind_interface(packet->fd, interface->index);
    }
    if (err < 0) {
        net_packet_socket_close(packet);
        return net_error_set(why, -err, "cannot set up the packet port on %s (rings of %u frames): %s", name,
                             ring_frames, strerror(-err));
    }
    return 0;
}

void net_packet_socket_close(struct net_packet_socket *packet)
{
    if (packet->map && packet->map != MAP_FAILED)
        munmap(packet->map, packet->map_bytes);
    net_guard_close(&packet->guard);
    close(packet->fd);
    net_gate_unload(&packet->gate);
}
