/* SPDX-License-Identifier: BSD-2-Clause */
/* The SMC-R service and programs that ask anything by its control socket, with descriptors of all kinds,
 * and write anything into the memory that they share with it. TCP peers of the loans send anything, too.
 * The service serves on, ends no loan of nobody, and loses no buffer and no place.
 * The input: steps, each a byte (its lower four bits: enum step), then the values that the step reads. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/dev/clock.h"
#include "sock/addrs.h"
#include "test/fuzz/input.h"
#include "test/fuzz/smc/service_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 96
#define FDS_MAX   4

enum step {
    STEP_REQUEST = 0, /* program, kind, patches, descriptors */
    STEP_RAW = 1,     /* program, length, bytes */
    STEP_ANSWER = 2,  /* program: reads an answer, keeps its descriptors */
    STEP_LEAVE = 3,   /* program */
    STEP_BLOCK = 4,   /* slot, member, value */
    STEP_WORD = 5,    /* part, offset, value: any word of a block, of a waiter or of the head */
    STEP_LOOK = 6,    /* slot: its bit */
    STEP_KEPT = 7,    /* which, how: write, shut down, close */
    STEP_PEER = 8,    /* peer, length: the peer of a loan sends */
    STEP_TIME = 9,    /* 2 to the n ns */
    STEP_BORROW = 10, /* program, flags: a connection, as an honest program asks */
    STEP_HELLO = 11,  /* program */
    STEP_COUNT
};

/* --- the clock, in the place of host/dev/clock.c --- */

uint64_t host_now_ns(void)
{
    return service_world_now_ns += service_world_step_ns;
}

uint64_t host_deadline_ns(uint64_t timeout_ns)
{
    return timeout_ns > UINT64_MAX - service_world_now_ns ? UINT64_MAX : service_world_now_ns + timeout_ns;
}

uint64_t host_left_ns(uint64_t end_ns)
{
    return end_ns == UINT64_MAX ? end_ns : end_ns > service_world_now_ns ? end_ns - service_world_now_ns : 0;
}

bool host_poll_readable(int fd, uint64_t end_ns)
{
    (void)fd;
    (void)end_ns;
    return false;
}

/* --- the machine's addresses, in the place of sock/addrs.c: none, so peers on the loopback are elsewhere
 * --- */

void smcr_addrs_read(void)
{
}

void smcr_addrs_forget(void)
{
}

unsigned smcr_addrs_networks(const char *ifname, struct smcr_network out[SMCR_MAX_NETWORKS])
{
    (void)ifname;
    (void)out;
    return 0;
}

const char *smcr_addrs_owner(const struct nornic_addr *addr)
{
    (void)addr;
    return NULL;
}

/* --- requests of programs --- */

/* A descriptor of kind `kind`, or -1. */
static int make_fd(struct service_world *w, unsigned kind)
{
    int pair[2];
    switch (kind % 9) {
    case 0:
        return eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    case 1:
        return open("/dev/zero", O_RDWR | O_CLOEXEC);
    case 2:
        return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    case 3:
        return socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    case 4:
        if (pipe2(pair, O_CLOEXEC) != 0)
            return -1;
        service_world_keep(w, pair[1]);
        return pair[0];
    case 5:
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
            return -1;
        service_world_keep(w, pair[1]);
        return pair[0];
    case 6:
        return dup(w->service->arena.fd);
    default:
        return service_world_tcp(w);
    }
}

