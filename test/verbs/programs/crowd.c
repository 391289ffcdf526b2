/* SPDX-License-Identifier: BSD-2-Clause */
/* A program of libibverbs: PROCESSES of one address open the first device all at once, and make a queue pair
 * each. As many as have room get one, with numbers that nobody else has; the others are told that there is
 * none. When all have gone, there is room again. It knows nothing of nornic.
 *
 *   crowd PROCESSES ROOM   says how many had room; ends with 0 if ROOM of them had, and all else was right */
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESSES_MAX 512
#define WAIT_MS       120000 /* for anything */

static struct board {
    atomic_bool may_open, may_leave;
    atomic_uint opened, refused;
    uint32_t qpn[PROCESSES_MAX]; /* 0: none */
    int err[PROCESSES_MAX];      /* errno of who was refused */
} * board;

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

static struct ibv_context *open_first(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    int err = errno;
    if (list)
        ibv_free_device_list(list);
    errno = err;
    return context;
}

static void await(const atomic_bool *what)
{
    for (int waited = 0; !atomic_load(what); waited += poll(NULL, 0, 2) == 0)
        if (waited >= WAIT_MS)
            fail("process %ld waits in vain", (long)getpid());
}

/* Opens, makes, keeps until all may leave, and gives back. */
static void be_one(unsigned self)
{
    await(&board->may_open);
    struct ibv_context *context = open_first();
    if (!context) {
        board->err[self] = errno;
        atomic_fetch_add(&board->refused, 1);
        exit(0);
    }
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {
        .send_cq = cq,
        .recv_cq = cq,
        .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC};
    struct ibv_qp *qp = pd && cq ? ibv_create_qp(pd, &init) : NULL;
    if (!qp)
        fail("process %u has a device, and no queue pair (errno %d)", self, errno);
    board->qpn[self] = qp->qp_num;
    atomic_fetch_add(&board->opened, 1);
    await(&board->may_leave);
    if (ibv_destroy_qp(qp) || ibv_destroy_cq(cq) || ibv_dealloc_pd(pd) || ibv_close_device(context))
        fail("process %u cannot give back what it has", self);
    exit(0);
}

static void judge(unsigned processes)
{
    for (unsigned i = 0; i < processes; i++) {
        if (!board->qpn[i] && !board->err[i])
            fail("process %u was refused without a reason", i);
        for (unsigned j = 0; j < i; j++)
            if (board->qpn[i] && board->qpn[i] == board->qpn[j])
                fail("processes %u and %u have both queue pair 0x%06x", j, i, board->qpn[i]);
    }
}

int main(int argc, char **argv)
{
    unsigned processes = argc == 3 ? (unsigned)atoi(argv[1]) : 0,
             room = argc == 3 ? (unsigned)atoi(argv[2]) : 0;
    if (!processes || processes > PROCESSES_MAX) {
        fprintf(stderr, "usage: crowd PROCESSES ROOM\n");
        return 2;
    }
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        fail("no memory");
    for (unsigned i = 0; i < processes; i++) {
        pid_t child = fork();
        if (child == 0)
            be_one(i);
        if (child < 0)
            fail("no process %u", i);
    }
    atomic_store(&board->may_open, true);
    for (int waited = 0; atomic_load(&board->opened) + atomic_load(&board->refused) < processes;
         waited += poll(NULL, 0, 5) == 0)
        if (waited >= WAIT_MS)
            fail("%u opened, %u refused, of %u", board->opened, board->refused, processes);
    atomic_store(&board->may_leave, true);
    int how = 0, wrong = 0;
    for (unsigned i = 0; i < processes; i++)
        wrong += wait(&how) < 0 || !WIFEXITED(how) || WEXITSTATUS(how) != 0;
    judge(processes);
    struct ibv_context *again = open_first();
    if (!again || ibv_close_device(again))
        fail("there is no room when all have gone (errno %d)", errno);
    printf("%u processes at once: %u had room, %u were refused\n", processes, board->opened, board->refused);
    return wrong == 0 && board->opened == room ? 0 : 1;
}
