/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of a group whose user has gone. A child is the process of that user; two members of the
 * test's own process, which takes the user's rights for it, stand for processes of another one. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "net/share/inner.h"
#include "test/net/share_pair.h"

#define FIRST_USER  65534
#define SECOND_USER 65533
#define MEMBERS     3

static struct nornic_addr addr;
static struct nornic_addr other; /* of those who have two */
static bool has_other[MEMBERS];
static struct net_share *members[MEMBERS];
static int fds[MEMBERS], other_fds[MEMBERS];
static uint64_t now_ns = NS_PER_S;
static uint8_t room[65536];
static struct net_port_counters counters;

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static int join(unsigned i, struct nornic_error *why)
{
    int err = net_share_open(0, &members[i], why);
    fds[i] = err ? err : net_share_join(members[i], &addr, 1, why);
    if (fds[i] >= 0 && has_other[i])
        other_fds[i] = net_share_join(members[i], &other, 1, why);
    return fds[i];
}

/* Whether it had a new socket to be taken. */
static bool renew(unsigned i)
{
    int fd = net_share_renew(members[i], fds[i]);
    if (fd < 0)
        return false;
    close(fds[i]);
    fds[i] = fd;
    return true;
}

/* A round of a member, as its port makes it, which may keep its socket. */
static void round_with(unsigned i, bool renews)
{
    struct net_share_taken taken;
    net_share_round(members[i], now_ns);
    if (renews)
        renew(i);
    while (net_share_take(members[i], &counters, &taken, room, sizeof room))
        ;
}

static void round_of(unsigned i)
{
    round_with(i, true);
}

/* The first user's: lends sockets until it is killed. */
static pid_t start_first(void)
{
    int ready[2];
    char byte;
    struct nornic_error why;
    cr_assert_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        if (seteuid(FIRST_USER) != 0 || join(0, &why) < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        for (;; pause_ms(1), now_ns += NS_PER_MS)
            round_of(0);
    }
    close(ready[1]);
    cr_assert_eq(read(ready[0], &byte, 1), 1, "the first has not begun");
    close(ready[0]);
    return pid;
}

static uid_t owner(int fd)
{
    struct stat of;
    cr_assert_eq(fstat(fd, &of), 0);
    return of.st_uid;
}

/* Until all have sockets of their own user, or for ten seconds. */
static bool is_renewed(unsigned n)
{
    for (unsigned rounds = 0; rounds < 10000; rounds++, now_ns += NS_PER_MS) {
        unsigned own = 0;
        for (unsigned i = 0; i < n; i++) {
            round_of(i);
            own += owner(fds[i]) == SECOND_USER;
        }
        if (own == n)
            return true;
        pause_ms(1);
    }
    return false;
}

/* The kernel gives a packet to the member that owns its number. */
static void expect_owner(unsigned n)
{
    uint8_t payload[64];
    union net_sockaddr to;
    socklen_t to_bytes = net_sockaddr_set(&to, &addr, NET_ROCE_UDP_PORT, 0);
    int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    for (unsigned i = 0; i < n; i++) {
        share_packet(payload, sizeof payload, net_share_first_qpn(members[i]) + 17);
        cr_assert_eq(sendto(sender, payload, sizeof payload, 0, &to.any, to_bytes), (ssize_t)sizeof payload);
        for (unsigned k = 0; k < n; k++)
            cr_expect_eq(recv(fds[k], room, sizeof room, MSG_DONTWAIT),
                         k == i ? (ssize_t)sizeof payload : -1);
    }
    close(sender);
}

/* What has come to a member's socket: its trials among it. */
static void sift(unsigned i)
{
    struct net_udp_arrival arrival = {.src = addr, .dst = addr};
    for (ssize_t got; (got = recv(fds[i], room, sizeof room, MSG_DONTWAIT)) > 0;) {
        arrival.payload_bytes = (uint32_t)got;
        net_share_sift(members[i], &arrival, room, &counters.rx_passed_on);
    }
}

/* Rounds with their trials, which come back through the sockets, until nobody has anything to look at. */
static void settle(unsigned n)
{
    for (unsigned rounds = 0, quiet = 0; rounds < 5000 && quiet < 3; rounds++, now_ns += NS_PER_MS) {
        bool is_quiet = true;
        for (unsigned i = 0; i < n; i++) {
            round_of(i);
            sift(i);
            is_quiet &= net_share_deadline_ns(members[i]) == NET_TIME_NONE;
        }
        quiet = is_quiet ? quiet + 1 : 0;
    }
}

