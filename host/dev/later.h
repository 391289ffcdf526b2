/* SPDX-License-Identifier: BSD-2-Clause */
/* What a round has to tell somebody outside waits until the device's lock is given back.
 *
 * A completion means that the peer's data is here, and its answer is built in the same round, a little later.
 * A program that is woken at once may run in the place of the thread that makes the round, do its last work
 * and end (fio's rdma engine does, without a call that would take the lock): the acknowledgement that it owed
 * is then never sent, and its peer's last request ends with RETRY_EXC_ERR. An adapter has no such moment.
 *
 * Not so in rounds that leave the answer to their caller's next one: HOST_ROUND_LATE,
 * HOST_ROUND_FOR_CQ if something has completed, and HOST_ROUND_POLL of a program that polls round after
 * round, give the lock back, and tell, with the acknowledgement unsent. The callers of the first two
 * drive the device themselves (cli/node/cq.c, sock/ports.c) and come back until nothing is left to do, before
 * they end; until then the device's deadline is 0, so that its thread, if it has one, sends it, too. Of a
 * program that polls nobody knows whether it comes back: what the last round left leaves in its next one, or
 * before its next control call (host_dev_lock()), or at exit() (verbs/device/context.c), or when the thread
 * next looks, within half a millisecond. Who ends by _exit() or a signal before that has not acknowledged.
 * Internal to host/. */
#ifndef NORNIC_HOST_LATER_H
#define NORNIC_HOST_LATER_H

#include <stdbool.h>
#include <sys/queue.h>

/* A part of what is told about; all of it is guarded by the device's lock. */
struct host_later {
    void (*tell)(struct host_later *later); /* may take a leaf of the locks, and no other */
    bool is_listed;
    STAILQ_ENTRY(host_later) entry;
};

STAILQ_HEAD(host_later_list, host_later);

/* Puts it at the end of the list, unless it is there. Borrowed until the next host_later_tell(). */
void host_later_add(struct host_later_list *list, struct host_later *later);

/* Tells all, in the order in which they were added, and leaves the list empty. */
void host_later_tell(struct host_later_list *list);

#endif
