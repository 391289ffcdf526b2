/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/kernel/claim.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/now.h"

/* Of no interface, so that nothing that runs here takes part. */
#define NOWHERE 0xfffffff0u

static int asker;

static void setup(void)
{
    asker = net_claim_asker();
    cr_assert_geq(asker, 0);
}

static void teardown(void)
{
    close(asker);
}

TestSuite(claim, .init = setup, .fini = teardown);

Test(claim, has_one_holder_and_ends_with_it)
{
    unsigned ifindex = NOWHERE - (unsigned)getpid() % 10000;
    int fd = net_claim_take("service", ifindex, UINT64_C(0x10612677));
    cr_assert_geq(fd, 0);
    cr_expect_eq(net_claim_take("service", ifindex, UINT64_C(0x10612677)), -EADDRINUSE);
    cr_expect(net_claim_is_taken(asker, "service", ifindex, UINT64_C(0x10612677)));
    cr_expect_not(net_claim_is_taken(asker, "service", ifindex, UINT64_C(0x10612678)));
    cr_expect_not(net_claim_is_taken(asker, "service", ifindex - 1, UINT64_C(0x10612677)));
    cr_expect_not(net_claim_is_taken(asker, "qp1", ifindex, UINT64_C(0x10612677)));
    close(fd);
    cr_expect_not(net_claim_is_taken(asker, "service", ifindex, UINT64_C(0x10612677)));
}

Test(claim, numbers_are_given_from_below)
{
    unsigned ifindex = NOWHERE - (unsigned)getpid() % 10000;
    int fds[3];
    for (int i = 0; i < 3; i++)
        cr_assert_geq(fds[i] = net_claim_take_any("packet", ifindex, 3), 0);
    cr_expect_eq(net_claim_take_any("packet", ifindex, 3), -EADDRINUSE);
    cr_expect_eq(net_claim_count(asker, "packet", ifindex, NET_CLAIM_PACKETS), 3);
    close(fds[1]);
    cr_expect_eq(net_claim_count(asker, "packet", ifindex, NET_CLAIM_PACKETS), 2);
    cr_assert_geq(fds[1] = net_claim_take_any("packet", ifindex, 3), 0);
    cr_expect(net_claim_is_taken(asker, "packet", ifindex, 1));
    for (int i = 0; i < 3; i++)
        close(fds[i]);
}

Test(claim, a_killed_process_holds_nothing)
{
    unsigned ifindex = NOWHERE - (unsigned)getpid() % 10000;
    int ready[2];
    char byte;
    cr_assert_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (net_claim_take("xdp", ifindex, 0) < 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        pause();
    }
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    cr_expect(net_claim_is_taken(asker, "xdp", ifindex, 0));
    cr_assert_eq(kill(pid, SIGKILL), 0);
    cr_assert_eq(waitpid(pid, NULL, 0), pid);
    cr_expect_not(net_claim_is_taken(asker, "xdp", ifindex, 0));
}

/* Who yields, and when it had yielded. */
struct yielder {
    int fd;
    uint64_t yielded_ns;
};

static void *yield_soon(void *ctx)
{
    struct yielder *yielder = ctx;
    nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
    close(yielder->fd);
    yielder->yielded_ns = base_now_ns();
    return NULL;
}

/* Whether the claim was given up within 15 ms of the call, so that a look at it was still to come; `stays` is
 * what the caller was told. */
static bool was_in_time(unsigned ifindex, bool *stays)
{
    struct yielder yielder = {.fd = net_claim_take("xdp", ifindex, 0)};
    pthread_t thread;
    cr_assert_geq(yielder.fd, 0);
    cr_assert_eq(pthread_create(&thread, NULL, yield_soon, &yielder), 0);
    uint64_t begun_ns = base_now_ns();
    *stays = net_claim_stays_taken(asker, "xdp", ifindex, 1);
    pthread_join(thread, NULL);
    return yielder.yielded_ns < begun_ns + 15000000;
}

/* An XDP port and a packet port that come at the same time: each claims, then sees the other. The first
 * yields, and the second gets the interface. On a machine that has no processor for the first meanwhile, they
 * are tried again. */
Test(claim, who_waits_outlasts_who_yields)
{
    unsigned ifindex = NOWHERE - (unsigned)getpid() % 10000, tries = 0;
    int fd = net_claim_take("xdp", ifindex, 0);
    bool stays;
    cr_assert_geq(fd, 0);
    cr_expect(net_claim_stays_taken(asker, "xdp", ifindex, 1));
    close(fd);
    while (!was_in_time(ifindex, &stays))
        cr_assert_lt(++tries, 500, "it never yielded in time");
    cr_expect_not(stays);
}