/* Sends a packet with descriptors, which are closed here. */
static void send_packet(int to, const void *bytes, size_t len_bytes, const int *fds, unsigned fd_count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
    } space = {.bytes = {0}};
    struct iovec iov = {(void *)bytes, len_bytes};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    if (fd_count > 0) {
        msg.msg_control = space.bytes;
        msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    if (to >= 0)
        (void)!sendmsg(to, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    for (unsigned i = 0; i < fd_count; i++)
        close(fds[i]);
}

static int program_of(struct service_world *w, struct fuzz_input *in)
{
    unsigned i = fuzz_u8(in) % SERVICE_WORLD_PROGRAMS;
    service_world_connect(w, i);
    return w->program[i];
}

static void request(struct service_world *w, struct fuzz_input *in)
{
    int to = program_of(w, in), fds[FDS_MAX];
    struct service_request r = {.magic = SERVICE_MAGIC, .version = SERVICE_VERSION};
    r.what = fuzz_u8(in);
    unsigned patches = fuzz_u8(in) % 6, fd_count = fuzz_u8(in) % (FDS_MAX + 1), made = 0;
    for (unsigned i = 0; i < patches; i++) {
        unsigned at = fuzz_u8(in) % (sizeof r / 4);
        uint32_t value = fuzz_u32(in);
        memcpy((char *)&r + at * 4, &value, 4);
    }
    for (unsigned i = 0; i < fd_count; i++) {
        int fd = make_fd(w, fuzz_u8(in));
        if (fd >= 0)
            fds[made++] = fd;
    }
    send_packet(to, &r, sizeof r, fds, made);
}

static void raw(struct service_world *w, struct fuzz_input *in)
{
    int to = program_of(w, in);
    uint8_t bytes[256], n = fuzz_u8(in);
    for (unsigned i = 0; i < n; i++)
        bytes[i] = fuzz_u8(in);
    send_packet(to, bytes, n, NULL, 0);
}

static void take_answer(struct service_world *w, struct fuzz_input *in)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(SERVICE_MAX_FDS * sizeof(int))];
    } space;
    struct service_answer answer;
    struct iovec iov = {&answer, sizeof answer};
    struct msghdr msg = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space.bytes, .msg_controllen = sizeof space.bytes};
    int from = w->program[fuzz_u8(in) % SERVICE_WORLD_PROGRAMS], fds[SERVICE_MAX_FDS];
    if (from < 0 || recvmsg(from, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0)
        return;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        size_t bytes = c->cmsg_len - CMSG_LEN(0);
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        memcpy(fds, CMSG_DATA(c), bytes);
        for (unsigned i = 0; i < bytes / sizeof(int); i++)
            service_world_keep(w, fds[i]);
    }
}

static void ask(struct service_world *w, struct fuzz_input *in, uint32_t request)
{
    struct service_request r = {.magic = SERVICE_MAGIC, .version = SERVICE_VERSION, .what = request};
    int to = program_of(w, in), fd = request == SERVICE_BEGIN ? service_world_tcp(w) : -1;
    if (request == SERVICE_BEGIN)
        r.begin = (struct service_begin){.is_server = fuzz_u8(in) % 2, .options = fuzz_u8(in) % 32};
    send_packet(to, &r, sizeof r, &fd, fd >= 0);
}

/* --- writes of programs --- */

/* Values that are near a limit or a position. */
static uint64_t odd_value(struct fuzz_input *in, uint64_t near)
{
    uint8_t how = fuzz_u8(in);
    switch (how % 8) {
    case 0:
        return 0;
    case 1:
        return UINT64_MAX;
    case 2:
        return UINT64_C(1) << how / 8 << fuzz_u8(in) % 32;
    case 3:
        return near - 1 - how / 8;
    case 4:
        return near + how / 8;
    case 5:
        return near + fuzz_u16(in);
    default:
        return (uint64_t)fuzz_u32(in) << 32 | fuzz_u32(in);
    }
}

static struct service_block *block_of(const struct service_world *w, struct fuzz_input *in)
{
    return service_block_at(w->service->arena.memory, fuzz_u8(in) % 8);
}

static void write_member(const struct service_world *w, struct fuzz_input *in)
{
    struct service_block *b = block_of(w, in);
    uint8_t which = fuzz_u8(in) % 12;
    if (which == 0)
        atomic_store(&b->head, odd_value(in, atomic_load(&b->acked)));
    else if (which == 1)
        atomic_store(&b->consumed, odd_value(in, atomic_load(&b->produced)));
    else if (which == 2)
        atomic_store(&b->urgent_end, odd_value(in, atomic_load(&b->head)));
    else if (which == 3)
        atomic_store(&b->options, fuzz_u8(in));
    else if (which == 4)
        atomic_store(&b->shut, fuzz_u8(in) % 8);
    else if (which == 5)
        atomic_store(&b->watch[fuzz_u8(in) % SERVICE_WATCHES], (uint32_t)odd_value(in, 1 << 16 | 1));
    else if (which == 6)
        atomic_store(&b->linger_s, (uint32_t)odd_value(in, 3));
    else if (which == 7)
        atomic_store(&b->keepidle_s, (uint32_t)odd_value(in, 3));
    else if (which == 8)
        atomic_store(service_lock_word(&b->send_lock), (uint32_t)odd_value(in, (uint64_t)getpid()));
    else if (which == 9)
        atomic_store(&b->was_missed, fuzz_u8(in));
    else if (which == 10)
        atomic_store(&b->wants_room, 1);
    else
        atomic_store(&b->was_renounced, 1);
}

