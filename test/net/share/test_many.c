/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ports of one process stand for two processes with many addresses. */
#include "net/share/share.h"

#include <criterion/criterion.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "net/share/inner.h"
#include "test/net/share_pair.h"

#define MEMBERS 2
#define COUNT   120
#define BYTES   64

static struct net_share *members[MEMBERS];
static int fds[MEMBERS][COUNT], sender;
static uint64_t now_ns = NS_PER_S;

/* Address `i` below COUNT of this process. */
static struct nornic_addr addr_of(unsigned i)
{
    struct nornic_addr addr = share_addr();
    addr.b[14] = 252; /* which no process chooses */
    addr.b[15] = (uint8_t)i;
    return addr;
}

static void join(unsigned member, unsigned i)
{
    struct nornic_error why = {""};
    const struct nornic_addr addr = addr_of(i);
    fds[member][i] = net_share_join(members[member], &addr, 1, &why);
    cr_assert_geq(fds[member][i], 0, "%s", why.text);
}

static void leave(unsigned member, unsigned i)
{
    net_share_leave(members[member], fds[member][i]);
    fds[member][i] = -1;
}

static void setup(void)
{
    struct nornic_error why = {""};
    share_dir_make();
    sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (unsigned m = 0; m < MEMBERS; m++) {
        cr_assert_eq(net_share_open(0, &members[m], &why), 0, "%s", why.text);
        for (unsigned i = 0; i < COUNT; i++)
            join(m, i);
    }
}

static void teardown(void)
{
    for (unsigned m = 0; m < MEMBERS; m++)
        net_share_close(members[m]);
    close(sender);
    share_dir_remove();
}

TestSuite(share_many, .init = setup, .fini = teardown, .timeout = 60);

/* Returns how many bytes came to the socket of a member at address `i`. */
static ssize_t receive(unsigned member, unsigned i)
{
    uint8_t payload[2048];
    return fds[member][i] < 0 ? 0 : recv(fds[member][i], payload, sizeof payload, MSG_DONTWAIT);
}

/* The kernel gives a packet for `member` at address `i` to its socket. */
static void expect_at(unsigned member, unsigned i)
{
    uint8_t payload[BYTES];
    union net_sockaddr to;
    const struct nornic_addr addr = addr_of(i);
    socklen_t to_bytes = net_sockaddr_set(&to, &addr, NET_ROCE_UDP_PORT, 0);
    share_packet(payload, sizeof payload, net_share_first_qpn(members[member]) + 17);
    cr_assert_eq(sendto(sender, payload, sizeof payload, 0, &to.any, to_bytes), BYTES);
    cr_expect_eq(receive(member, i), BYTES, "member %u at address %u", member, i);
}

/* The socket of an address has a filter that sends all to the first of the group, as of another process that
 * is wrong. */
static void spoil(unsigned i)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    struct sock_fprog program = {.len = 1, .filter = code};
    cr_assert_eq(setsockopt(fds[0][i], SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program), 0);
}

Test(share_many, each_process_gets_its_packets_at_each_address)
{
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned m = 0; m < MEMBERS; m++)
            expect_at(m, i);
}

Test(share_many, addresses_come_and_go)
{
    for (unsigned i = 0; i < COUNT; i += 3)
        leave(1, i);
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned m = 0; m < MEMBERS; m++)
            if (fds[m][i] >= 0)
                expect_at(m, i);
    for (unsigned i = 0; i < COUNT; i += 3)
        join(1, i);
    for (unsigned i = 0; i < COUNT; i++) {
        const struct nornic_addr addr = addr_of(i);
        for (unsigned m = 0; m < MEMBERS; m++) {
            int at = net_share_find(members[m], &addr);
            cr_assert(at >= 0 && members[m]->sites[at].fd == fds[m][i]);
            expect_at(m, i);
        }
    }
}

/* A process that writes gives all its groups their filters, if another one has written since it last did. */
Test(share_many, a_group_that_others_changed_gets_its_filter_again)
{
    net_share_set_qp1(members[0], true);
    net_share_round(members[0], now_ns += NS_PER_MS);
    spoil(5);
    leave(1, 0);
    for (unsigned i = 1; i < COUNT; i++)
        expect_at(1, i);
}
