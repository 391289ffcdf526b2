/* SPDX-License-Identifier: BSD-2-Clause */
/* A borrowed connection: how this process comes to it, what it is, its options. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/now.h"
#include "service/borrow/inner.h"

/* Of the table of those that this process has, and of those that it has no more: a waiter may just have
 * found one in the table, so what was one stays one. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct borrow *free_ones;

static const char *const why_not[] = {
#define WHY_WORDS_(name, words) words,
    SERVICE_WHY_NOT(WHY_WORDS_)
#undef WHY_WORDS_
};

/* --- locks and the doorbell --- */

static int lock_in_time(pthread_mutex_t *lock)
{
    struct timespec until = borrow_timespec(base_now_ns() + BORROW_LOCK_NS);
    return pthread_mutex_clocklock(lock, CLOCK_MONOTONIC, &until);
}

static uint32_t missed_bit(const struct borrow *b, const pthread_mutex_t *lock)
{
    return lock == &b->block->send_lock ? SERVICE_MISSED_SEND : SERVICE_MISSED_RECV;
}

static int take_lock(struct borrow *b, pthread_mutex_t *lock)
{
    int err = pthread_mutex_trylock(lock);
    if (err == EBUSY)
        err = lock_in_time(lock);
    if (err == ETIMEDOUT) { /* say so, then look again: who has it does it the other way round */
        atomic_fetch_or(&b->block->was_missed, missed_bit(b, lock));
        borrow_ring(b); /* the one who has it may be killed */
        err = pthread_mutex_trylock(lock);
    }
    atomic_thread_fence(memory_order_seq_cst); /* who frees the buffer looks at the lock behind tx_lent_to */
    if (err != EOWNERDEAD)
        return -err;
    /* Whoever died here had moved a position, with all that belongs to it, or had not. */
    return -pthread_mutex_consistent(lock);
}

/* Says that it is inside before it looks whether the memory is about to go: borrow_renounce() says
 * that first and then looks whether a call is inside. */
int borrow_lock(struct borrow *b, pthread_mutex_t *lock)
{
    atomic_fetch_add(&b->inside, 1);
    int err = borrow_has_renounced() ? -ECONNRESET : take_lock(b, lock);
    if (err)
        atomic_fetch_sub(&b->inside, 1);
    return err;
}

void borrow_unlock(struct borrow *b, pthread_mutex_t *lock)
{
    pthread_mutex_unlock(lock);
    if (atomic_load(&b->block->was_missed) & missed_bit(b, lock))
        borrow_ring(b);
    atomic_fetch_sub(&b->inside, 1);
}

void borrow_ring(const struct borrow *b)
{
    service_ring(b->service->memory, b->slot, b->service->doorbell);
}

/* --- the table --- */

static struct borrow *find_or_make(struct borrow_service *service, uint32_t slot, uint32_t generation)
{
    struct borrow *b = service->by_slot[slot];
    if (b && b->generation == generation) {
        b->refs++;
        return b;
    }
    b = free_ones;
    if (b)
        free_ones = b->next_free;
    else
        b = malloc(sizeof *b);
    if (!b)
        return NULL;
    *b = (struct borrow){.service = service,
                         .block = service_block_at(service->memory, slot),
                         .slot = slot,
                         .generation = generation,
                         .refs = 1};
    __atomic_store_n(&service->by_slot[slot], b, __ATOMIC_RELEASE);
    return b;
}

static struct borrow *get(struct borrow_service *service, uint32_t slot, uint32_t generation)
{
    pthread_mutex_lock(&table_lock);
    struct borrow *b = slot < SERVICE_CONNS ? find_or_make(service, slot, generation) : NULL;
    pthread_mutex_unlock(&table_lock);
    return b;
}

void borrow_release(struct borrow *b)
{
    pthread_mutex_lock(&table_lock);
    if (--b->refs == 0) {
        if (b->service->by_slot[b->slot] == b)
            __atomic_store_n(&b->service->by_slot[b->slot], NULL, __ATOMIC_RELEASE);
        b->next_free = free_ones;
        free_ones = b;
    }
    pthread_mutex_unlock(&table_lock);
}

/* Its lock may be another thread's of the parent. */
void borrow_forked(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    struct borrow_service *service = borrow_service();
    table_lock = fresh;
    for (unsigned i = 0; service && i < SERVICE_CONNS; i++)
        if (service->by_slot[i])
            service->by_slot[i]->inside = 0; /* these threads are in the parent */
    borrow_forget_control();
}

/* --- its beginning --- */

