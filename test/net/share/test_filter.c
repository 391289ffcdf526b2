/* SPDX-License-Identifier: BSD-2-Clause */
/* The filter is tried where it runs, in the kernel, with sockets that stand for processes; and it agrees with
 * the rules that a process follows. */
#include "net/share/filter.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/udp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/bytes.h"
#include "net/udp/open.h"
#include "roce/cm/mad.h"
#include "test/net/share_pair.h"

#define MEMBERS 4

static const uint8_t slots[MEMBERS] = {3, 77, 200, 254};
static int fds[MEMBERS], sender;
static struct nornic_addr addr;
static union net_sockaddr to;
static socklen_t to_bytes;
static struct net_share_view view;

static void setup(void)
{
    struct nornic_error why = {""};
    addr = share_addr();
    to_bytes = net_sockaddr_set(&to, &addr, NET_ROCE_UDP_PORT, 0);
    view.records = calloc(NET_SHARE_SLOTS, sizeof *view.records);
    cr_assert_not_null(view.records);
    for (unsigned i = 0; i < MEMBERS; i++) {
        struct net_share_record *record = &view.records[slots[i]];
        fds[i] = net_udp_socket_open(&addr, 1, i ? NET_UDP_BESIDE_OTHERS : NET_UDP_FIRST_OF_MANY, &why);
        cr_assert_geq(fds[i], 0, "%s", why.text);
        *record = (struct net_share_record){.pid = i + 1,
                                            .has_qp1 = i != 0,
                                            .opened_ns = i,
                                            .place_count = 1,
                                            .places = {{.addr = addr, .index = i}}};
        record->services[record->service_count++] = 0x01060000u + 1000 + i;
        record->services[record->service_count++] = 0x01110000u + 1000 + i;
        view.slots[view.count++] = slots[i];
    }
    sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(sender, 0);
}

static void teardown(void)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    close(sender);
    free(view.records);
}

TestSuite(share_filter, .init = setup, .fini = teardown);

static void attach(unsigned by)
{
    static struct sock_filter code[NET_SHARE_FILTER_MAX];
    unsigned count = net_share_filter(&view, &addr, 0, code);
    cr_assert_leq(count, NET_SHARE_FILTER_MAX);
    cr_assert_eq(net_share_filter_attach(fds[by], code, count), 0);
}

/* Which socket got what was sent; MEMBERS: none, or more than one. A datagram to the loopback interface is
 * there when the call that sends it returns. */
static unsigned receiver(void)
{
    unsigned who = MEMBERS, count = 0;
    uint8_t room[65536];
    for (unsigned i = 0; i < MEMBERS; i++) {
        ssize_t got;
        bool is_any = false;
        while (fds[i] >= 0 && (got = recv(fds[i], room, sizeof room, MSG_DONTWAIT)) > 0)
            is_any = true;
        who = is_any ? i : who;
        count += is_any;
    }
    return count == 1 ? who : MEMBERS;
}

static unsigned send_payload(const uint8_t *payload, uint32_t bytes, uint32_t seg_bytes)
{
    int seg = (int)seg_bytes;
    cr_assert_eq(setsockopt(sender, IPPROTO_UDP, UDP_SEGMENT, &seg, sizeof seg), 0);
    cr_assert_eq(sendto(sender, payload, bytes, 0, &to.any, to_bytes), (ssize_t)bytes);
    return receiver();
}

Test(share_filter, packets_and_trains_go_to_the_owner_of_the_number)
{
    static uint8_t payload[40000];
    attach(MEMBERS - 1);
    for (unsigned i = 0; i < MEMBERS; i++)
        for (uint32_t low = 0; low < 0x10000; low += 0x3333) {
            uint32_t qpn = (uint32_t)slots[i] << 16 | low;
            share_packet(payload, 100, qpn);
            cr_expect_eq(send_payload(payload, 100, 0), i, "QPN %06x", qpn);
            cr_expect_eq(net_share_whose(&view, &addr, 0, payload, 100), slots[i]);
            for (unsigned k = 0; k < 40; k++)
                share_packet(payload + k * 1000, 1000, qpn);
            cr_expect_eq(send_payload(payload, sizeof payload, 1000), i, "a train to QPN %06x", qpn);
        }
}

Test(share_filter, what_nobody_has_comes_to_somebody)
{
    uint8_t payload[100];
    attach(0);
    share_packet(payload, sizeof payload, 0x050000);
    cr_expect_lt(send_payload(payload, sizeof payload, 0), MEMBERS);
    cr_expect_eq(net_share_whose(&view, &addr, 0, payload, sizeof payload), NET_SHARE_NOBODY);
    cr_expect_lt(send_payload(payload, 3, 0), MEMBERS, "no BTH");
    cr_expect_eq(net_share_whose(&view, &addr, 0, payload, 3), NET_SHARE_NOBODY);
}

