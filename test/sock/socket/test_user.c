/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that a program hands to a call: what of it may be used, what finding out costs, what is known
 * without; and whether the thread leaves the processor, and the port, to a program that sends. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/base.h"
#include "host/dev/clock.h"
#include "sock/socket/known.h"
#include "sock/runtime.h"
#include "sock/socket/user.h"
#include "test/sock/lab.h"
#include "test/support/cpu.h"

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
    struct iovec *theirs = (struct iovec *)(at + 2 * (size_t)PAGE);
    struct smcr_iov v;
    *theirs = (struct iovec){at, BYTES};
    cr_assert_eq(smcr_iov_begin(&v, theirs, 1), 0);
    cr_assert_eq(asked, 5, "what is ours is not asked for");
    cr_assert_eq(smcr_iov_open(&v, theirs, 1), 0);
    cr_assert_eq(asked, 6);
}

/* --- what is known --- */

/* That it may be used, or so much of it, and how often the kernel was asked. */
static void check_known(void *at, size_t len, size_t there, unsigned questions)
{
    size_t (*const ways[])(const void *at, size_t len_bytes) = {smcr_user_readable, writable, overwritable};
    for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        asked = 0;
        cr_assert_eq(ways[i](at, len), there, "%zu bytes, way %u", len, i);
        cr_assert(questions ? asked >= questions : asked == 0, "way %u: %u questions", i, asked);
    }
}

/* What lies beside an object, which the compiler takes amiss. */
static uint8_t *beside(void *object, ptrdiff_t by)
{
    volatile ptrdiff_t distance = by;
    return (uint8_t *)object + distance;
}

/* covers: SMCR-SOC-05 */
Test(user, the_stack_is_known_from_the_frame_on)
{
    char local[2 * PAGE];
    smcr_known_learn();
    check_known(local, sizeof local, sizeof local, 0);
    asked = 0;
    cr_assert_eq(smcr_user_readable(beside(local, -4 * (ptrdiff_t)PAGE), 8), 8);
    cr_assert_eq(asked, 1, "nobody returns through it");
}

/* A stack with a page in front and one behind that are not there. */
#define STACK_PAGES 256 /* a thread of ThreadSanitizer wants 900 KiB */
struct stack {
    uint8_t *first, *end;
    char *other; /* on another stack */
};