static uint32_t option_bits(const struct borrow_options *o)
{
    return (o->is_nodelay ? SERVICE_NODELAY : 0) | (o->is_corked ? SERVICE_CORKED : 0) |
           (o->is_oob_inline ? SERVICE_OOB_INLINE : 0) | (o->is_keepalive ? SERVICE_KEEPALIVE : 0);
}

static void set_times(struct service_block *block, const struct borrow_options *o, unsigned which)
{
    if (which & BORROW_RCVTIMEO)
        atomic_store(&block->rcvtimeo_ns, o->rcvtimeo_ns);
    if (which & BORROW_SNDTIMEO)
        atomic_store(&block->sndtimeo_ns, o->sndtimeo_ns);
}

int borrow_begin(int tcp_fd, enum borrow_role role, const struct borrow_options *options, struct borrow **out,
                 int *outer_fd, const char **reason)
{
    struct borrow_service *service = borrow_service();
    struct service_request request = {
        .what = SERVICE_BEGIN,
        .begin = {.is_server = role == BORROW_SERVER,
                  .rcvbuf_bytes = options->rcvbuf_bytes,
                  .sndbuf_bytes = options->sndbuf_bytes,
                  .options = option_bits(options),
                  .keepidle_s = options->keepidle_s,
                  .linger_s = options->linger_s < 0 ? SERVICE_NO_LINGER : (uint32_t)options->linger_s}};
    struct service_answer answer;
    int fds[SERVICE_MAX_FDS];
    if (!service)
        return -ENOTCONN;
    int err = borrow_ask(service, &request, tcp_fd, &answer, fds);
    if (err)
        return err;
    if (answer.result > 0)
        *reason = answer.number < sizeof why_not / sizeof *why_not ? why_not[answer.number] : "for no reason";
    struct borrow *b =
        answer.result == 0 && fds[0] >= 0 ? get(service, answer.number, answer.generation) : NULL;
    if (b) {
        set_times(b->block, options, BORROW_RCVTIMEO | BORROW_SNDTIMEO);
        *out = b;
        *outer_fd = fds[0];
        return 0;
    }
    if (fds[0] >= 0) /* its end is the connection's */
        close(fds[0]);
    return answer.result ? answer.result : fds[0] < 0 ? -EMFILE : -ENOMEM;
}

/* What the other end of descriptor `fd` is called; false: not as one of a service's. */
static bool parse_name(int fd, int *pid, unsigned *slot, unsigned *generation)
{
    struct sockaddr_un addr = {0};
    socklen_t len = sizeof addr;
    char text[SERVICE_NAME_SIZE];
    if (getpeername(fd, (struct sockaddr *)&addr, &len) != 0 || addr.sun_family != AF_UNIX ||
        addr.sun_path[0] != '\0')
        return false;
    size_t bytes = len - offsetof(struct sockaddr_un, sun_path);
    if (bytes < 2 || bytes > sizeof text)
        return false;
    memcpy(text, addr.sun_path + 1, bytes - 1);
    text[bytes - 1] = '\0';
    return sscanf(text, SERVICE_NAME_FORMAT, pid, slot, generation) == 3;
}

bool borrow_is_outer(int fd)
{
    int pid;
    unsigned slot, generation;
    return parse_name(fd, &pid, &slot, &generation);
}

/* Any other user could hand the program a pair with such a name, and with it one of its own connections under
 * another number. Who made a pair, the kernel knows. */
static bool is_of_user(int fd, uid_t uid)
{
    struct ucred maker;
    socklen_t len = sizeof maker;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &maker, &len) == 0 && maker.uid == uid;
}

int borrow_attach(int outer_fd, struct borrow **out)
{
    struct borrow_service *service = borrow_service();
    int pid;
    unsigned slot, generation;
    if (!parse_name(outer_fd, &pid, &slot, &generation))
        return -ENOTSOCK;
    if (!service)
        return -ENOTCONN;
    if (!is_of_user(outer_fd, service->uid))
        return -ENOTSOCK;
    if (pid != service->pid || slot >= SERVICE_CONNS) /* of one that is no more */
        return -ECONNRESET;
    *out = get(service, slot, generation);
    return *out ? 0 : -ENOMEM;
}

/* --- what it is --- */

enum borrow_state borrow_state(const struct borrow *b)
{
    if (b->has_tcp)
        return BORROW_TCP;
    if (!borrow_is_lent(b))
        return BORROW_RESET;
    return (enum borrow_state)atomic_load_explicit(&b->block->state, memory_order_acquire);
}

static int ask_for_tcp(const struct borrow *b, enum service_what what)
{
    struct service_request request = {.what = what, .number = b->slot, .generation = b->generation};
    struct service_answer answer;
    int fds[SERVICE_MAX_FDS];
    int err = borrow_ask(b->service, &request, -1, &answer, fds);
    if (err)
        return err;
    return answer.result ? answer.result : fds[0] >= 0 ? fds[0] : -EPROTO;
}

