/* SPDX-License-Identifier: BSD-2-Clause */
/* Several ports of one process stand for as many processes: each opens the registry for itself. */
#include "net/share/share.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/share/filter.h"
#include "net/share/inner.h"
#include "net/udp/open.h"
#include "roce/cm/mad.h"
#include "test/net/share_pair.h"

#define MEMBERS 5

static struct net_share *members[MEMBERS];
static int fds[MEMBERS];
static struct nornic_addr addr;
static uint64_t now_ns = NS_PER_S, passed;
static int sender;
static uint8_t room[65536];
static struct net_port_counters counters;

static void join(unsigned i)
{
    struct nornic_error why = {""};
    cr_assert_eq(net_share_open(0, &members[i], &why), 0, "%s", why.text);
    fds[i] = net_share_join(members[i], &addr, 1, &why);
    cr_assert_geq(fds[i], 0, "%s", why.text);
}

static void setup(void)
{
    share_dir_make();
    addr = share_addr();
    sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (unsigned i = 0; i < MEMBERS; i++)
        join(i);
}

static void leave(unsigned i)
{
    net_share_close(members[i]);
    members[i] = NULL;
}

static void teardown(void)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        if (members[i])
            leave(i);
    close(sender);
    share_dir_remove();
}

TestSuite(share, .init = setup, .fini = teardown, .timeout = 60);

/* What comes to the socket of a member, as its port takes it: how many bytes of it are its own. */
static uint32_t receive(unsigned i, struct net_udp_arrival *arrival)
{
    ssize_t got = recv(fds[i], room, sizeof room, MSG_DONTWAIT);
    *arrival =
        (struct net_udp_arrival){.src = addr, .dst = addr, .payload_bytes = got > 0 ? (uint32_t)got : 0};
    return got > 0 ? net_share_sift(members[i], arrival, room, &passed) : 0;
}

static bool is_quiet(void)
{
    for (unsigned i = 0; i < MEMBERS; i++)
        if (members[i] && net_share_deadline_ns(members[i]) != NET_TIME_NONE)
            return false;
    return true;
}

/* Rounds of all, with time going on, until nobody has anything to look at; what comes is taken in between. */
static void settle(void)
{
    struct net_udp_arrival arrival;
    unsigned quiet = 0;
    for (unsigned round = 0; round < 5000 && quiet < 3; round++, now_ns += NS_PER_MS) {
        for (unsigned i = 0; i < MEMBERS; i++) {
            if (!members[i])
                continue;
            net_share_round(members[i], now_ns);
            for (unsigned k = 0; k < 2 * MEMBERS; k++)
                cr_expect_eq(receive(i, &arrival), 0, "trials are nobody's packets");
        }
        quiet = is_quiet() ? quiet + 1 : 0;
    }
    cr_expect_eq(quiet, 3, "they look on and on");
}

static void send_to(const uint8_t *payload, uint32_t bytes)
{
    union net_sockaddr to;
    socklen_t to_bytes = net_sockaddr_set(&to, &addr, NET_ROCE_UDP_PORT, 0);
    cr_assert_eq(sendto(sender, payload, bytes, 0, &to.any, to_bytes), (ssize_t)bytes);
}

/* The kernel gives each packet to the member that it is for. */
static void expect_right(void)
{
    struct net_udp_arrival arrival;
    uint8_t payload[64];
    for (unsigned i = 0; i < MEMBERS; i++) {
        if (!members[i])
            continue;
        share_packet(payload, sizeof payload, net_share_first_qpn(members[i]) + 17);
        send_to(payload, sizeof payload);
        for (unsigned k = 0; k < MEMBERS; k++)
            cr_expect(!members[k] || receive(k, &arrival) == (k == i ? sizeof payload : 0), "%u at %u", i, k);
    }
}

Test(share, each_gets_what_is_its_own)
{
    expect_right();
    settle();
    expect_right();
    cr_expect_eq(passed, 0);
}

