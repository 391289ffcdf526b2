/* SPDX-License-Identifier: BSD-2-Clause */
/* What a service and programs have in memory together: bits, locks, the doorbell, the arena. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service/memory/arena.h"
#include "service/memory/life.h"
#include "test/service/asleep.h"
#include "test/support/random.h"

#define ALL SERVICE_CONNS

/* --- bits --- */

static struct service_bits bits;

static unsigned take_all(uint32_t *out, unsigned max)
{
    unsigned count = 0, n;
    while (count < max && (n = service_bits_take(&bits, out + count, max - count)) > 0)
        count += n;
    return count;
}

Test(bits, those_that_were_set_are_taken_once)
{
    static uint32_t out[ALL + 1];
    static const uint32_t some[] = {0, 1, 63, 64, 4095, 4096, ALL - 1};
    cr_assert_not(service_bits_any(&bits));
    for (unsigned i = 0; i < sizeof some / sizeof *some; i++)
        service_bits_set(&bits, some[i]);
    cr_assert(service_bits_any(&bits));
    cr_assert_eq(take_all(out, ALL + 1), sizeof some / sizeof *some);
    cr_assert_arr_eq(out, some, sizeof some);
    cr_assert_not(service_bits_any(&bits));
    cr_assert_eq(take_all(out, ALL + 1), 0);
}

Test(bits, what_there_is_no_room_for_stays)
{
    uint32_t out[3];
    for (unsigned i = 0; i < 10; i++)
        service_bits_set(&bits, 100 + i);
    for (unsigned left = 10; left > 0;) {
        unsigned n = service_bits_take(&bits, out, 3);
        cr_assert(n > 0 && n <= 3 && n <= left, "%u of %u", n, left);
        left -= n;
    }
    cr_assert_eq(service_bits_take(&bits, out, 3), 0);
}

/* One sets, the other takes: none is lost, since each is set again only after it was seen. */
static _Atomic uint32_t seen[ALL];
static atomic_bool is_done;

static void *setter(void *arg)
{
    (void)arg;
    for (uint32_t round = 1; round <= 20; round++)
        for (uint32_t i = 0; i < ALL; i += 97) {
            service_bits_set(&bits, i);
            while (atomic_load(&seen[i]) < round)
                sched_yield();
        }
    atomic_store(&is_done, true);
    return NULL;
}

Test(bits, none_is_lost_between_two_threads, .timeout = 60)
{
    pthread_t thread;
    uint32_t out[64];
    cr_assert_eq(pthread_create(&thread, NULL, setter, NULL), 0);
    while (!atomic_load(&is_done)) {
        unsigned n = service_bits_take(&bits, out, 64);
        for (unsigned i = 0; i < n; i++)
            atomic_fetch_add(&seen[out[i]], 1);
        if (n == 0)
            sched_yield();
    }
    pthread_join(thread, NULL);
    cr_assert_eq(atomic_load(&seen[97]), 20);
}

/* --- locks --- */

static struct service_block *shared_block(void)
{
    pthread_mutexattr_t attr;
    struct service_block *block =
        mmap(NULL, sizeof *block, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(block, MAP_FAILED);
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&block->send_lock, &attr);
    return block;
}

Test(locks, it_is_seen_who_has_one_and_who_died_with_it)
{
    pthread_mutex_t *lock = &shared_block()->send_lock;
    cr_assert_not(service_lock_is_held(lock));
    pthread_mutex_lock(lock);
    cr_assert(service_lock_is_held(lock));
    pthread_mutex_unlock(lock);
    cr_assert_not(service_lock_is_held(lock));
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(lock);
        _exit(0);
    }
    cr_assert_eq(waitpid(child, NULL, 0), child);
    cr_assert_not(service_lock_is_held(lock), "whoever had it is dead");
    cr_assert(atomic_load(service_lock_word(lock)) & SERVICE_LOCK_DIED);
}

/* --- the service's life --- */

