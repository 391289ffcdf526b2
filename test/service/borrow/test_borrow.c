/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's half of a lent connection, over memory in which nothing but the test plays the service. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "base/now.h"
#include "service/borrow/inner.h"
#include "test/service/lent.h"

TestSuite(borrow, .timeout = 60);

static struct borrow_service service;
static struct borrow lent;

static void set_up(void)
{
    lent_begin(&service, &lent);
}

static void tear_down(void)
{
    lent_end(&service);
}

static ssize_t send_bytes(size_t n)
{
    static char bytes[2 * LENT_RING_BYTES];
    struct iovec iov = {bytes, n};
    memset(bytes, 0x5a, sizeof bytes);
    return borrow_send(&lent, &iov, 1, 0);
}

static uint64_t in_a_while(void)
{
    return base_now_ns() + 20 * NS_PER_MS;
}

/* The service takes `wants_room` back as it tells; a send that was taken whole has not set it again. */
Test(borrow, who_sees_no_room_hears_of_more, .init = set_up, .fini = tear_down)
{
    cr_assert_eq(send_bytes(LENT_RING_BYTES - 100), LENT_RING_BYTES - 100);
    cr_assert_not(atomic_load(&lent.block->wants_room));
    cr_assert_not(borrow_levels(&lent) & POLLOUT);
    cr_assert(atomic_load(&lent.block->wants_room));
    atomic_store(&lent.block->acked, LENT_RING_BYTES / 2);
    cr_assert(borrow_levels(&lent) & POLLOUT);
}

Test(borrow, who_has_room_asks_for_none, .init = set_up, .fini = tear_down)
{
    cr_assert_eq(send_bytes(100), 100);
    cr_assert(borrow_levels(&lent) & POLLOUT);
    cr_assert_not(atomic_load(&lent.block->wants_room));
}

/* Before the service says that the connection is over. */
Test(borrow, a_buffer_that_was_taken_back_is_not_written, .init = set_up, .fini = tear_down)
{
    const char *ring = (char *)service.memory + lent.block->tx_at;
    atomic_store(&lent.block->tx_lent_to, 0);
    cr_assert_eq(send_bytes(100), -EAGAIN);
    cr_assert_eq(ring[0], 0);
    cr_assert_eq(atomic_load(&lent.block->head), 0);
    cr_assert_not(borrow_levels(&lent) & POLLOUT, "else who waits would try again and again");
}

Test(borrow, a_wait_for_bytes_is_over_when_they_are_there, .init = set_up, .fini = tear_down)
{
    atomic_store(&lent.block->rcvlowat, 100);
    atomic_store(&lent.block->produced, 50);
    cr_assert_eq(borrow_wait(&lent, POLLIN | POLLRDHUP, 51, in_a_while()), -EAGAIN);
    cr_assert_eq(borrow_wait(&lent, POLLIN | POLLRDHUP, 50, UINT64_MAX), 0, "whatever SO_RCVLOWAT is");
    atomic_store(&lent.block->rcvlowat, 10);
    cr_assert_eq(borrow_wait(&lent, POLLIN | POLLRDHUP, 51, in_a_while()), -EAGAIN);
    atomic_store(&lent.block->mark, 50);
    atomic_store(&lent.block->produced, 51);
    cr_assert_eq(borrow_wait(&lent, POLLIN | POLLRDHUP, 51, UINT64_MAX), 0, "a read stops before the mark");
    atomic_store(&lent.block->mark, SERVICE_NO_MARK);
    atomic_store(&lent.block->flags, SERVICE_RX_ENDED);
    cr_assert_eq(borrow_wait(&lent, POLLIN | POLLRDHUP, 60, UINT64_MAX), 0, "no more comes");
}

Test(borrow, a_wait_for_more_than_there_is_room_for_ends, .init = set_up, .fini = tear_down)
{
    atomic_store(&lent.block->rcvlowat, UINT32_MAX);
    atomic_store(&lent.block->produced, LENT_RING_BYTES);
    cr_assert_eq(borrow_wait(&lent, POLLIN | POLLRDHUP, SIZE_MAX, UINT64_MAX), 0);
}

/* Bytes that wrap, behind an urgent one in line, into a pipe that has less room: what it has was read, the
 * rest is there. */