/* The first user's process, and two of the second one's that borrow their sockets of it; it is killed. */
static void begin_orphans(void)
{
    struct nornic_error why = {""};
    addr = share_addr();
    share_dir_make();
    cr_assert_eq(chmod(share_dir_path(), 01777), 0);
    pid_t first = start_first();
    cr_assert_eq(seteuid(SECOND_USER), 0);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_geq(join(i, &why), 0, "%s", why.text);
        cr_expect_eq(owner(fds[i]), FIRST_USER, "it is borrowed");
        round_of(i);
        cr_expect_eq(owner(fds[i]), FIRST_USER, "there is somebody to lend more");
    }
    cr_assert_eq(seteuid(0), 0);
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    cr_assert_eq(seteuid(SECOND_USER), 0);
}

static void end_orphans(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        net_share_close(members[i]);
    cr_assert_eq(seteuid(0), 0);
    /* the first one's names, which only that user may remove there */
    cr_expect_eq(share_dir_clear(), 0);
    share_dir_remove();
}

Test(share_renew, who_is_left_founds_the_group_anew, .timeout = 60)
{
    struct nornic_error why = {""};
    if (geteuid() != 0)
        cr_skip("users are told apart where root can be each of them");
    begin_orphans();
    cr_expect(is_renewed(2), "the sockets stay those of users %u and %u", owner(fds[0]), owner(fds[1]));
    settle(2);
    expect_owner(2);
    cr_assert_geq(join(2, &why), 0, "nobody needs to lend it one: %s", why.text);
    cr_expect_eq(owner(fds[2]), SECOND_USER);
    settle(3);
    expect_owner(3);
    end_orphans(3);
}

/* Those who are left know what they are in the old group, and get the same indexes in the new one: so nothing
 * of what they say of themselves changes, and no packet has gone astray yet. */
Test(share_renew, the_new_group_has_a_filter_though_no_index_changes, .timeout = 60)
{
    if (geteuid() != 0)
        cr_skip("users are told apart where root can be each of them");
    begin_orphans();
    const uint32_t *index[] = {&members[0]->own.places[0].index, &members[1]->own.places[0].index};
    for (unsigned rounds = 0; rounds < 1000; rounds++, now_ns += NS_PER_MS)
        for (unsigned i = 0; i < 2; i++) {
            round_with(i, false);
            sift(i);
        }
    cr_assert_eq(*index[0] + *index[1], 1, "they have not found their indexes: %u and %u", *index[0],
                 *index[1]);
    cr_assert(members[0]->sites[0].is_sure && members[1]->sites[0].is_sure);
    const unsigned first = *index[0] == 0 ? 0 : 1;
    cr_assert(renew(first), "it is the oldest user's, and all have allowed it");
    cr_assert(renew(!first));
    for (unsigned rounds = 0; rounds < 3; rounds++, now_ns += NS_PER_MS)
        for (unsigned i = 0; i < 2; i++)
            round_of(i);
    for (unsigned i = 0; i < 2; i++)
        while (recv(fds[i], room, sizeof room, MSG_DONTWAIT) > 0) /* trials */
            ;
    cr_expect_eq(*index[first], 0);
    cr_expect_eq(*index[!first], 1);
    expect_owner(2);
    end_orphans(2);
}

/* At the first address somebody sleeps who has not allowed it; at the second nobody does. */
Test(share_renew, a_site_that_cannot_be_renewed_keeps_no_other_from_it, .timeout = 60)
{
    int fd = -1;
    if (geteuid() != 0)
        cr_skip("users are told apart where root can be each of them");
    other = share_addr();
    other.b[15]++;
    has_other[0] = true;
    begin_orphans();
    cr_assert_geq(other_fds[0], 0);
    cr_expect_eq(owner(other_fds[0]), FIRST_USER, "it is borrowed");
    for (unsigned rounds = 0; rounds < 1000 && fd < 0; rounds++, now_ns += NS_PER_MS) {
        net_share_round(members[0], now_ns);
        cr_assert_eq(net_share_renew(members[0], fds[0]), -1, "the other one sleeps");
        fd = net_share_renew(members[0], other_fds[0]);
    }
    cr_assert_geq(fd, 0);
    cr_expect_eq(owner(fd), SECOND_USER);
    close(other_fds[0]);
    cr_expect_gt(members[0]->renew_at_ns, now_ns, "the first is tried now and then");
    cr_expect(renew(0) || is_renewed(2), "the sockets stay those of users %u and %u", owner(fds[0]),
              owner(fds[1]));
    cr_expect_eq(members[0]->renew_at_ns, NET_TIME_NONE);
    end_orphans(2);
}