static struct service_life *shared_lives(void)
{
    struct service_life *lives =
        mmap(NULL, SERVICE_LIVES * sizeof *lives, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(lives, MAP_FAILED);
    return lives;
}

static struct service_lives own_lives;

Test(lives, the_kernel_marks_each_when_it_dies_and_wakes_who_waits)
{
    struct service_life *lives = shared_lives();
    struct timespec limit = {.tv_sec = 30};
    uint32_t word;
    int said[2], end[2];
    char byte;
    cr_assert(pipe(said) == 0 && pipe(end) == 0);
    pid_t child = fork();
    if (child == 0) {
        byte = service_lives_begin(&own_lives, lives) == 0;
        (void)!write(said[1], &byte, 1);
        close(end[1]);
        (void)!read(end[0], &byte, 1);
        _exit(0);
    }
    cr_assert(read(said[0], &byte, 1) == 1 && byte);
    word = atomic_load(&lives[1].word);
    cr_assert_eq(word, (uint32_t)child | SERVICE_LOCK_WAITERS, "else nobody is woken");
    close(end[1]);
    while (service_is_alive(&lives[1]))
        cr_assert(syscall(SYS_futex, &lives[1].word, FUTEX_WAIT, word, &limit, NULL, 0) == 0 ||
                  errno == EAGAIN);
    cr_assert_eq(waitpid(child, NULL, 0), child);
    for (unsigned i = 0; i < SERVICE_LIVES; i++)
        cr_assert(atomic_load(&lives[i].word) & SERVICE_LOCK_DIED, "%u", i);
}

/* What programs write there is their loss: nothing of the service's is in that memory. */
Test(lives, an_end_does_not_look_at_what_programs_can_write)
{
    struct service_life *lives = shared_lives();
    pthread_mutex_t *lock = &shared_block()->send_lock;
    cr_assert_eq(service_lives_begin(&own_lives, lives), 0);
    memset(lives, 0xff, SERVICE_LIVES * sizeof *lives);
    service_lives_end(&own_lives);
    for (unsigned i = 0; i < SERVICE_LIVES; i++)
        cr_assert_not(service_is_alive(&lives[i]));
    service_lives_end(&own_lives);
    pid_t child = fork();
    if (child == 0) { /* the C library has its list back, also of this thread */
        bool are_well = service_lives_begin(&own_lives, lives) == 0;
        service_lives_end(&own_lives);
        pthread_mutex_lock(lock);
        _exit(are_well ? 0 : 1);
    }
    int status;
    cr_assert(waitpid(child, &status, 0) == child && status == 0);
    cr_assert(atomic_load(service_lock_word(lock)) & SERVICE_LOCK_DIED);
}

/* --- the doorbell --- */

static struct service_head head;

Test(doorbell, one_ring_wakes_for_all_who_come_while_it_sleeps)
{
    uint64_t times;
    uint32_t out[4];
    int bell = eventfd(0, EFD_NONBLOCK);
    service_ring(&head, 5, bell);
    cr_assert_eq(read(bell, &times, sizeof times), -1, "the service is awake");
    atomic_store(&head.sleep, 1);
    for (uint32_t i = 6; i < 9; i++)
        service_ring(&head, i, bell);
    cr_assert_eq(read(bell, &times, sizeof times), sizeof times);
    cr_assert_eq(times, 1);
    cr_assert_eq(atomic_load(&head.sleep), 0);
    cr_assert_eq(service_bits_take(&head.to_look_at, out, 4), 4);
    close(bell);
}

/* What cannot be written wakes nobody: another one has to ring. */
Test(doorbell, a_ring_that_failed_counts_for_nobody)
{
    atomic_store(&head.sleep, 1);
    service_ring(&head, 5, -1);
    cr_assert_eq(atomic_load(&head.sleep), 1);
}

/* A doorbell whose write() takes as long as the test wants: a pipe that is full. */
static int slow_bell[2];
static _Atomic pid_t ringer_id;

static void *ring_slowly(void *arg)
{
    (void)arg;
    atomic_store(&ringer_id, gettid());
    service_ring(&head, 5, slow_bell[1]);
    return NULL;
}

/* A thread that set its bit and sleeps is in write(). */
static bool is_ringing(void)
{
    return service_bits_any(&head.to_look_at) && is_asleep(atomic_load(&ringer_id));
}

Test(doorbell, a_late_ring_is_not_taken_for_one_of_the_next_sleep, .timeout = 60)
{
    static char junk[4096];
    pthread_t thread;
    cr_assert_eq(pipe2(slow_bell, O_NONBLOCK), 0);
    while (write(slow_bell[1], junk, sizeof junk) > 0)
        ;
    cr_assert_eq(fcntl(slow_bell[1], F_SETFL, 0), 0);
    atomic_store(&head.sleep, 1);
    cr_assert_eq(pthread_create(&thread, NULL, ring_slowly, NULL), 0);
    while (!is_ringing())
        sched_yield();
    atomic_store(&head.sleep, 0);
    atomic_store(&head.sleep, 2);
    while (read(slow_bell[0], junk, sizeof junk) > 0)
        ;
    pthread_join(thread, NULL);
    cr_assert_eq(atomic_load(&head.sleep), 2, "others would not ring, and nobody else has");
}

/* A service that sleeps between all bits, and three programs, each of which waits for an answer: no bit stays
 * unseen in a sleep. */
#define RINGERS     3
#define RINGS       5000
#define TOO_LONG_MS 20000
static _Atomic uint32_t answered[RINGERS], ringers_done;
static int bell_fd;

static void *ring_and_wait(void *arg)
{
    uint32_t i = (uint32_t)(uintptr_t)arg;
    for (uint32_t round = 1; round <= RINGS; round++) {
        service_ring(&head, i * 64, bell_fd);
        while (atomic_load(&answered[i]) < round)
            sched_yield();
    }
    atomic_fetch_add(&ringers_done, 1);
    return NULL;
}

Test(doorbell, no_wake_up_is_lost, .timeout = 120)
{
    struct pollfd look = {.events = POLLIN};
    pthread_t threads[RINGERS];
    uint64_t times, num_sleeps = 0;
    uint32_t out[RINGERS];
    bell_fd = look.fd = eventfd(0, EFD_NONBLOCK);
    for (uintptr_t i = 0; i < RINGERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, ring_and_wait, (void *)i), 0);
    for (uint32_t seen_rings = 0; seen_rings < RINGERS * RINGS;) {
        atomic_store(&head.sleep, ++num_sleeps);
        bool sleeps = !service_bits_any(&head.to_look_at);
        cr_assert_neq(poll(&look, 1, sleeps ? TOO_LONG_MS : 0), sleeps ? 0 : -1, "%u rings, and silence",
                      seen_rings);
        atomic_store(&head.sleep, 0);
        if (read(bell_fd, &times, sizeof times) < 0)
            cr_assert_eq(errno, EAGAIN);
        unsigned n = service_bits_take(&head.to_look_at, out, RINGERS);
        for (unsigned i = 0; i < n; i++)
            atomic_fetch_add(&answered[out[i] / 64], 1);
        seen_rings += n;
    }
    for (unsigned i = 0; i < RINGERS; i++)
        pthread_join(threads[i], NULL);
    cr_assert_eq(atomic_load(&ringers_done), RINGERS);
    close(bell_fd);
}

