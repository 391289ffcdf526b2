/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffers are whole pages of a sparse file, taken from its end or from those of exactly that size that were
 * given back: there are few sizes (send buffers are powers of two, an RMB is sixteen elements of one), so
 * nothing is cut or joined. What is given back goes back to the kernel too, and reads as zero when it is
 * used again; but a few send buffers are kept as they are, for programs that connect again and again: nobody
 * reads there what he has not written, and giving a page back and getting it anew takes longer than many a
 * connection's bytes. */
#define _GNU_SOURCE
#include "service/memory/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"

#define PAGE       UINT64_C(4096)
#define PAGES      (SERVICE_BYTES / PAGE)
#define KEPT_BYTES (UINT64_C(4) << 20) /* of send buffers that nobody has, at the most */

/* One that was given back; `block`: whose lock is held where somebody may still be writing into it, or NULL;
 * `is_clean`: its memory has gone; `is_kept`: it has not, and need not. */
struct service_extent {
    uint64_t at;
    uint32_t pages;
    bool is_clean, is_kept;
    struct service_block *block;
};

static uint64_t page_of(const struct service_arena *a, const void *bytes)
{
    return service_arena_offset(a, bytes) / PAGE;
}

static bool is_at_rest(const struct service_extent *e)
{
    return !e->block || !service_lock_is_held(&e->block->send_lock);
}

static bool clean(const struct service_arena *a, const struct service_extent *e)
{
    return fallocate(a->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)e->at,
                     (off_t)(e->pages * PAGE)) == 0;
}

/* One of that size that was given back, one that was kept before others. NULL: none. */
static struct service_extent *find_freed(struct service_arena *a, uint32_t pages)
{
    struct service_extent *found = NULL;
    for (unsigned i = a->num_free; i-- > 0;) {
        struct service_extent *e = &a->free_by[i];
        if (e->pages != pages || !is_at_rest(e) || (found && !e->is_kept))
            continue;
        found = e;
        if (e->is_kept || a->kept_bytes == 0)
            break;
    }
    return found;
}

static uint64_t take_freed(struct service_arena *a, uint32_t pages)
{
    struct service_extent *e = find_freed(a, pages);
    if (!e)
        return 0;
    struct service_extent taken = *e;
    *e = a->free_by[--a->num_free];
    if (taken.is_kept)
        a->kept_bytes -= taken.pages * PAGE;
    return taken.is_clean || taken.is_kept || clean(a, &taken) ? taken.at : 0;
}

static void *take(void *ctx, size_t len_bytes)
{
    struct service_arena *a = ctx;
    uint64_t pages = (len_bytes + PAGE - 1) / PAGE;
    if (pages == 0 || pages > PAGES)
        return NULL;
    uint64_t at = take_freed(a, (uint32_t)pages);
    if (at == 0) {
        if (pages * PAGE > SERVICE_BYTES - a->end)
            return NULL;
        at = a->end;
        a->end += pages * PAGE;
    }
    a->pages_of[at / PAGE] = (uint32_t)pages;
    a->borrowers[at / PAGE] = (struct service_borrower){0};
    a->used_bytes += pages * PAGE;
    return (char *)a->memory + at;
}

static bool make_room(struct service_arena *a)
{
    struct service_extent *larger = array_room(a->free_by, &a->free_room, a->num_free + 1, sizeof *larger);
    if (larger)
        a->free_by = larger;
    return larger;
}

static void give(void *ctx, void *p)
{
    struct service_arena *a = ctx;
    uint64_t page = p ? page_of(a, p) : 0;
    if (!p || a->pages_of[page] == 0)
        return;
    struct service_extent e = {
        .at = page * PAGE, .pages = a->pages_of[page], .block = a->borrowers[page].block};
    uint32_t lent_to = a->borrowers[page].generation;
    /* Then a look at the lock: who gets it later sees that the buffer is his no more. The block may be the
     * next connection's by now. */
    if (e.block)
        atomic_compare_exchange_strong(&e.block->tx_lent_to, &lent_to, 0);
    a->pages_of[page] = 0;
    a->used_bytes -= e.pages * PAGE;
    /* Where somebody may be writing, the memory goes when the place is used again. Without memory for the
     * note, the place is lost. */
    bool has_room = make_room(a);
    e.is_kept = has_room && e.block && is_at_rest(&e) && e.pages * PAGE <= KEPT_BYTES - a->kept_bytes;
    e.is_clean = !e.is_kept && is_at_rest(&e) && clean(a, &e);
    if (e.is_kept)
        a->kept_bytes += e.pages * PAGE;
    if (has_room)
        a->free_by[a->num_free++] = e;
}

void service_arena_lend(struct service_arena *a, const void *bytes, struct service_block *block,
                        uint32_t generation)
{
    a->borrowers[page_of(a, bytes)] = (struct service_borrower){block, generation};
    atomic_store(&block->tx_lent_to, generation);
}

uint64_t service_arena_offset(const struct service_arena *a, const void *bytes)
{
    return (uint64_t)((const char *)bytes - (const char *)a->memory);
}

/* Sparse tables: calloc() of so much touches no page. */
static int make_tables(struct service_arena *a)
{
    a->pages_of = calloc(PAGES, sizeof *a->pages_of);
    a->borrowers = calloc(PAGES, sizeof *a->borrowers);
    return a->pages_of && a->borrowers ? 0 : -ENOMEM;
}

/* Gives the memfd its size, for good: a program that shortens it would end all others by SIGBUS. */
static bool set_size(int fd)
{
    return ftruncate(fd, (off_t)SERVICE_BYTES) == 0 &&
           fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

int service_arena_open(struct service_arena *a, struct nornic_error *why)
{
    *a = (struct service_arena){.end = SERVICE_BUFFERS_AT, .mem = {.alloc = take, .free = give, .ctx = a}};
    a->memory = MAP_FAILED;
    a->fd = memfd_create("nornic-smc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (a->fd >= 0 && set_size(a->fd))
        a->memory = mmap(NULL, SERVICE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, a->fd, 0);
    int err = a->memory == MAP_FAILED ? -errno : make_tables(a);
    if (!err)
        return 0;
    net_error_set(why, -err, "cannot make the memory that programs share, of %llu GiB of addresses: %s%s",
                  (unsigned long long)(SERVICE_BYTES >> 30), strerror(-err),
                  err == -ENOMEM || err == -EFBIG ? " (see `ulimit -v` and `ulimit -f`)" : "");
    service_arena_close(a);
    return err;
}

void service_arena_close(struct service_arena *a)
{
    if (a->memory != MAP_FAILED)
        munmap(a->memory, SERVICE_BYTES);
    if (a->fd >= 0)
        close(a->fd);
    free(a->pages_of);
    free(a->borrowers);
    free(a->free_by);
    *a = (struct service_arena){.fd = -1, .memory = MAP_FAILED};
}
