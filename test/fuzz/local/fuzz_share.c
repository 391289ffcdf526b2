/* SPDX-License-Identifier: BSD-2-Clause */
/* Two udp ports that share an address, and a neighbour that sends to their sockets, writes into their table
 * and puts packets of anybody before them: whatever it does, what they take is no longer than what came, goes
 * to who has that address, and leaves no descriptor open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "net/share/hand.h"
#include "net/share/inner.h"
#include "test/fuzz/input.h"

#define MEMBERS     2
#define FDS_MAX     3
#define PAYLOAD_MAX 512u
#define SERVICE     0x01060000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static struct net_share *members[MEMBERS];
static int fds[MEMBERS], neighbour;
static struct nornic_addr addr;
static char dir[] = "/tmp/nn-fuzz-XXXXXX";
static uint64_t now_ns = NS_PER_S;
static uint8_t room[65536];

static void clean_up(void)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        net_share_close(members[i]);
    rmdir(dir);
}

static void set_up(void)
{
    const uint8_t v4[4] = {127, (uint8_t)(1 + getpid() % 250), (uint8_t)(getpid() / 250 % 250), 9};
    addr = nornic_addr_from_v4(v4);
    neighbour = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    FUZZ_REQUIRE(neighbour >= 0 && mkdtemp(dir) && setenv("NORNIC_RUNTIME_DIR", dir, 1) == 0);
    for (unsigned i = 0; i < MEMBERS; i++) {
        FUZZ_REQUIRE(net_share_open(0, &members[i], NULL) == 0);
        fds[i] = net_share_join(members[i], &addr, 1, NULL);
        FUZZ_REQUIRE(fds[i] >= 0);
        members[i]->dir.is_common = true; /* so that they lend */
        net_share_set_qp1(members[i], true);
    }
    atexit(clean_up);
}

/* What the neighbour has written is no more. */
static void restore(void)
{
    struct net_share_table *table = &members[0]->table;
    FUZZ_REQUIRE(net_share_table_lock(table, NS_PER_S) == 0 && ftruncate(table->fd, 0) == 0);
    for (unsigned i = 0; i < MEMBERS; i++)
        FUZZ_REQUIRE(net_share_table_write(table, members[i]->slot, &members[i]->own) == 0);
    net_share_table_unlock(table);
    for (unsigned i = 0; i < MEMBERS; i++)
        net_share_refresh(members[i]);
}

static struct nornic_addr some_addr(struct fuzz_input *in)
{
    struct nornic_addr some = addr;
    uint8_t which = fuzz_u8(in);
    if (which & 1)
        some.b[15] ^= which;
    if (which & 2)
        memset(some.b, which, 8); /* IPv6 */
    return some;
}

/* From the BTH on; the number is a member's, or anybody's. */
static uint32_t make_packets(struct fuzz_input *in)
{
    uint32_t bytes = fuzz_u16(in) % PAYLOAD_MAX;
    for (uint32_t i = 0; i < bytes; i++)
        room[i] = i < in->left ? in->p[i] : 0;
    for (uint32_t i = min_u32(bytes, (uint32_t)in->left); i > 0; i--)
        fuzz_u8(in);
    uint8_t whose = fuzz_u8(in);
    if (bytes > NET_SHARE_QPN_AT && whose < MEMBERS)
        room[NET_SHARE_QPN_AT] = (uint8_t)members[whose]->slot;
    return bytes;
}

static void send_raw(struct fuzz_input *in, const struct net_share *to, unsigned fd_count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } control = {.bytes = {0}};
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    uint32_t bytes = make_packets(in);
    struct iovec part = {.iov_base = room, .iov_len = bytes};
    struct msghdr m = {.msg_name = &name, .msg_namelen = sizeof name, .msg_iov = &part, .msg_iovlen = 1};
    snprintf(name.sun_path, sizeof name.sun_path, "%s.%u", to->table.path, to->slot);
    if (fd_count) {
        m.msg_control = &control;
        m.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(fd_count * sizeof(int))};
        for (unsigned i = 0; i < fd_count; i++)
            memcpy(CMSG_DATA(c) + i * sizeof(int), &fds[0], sizeof(int));
    }
    (void)!sendmsg(neighbour, &m, MSG_DONTWAIT);
}