/* --- the arena --- */

static struct service_arena arena;

static void open_arena(void)
{
    struct nornic_error why;
    cr_assert_eq(service_arena_open(&arena, &why), 0, "%s", why.text);
}

static uint8_t *take(size_t bytes)
{
    return arena.mem.alloc(arena.mem.ctx, bytes);
}

static void give(void *p)
{
    arena.mem.free(arena.mem.ctx, p);
}

static void close_arena(void)
{
    service_arena_close(&arena);
}

Test(arena, buffers_are_whole_pages_of_zeroes, .init = open_arena, .fini = close_arena)
{
    uint8_t *a = take(5000), *b = take(4096);
    cr_assert_eq((uintptr_t)a % 4096, 0);
    cr_assert_eq((uintptr_t)b % 4096, 0);
    cr_assert_geq(service_arena_offset(&arena, a), SERVICE_BUFFERS_AT);
    cr_assert_eq(b - a, 8192);
    for (unsigned i = 0; i < 8192; i++)
        cr_assert_eq(a[i], 0);
    memset(a, 0xff, 8192);
    give(a);
    cr_assert_eq(arena.used_bytes, 4096);
    uint8_t *again = take(8000);
    cr_assert_eq(again, a, "of the same size in pages");
    for (unsigned i = 0; i < 8192; i++)
        cr_assert_eq(again[i], 0, "byte %u is old", i);
    give(again);
    give(b);
    give(b);
    cr_assert_eq(arena.used_bytes, 0);
}

