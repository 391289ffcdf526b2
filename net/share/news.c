/* SPDX-License-Identifier: BSD-2-Clause */
/* How processes that share an address hear of each other. Whoever writes to the table counts that there, and
 * then rings at all others (net/share/hand.h): the bell ends a sleep, the count tells who is awake and reads
 * faster than a bell rings. A bell that has no room rings already.
 *
 * A process that is killed can tell nobody. So each watches one other by a pidfd, the next in the table, the
 * last one the first: one of those that live sees the end of each that dies, buries it, which is a write, and
 * watches who is next then. Where the kernel or a container's PID namespace does not show the next one's
 * process, it is found out by the packets that go astray as its place in the group is another's.
 *
 * The kernel would tell of all that by inotify, too. But who closes an inotify descriptor, or is killed with
 * one, waits until all that such descriptors look at has come to rest: 15 ms at best, and seconds where many
 * processes come and go. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "net/share/hand.h"
#include "net/share/inner.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434 /* Linux 5.3 */
#endif

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int watch(const struct net_share *share, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return epoll_ctl(share->watch_fd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

int net_share_news_open(struct net_share *share)
{
    share->bell_fd = net_share_hand_open(&share->table, &share->dir, share->slot, NET_SHARE_BELL);
    if (share->bell_fd < 0)
        return share->bell_fd;
    share->watch_fd = epoll_create1(EPOLL_CLOEXEC);
    int err = share->watch_fd < 0 ? -errno : watch(share, share->bell_fd);
    if (!err)
        net_share_watch_next(share);
    return err;
}

void net_share_news_close(struct net_share *share)
{
    close_fd(&share->neighbour_fd);
    close_fd(&share->watch_fd);
    close_fd(&share->bell_fd);
}

void net_share_tell(const struct net_share *share)
{
    uint64_t marks[NET_SHARE_SLOTS];
    net_share_table_marks(&share->table, marks);
    for (unsigned slot = 0; slot < NET_SHARE_SLOTS; slot++)
        if (marks[slot] && slot != share->slot)
            net_share_hand_ring(share->bell_fd, &share->table, slot);
}

/* The next one's process has ended; it is not asked again. */
static bool has_neighbour_died(struct net_share *share)
{
    struct epoll_event events[2];
    int count = share->neighbour_fd < 0 ? 0 : epoll_wait(share->watch_fd, events, 2, 0);
    for (int i = 0; i < count; i++)
        if (events[i].data.fd == share->neighbour_fd) {
            close_fd(&share->neighbour_fd);
            return true;
        }
    return false;
}

bool net_share_has_news(struct net_share *share)
{
    bool has_rung = net_share_hand_rang(share->bell_fd);
    share->is_census_due |= has_neighbour_died(share);
    return has_rung || share->is_census_due || net_share_table_writes(&share->table) != share->seen_writes;
}

/* NULL: there is no other. */
static const struct net_share_record *next_of(const struct net_share *share)
{
    const struct net_share_view *view = &share->view;
    unsigned next = 0;
    while (next < view->count && view->slots[next] <= share->slot)
        next++;
    const unsigned slot = view->slots[next < view->count ? next : 0];
    return slot == share->slot ? NULL : &view->records[slot];
}

void net_share_watch_next(struct net_share *share)
{
    const struct net_share_record *next = next_of(share);
    if (share->watch_fd < 0) /* not yet open */
        return;
    if (share->neighbour_ns == (next ? next->opened_ns : 0))
        return;
    close_fd(&share->neighbour_fd);
    share->neighbour_ns = next ? next->opened_ns : 0;
    if (!next)
        return;
    share->neighbour_fd = (int)syscall(SYS_pidfd_open, (pid_t)next->pid, 0);
    if (share->neighbour_fd >= 0 && watch(share, share->neighbour_fd) != 0)
        close_fd(&share->neighbour_fd);
}