/* Returns the size of the part at `*at`: a block, a waiter or the head. */
static size_t part_of(const struct service_world *w, struct fuzz_input *in, void **at)
{
    uint8_t which = fuzz_u8(in), number = fuzz_u8(in) % 8;
    if (which % 4 == 0) {
        *at = w->service->head;
        return sizeof *w->service->head;
    }
    if (which % 4 == 1) {
        *at = service_waiter_at(w->service->arena.memory, number);
        return sizeof(struct service_waiter);
    }
    *at = service_block_at(w->service->arena.memory, number);
    return sizeof(struct service_block);
}

static void write_word(const struct service_world *w, struct fuzz_input *in)
{
    void *at;
    size_t words = part_of(w, in, &at) / 8, offset = fuzz_u16(in) % words;
    atomic_store((_Atomic uint64_t *)at + offset, odd_value(in, SERVICE_CONNS));
}

/* --- descriptors and peers --- */

static void use_kept(struct service_world *w, struct fuzz_input *in)
{
    int *fd = &w->kept[fuzz_u8(in) % SERVICE_WORLD_KEPT];
    uint8_t how = fuzz_u8(in), bytes[64];
    if (*fd < 0)
        return;
    if (how % 4 == 0) {
        close(*fd);
        *fd = -1;
    } else if (how % 4 == 1) {
        shutdown(*fd, how / 4 % 3);
    } else {
        for (unsigned i = 0; i < sizeof bytes; i++)
            bytes[i] = fuzz_u8(in);
        (void)!send(*fd, bytes, how / 4, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void use_peer(struct service_world *w, struct fuzz_input *in)
{
    struct pair_end *end = &w->lent[fuzz_u8(in) % SERVICE_WORLD_LENT].c->end[1];
    uint16_t n = fuzz_u16(in);
    uint8_t bytes[1024];
    memset(bytes, n, sizeof bytes);
    if (!end->conn)
        return;
    if (n % 16 == 0)
        pair_close(end);
    else if (n % 2)
        (void)smcr_conn_send(end->conn, bytes, n % sizeof bytes, n % 32 == 1 ? SMCR_SEND_URGENT : 0,
                             w->pair->now_ns);
    else
        (void)smcr_conn_recv(end->conn, bytes, n % sizeof bytes, 0, w->pair->now_ns);
}

static void leave(struct service_world *w, struct fuzz_input *in)
{
    int *fd = &w->program[fuzz_u8(in) % SERVICE_WORLD_PROGRAMS];
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void step(struct service_world *w, struct fuzz_input *in)
{
    switch ((enum step)(fuzz_u8(in) % STEP_COUNT)) {
    case STEP_REQUEST:
        request(w, in);
        break;
    case STEP_RAW:
        raw(w, in);
        break;
    case STEP_ANSWER:
        take_answer(w, in);
        break;
    case STEP_LEAVE:
        leave(w, in);
        break;
    case STEP_BLOCK:
        write_member(w, in);
        break;
    case STEP_WORD:
        write_word(w, in);
        break;
    case STEP_LOOK:
        service_bits_set(&w->service->head->to_look_at, fuzz_u16(in) % SERVICE_CONNS % 8);
        break;
    case STEP_KEPT:
        use_kept(w, in);
        break;
    case STEP_PEER:
        use_peer(w, in);
        break;
    case STEP_TIME:
        service_world_turn(w, UINT64_C(1) << fuzz_u8(in) % 34);
        return;
    case STEP_BORROW:
        ask(w, in, SERVICE_BEGIN);
        break;
    case STEP_HELLO:
        ask(w, in, SERVICE_HELLO);
        break;
    case STEP_COUNT:
        break;
    }
    service_world_turn(w, 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct service_world w;
    struct fuzz_input in = {.p = data, .left = size};
    service_world_begin(&w);
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
        step(&w, &in);
    service_world_end(&w);
    return 0;
}
