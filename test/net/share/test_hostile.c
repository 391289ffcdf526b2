/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbours that are broken, or mean harm: what they send to a process's socket beside the table. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "net/port/packet_lease.h"
#include "net/share/inner.h"
#include "net/share/lend.h"
#include "test/net/share_pair.h"
#include "test/support/fds.h"
#include "test/support/frames.h"

#define LONGEST_V4 65507u

static struct net_share *members[2];
static int fds[2], neighbour;
static struct nornic_addr addr;
static uint8_t room[65536];
static const struct net_port_counters counters;

static void setup(void)
{
    struct nornic_error why = {""};
    share_dir_make();
    addr = share_addr();
    neighbour = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(neighbour, 0);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(net_share_open(0, &members[i], &why), 0, "%s", why.text);
        fds[i] = net_share_join(members[i], &addr, 1, &why);
        cr_assert_geq(fds[i], 0, "%s", why.text);
    }
    net_share_refresh(members[0]);
}

static void teardown(void)
{
    for (unsigned i = 0; i < 2; i++)
        net_share_close(members[i]);
    close(neighbour);
    share_dir_remove();
}

TestSuite(share_hostile, .init = setup, .fini = teardown, .timeout = 60);

/* To the first member: bytes with descriptors, as no process of ours would send them. */
static void send_raw(const void *bytes, size_t n_bytes, int fd, unsigned fd_count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(8 * sizeof(int))];
    } control = {.bytes = {0}};
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct iovec part = {.iov_base = (void *)bytes, .iov_len = n_bytes};
    struct msghdr m = {.msg_name = &to, .msg_namelen = sizeof to, .msg_iov = &part, .msg_iovlen = 1};
    snprintf(to.sun_path, sizeof to.sun_path, "%s.%u", members[0]->table.path, members[0]->slot);
    if (fd_count) {
        m.msg_control = &control;
        m.msg_controllen = CMSG_SPACE(fd_count * sizeof fd);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        *c = (struct cmsghdr){
            .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(fd_count * sizeof fd)};
        for (unsigned i = 0; i < fd_count; i++)
            memcpy(CMSG_DATA(c) + i * sizeof fd, &fd, sizeof fd);
    }
    cr_assert_eq(sendmsg(neighbour, &m, 0), (ssize_t)n_bytes);
}

static void send_message(const struct net_share_message *message, const uint8_t *payload)
{
    cr_assert(net_share_hand_send(neighbour, &members[0]->table, members[0]->slot, message, payload));
}

static struct net_share_message packets(uint32_t payload_bytes)
{
    return (struct net_share_message){.word = NET_SHARE_PACKETS,
                                      .arrival = {.src = addr, .dst = addr, .payload_bytes = payload_bytes},
                                      .fd = -1};
}

Test(share_hostile, descriptors_that_nobody_asked_for_are_closed)
{
    static uint8_t junk[300];
    struct net_share_taken taken;
    unsigned before = fds_count();
    for (unsigned fd_count = 1; fd_count <= 8; fd_count++) {
        for (unsigned word = 0; word < 8; word++) {
            junk[0] = (uint8_t)word;
            send_raw(junk, word % 2 ? sizeof junk : 120, fds[0], fd_count);
            while (net_share_take(members[0], &counters, &taken, room, sizeof room))
                cr_expect_eq(taken.arrival.payload_bytes, 0);
        }
        cr_expect_eq(fds_count(), before, "%u at once", fd_count);
    }
}

Test(share_hostile, lengths_are_those_of_datagrams)
{
    struct net_share_taken taken;
    for (uint32_t bytes = LONGEST_V4; bytes <= LONGEST_V4 + 1; bytes++) {
        struct net_share_message message = packets(bytes);
        share_packet(room, bytes, net_share_first_qpn(members[0]) + 17);
        send_message(&message, room);
        cr_expect(net_share_take(members[0], &counters, &taken, room, sizeof room));
        cr_expect_eq(taken.arrival.payload_bytes, bytes == LONGEST_V4 ? bytes : 0);
    }
    for (uint32_t bytes = 0; bytes < 24; bytes++) { /* and short ones, in a train of bytes */
        struct net_share_message message = packets(bytes);
        message.arrival.seg_bytes = 1;
        share_packet(room, 24, net_share_first_qpn(members[0]) + 17);
        send_message(&message, room);
        cr_expect(net_share_take(members[0], &counters, &taken, room, sizeof room));
        cr_expect_leq(taken.arrival.payload_bytes, bytes);
    }
    for (uint32_t pkts = 128; pkts <= 129; pkts++) {
        struct net_share_message message = packets(100 * pkts);
        message.arrival.seg_bytes = 100;
        for (uint32_t i = 0; i < pkts; i++)
            share_packet(room + (size_t)100 * i, 100, net_share_first_qpn(members[0]) + 17);
        send_message(&message, room);
        cr_expect(net_share_take(members[0], &counters, &taken, room, sizeof room));
        cr_expect_eq(taken.arrival.payload_bytes, pkts == 128 ? 12800 : 0, "no kernel makes such trains");
    }
    send_raw("", 0, -1, 0);
    cr_expect(net_share_take(members[0], &counters, &taken, room, sizeof room));
    cr_expect_eq(taken.arrival.payload_bytes, 0);
    cr_expect_not(net_share_take(members[0], &counters, &taken, room, sizeof room));
}