Test(share_filter, a_trial_comes_to_the_index_that_it_names)
{
    uint8_t payload[20] = {0};
    attach(1);
    for (uint32_t i = 0; i < MEMBERS; i++) {
        put_be24(payload + NET_SHARE_PSN_AT, i);
        cr_expect_eq(send_payload(payload, sizeof payload, 0), i);
    }
    cr_expect_eq(net_share_whose(&view, &addr, 0, payload, sizeof payload), NET_SHARE_TRIAL);
}

Test(share_filter, messages_of_the_cm_go_whom_they_concern)
{
    static const uint8_t requests[] = {ROCE_CM_REQ, ROCE_CM_SIDR_REQ};
    static const uint8_t others[] = {ROCE_CM_REP, ROCE_CM_REJ, ROCE_CM_DREQ, ROCE_CM_SIDR_REP};
    uint8_t payload[NET_SHARE_MAD_BYTES];
    attach(0);
    for (unsigned i = 0; i < MEMBERS; i++) {
        for (unsigned k = 0; k < 2; k++) {
            share_mad(payload, requests[k], (k ? 0x01110000u : 0x01060000u) + 1000 + i);
            cr_expect_eq(send_payload(payload, sizeof payload, 0), i);
            cr_expect_eq(net_share_whose(&view, &addr, 0, payload, sizeof payload), slots[i]);
        }
        for (unsigned k = 0; k < sizeof others; k++) {
            share_mad(payload, others[k], (uint32_t)slots[i] << 24 | 0x123456);
            cr_expect_eq(send_payload(payload, sizeof payload, 0), i, "message %02x", others[k]);
            cr_expect_eq(net_share_whose(&view, &addr, 0, payload, sizeof payload), slots[i]);
        }
    }
}

/* The oldest that has a queue pair 1 is member 1. */
Test(share_filter, what_is_for_none_goes_to_one_that_has_a_cm)
{
    uint8_t payload[NET_SHARE_MAD_BYTES];
    attach(0);
    share_mad(payload, ROCE_CM_REQ, 0x01060000u + 999);
    cr_expect_eq(send_payload(payload, sizeof payload, 0), 1);
    cr_expect_eq(net_share_whose(&view, &addr, 0, payload, sizeof payload), slots[1]);
    share_mad(payload, ROCE_CM_REQ, UINT64_C(0x100000000) + 0x01060000u + 1000);
    cr_expect_eq(send_payload(payload, sizeof payload, 0), 1, "half of a service id is none");
    share_mad(payload, ROCE_CM_DREQ, 0x05000001);
    cr_expect_eq(send_payload(payload, sizeof payload, 0), 1, "a connection of a process that is gone");
    share_packet(payload, sizeof payload, 1);
    cr_expect_eq(send_payload(payload, sizeof payload, 0), 1, "another class of management");
    share_mad(payload, ROCE_CM_REJ, 0);
    cr_expect_eq(net_share_whose(&view, &addr, 0, payload, sizeof payload), NET_SHARE_ALL);
}

/* As long as nobody has made the filter anew, the last one's packets are another's. */
Test(share_filter, the_last_takes_the_place_of_one_that_leaves)
{
    uint8_t payload[20] = {0};
    attach(0);
    close(fds[0]);
    fds[0] = -1;
    put_be24(payload + NET_SHARE_PSN_AT, 0);
    cr_expect_eq(send_payload(payload, sizeof payload, 0), MEMBERS - 1);
    view.records[slots[MEMBERS - 1]].places[0].index = 0;
    attach(1);
    share_packet(payload, sizeof payload, (uint32_t)slots[MEMBERS - 1] << 16);
    cr_expect_eq(send_payload(payload, sizeof payload, 0), MEMBERS - 1);
}

/* Of somebody who is not at the address the filter does not know. */
Test(share_filter, an_address_is_shared_by_those_who_have_it)
{
    uint8_t payload[NET_SHARE_MAD_BYTES];
    view.records[slots[1]].places[0].addr.b[15] = 9;
    cr_expect_eq(net_share_count_at(&view, &addr, 0), MEMBERS - 1);
    cr_expect_eq(net_share_count_at(&view, &addr, 5), 0, "a link-local one of another interface");
    cr_expect_eq(net_share_server_at(&view, &addr, 0, 0x01060000u + 1001), NET_SHARE_NOBODY);
    attach(0);
    share_mad(payload, ROCE_CM_REQ, 0x01060000u + 1001);
    cr_expect_eq(send_payload(payload, sizeof payload, 0), 2, "the oldest that has a queue pair 1 there");
}

Test(share_filter, a_socket_alone_has_no_group)
{
    struct nornic_error why;
    struct sock_filter code[NET_SHARE_FILTER_MAX];
    struct nornic_addr alone = addr;
    alone.b[15] = 2;
    int fd = net_udp_socket_open(&alone, 1, NET_UDP_FIRST_OF_MANY, &why);
    cr_assert_geq(fd, 0, "%s", why.text);
    unsigned count = net_share_filter(&view, &alone, 0, code);
    cr_expect_eq(net_share_filter_attach(fd, code, count), -EINVAL);
    cr_expect_eq(net_udp_socket_open(&alone, 1, NET_UDP_FIRST_OF_MANY, &why), -EADDRINUSE,
                 "the first binds alone");
    close(fd);
}