Test(arena, one_that_somebody_may_write_into_rests, .init = open_arena, .fini = close_arena)
{
    struct service_block *block = shared_block();
    uint8_t *a = take(65536);
    service_arena_lend(&arena, a, block, 3);
    pthread_mutex_lock(&block->send_lock);
    give(a);
    uint8_t *other = take(65536);
    cr_assert_neq(other, a, "a program is in the middle of a copy");
    memset(a, 0xff, 65536);
    pthread_mutex_unlock(&block->send_lock);
    uint8_t *later = take(65536);
    cr_assert_eq(later, a);
    for (unsigned i = 0; i < 65536; i++)
        cr_assert_eq(later[i], 0);
}

/* Who gets the lock from now on sees that the buffer is another's. */
Test(arena, one_that_is_freed_is_taken_back_first, .init = open_arena, .fini = close_arena)
{
    struct service_block *block = shared_block();
    uint8_t *a = take(65536), *b = take(65536);
    service_arena_lend(&arena, a, block, 3);
    cr_assert_eq(atomic_load(&block->tx_lent_to), 3);
    give(a);
    cr_assert_eq(atomic_load(&block->tx_lent_to), 0);
    cr_assert_eq(take(65536), a);
    service_arena_lend(&arena, a, block, 3);
    service_arena_lend(&arena, b, block, 5);
    give(a);
    cr_assert_eq(atomic_load(&block->tx_lent_to), 5, "that is the next connection's");
}

static uint64_t bytes_that_the_kernel_holds(void)
{
    struct stat st;
    cr_assert_eq(fstat(arena.fd, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* Of the 6 MiB that 24 connections had, 4 stay, for those that come next; what was not lent reads as zero. */
Test(arena, a_few_send_buffers_are_kept_as_they_are, .init = open_arena, .fini = close_arena)
{
    enum { BUFFERS = 24, BYTES = 256 << 10, RMB_BYTES = BYTES + 4096 };
    struct service_block *block = shared_block();
    uint8_t *of[BUFFERS], *rmb = take(RMB_BYTES);
    memset(rmb, 0xff, RMB_BYTES);
    for (unsigned i = 0; i < BUFFERS; i++) {
        of[i] = take(BYTES);
        service_arena_lend(&arena, of[i], block, 3);
        memset(of[i], 0xff, BYTES);
    }
    give(rmb);
    for (unsigned i = 0; i < BUFFERS; i++)
        give(of[i]);
    cr_assert_eq(bytes_that_the_kernel_holds(), 4 << 20);
    cr_assert_eq(arena.used_bytes, 0);
    for (unsigned i = 0; i < 100; i++) {
        uint8_t *again = take(BYTES);
        service_arena_lend(&arena, again, block, 3);
        cr_assert_eq(again[BYTES - 1], 0xff, "connection %u has new memory", i);
        give(again);
    }
    cr_assert_eq(bytes_that_the_kernel_holds(), 4 << 20);
    cr_assert_eq(take(RMB_BYTES)[0], 0);
}

Test(arena, there_is_an_end_of_it, .init = open_arena, .fini = close_arena)
{
    cr_assert_null(take(SERVICE_BYTES));
    cr_assert_null(take(SIZE_MAX));
    cr_assert_null(take(0));
    cr_assert_not_null(take(UINT64_C(8) << 30));
    cr_assert_null(take(UINT64_C(8) << 30));
    cr_assert_not_null(take(4096));
}

/* Whatever is taken and given, no two have a byte in common. */
Test(arena, no_two_overlap, .init = open_arena, .fini = close_arena)
{
    static uint8_t *have[64];
    static size_t size[64];
    struct test_random random = {.state = 7};
    for (unsigned step = 0; step < 3000; step++) {
        unsigned i = test_random_below(&random, 64);
        if (have[i]) {
            for (size_t k = 0; k < size[i]; k += 4096)
                cr_assert_eq(have[i][k], i + 1, "step %u", step);
            give(have[i]);
            have[i] = NULL;
            continue;
        }
        size[i] = (size_t)4096 << test_random_below(&random, 6);
        have[i] = take(size[i]);
        cr_assert_not_null(have[i]);
        for (size_t k = 0; k < size[i]; k += 4096)
            have[i][k] = (uint8_t)(i + 1);
    }
}