/* To a packet port, which takes no packets there, as somebody asks for its counters. */
Test(share_hostile, nonsense_keeps_no_question_waiting)
{
    const struct net_port_counters said = {.rx_frames = 12345};
    const struct net_share_message question = {.word = NET_SHARE_TELL, .fd = -1}, junk = packets(100);
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct net_port_counters heard;
    struct net_packet_lease lease;
    int asker = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(asker, (struct sockaddr *)&name, sizeof name.sun_family), 0);
    net_packet_lease_open(&lease, fds[0]);
    cr_assert_not_null(lease.share);
    for (unsigned i = 0; i < 5; i++)
        cr_assert(net_share_hand_send(neighbour, &lease.share->table, lease.share->slot, &junk, room));
    cr_assert(net_share_hand_send(asker, &lease.share->table, lease.share->slot, &question, NULL));
    net_packet_lease_round(&lease, &said, NS_PER_S);
    cr_expect_eq(recv(asker, &heard, sizeof heard, MSG_DONTWAIT), (ssize_t)sizeof heard);
    cr_expect_eq(heard.rx_frames, 12345);
    net_packet_lease_close(&lease);
    close(asker);
}

Test(share_hostile, only_a_socket_of_the_address_is_taken_for_one)
{
    struct nornic_error why;
    struct nornic_addr other = addr;
    int ends[2], option = 0;
    socklen_t len = sizeof option;
    other.b[15] = 2;
    cr_assert_eq(pipe(ends), 0);
    cr_expect_neq(net_udp_socket_adopt(ends[0], &addr), 0, "a pipe");
    cr_expect_neq(net_udp_socket_adopt(neighbour, &addr), 0, "a socket of another kind");
    int udp = socket(AF_INET, SOCK_DGRAM, 0), at_other = net_udp_socket_open(&other, 1, 0, &why);
    cr_assert_geq(at_other, 0, "%s", why.text);
    cr_expect_neq(net_udp_socket_adopt(udp, &addr), 0, "one that is bound to nothing");
    cr_expect_neq(net_udp_socket_adopt(at_other, &addr), 0, "one of another address");
    union net_sockaddr me;
    socklen_t me_bytes = net_sockaddr_set(&me, &other, NET_ROCE_UDP_PORT - 1, 0);
    cr_assert_eq(bind(udp, &me.any, me_bytes), 0);
    cr_expect_neq(net_udp_socket_adopt(udp, &other), 0, "one of another port");
    cr_assert_eq(setsockopt(fds[1], IPPROTO_IP, IP_MTU_DISCOVER, &option, sizeof option), 0);
    cr_expect_eq(net_udp_socket_adopt(fds[1], &addr), 0);
    cr_expect_eq(getsockopt(fds[1], IPPROTO_IP, IP_MTU_DISCOVER, &option, &len), 0);
    cr_expect_eq(option, IP_PMTUDISC_DO, "its options are set again");
    close(udp);
    close(at_other);
    close(ends[0]);
    close(ends[1]);
}

/* Who was asked for another address answers when the next is waited for; and somebody sends a pipe. */
Test(share_hostile, a_borrower_gets_a_socket_of_its_address_or_none)
{
    struct nornic_error why;
    struct nornic_addr other = addr;
    int ends[2];
    other.b[15] = 2;
    cr_assert_eq(pipe(ends), 0);
    int late = net_udp_socket_open(&other, 1, 0, &why);
    struct net_share_message answers[] = {{.word = NET_SHARE_SOCKET, .fd = late},
                                          {.word = NET_SHARE_SOCKET, .fd = ends[0]},
                                          {.word = NET_SHARE_SOCKET, .fd = fds[1]}};
    unsigned before = fds_count();
    for (unsigned i = 0; i < 3; i++)
        send_message(&answers[i], NULL);
    int fd = net_share_borrow(members[0], &addr, 0);
    cr_assert_geq(fd, 0);
    cr_expect_eq(net_udp_socket_adopt(fd, &addr), 0);
    close(fd);
    for (unsigned i = 0; i < 2; i++)
        send_message(&answers[i], NULL);
    cr_expect_eq(net_share_borrow(members[0], &addr, 0), -EADDRINUSE);
    cr_expect_eq(fds_count(), before);
    close(late);
    close(ends[0]);
    close(ends[1]);
}

Test(share_hostile, a_flood_keeps_no_borrower_waiting)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct net_share_message message = packets(0);
        alarm(30);
        for (;;)
            net_share_hand_send(neighbour, &members[0]->table, members[0]->slot, &message, NULL);
    }
    cr_expect_eq(net_share_borrow(members[0], &addr, 0), -EADDRINUSE);
    cr_expect_eq(waitpid(pid, NULL, WNOHANG), 0, "it waited until the flood was over");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    struct net_share_taken taken;
    while (net_share_take(members[0], &counters, &taken, room, sizeof room))
        ;
}

