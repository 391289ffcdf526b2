/* SPDX-License-Identifier: BSD-2-Clause */
/* The readiness of a descriptor, as poll() and epoll see it. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/socket/mirror.h"

static short seen(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP};
    return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

static int watch(int fd)
{
    int ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET};
    cr_assert_eq(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event), 0);
    return ep;
}

static uint32_t edge(int ep)
{
    struct epoll_event event;
    return epoll_wait(ep, &event, 1, 0) == 1 ? event.events : 0;
}

Test(mirror, levels_go_up_and_down)
{
    struct smcr_mirror m;
    int fd = smcr_mirror_open(&m, SOCK_CLOEXEC);
    cr_assert_geq(fd, 0);
    cr_assert_eq(seen(fd), POLLOUT);
    for (int i = 0; i < 5; i++) {
        smcr_mirror_lower_out(&m, fd);
        cr_assert_eq(seen(fd), 0, "round %d", i);
        smcr_mirror_raise_in(&m, false);
        cr_assert_eq(seen(fd), POLLIN);
        smcr_mirror_raise_out(&m);
        cr_assert_eq(seen(fd), POLLIN | POLLOUT, "round %d", i);
        smcr_mirror_lower_in(&m, fd);
        cr_assert_eq(seen(fd), POLLOUT);
        smcr_mirror_raise_pri(&m);
        cr_assert_eq(seen(fd), POLLIN | POLLPRI | POLLOUT);
        smcr_mirror_lower_in(&m, fd);
        cr_assert_eq(seen(fd), POLLOUT);
    }
    smcr_mirror_raise_rdhup(&m);
    cr_assert_eq(seen(fd), POLLIN | POLLOUT | POLLRDHUP);
    smcr_mirror_lower_in(&m, fd);
    cr_assert_eq(seen(fd), POLLIN | POLLOUT | POLLRDHUP, "the end of a stream stays readable");
    smcr_mirror_raise_hup(&m);
    cr_assert_eq(seen(fd), POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
    close(fd);
    smcr_mirror_close(&m);
}

Test(mirror, an_error_shows_until_it_is_asked_for)
{
    for (int full = 0; full < 2; full++) {
        struct smcr_mirror m;
        int fd = smcr_mirror_open(&m, SOCK_CLOEXEC);
        if (full)
            smcr_mirror_lower_out(&m, fd);
        smcr_mirror_raise_err(&m);
        cr_assert_eq(seen(fd), POLLIN | POLLOUT | POLLRDHUP | POLLHUP | POLLERR);
        smcr_mirror_lower_err(&m, fd);
        cr_assert_eq(seen(fd), POLLIN | POLLOUT | POLLRDHUP | POLLHUP);
        close(fd);
    }
}

Test(mirror, each_rise_is_an_edge)
{
    struct smcr_mirror m;
    int fd = smcr_mirror_open(&m, SOCK_CLOEXEC), ep = watch(fd);
    cr_assert_eq(edge(ep), EPOLLOUT);
    cr_assert_eq(edge(ep), 0);
    for (int i = 0; i < 100; i++) {
        smcr_mirror_raise_in(&m, true);
        cr_assert_eq(edge(ep), EPOLLIN | EPOLLOUT, "round %d: what comes while bytes wait is news", i);
        smcr_mirror_raise_in(&m, false);
        cr_assert_eq(edge(ep), 0, "round %d: nothing came", i);
        if (i % 10 == 9)
            smcr_mirror_lower_in(&m, fd);
        smcr_mirror_lower_out(&m, fd);
        cr_assert_eq(edge(ep) & EPOLLOUT, 0);
        smcr_mirror_raise_out(&m);
        cr_assert_eq(edge(ep) & EPOLLOUT, EPOLLOUT, "round %d", i);
    }
    close(ep);
    close(fd);
    smcr_mirror_close(&m);
}

Test(mirror, the_last_of_the_duplicates_drops_it)
{
    struct smcr_mirror m;
    int fd = smcr_mirror_open(&m, SOCK_CLOEXEC), other = dup(fd);
    cr_assert_not(smcr_mirror_is_dropped(&m));
    close(fd);
    cr_assert_not(smcr_mirror_is_dropped(&m));
    smcr_mirror_raise_in(&m, false);
    cr_assert_eq(seen(other), POLLIN | POLLOUT);
    close(other);
    cr_assert(smcr_mirror_is_dropped(&m));
    smcr_mirror_close(&m);
}

/* Why an outer end is not made to refuse what the kernel's write() gives it (sock/socket/mirror.h): with the end of
 * the peer's stream it would hang up. */
Test(mirror, an_end_that_refuses_writes_hangs_up_with_the_peers_end)
{
    struct smcr_mirror m;
    int fd = smcr_mirror_open(&m, SOCK_CLOEXEC);
    cr_assert_geq(fd, 0);
    cr_assert_eq(shutdown(m.inner, SHUT_RD), 0);
    cr_assert_eq(send(fd, "x", 1, MSG_NOSIGNAL), -1);
    cr_assert_eq(errno, EPIPE);
    smcr_mirror_raise_rdhup(&m);
    cr_assert(seen(fd) & POLLHUP, "then it can be done after all");
    smcr_mirror_close(&m);
    close(fd);
}
