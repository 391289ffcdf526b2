/* SPDX-License-Identifier: BSD-2-Clause */
/* The program's half of a lent connection, over memory in which nothing but the test plays the service. */
#define _GNU_SOURCE
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
#include "service/borrow_inner.h"
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