Test(borrow, what_a_pipe_has_was_read_and_no_more, .init = set_up, .fini = tear_down)
{
    enum { FROM = LENT_RING_BYTES - 1000, BYTES = 6000, PAGE = 4096, FILLED = 15 * PAGE };
    char *ring = (char *)service.memory + lent.block->rx_at, bytes[FILLED + PAGE], *moved = bytes + FILLED;
    struct iovec iov = {bytes, sizeof bytes};
    int fds[2];
    memset(bytes, 0, sizeof bytes);
    cr_assert_eq(pipe2(fds, O_NONBLOCK), 0);
    cr_assert_eq(write(fds[1], bytes, FILLED), FILLED, "a page is left");
    for (unsigned i = 0; i < BYTES; i++)
        ring[(FROM + i) % LENT_RING_BYTES] = (char)(i / 10);
    atomic_store(&lent.block->options, SERVICE_OOB_INLINE);
    atomic_store(&lent.block->consumed, FROM);
    atomic_store(&lent.block->mark, FROM);
    atomic_store(&lent.block->mark_byte, 'u');
    atomic_store(&lent.block->produced, FROM + BYTES);
    cr_assert_eq(borrow_splice(&lent, fds[1], 5000), PAGE);
    cr_assert_eq(atomic_load(&lent.block->consumed), FROM + PAGE);
    cr_assert_eq(borrow_splice(&lent, fds[1], 5000), -EAGAIN, "the pipe is full");
    cr_assert_eq(atomic_load(&lent.block->consumed), FROM + PAGE);
    cr_assert_eq(read(fds[0], bytes, sizeof bytes), FILLED + PAGE);
    cr_assert_eq(moved[0], 'u');
    for (unsigned i = 1; i < PAGE; i++)
        cr_assert_eq(moved[i], (char)(i / 10), "%u", i);
    cr_assert_eq(borrow_splice(&lent, fds[1], 1000), 1000);
    cr_assert_eq(borrow_splice(&lent, fds[1], 5000), BYTES - PAGE - 1000);
    cr_assert_eq(borrow_splice(&lent, fds[1], 5000), -EAGAIN, "nothing is left");
    cr_assert_eq(borrow_recv(&lent, &iov, 1, 0), -EAGAIN);
    close(fds[0]);
    close(fds[1]);
}

/* What another process has set since stays. */
Test(borrow, an_option_that_is_set_leaves_the_others, .init = set_up, .fini = tear_down)
{
    struct borrow_options options = {.is_keepalive = true, .linger_s = -1}, now;
    atomic_store(&lent.block->options, SERVICE_NODELAY | SERVICE_NONBLOCKING);
    atomic_store(&lent.block->linger_s, 3);
    atomic_store(&lent.block->rcvtimeo_ns, 4);
    borrow_set_options(&lent, &options, BORROW_KEEPALIVE);
    borrow_get_options(&lent, &now);
    cr_assert(now.is_keepalive && now.is_nodelay);
    cr_assert_eq(now.linger_s, 3);
    cr_assert_eq(now.rcvtimeo_ns, 4);
    cr_assert(borrow_is_nonblocking(&lent));
    borrow_set_options(&lent, &options, BORROW_NODELAY | BORROW_LINGER | BORROW_RCVTIMEO);
    borrow_get_options(&lent, &now);
    cr_assert(now.is_keepalive && !now.is_nodelay);
    cr_assert_eq(now.linger_s, -1);
    cr_assert_eq(now.rcvtimeo_ns, 0);
}

Test(borrow, one_that_was_given_up_is_reset, .init = set_up, .fini = tear_down)
{
    borrow_give_up(&lent);
    cr_assert_eq(borrow_state(&lent), BORROW_RESET);
    cr_assert_eq(send_bytes(1), -ECONNRESET);
    cr_assert_eq(borrow_levels(&lent) & (POLLIN | POLLOUT | POLLHUP | POLLERR),
                 POLLIN | POLLOUT | POLLHUP | POLLERR);
    cr_assert_eq(borrow_wait(&lent, POLLIN, 1, UINT64_MAX), 0);
}

/* Another thread took the TCP socket a moment ago, and the loan ended with the last number that led to it. */
Test(borrow, what_went_on_as_tcp_is_not_reset, .init = set_up, .fini = tear_down)
{
    char byte;
    struct iovec iov = {&byte, 1};
    lent.has_tcp = true;
    atomic_store(&lent.block->generation, LENT_GENERATION + 1);
    cr_assert_eq(borrow_state(&lent), BORROW_TCP);
    cr_assert_eq(send_bytes(1), -EOPNOTSUPP);
    cr_assert_eq(borrow_recv(&lent, &iov, 1, 0), -EOPNOTSUPP);
    cr_assert_eq(borrow_levels(&lent), 0);
    cr_assert_eq(borrow_take_error(&lent), 0);
    cr_assert_eq(borrow_wait(&lent, POLLIN, 1, UINT64_MAX), 0);
}

/* --- what others may write into the block --- */