static void send_message(struct fuzz_input *in, const struct net_share *to)
{
    struct net_share_message message = {.word = (enum net_share_word)(fuzz_u8(in) % 8),
                                        .arrival = {.src = some_addr(in), .dst = some_addr(in)},
                                        .slot = fuzz_u16(in),
                                        .is_astray = fuzz_u8(in) & 1,
                                        .fd = fds[1]};
    message.refusal =
        (struct net_udp_refusal){.peer = some_addr(in), .error = (int)fuzz_u8(in), .mtu_bytes = fuzz_u32(in)};
    message.arrival.seg_bytes = fuzz_u16(in);
    message.arrival.payload_bytes = make_packets(in);
    net_share_hand_send(neighbour, &to->table, to->slot, &message, room);
}

static void write_nonsense(struct fuzz_input *in)
{
    uint32_t at = fuzz_u32(in) % (256 + NET_SHARE_SLOTS * sizeof(struct net_share_record));
    uint32_t bytes = make_packets(in);
    FUZZ_REQUIRE(pwrite(members[0]->table.fd, room, bytes, (off_t)at) == (ssize_t)bytes);
}

/* A record that is whole and says what it likes, of a slot that somebody has. */
static void write_record(struct fuzz_input *in, unsigned who)
{
    struct net_share_record record;
    memset(&record, fuzz_u8(in), sizeof record);
    record.place_count = fuzz_u8(in);
    record.service_count = fuzz_u8(in);
    record.places[0] = (struct net_share_place){.addr = addr, .index = fuzz_u16(in)};
    record.services[0] = SERVICE;
    FUZZ_REQUIRE(net_share_table_write(&members[0]->table, members[who]->slot, &record) == 0);
}

static void sift(struct fuzz_input *in, struct net_share *share)
{
    uint64_t passed = 0;
    uint32_t bytes = make_packets(in);
    struct net_udp_arrival arrival = {
        .src = addr, .dst = addr, .payload_bytes = bytes, .seg_bytes = fuzz_u16(in)};
    if (arrival.seg_bytes >= bytes)
        arrival.seg_bytes = 0; /* as the kernel says it */
    FUZZ_REQUIRE(bytes == 0 || net_share_sift(share, &arrival, room, &passed) <= bytes);
}

static void take_all(struct net_share *share)
{
    struct net_share_taken taken;
    struct net_port_counters counters = {.rx_frames = 1};
    for (unsigned i = 0; i < 32; i++) {
        if (!net_share_take(share, &counters, &taken, room, sizeof room))
            continue;
        FUZZ_REQUIRE(taken.arrival.payload_bytes <= sizeof room - 29);
        FUZZ_REQUIRE(!taken.arrival.payload_bytes || nornic_addr_equal(&taken.arrival.dst, &addr));
        FUZZ_REQUIRE(!taken.arrival.payload_bytes || !taken.refusal.error);
    }
    while (recv(fds[share == members[1]], room, sizeof room, MSG_DONTWAIT) >= 0)
        ; /* trials */
}

static void step(struct fuzz_input *in)
{
    uint8_t what = fuzz_u8(in);
    unsigned who = what >> 7;
    switch (what % 7) {
    case 0:
        send_raw(in, members[who], (what >> 4) % (FDS_MAX + 1));
        break;
    case 1:
        send_message(in, members[who]);
        break;
    case 2:
        write_nonsense(in);
        break;
    case 3:
        write_record(in, who);
        break;
    case 4:
        sift(in, members[who]);
        break;
    case 5:
        now_ns += fuzz_u16(in) * NS_PER_US;
        net_share_round(members[who], now_ns);
        break;
    case 6:
        if (net_share_serve(members[who], SERVICE) == 0)
            net_share_unserve(members[who], SERVICE);
        (void)net_share_is_served(members[!who], SERVICE);
        break;
    }
    take_all(members[who]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
    struct fuzz_input in = {.p = data, .left = len_bytes};
    if (!members[0])
        set_up();
    restore();
    int next = dup(neighbour);
    while (in.left > 0)
        step(&in);
    for (unsigned i = 0; i < MEMBERS; i++) {
        take_all(members[i]);
        FUZZ_REQUIRE(members[i]->own.place_count == 1 && members[i]->own.service_count == 0);
        FUZZ_REQUIRE(net_share_table_is_leased(&members[!i]->table, members[i]->slot));
    }
    close(next);
    restore(); /* who is watched is who was */
    int same = dup(neighbour);
    FUZZ_REQUIRE(same == next);
    close(same);
    return 0;
}