int borrow_tcp_fd(struct borrow *b)
{
    int fd = ask_for_tcp(b, SERVICE_TCP);
    if (fd >= 0)
        b->has_tcp = true;
    return fd;
}

void borrow_give_up(struct borrow *b)
{
    b->is_given_up = true;
}

int borrow_beside_fd(struct borrow *b)
{
    return ask_for_tcp(b, SERVICE_BESIDE);
}

int borrow_take_error(struct borrow *b)
{
    if (!borrow_is_lent(b))
        return b->has_tcp ? 0 : ECONNRESET;
    return atomic_exchange(&b->block->error, 0);
}

/* --- options --- */

/* The bits of service_block.options that `which` names. */
static uint32_t bits_of(unsigned which)
{
    return option_bits(&(struct borrow_options){.is_nodelay = which & BORROW_NODELAY,
                                                .is_corked = which & BORROW_CORK,
                                                .is_oob_inline = which & BORROW_OOB_INLINE,
                                                .is_keepalive = which & BORROW_KEEPALIVE});
}

void borrow_set_options(struct borrow *b, const struct borrow_options *options, unsigned which)
{
    struct service_block *block = b->block;
    uint32_t linger_s = options->linger_s < 0 ? SERVICE_NO_LINGER : (uint32_t)options->linger_s;
    bool is_news = false;
    set_times(block, options, which);
    if (which & BORROW_KEEPIDLE)
        is_news |= atomic_exchange(&block->keepidle_s, options->keepidle_s) != options->keepidle_s;
    if (which & BORROW_LINGER)
        is_news |= atomic_exchange(&block->linger_s, linger_s) != linger_s;
    uint32_t old = atomic_load(&block->options), bits;
    do
        bits = (old & ~bits_of(which)) | (option_bits(options) & bits_of(which));
    while (!atomic_compare_exchange_weak(&block->options, &old, bits));
    is_news |= ((old ^ bits) & ~(uint32_t)SERVICE_NODELAY) != 0;
    /* Of TCP_NODELAY it sees when it looks at bytes; only those that are gathered already it is to hear for.
     */
    if (is_news || (old != bits && atomic_load(&block->head) != atomic_load(&block->acked)))
        borrow_ring(b);
}

void borrow_get_options(const struct borrow *b, struct borrow_options *options)
{
    const struct service_block *block = b->block;
    uint32_t bits = atomic_load(&block->options), linger_s = atomic_load(&block->linger_s);
    *options = (struct borrow_options){.is_nodelay = bits & SERVICE_NODELAY,
                                       .is_corked = bits & SERVICE_CORKED,
                                       .is_oob_inline = bits & SERVICE_OOB_INLINE,
                                       .is_keepalive = bits & SERVICE_KEEPALIVE,
                                       .keepidle_s = atomic_load(&block->keepidle_s),
                                       .linger_s = linger_s > INT_MAX ? -1 : (int)linger_s,
                                       .rcvtimeo_ns = atomic_load(&block->rcvtimeo_ns),
                                       .sndtimeo_ns = atomic_load(&block->sndtimeo_ns)};
}

void borrow_set_rcvlowat(struct borrow *b, int bytes)
{
    atomic_store(&b->block->rcvlowat, bytes > 0 ? (uint32_t)bytes : 1);
}

int borrow_rcvlowat(const struct borrow *b)
{
    uint32_t bytes = atomic_load(&b->block->rcvlowat);
    return bytes < INT_MAX ? (int)bytes : INT_MAX;
}

void borrow_set_nonblocking(struct borrow *b, bool on)
{
    if (on)
        atomic_fetch_or(&b->block->options, SERVICE_NONBLOCKING);
    else
        atomic_fetch_and(&b->block->options, ~(uint32_t)SERVICE_NONBLOCKING);
}

bool borrow_is_nonblocking(const struct borrow *b)
{
    return atomic_load(&b->block->options) & SERVICE_NONBLOCKING;
}

int borrow_shutdown(struct borrow *b, int how)
{
    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
        return -EINVAL;
    if (borrow_state(b) == BORROW_RESET)
        return -ENOTCONN;
    atomic_fetch_or(&b->block->shut, how == SHUT_RD   ? SERVICE_SHUT_READ
                                     : how == SHUT_WR ? SERVICE_SHUT_WRITE
                                                      : SERVICE_SHUT_READ | SERVICE_SHUT_WRITE);
    borrow_ring(b);
    return 0;
}