static struct stack make_stack(void)
{
    uint8_t *at = mmap(NULL, (STACK_PAGES + 2) * (size_t)PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(at, MAP_FAILED);
    uint8_t *end = at + (STACK_PAGES + 1) * (size_t)PAGE;
    cr_assert_eq(mprotect(at + PAGE, STACK_PAGES * (size_t)PAGE, PROT_READ | PROT_WRITE), 0);
    return (struct stack){.first = at + PAGE, .end = end};
}

static void *on_thread(void *ctx)
{
    struct stack *stack = ctx;
    char local[BYTES];
    size_t there = (size_t)(stack->end - (uint8_t *)local);
    memset(local, 0, sizeof local);
    check_known(local, sizeof local, sizeof local, 0);
    check_known(stack->other, BYTES, BYTES, 1);
    asked = 0;
    cr_assert_eq(smcr_user_readable(local, there + 100), there, "it ends where the stack does");
    cr_assert_eq(asked, 1);
    cr_assert_eq(smcr_user_writable(stack->first - 100, 8), 0);
    return NULL;
}

/* covers: SMCR-SOC-05 */
Test(user, a_thread_knows_its_own_stack_and_where_it_ends)
{
    char local[BYTES] = {0};
    struct stack stack = make_stack();
    pthread_attr_t attr;
    pthread_t thread;
    stack.other = local;
    smcr_known_learn();
    pthread_attr_init(&attr);
    cr_assert_eq(pthread_attr_setstack(&attr, stack.first, STACK_PAGES * (size_t)PAGE), 0);
    cr_assert_eq(pthread_create(&thread, &attr, on_thread, &stack), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
}

static ucontext_t main_context, coroutine;
static struct stack coroutine_stack;

static void on_coroutine(void)
{
    char local[BYTES];
    size_t there = (size_t)(coroutine_stack.end - (uint8_t *)local);
    memset(local, 0, sizeof local);
    check_known(local, sizeof local, sizeof local, 1);
    check_known(coroutine_stack.other, BYTES, BYTES, 1);
    cr_assert_eq(smcr_user_readable(local, there + 100), there);
}

/* Neither its own nor the thread's, though the thread knows that. */
/* covers: SMCR-SOC-05 */
Test(user, a_coroutine_asks_for_stacks)
{
    char local[BYTES] = {0};
    smcr_known_learn();
    check_known(local, sizeof local, sizeof local, 0);
    coroutine_stack = make_stack();
    coroutine_stack.other = local;
    cr_assert_eq(getcontext(&coroutine), 0);
    coroutine.uc_stack.ss_sp = coroutine_stack.first;
    coroutine.uc_stack.ss_size = STACK_PAGES * (size_t)PAGE;
    coroutine.uc_link = &main_context;
    makecontext(&coroutine, on_coroutine, 0);
    cr_assert_eq(swapcontext(&main_context, &coroutine), 0);
}

/* covers: SMCR-SOC-05 */
Test(user, the_heap_ends_at_the_break)
{
    uint8_t *top = sbrk(0);
    cr_assert_neq(sbrk((intptr_t)(4 * PAGE - (uintptr_t)top % PAGE)), (void *)-1);
    top = sbrk(0);
    smcr_known_learn();
    check_known(top - 2 * (size_t)PAGE, 2 * PAGE, 2 * PAGE, 0);
    check_known(top - 10, 100, 10, 1);
    cr_assert_neq(sbrk(-(intptr_t)PAGE), (void *)-1);
    check_known(top - PAGE - 10, 10, 10, 0);
    check_known(top - PAGE - 10, 100, 10, 1);
    check_known(top - 10, 10, 0, 1);
}

extern char __executable_start[],
    _end[]; /* the linker's: the program's first byte, and what follows its last */
static int (*const sealed)(const char *) = puts; /* relocated, then read-only */
static const char constant[BYTES] = "constant";
static char variable[2 * PAGE];

/* covers: SMCR-SOC-05 */
Test(user, what_the_linker_laid_out_is_known_by_its_rights)
{
    smcr_known_learn();
    check_known(variable, sizeof variable, sizeof variable, 0);
    check_known(beside(_end, -16), 16, 16, 0);
    check_known(stdout, 8, 8, 1); /* a library's */
    asked = 0;
    cr_expect_eq(smcr_user_readable(constant, sizeof constant), sizeof constant);
    cr_expect_eq(smcr_user_readable(&sealed, sizeof sealed), sizeof sealed);
    cr_expect_eq(smcr_user_readable(__executable_start, 16), 16);
    cr_expect_eq(asked, 0);
    cr_expect_eq(smcr_user_writable((void *)constant, sizeof constant), 0);
    cr_expect_eq(smcr_user_writable((void *)&sealed, sizeof sealed), 0);
    cr_expect_eq(smcr_user_overwritable((void *)&sealed, sizeof sealed), 0);
    cr_expect_eq(smcr_user_writable(__executable_start, 16), 0);
    cr_expect_eq(smcr_user_readable(beside(__executable_start, -1), 1), 0);
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

/* A mapping, which has to be asked for. */
static char *a_mapping(void)
{
    return mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* One question each for WRITES small writes; and the thread does not keep them from the only processor. */
static int write_small(void *ctx)
{
    struct board *b = ctx;
    char *bytes = a_mapping();
    cpu_stay_on_first();
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
    char *bytes = a_mapping();
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

/* --- a stream of small writes --- */

#define LIMIT_MS 20000 /* of what should take one, or less */
#define SENDS    5000u

static bool is_port_listened_to(void)
{
    smcr_rt_lock();
    bool is_armed = smcr_rt.is_port_armed;
    smcr_rt_release();
    return is_armed;
}

/* One that does not wait, during which the sender would look at the port. */
static bool send_some(int fd)
{
    static char bytes[BYTES];
    return nornic_send(fd, bytes, BYTES, MSG_DONTWAIT) > 0 || errno == EAGAIN;
}

/* Until the thread listens to the port, or does not; sending meanwhile, unless `fd` is -1. */
static bool comes_to(bool is_armed, int fd)
{
    for (uint64_t end_ns = host_now_ns() + LIMIT_MS * NS_PER_MS; host_now_ns() < end_ns;) {
        if (fd >= 0 && !send_some(fd))
            return false;
        if (is_port_listened_to() == is_armed)
            return true;
    }
    return false;
}

static atomic_bool may_sleep;

static void *sleep_in_accept(void *listener)
{
    while (!atomic_load(&may_sleep))
        sched_yield();
    nornic_accept(*(int *)listener, NULL, NULL); /* until it is closed */
    return NULL;
}

static unsigned sleepers(void)
{
    smcr_rt_lock();
    unsigned n = smcr_rt.sleepers;
    smcr_rt_release();
    return n;
}

/* The port is the sender's for longer than the test takes; unless it is the thread's again by now. */
static bool has_long_lease(void)
{
    smcr_rt_lock();
    smcr_rt.lease_end_ns = smcr_rt_now_ns() + 2 * LIMIT_MS * NS_PER_MS;
    bool is_taken = !smcr_rt.is_port_armed;
    smcr_rt_release();
    return is_taken;
}

/* From when somebody sleeps, who waits for the thread's news, it listens. */
static int send_beside_a_sleeper(int fd)
{
    struct sockaddr_in addr = lab_address(0, PORT);
    int err = 0, l = nornic_socket(AF_INET, SOCK_STREAM, 0);
    pthread_t sleeper;
    if (nornic_bind(l, (struct sockaddr *)&addr, sizeof addr) != 0 || nornic_listen(l, 1) != 0 ||
        pthread_create(&sleeper, NULL, sleep_in_accept, &l) != 0)
        return 10;
    while (!has_long_lease())
        if (!comes_to(false, fd))
            return 13;
    atomic_store(&may_sleep, true);
    for (uint64_t end_ns = host_now_ns() + LIMIT_MS * NS_PER_MS; sleepers() == 0 && host_now_ns() < end_ns;)
        sched_yield();
    if (sleepers() == 0 || !is_port_listened_to())
        err = 11;
    for (unsigned i = 0; i < SENDS && !err; i++)
        if (!send_some(fd) || !is_port_listened_to())
            err = 12;
    nornic_close(l);
    pthread_join(sleeper, NULL);
    return err;
}

/* The port is the sender's while it goes on, and the thread's again when it ceases, which takes the rest to
 * the peer: the sender does not call any more. */
static int write_stream(void *ctx)
{
    struct board *b = ctx;
    lab_start(&b->lab, 0, NULL);
    struct sockaddr_in addr = lab_address(1, PORT);
    int fd = connect_here(&addr);
    if (!comes_to(false, fd))
        return 1;
    nornic_write(fd, "the end", 1 + strlen("the end"));
    struct pollfd answer = {.fd = fd, .events = POLLIN};
    char c;
    if (poll(&answer, 1, LIMIT_MS) != 1 || nornic_read(fd, &c, 1) != 1)
        return 2;
    if (!comes_to(true, -1))
        return 3;
    int err = send_beside_a_sleeper(fd);
    nornic_close(fd);
    smcr_sock_stop(NULL);
    return err;
}

/* Says a byte when it hears the end. */
static int read_stream(void *ctx)
{
    struct board *b = ctx;
    static char bytes[1 << 16];
    lab_start(&b->lab, 1, NULL);
    struct sockaddr_in addr = lab_address(1, PORT);
    int l = nornic_socket(AF_INET, SOCK_STREAM, 0);
    if (nornic_bind(l, (struct sockaddr *)&addr, sizeof addr) != 0 || nornic_listen(l, 1) != 0)
        return 3;
    b->is_ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    ssize_t n;
    while ((n = nornic_read(fd, bytes, sizeof bytes)) > 0)
        if (memchr(bytes, 'd', (size_t)n) && nornic_write(fd, bytes, 1) != 1)
            return 4;
    nornic_close(fd);
    nornic_close(l);
    smcr_sock_stop(NULL);
    return n == 0 ? 0 : 5;
}

/* --- the last of many sends --- */

#define TAKEN_OVER 20u

/* A send that takes the port over and has nothing to take to the wire, since the peer has no room: whether it
 * did. A round right before it is what keeps it from making one of its own. */
static bool take_over_by_one_send(int fd)
{
    smcr_rt_lock();
    uint64_t now_ns = smcr_rt_now_ns();
    smcr_rt.sending_since_ns = now_ns - SMCR_RT_LEASE_NS;
    smcr_rt.sent_ns = smcr_rt.progress_ns = now_ns;
    smcr_rt_release();
    send_some(fd);
    return !is_port_listened_to();
}

/* Nothing follows it, no deadline is near, and yet the thread listens to the port again. */
static int fill_and_cease(void *ctx)
{
    struct board *b = ctx;
    lab_start(&b->lab, 0, NULL);
    struct sockaddr_in addr = lab_address(1, PORT);
    int fd = connect_here(&addr);
    unsigned taken = 0;
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    while (poll(&room, 1, 100) == 1)
        if (!send_some(fd))
            return 1;
    for (uint64_t end_ns = host_now_ns() + LIMIT_MS * NS_PER_MS;
         taken < TAKEN_OVER && host_now_ns() < end_ns;) {
        taken += take_over_by_one_send(fd);
        if (!comes_to(true, -1))
            return 2;
    }
    nornic_close(fd);
    smcr_sock_stop(NULL);
    return taken == TAKEN_OVER ? 0 : 3;
}

/* Reads nothing until the peer has closed. */
static int let_it_fill(void *ctx)
{
    struct board *b = ctx;
    lab_start(&b->lab, 1, NULL);
    struct sockaddr_in addr = lab_address(1, PORT);
    int l = nornic_socket(AF_INET, SOCK_STREAM, 0);
    if (nornic_bind(l, (struct sockaddr *)&addr, sizeof addr) != 0 || nornic_listen(l, 1) != 0)
        return 3;
    b->is_ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    struct pollfd end = {.fd = fd, .events = POLLRDHUP};
    poll(&end, 1, 2 * LIMIT_MS);
    nornic_close(fd);
    nornic_close(l);
    smcr_sock_stop(NULL);
    return 0;
}

static void run_both(int (*client_does)(void *ctx), int (*server_does)(void *ctx))
{
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lab_open(&b->lab, 1);
    pid_t server = lab_fork(&b->lab, 1, server_does, b);
    for (int i = 0; i < 4000 && !b->is_ready; i++)
        usleep(5000);
    pid_t client = lab_fork(&b->lab, 0, client_does, b);
    int client_status = lab_wait(client, 40), server_status = lab_wait(server, 40);
    lab_close(&b->lab);
    cr_expect_eq(client_status, 0, "the writer ended with %d", client_status);
    cr_expect_eq(server_status, 0, "the reader ended with %d", server_status);
}

Test(user, a_small_write_and_read_ask_once, .timeout = 100)
{
    run_both(write_small, read_small);
}

Test(user, who_sends_without_end_has_the_port_until_it_ends, .timeout = 100)
{
    run_both(write_stream, read_stream);
}

Test(user, the_last_of_many_sends_may_make_no_round, .timeout = 100)
{
    run_both(fill_and_cease, let_it_fill);
}