Test(borrow, where_the_buffers_lie_is_read_once, .init = set_up, .fini = tear_down)
{
    char byte = 0;
    struct iovec iov = {&byte, 1};
    ((char *)service.memory)[lent.block->rx_at] = 'r';
    cr_assert_eq(send_bytes(1), 1);
    atomic_store(&lent.block->produced, 1);
    cr_assert_eq(borrow_recv(&lent, &iov, 1, MSG_PEEK), 1);
    const uint64_t tx_at = lent.block->tx_at;
    lent.block->tx_at = lent.block->rx_at = SERVICE_BYTES * 2; /* where nothing is mapped */
    cr_assert_eq(send_bytes(1), 1);
    cr_assert_eq(((char *)service.memory)[tx_at + 1], 0x5a);
    cr_assert_eq(borrow_recv(&lent, &iov, 1, 0), 1);
    cr_assert_eq(byte, 'r');
    lent.block->tx_size = lent.block->rx_size = 0;
    cr_assert_eq(send_bytes(1), 1);
}

static void expect_no_use_of(uint64_t at, uint32_t size)
{
    char bytes[8];
    struct iovec iov = {bytes, sizeof bytes};
    atomic_store(&lent.block->produced, 4);
    lent.block->tx_at = lent.block->rx_at = at;
    lent.block->tx_size = lent.block->rx_size = size;
    cr_expect_eq(send_bytes(4), -EAGAIN, "%#llx, %#x", (unsigned long long)at, size);
    cr_expect_eq(borrow_recv(&lent, &iov, 1, 0), -ECONNRESET, "%#llx, %#x", (unsigned long long)at, size);
    cr_expect_eq(borrow_levels(&lent) & POLLERR, 0);
}

Test(borrow, buffers_that_lie_elsewhere_are_not_used, .init = set_up, .fini = tear_down)
{
    expect_no_use_of(0, LENT_RING_BYTES); /* the head and the blocks */
    expect_no_use_of(SERVICE_BUFFERS_AT - 1, LENT_RING_BYTES);
    expect_no_use_of(SERVICE_BYTES - LENT_RING_BYTES + 1, LENT_RING_BYTES);
    expect_no_use_of(SERVICE_BYTES, 1);
    expect_no_use_of(UINT64_MAX - 10, LENT_RING_BYTES);
    expect_no_use_of(SERVICE_BUFFERS_AT, 0);
    expect_no_use_of(SERVICE_BUFFERS_AT, 1u << 24);
}

/* --- a process that gives up the service's user --- */

Test(borrow, nothing_is_lent_after_the_user_is_given_up, .init = set_up, .fini = tear_down)
{
    struct sockaddr named = {.sa_family = AF_INET};
    uid_t uid = 7;
    cr_assert_not(borrow_has_renounced());
    borrow_renounce();
    cr_assert(borrow_has_renounced());
    cr_assert_eq(send_bytes(1), -ECONNRESET);
    cr_assert_eq(borrow_open("/nowhere"), -EPERM);
    cr_assert_not(borrow_owner(&uid));
    cr_assert_not(borrow_is_named(&named));
}

/* As after borrow_renounce(): a thread that was about to sleep does not. */
Test(borrow, empty_memory_is_that_of_a_dead_service, .init = set_up, .fini = tear_down)
{
    cr_assert_eq(send_bytes(1), 1);
    memset(service.memory, 0, SERVICE_BUFFERS_AT);
    cr_assert_eq(borrow_state(&lent), BORROW_RESET);
    cr_assert_eq(borrow_wait(&lent, POLLIN, 1, UINT64_MAX), 0);
    cr_assert_eq(send_bytes(1), -ECONNRESET);
    cr_assert(borrow_levels(&lent) & POLLERR);
}

static void name(struct service_head *head, unsigned i, const char *text, unsigned bits)
{
    cr_assert_eq(inet_pton(AF_INET6, text, head->named[i].addr), 1);
    head->named[i].bits = (uint8_t)bits;
}

static bool is_named(const char *text)
{
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    struct sockaddr_in in = {.sin_family = AF_INET};
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return borrow_is_named((struct sockaddr *)&in);
    cr_assert_eq(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return borrow_is_named((struct sockaddr *)&in6);
}

Test(borrow, the_peers_that_a_service_names_are_known, .init = set_up, .fini = tear_down)
{
    struct service_head *head = service.memory;
    name(head, 0, "::ffff:10.1.2.128", 96 + 25);
    name(head, 1, "fd77::", 64);
    head->num_named = 2;
    borrow_note_service(&service);
    head->num_named = 0; /* copied */
    cr_expect(is_named("10.1.2.129") && is_named("10.1.2.255") && is_named("::ffff:10.1.2.130"));
    cr_expect(!is_named("10.1.2.127") && !is_named("10.1.3.129") && !is_named("0.0.0.0"));
    cr_expect(is_named("fd77::1") && !is_named("fd77:0:0:1::1"));
}
