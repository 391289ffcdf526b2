/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that a program hands to a call: what of it may be used, and what finding out costs; and whether
 * the thread leaves the processor to the program. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sock/user.h"
#include "test/sock/lab.h"

#define PAGE   4096u
#define PORT   5000
#define WRITES 100u
#define BYTES  64u

/* The system calls that the thread has made by syscall(), but for those that wait or wake. */
static _Thread_local unsigned asked;

long syscall(long number, ...)
{
    static long (*next)(long, ...);
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    asked += number == SYS_rt_sigprocmask || (number == SYS_futex && a[4] != 0);
    return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* How often the thread has looked again rather than slept. */
static atomic_uint looked_again;

int epoll_wait(int epfd, struct epoll_event *events, int max_events, int timeout_ms)
{
    if (max_events > 1 && timeout_ms == 0)
        atomic_fetch_add(&looked_again, 1);
    return epoll_pwait(epfd, events, max_events, timeout_ms, NULL);
}

/* Three pages; the last may not be used as `protection` does not allow it. */
static uint8_t *three_pages(int protection)
{
    uint8_t *at = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(at, MAP_FAILED);
    memset(at, 0x5a, 2 * PAGE);
    cr_assert_eq(mprotect(at + 2 * (size_t)PAGE, PAGE, protection), 0);
    return at;
}

/* Wherever it begins and ends, what may be used ends where the pages do. */
static void check_reach(size_t (*reach)(const void *at, size_t len_bytes), uint8_t *at)
{
    static const size_t lens[] = {1, 7, 8, 9, 63, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE, 3 * PAGE};
    for (size_t begin = 0; begin < 2 * PAGE; begin += begin % PAGE < PAGE - 17 ? 509 : 1) {
        for (unsigned i = 0; i < sizeof lens / sizeof lens[0]; i++) {
            size_t there = begin + lens[i] <= 2 * PAGE ? lens[i] : 2 * PAGE - begin;
            cr_assert_eq(reach(at + begin, lens[i]), there, "%zu bytes at %zu", lens[i], begin);
        }
    }
    cr_assert_eq(reach(at + 2 * (size_t)PAGE, 1), 0);
    cr_assert_eq(reach(at + 2 * (size_t)PAGE, 100), 0);
    cr_assert_eq(reach(NULL, 1), 0);
    cr_assert_eq(reach(NULL, 100), 0);
    cr_assert_eq(reach(at, 0), 0);
}

static size_t writable(const void *at, size_t len_bytes)
{
    return smcr_user_writable((void *)at, len_bytes);
}

static size_t overwritable(const void *at, size_t len_bytes)
{
    return smcr_user_overwritable((void *)at, len_bytes);
}

/* covers: SMCR-SOC-05 */
Test(user, what_may_be_read_or_written_ends_with_its_pages)
{
    check_reach(smcr_user_readable, three_pages(PROT_NONE));
    check_reach(writable, three_pages(PROT_READ));
    check_reach(overwritable, three_pages(PROT_READ));
}

/* What is in front of and behind the bytes is not the call's. */
Test(user, nothing_changes_but_what_will_be_overwritten)
{
    uint8_t *at = three_pages(PROT_NONE), same[2 * PAGE];
    memset(same, 0x5a, sizeof same);
    cr_assert_eq(smcr_user_readable(at, 2 * PAGE), 2 * PAGE);
    cr_assert_eq(smcr_user_writable(at, 2 * PAGE), 2 * PAGE);
    cr_assert_arr_eq(at, same, 2 * PAGE);
    for (size_t begin = PAGE - 20; begin < PAGE + 20; begin++) {
        for (size_t len = 1; len < 40; len++) {
            cr_assert_eq(smcr_user_overwritable(at + begin, len), len);
            memset(at + begin, 0x5a, len);
            cr_assert_arr_eq(at, same, 2 * PAGE, "%zu bytes at %zu", len, begin);
        }
    }
}

Test(user, a_page_costs_one_question)
{
    uint8_t *at = three_pages(PROT_READ | PROT_WRITE);
    asked = 0;
    smcr_user_readable(at + 100, BYTES);
    cr_assert_eq(asked, 1);
    smcr_user_overwritable(at + 100, BYTES);
    cr_assert_eq(asked, 2);
    smcr_user_overwritable(at + 100, 2 * PAGE);
    cr_assert_eq(asked, 5);
    struct iovec own = {at, BYTES};
    struct smcr_iov v;
    cr_assert_eq(smcr_iov_begin(&v, &own, 1), 0);
    cr_assert_eq(asked, 5, "what is ours is not asked for");
    cr_assert_eq(smcr_iov_open(&v, &own, 1), 0);
    cr_assert_eq(asked, 6);
}

/* --- a connection --- */

struct board {
    struct lab lab;
    volatile int is_ready;
};

static int connect_here(const struct sockaddr_in *addr)
{
    int fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
    return nornic_connect(fd, (const struct sockaddr *)addr, sizeof *addr) == 0 ? fd : -1;
}

/* The thread that starts from now on, too. */
static void stay_on_this_cpu(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* One question each for WRITES small writes; and the thread does not keep them from the only processor. */
static int write_small(void *ctx)
{
    struct board *b = ctx;
    static _Alignas(BYTES) char bytes[BYTES];
    stay_on_this_cpu();
    lab_start(&b->lab, 0, NULL);
    struct sockaddr_in addr = lab_address(1, PORT);
    int fd = connect_here(&addr);
    asked = 0;
    atomic_store(&looked_again, 0);
    for (unsigned i = 0; i < WRITES; i++)
        if (nornic_write(fd, bytes, BYTES) != BYTES)
            return 1;
    unsigned all = asked;
    char c;
    nornic_recv(fd, &c, 1, 0); /* until all has come */
    unsigned again = atomic_load(&looked_again);
    nornic_close(fd);
    smcr_sock_stop(NULL);
    return all != WRITES ? 2 : again > 0 ? 3 : 0;
}

static int arrived(int fd)
{
    int n = 0;
    nornic_ioctl(fd, FIONREAD, &n);
    return n;
}

/* And one each for as many small reads of what is there. */
static int read_small(void *ctx)
{
    struct board *b = ctx;
    static _Alignas(BYTES) char bytes[BYTES];
    lab_start(&b->lab, 1, NULL);
    struct sockaddr_in addr = lab_address(1, PORT);
    int l = nornic_socket(AF_INET, SOCK_STREAM, 0);
    if (nornic_bind(l, (struct sockaddr *)&addr, sizeof addr) != 0 || nornic_listen(l, 1) != 0)
        return 3;
    b->is_ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    for (int i = 0; i < 4000 && arrived(fd) < (int)(WRITES * BYTES); i++)
        usleep(5000);
    asked = 0;
    for (unsigned i = 0; i < WRITES; i++)
        if (nornic_read(fd, bytes, BYTES) != BYTES)
            return 4;
    unsigned all = asked;
    nornic_write(fd, bytes, 1);
    nornic_close(fd);
    nornic_close(l);
    smcr_sock_stop(NULL);
    return all == WRITES ? 0 : 2;
}

Test(user, a_small_write_and_read_ask_once, .timeout = 100)
{
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lab_open(&b->lab, 1);
    pid_t server = lab_fork(&b->lab, 1, read_small, b);
    for (int i = 0; i < 4000 && !b->is_ready; i++)
        usleep(5000);
    pid_t client = lab_fork(&b->lab, 0, write_small, b);
    int client_status = lab_wait(client, 40), server_status = lab_wait(server, 40);
    lab_close(&b->lab);
    cr_expect_eq(client_status, 0, "the writer ended with %d", client_status);
    cr_expect_eq(server_status, 0, "the reader ended with %d", server_status);
}