/* The one whose place the last has taken, and the last itself, in every order. */
Test(share, who_leaves_costs_the_others_nothing)
{
    static const unsigned orders[][3] = {{0, 3, 1}, {3, 0, 1}, {4, 0, 2}, {1, 2, 3}};
    for (size_t o = 0; o < array_len(orders); o++) {
        settle();
        for (unsigned k = 0; k < 3; k++)
            leave(orders[o][k]);
        settle();
        expect_right();
        for (unsigned k = 0; k < 3; k++)
            join(orders[o][k]);
        expect_right();
    }
    cr_expect_eq(passed, 0);
}

/* Another process at the address, which waits to be killed. */
static pid_t start(void)
{
    int ready[2];
    char byte;
    cr_assert_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        /* The parent's are not to live on in it. */
        for (unsigned i = 0; i < MEMBERS; i++)
            if (members[i]) {
                close(fds[i]);
                net_share_table_close(&members[i]->table);
            }
        join(1);
        if (write(ready[1], "", 1) != 1)
            _exit(1);
        pause();
    }
    close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

/* Two processes are killed, and nobody sees in which order. */
Test(share, the_dead_are_found_and_buried)
{
    pid_t pids[2];
    leave(1);
    leave(3);
    for (unsigned k = 0; k < 2; k++)
        pids[k] = start();
    join(1);
    join(3);
    settle();
    cr_expect_eq(members[0]->view.count, MEMBERS + 2);
    expect_right();
    for (unsigned k = 0; k < 2; k++)
        cr_assert_eq(kill(pids[k], SIGKILL), 0);
    for (unsigned k = 0; k < 2; k++)
        cr_assert_eq(waitpid(pids[k], NULL, 0), pids[k]);
    settle();
    cr_expect_eq(members[0]->view.count, MEMBERS);
    expect_right();
}

/* Half a record would not be taken: the one that is known is not read, by who looks for what is new, nor by
 * who asks who lives. What is new is. */
Test(share, who_is_known_is_not_read_again)
{
    struct net_share_table *table = &members[1]->table;
    const struct net_share_record half = {.pid = 1};
    const off_t at = 2048 + members[1]->slot * (off_t)sizeof half;
    settle();
    cr_assert_eq(pwrite(table->fd, &half, sizeof half, at), sizeof half);
    cr_expect_not(net_share_catch_up(members[0]));
    cr_expect_eq(members[0]->view.count, MEMBERS);
    net_share_table_release(table, members[1]->slot);
    cr_expect_not(net_share_catch_up(members[0]), "nobody is asked whether he lives");
    cr_expect_eq(members[0]->view.count, MEMBERS);
    cr_assert_eq(net_share_table_lease(table, members[1]->slot), 0);
    cr_expect_not(net_share_refresh(members[0]));
    cr_expect_eq(members[0]->view.count, MEMBERS);
    cr_assert_eq(net_share_table_write(table, members[1]->slot, &half), 0);
    net_share_catch_up(members[0]);
    cr_expect_eq(members[0]->view.records[members[1]->slot].place_count, 0);
    cr_assert_eq(net_share_table_write(table, members[1]->slot, &members[1]->own), 0);
}

/* Its record is still there, and the same. */
Test(share, the_dead_stay_dead)
{
    settle();
    net_share_table_release(&members[1]->table, members[1]->slot);
    cr_expect_not(net_share_catch_up(members[0]), "not asked, as nothing is new");
    cr_expect_eq(members[0]->view.count, MEMBERS);
    cr_expect(net_share_refresh(members[0]));
    cr_expect_eq(members[0]->view.count, MEMBERS - 1);
    cr_expect(net_share_catch_up(members[0]));
    cr_expect_eq(members[0]->view.count, MEMBERS - 1);
    cr_assert_eq(net_share_table_lease(&members[1]->table, members[1]->slot), 0);
}

