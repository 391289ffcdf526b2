/* SPDX-License-Identifier: BSD-2-Clause */
/* A process that gives up the service's user gives up all that it has of the service. The memory
 * holds the bytes of every connection of that user, and what the user's processes believe; so it
 * must not stay in a process that is another user's from now on. */
#define _GNU_SOURCE
#include <limits.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>

#include "base/now.h"
#include "service/borrow/inner.h"

#define INSIDE_NS BORROW_NS_PER_S /* longer than a call waits for a lock and copies */
#define LOOK_NS   50000

/* --- its connections --- */

/* Has a thread that sleeps for the connection look again. The service counts `seq` up, too, and a
 * holder in another process looks once for nothing. */
static void wake(struct borrow *b)
{
    atomic_fetch_add(&b->block->seq, 1);
    syscall(SYS_futex, &b->block->seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Waits until no call of this process has a lock of the block: in the memory that goes, a lock that
 * stays taken would be so for its other holders. Calls that come now see borrow_has_renounced(). */
static void wait_for_calls(const struct borrow *b, uint64_t deadline_ns)
{
    const struct timespec a_moment = {.tv_nsec = LOOK_NS};
    while (atomic_load(&b->inside) > 0 && base_now_ns() < deadline_ns)
        nanosleep(&a_moment, NULL);
}

static void end_connections(const struct borrow_service *service)
{
    uint64_t deadline_ns = base_now_ns() + INSIDE_NS;
    for (unsigned i = 0; i < SERVICE_CONNS; i++) {
        struct borrow *b = __atomic_load_n(&service->by_slot[i], __ATOMIC_ACQUIRE);
        if (!b)
            continue;
        bool is_lent = borrow_is_lent(b);
        borrow_give_up(b);
        wake(b);
        wait_for_calls(b, deadline_ns);
        if (!is_lent)
            continue;
        atomic_store(&b->block->was_renounced, 1);
        borrow_ring(b);
    }
}

/* --- the memory --- */

/* Puts empty memory in the place of the service's, in one step: a thread that is about to look
 * there finds zeros, and takes the service for one that has died. Where such memory counts against
 * a limit, an empty file's does not; memory without access is the last resort. */
static void replace_memory(void *memory)
{
    const int flags = MAP_FIXED | MAP_NORESERVE;
    void *at =
        mmap(memory, SERVICE_BYTES, PROT_READ | PROT_WRITE, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED)
        return;
    int fd = memfd_create("nornic-empty", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)SERVICE_BYTES) == 0)
        at = mmap(memory, SERVICE_BYTES, PROT_READ | PROT_WRITE, flags | MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        (void)mmap(memory, SERVICE_BYTES, PROT_NONE, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* A thread may be about to write to this number: it leads to an eventfd of this process's own. */
static void replace_doorbell(int doorbell)
{
    int own = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (own < 0 || syscall(SYS_dup3, own, doorbell, O_CLOEXEC) < 0)
        syscall(SYS_close, doorbell);
    if (own >= 0)
        syscall(SYS_close, own);
}

void borrow_renounce(void)
{
    if (!borrow_note_renounced())
        return;
    for (struct borrow_service *service = borrow_end_control(); service; service = service->before) {
        end_connections(service);
        replace_memory(service->memory);
        replace_doorbell(service->doorbell);
    }
}

void borrow_forget_memory(void)
{
    for (struct borrow_service *service = borrow_end_control(); service; service = service->before) {
        munmap(service->memory, SERVICE_BYTES);
        close(service->doorbell);
    }
    borrow_forget_services();
}