Test(share_hostile, who_asks_hears_the_asked_only)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t len = sizeof name;
    int asker = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(bind(asker, (struct sockaddr *)&name, sizeof name.sun_family), 0);
    cr_assert_eq(getsockname(asker, (struct sockaddr *)&name, &len), 0);
    cr_assert(net_share_hand_connect(asker, &members[0]->table, members[0]->slot));
    cr_expect_eq(sendto(neighbour, "", 1, MSG_DONTWAIT, (struct sockaddr *)&name, len), -1);
    cr_expect_eq(errno, EPERM);
    cr_expect_eq(sendto(members[0]->hand_fd, "", 1, MSG_DONTWAIT, (struct sockaddr *)&name, len), 1);
    close(asker);
}

/* Whichever process the kernel tells what ICMP said, each at that address hears of it; but nobody a flood. */
Test(share_hostile, what_icmp_says_reaches_all_within_reason)
{
    enum { FLOOD = 50, ROUND = 8 };
    struct net_share_taken taken;
    struct net_udp_refusal refusal = {.peer = share_addr(), .error = ECONNREFUSED, .mtu_bytes = 1234};
    uint64_t now_ns = NS_PER_S;
    for (unsigned round = 0; round < 3; round++, now_ns += 2 * NS_PER_MS) {
        unsigned count = 0;
        net_share_round(members[0], now_ns);
        for (unsigned i = 0; i < FLOOD; i++)
            net_share_refused(members[0], fds[0], &refusal);
        while (net_share_take(members[1], &counters, &taken, room, sizeof room)) {
            cr_expect_eq(taken.refusal.error, ECONNREFUSED);
            cr_expect_eq(taken.refusal.mtu_bytes, 1234);
            cr_expect(nornic_addr_equal(&taken.refusal.peer, &refusal.peer));
            cr_expect_eq(taken.arrival.payload_bytes, 0);
            count++;
        }
        cr_expect_eq(count, ROUND);
    }
    struct net_share_message elsewhere = {
        .word = NET_SHARE_REFUSAL, .arrival.dst = addr, .refusal = refusal, .fd = -1};
    elsewhere.arrival.dst.b[15] = 2;
    send_message(&elsewhere, NULL);
    cr_expect(net_share_take(members[0], &counters, &taken, room, sizeof room));
    cr_expect_eq(taken.refusal.error, 0, "at an address that is not this port's");
}

/* Descriptors run out at each step in turn. */
Test(share_hostile, an_opening_that_fails_leaves_nothing)
{
    struct net_share *third;
    struct nornic_error why;
    uint64_t marks[NET_SHARE_SLOTS];
    struct rlimit before, few;
    unsigned failed = 0;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    for (int err = -1; err != 0 && failed < 32; failed++) {
        int next = dup(0);
        cr_assert_geq(next, 0);
        close(next);
        few.rlim_cur = (rlim_t)next + failed;
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
        err = net_share_open(0, &third, &why);
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
        if (!err)
            net_share_close(third);
        unsigned count = 0;
        net_share_table_marks(&members[0]->table, marks);
        for (unsigned slot = 0; slot < NET_SHARE_SLOTS; slot++)
            count += marks[slot] != 0;
        cr_expect_eq(count, 2, "with %u descriptors a record stays", failed);
    }
    cr_expect_lt(failed, 32);
    cr_expect_gt(failed, 2);
}

/* In a shared directory only its user may remove a name that is left there. */
Test(share_hostile, a_slot_whose_name_is_taken_is_left_out)
{
    enum { FREE = 99 };
    struct nornic_error why = {""};
    struct net_share *third;
    uint64_t marks[NET_SHARE_SLOTS];
    char name[128];
    unsigned count = 0, leased = 0;
    for (unsigned slot = 1; slot < NET_SHARE_SLOTS; slot++) {
        snprintf(name, sizeof name, "%s.%u", members[0]->table.path, slot);
        if (slot != FREE && slot != members[0]->slot && slot != members[1]->slot)
            cr_assert_eq(mkdir(name, 0700), 0);
    }
    if (members[0]->slot != FREE && members[1]->slot != FREE) {
        cr_assert_eq(net_share_open(0, &third, &why), 0, "%s", why.text);
        cr_expect_eq(net_share_id_prefix(third), FREE);
        net_share_table_marks(&third->table, marks);
        for (unsigned slot = 0; slot < NET_SHARE_SLOTS; slot++)
            count += marks[slot] != 0;
        cr_expect_eq(count, 3, "records of slots that are not held");
        for (unsigned slot = 0; slot < NET_SHARE_SLOTS; slot++)
            leased += net_share_table_is_leased(&members[0]->table, slot);
        cr_expect_eq(leased, 2, "slots that are held for nothing");
        net_share_close(third);
    }
    for (unsigned slot = 1; slot < NET_SHARE_SLOTS; slot++) {
        snprintf(name, sizeof name, "%s.%u", members[0]->table.path, slot);
        rmdir(name);
    }
}