static bool wakes(unsigned i)
{
    int own[NET_SHARE_FDS];
    struct pollfd polled[NET_SHARE_FDS];
    unsigned count = net_share_fds(members[i], own);
    for (unsigned k = 0; k < count; k++)
        polled[k] = (struct pollfd){.fd = own[k], .events = POLLIN};
    return poll(polled, count, 0) > 0;
}

Test(share, who_sleeps_hears_who_comes_and_goes)
{
    leave(4);
    settle();
    cr_expect_not(wakes(0));
    join(4);
    cr_expect(wakes(0), "somebody has come");
    settle();
    cr_expect_not(wakes(0));
    leave(4);
    cr_expect(wakes(0), "somebody has gone");
    settle();
    cr_expect_not(wakes(0));
}

/* A bell that is not heard, as of a socket that is not there, keeps nobody from it who looks. */
Test(share, who_looks_needs_no_bell)
{
    char name[128];
    leave(4);
    settle();
    snprintf(name, sizeof name, "%s.%ub", members[0]->table.path, members[0]->slot);
    cr_assert_eq(unlink(name), 0);
    cr_expect_not(net_share_has_news(members[0]));
    join(4);
    cr_expect(net_share_has_news(members[0]));
}

/* With a filter that is wrong about everybody packets arrive all the same, and the filter is made right. */
Test(share, what_goes_astray_is_handed_over)
{
    static struct sock_filter code[NET_SHARE_FILTER_MAX];
    struct net_udp_arrival arrival;
    struct net_share_taken taken;
    uint8_t payload[64];
    settle();
    struct net_share_view *view = &members[0]->view;
    for (unsigned i = 0; i < view->count; i++) {
        struct net_share_place *place = &view->records[view->slots[i]].places[0];
        place->index = (place->index + 1) % MEMBERS;
    }
    unsigned count = net_share_filter(view, &addr, 0, code);
    cr_assert_eq(net_share_filter_attach(fds[0], code, count), 0);
    share_packet(payload, sizeof payload, net_share_first_qpn(members[2]) + 17);
    send_to(payload, sizeof payload);
    for (unsigned i = 0; i < MEMBERS; i++)
        cr_expect_eq(receive(i, &arrival), 0);
    cr_expect_eq(passed, 1);
    cr_assert(net_share_take(members[2], &counters, &taken, room, sizeof room));
    cr_expect_eq(taken.arrival.payload_bytes, sizeof payload);
    cr_expect_arr_eq(room, payload, sizeof payload);
    cr_expect(nornic_addr_equal(&taken.arrival.dst, &addr));
    settle();
    expect_right();
    cr_expect_eq(passed, 1);
}

/* Whatever the filter says: all that comes goes to that member's socket. */
static void lead_all_to(unsigned i)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, members[i]->own.places[0].index)};
    cr_assert_eq(net_share_filter_attach(fds[i], code, array_len(code)), 0);
}

/* A socket does not take along what came to it by a filter that was wrong. */
Test(share, who_leaves_takes_no_packets_along)
{
    struct net_share_taken taken;
    uint8_t payload[64];
    for (unsigned how = 0; how < 2; how++) {
        settle();
        lead_all_to(3);
        for (unsigned i = 0; i < 3; i++) {
            share_packet(payload, sizeof payload, net_share_first_qpn(members[i]) + 17);
            send_to(payload, sizeof payload);
        }
        if (how == 0)
            net_share_leave(members[3], fds[3]);
        leave(3);
        for (unsigned i = 0; i < 3; i++) {
            cr_assert(net_share_take(members[i], &counters, &taken, room, sizeof room), "%u", i);
            cr_expect_eq(taken.arrival.payload_bytes, sizeof payload);
            cr_expect_not(net_share_take(members[i], &counters, &taken, room, sizeof room));
        }
        join(3);
    }
}

/* Nobody listens at those ports, says ICMP, and a socket of the group is told, by the port which. */
static bool is_refused(unsigned i)
{
    struct pollfd refused = {.fd = fds[i]};
    union net_sockaddr to;
    for (uint16_t port = 1; port < 200 && !(refused.revents & POLLERR); port++) {
        socklen_t to_bytes = net_sockaddr_set(&to, &addr, port, 0);
        cr_assert_eq(sendto(fds[i], "", 1, 0, &to.any, to_bytes), 1);
        poll(&refused, 1, 0);
    }
    return refused.revents & POLLERR;
}

Test(share, who_leaves_with_an_error_takes_no_packets_along)
{
    struct net_share_taken taken;
    uint8_t payload[64];
    settle();
    lead_all_to(3);
    share_packet(payload, sizeof payload, net_share_first_qpn(members[0]) + 17);
    send_to(payload, sizeof payload);
    cr_assert(is_refused(3));
    leave(3);
    cr_assert(net_share_take(members[0], &counters, &taken, room, sizeof room));
    cr_expect_eq(taken.arrival.payload_bytes, sizeof payload);
}

/* Nothing can come to it between the last packet that is handed over and its end. */
Test(share, who_is_about_to_leave_is_in_no_ones_way)
{
    struct net_udp_arrival arrival;
    uint8_t payload[64];
    unsigned got = 0;
    settle();
    lead_all_to(4);
    net_share_empty(members[4], 0);
    share_packet(payload, sizeof payload, net_share_first_qpn(members[4]) + 17);
    send_to(payload, sizeof payload);
    cr_expect_eq(recv(fds[4], room, sizeof room, MSG_DONTWAIT), -1);
    for (unsigned i = 0; i < 4; i++) {
        got += recv(fds[i], room, sizeof room, MSG_DONTWAIT) == (ssize_t)sizeof payload;
        cr_expect_eq(receive(i, &arrival), 0);
    }
    cr_expect_eq(got, 1, "the kernel gives it to one of the others");
}

/* One who came a moment ago, of whom a process has not heard: its news are there with the packet. */
Test(share, a_packet_for_who_has_just_come_is_not_nobodys)
{
    struct net_udp_arrival arrival = {.src = addr, .dst = addr, .payload_bytes = 64};
    struct net_share_taken taken;
    leave(4);
    settle();
    cr_expect_not(net_share_is_served(members[0], 1)); /* which reads the table */
    join(4);
    share_packet(room, 64, net_share_first_qpn(members[4]) + 17);
    cr_expect_eq(net_share_sift(members[0], &arrival, room, &passed), 0);
    cr_assert(net_share_take(members[4], &counters, &taken, room, sizeof room));
    cr_expect_eq(taken.arrival.payload_bytes, 64);
}

/* The kernel puts packets of one flow together, whosever they are. */
Test(share, a_mixed_train_is_taken_apart)
{
    enum { PKTS = 12, SEG_BYTES = 100, LAST_BYTES = 40 };
    static const unsigned whose[PKTS] = {0, 0, 1, 2, 2, 0, 1, 1, 1, 0, 2, 0};
    struct net_udp_arrival arrival = {.src = addr,
                                      .dst = addr,
                                      .payload_bytes = (PKTS - 1) * SEG_BYTES + LAST_BYTES,
                                      .seg_bytes = SEG_BYTES};
    struct net_share_taken taken;
    settle();
    for (unsigned i = 0; i < PKTS; i++) {
        share_packet(room + i * SEG_BYTES, i + 1 < PKTS ? SEG_BYTES : LAST_BYTES,
                     net_share_first_qpn(members[whose[i]]) + 17);
        room[i * SEG_BYTES + 30] = (uint8_t)i;
    }
    uint32_t kept = net_share_sift(members[0], &arrival, room, &passed);
    cr_assert_eq(kept, 4 * SEG_BYTES + LAST_BYTES);
    static const uint8_t own[] = {0, 1, 5, 9, 11};
    for (unsigned i = 0; i < sizeof own; i++)
        cr_expect_eq(room[i * SEG_BYTES + 30], own[i]);
    cr_expect_eq(passed, 7);
    static const struct {
        unsigned to, first, pkts;
    } runs[] = {{1, 2, 1}, {1, 6, 3}, {2, 3, 2}, {2, 10, 1}};
    for (unsigned r = 0; r < array_len(runs); r++) {
        cr_assert(net_share_take(members[runs[r].to], &counters, &taken, room, sizeof room), "run %u", r);
        cr_expect_eq(taken.arrival.payload_bytes, runs[r].pkts * SEG_BYTES);
        cr_expect_eq(taken.arrival.seg_bytes, runs[r].pkts > 1 ? SEG_BYTES : 0);
        for (unsigned i = 0; i < runs[r].pkts; i++)
            cr_expect_eq(room[i * SEG_BYTES + 30], runs[r].first + i);
    }
    cr_expect_eq(net_share_deadline_ns(members[0]), members[0]->trial_at_ns);
}

/* What was handed over goes no further, so that two that are wrong about each other do not play ball. */
Test(share, what_was_handed_over_wrongly_ends_there)
{
    struct net_udp_arrival arrival = {.src = addr, .dst = addr, .payload_bytes = 64};
    struct net_share_taken taken;
    settle();
    share_packet(room, 64, net_share_first_qpn(members[1]) + 17);
    cr_assert_eq(net_share_sift(members[0], &arrival, room, &passed), 0);
    leave(1);
    join(1); /* with another slot, most likely, and its socket's name is gone in any case */
    cr_expect_not(net_share_take(members[1], &counters, &taken, room, sizeof room));
    arrival = (struct net_udp_arrival){.src = addr, .dst = addr, .payload_bytes = 64};
    share_packet(room, 64, net_share_first_qpn(members[2]) + 17);
    cr_assert_eq(net_share_sift(members[0], &arrival, room, &passed), 0);
    members[2]->own.place_count = 0; /* it has given the address up */
    cr_assert(net_share_take(members[2], &counters, &taken, room, sizeof room));
    cr_expect_eq(taken.arrival.payload_bytes, 0);
    members[2]->own.place_count = 1;
}

Test(share, a_service_is_one_process_s)
{
    struct net_udp_arrival arrival;
    uint8_t payload[NET_SHARE_MAD_BYTES];
    const uint64_t service = 0x01060000u + 7174;
    cr_assert_eq(net_share_serve(members[3], service), 0);
    cr_expect_eq(net_share_serve(members[1], service), -EADDRINUSE);
    cr_expect(net_share_is_served(members[1], service));
    cr_expect_not(net_share_is_served(members[3], service), "not by another one");
    share_mad(payload, ROCE_CM_REQ, service);
    send_to(payload, sizeof payload);
    for (unsigned i = 0; i < MEMBERS; i++)
        cr_expect_eq(receive(i, &arrival), i == 3 ? sizeof payload : 0);
    net_share_unserve(members[3], service);
    settle();
    cr_expect_not(net_share_is_served(members[1], service));
    cr_expect_eq(net_share_serve(members[1], service), 0);
    send_to(payload, sizeof payload);
    for (unsigned i = 0; i < MEMBERS; i++)
        cr_expect_eq(receive(i, &arrival), i == 1 ? sizeof payload : 0);
}

/* A port at another address may listen to the same. */
Test(share, a_service_is_of_an_address)
{
    struct nornic_error why;
    struct nornic_addr other = addr;
    const uint64_t service = 0x01060000u + 7174;
    other.b[15] = 2;
    leave(0);
    cr_assert_eq(net_share_open(0, &members[0], &why), 0);
    fds[0] = net_share_join(members[0], &other, 1, &why);
    cr_assert_geq(fds[0], 0, "%s", why.text);
    cr_expect_eq(net_share_serve(members[0], service), 0);
    cr_expect_eq(net_share_serve(members[1], service), 0);
}

/* A reject of what has no id yet. */
Test(share, what_may_be_anybodys_goes_to_all_that_have_a_cm)
{
    struct net_udp_arrival arrival;
    uint8_t payload[NET_SHARE_MAD_BYTES];
    for (unsigned i = 0; i < 3; i++)
        net_share_set_qp1(members[i], true);
    settle();
    share_mad(payload, ROCE_CM_REJ, 0);
    send_to(payload, sizeof payload);
    cr_expect_eq(receive(0, &arrival), sizeof payload, "the oldest");
    for (unsigned i = 1; i < MEMBERS; i++) {
        cr_expect_eq(receive(i, &arrival), 0);
        struct net_share_taken taken = {.arrival = {.payload_bytes = 0}};
        cr_expect_eq(net_share_take(members[i], &counters, &taken, room, sizeof room), i < 3);
        cr_expect_eq(taken.arrival.payload_bytes, i < 3 ? sizeof payload : 0);
        cr_expect(is_quiet(), "the filter was right");
    }
}

Test(share, slots_are_leased_once)
{
    struct net_share *again;
    struct nornic_error why = {""};
    uint32_t first = net_share_first_qpn(members[0]);
    for (unsigned i = 0; i < MEMBERS; i++)
        for (unsigned k = 0; k < i; k++)
            cr_expect_neq(net_share_id_prefix(members[i]), net_share_id_prefix(members[k]));
    cr_expect_eq(first % NET_SHARE_QPNS, 0);
    cr_expect_eq(net_share_open(first + 100, &again, &why), -EADDRINUSE);
    cr_expect(strstr(why.text, "another process"), "%s", why.text);
    cr_expect_eq(net_share_open(0xff0000, &again, &why), -EINVAL, "those of multicast");
    leave(0);
    cr_expect_eq(net_share_open(first + 100, &members[0], &why), 0, "%s", why.text);
    cr_expect_eq(net_share_first_qpn(members[0]), first);
}

/* Who meets elsewhere, or shares nothing, is refused and refuses. */
Test(share, an_address_is_shared_in_one_place)
{
    struct nornic_error why = {""};
    struct net_share *elsewhere;
    char other[] = "/tmp/nn-share-XXXXXX";
    cr_assert_not_null(mkdtemp(other));
    setenv("NORNIC_RUNTIME_DIR", other, 1);
    cr_assert_eq(net_share_open(0, &elsewhere, &why), 0, "%s", why.text);
    cr_expect_eq(net_share_join(elsewhere, &addr, 1, &why), -EADDRINUSE);
    cr_expect(strstr(why.text, "is taken by"), "%s", why.text);
    net_share_close(elsewhere);
    cr_expect_eq(rmdir(other), 0);
    cr_expect_eq(net_udp_socket_open(&addr, 1, NET_UDP_ALONE, &why), -EADDRINUSE);
}

/* Anybody may send to queue pair 0, and write nonsense into the directory. */
Test(share, what_is_forged_changes_nothing)
{
    struct net_udp_arrival arrival;
    uint8_t payload[20] = {0};
    settle();
    put_be24(payload + NET_SHARE_PSN_AT, 2);
    send_to(payload, sizeof payload);
    for (unsigned i = 0; i < MEMBERS; i++)
        cr_expect_eq(receive(i, &arrival), 0);
    uint32_t index = members[0]->own.places[0].index;
    arrival = (struct net_udp_arrival){.src = addr, .dst = addr, .payload_bytes = sizeof payload};
    put_be24(payload + NET_SHARE_PSN_AT, index + 1);
    cr_expect_eq(net_share_sift(members[0], &arrival, payload, &passed), 0);
    cr_expect_eq(members[0]->own.places[0].index, index);
    for (unsigned slot = 0; slot < NET_SHARE_SLOTS; slot++) {
        struct net_share_record nonsense;
        memset(&nonsense, (int)slot, sizeof nonsense);
        bool is_ours = false;
        for (unsigned i = 0; i < MEMBERS; i++)
            is_ours |= net_share_id_prefix(members[i]) == slot;
        if (!is_ours)
            cr_assert_eq(net_share_table_write(&members[0]->table, slot, &nonsense), 0);
    }
    settle();
    expect_right();
    cr_expect_eq(members[0]->view.count, MEMBERS);
}
