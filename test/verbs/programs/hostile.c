/* SPDX-License-Identifier: BSD-2-Clause */
/* A program of libibverbs that treats it badly, and looks whether anybody else suffers. It knows nothing of
 * nornic. All of its processes are on one host and reach each other by the first GID of the first device.
 *
 *   hostile swarm PROCESSES QPS KILLED   a ring of processes with QPS queue pairs each, half of them to the
 *                                        next one: all write and send, and check what comes; then KILLED of
 *                                        them kill themselves with writes under way, and the others go on
 *   hostile forks                        a child is made at each step of the life of a connection
 *   hostile ends                         children end in a signal handler, wherever they were at that moment
 *   hostile guilty SEED                  gives things back that threads use; how it ends is its own affair
 *
 * Ends with 0 and a line that says what was right, or with 1 and one that says what was not. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define QPS_MAX       64
#define PROCESSES_MAX 64
#define WRITE_BYTES   1024
#define ROUNDS        5
#define QP_BYTES      ((2 + ROUNDS) * WRITE_BYTES)
#define WAIT_MS       120000 /* for anything */
#define TIMEOUT       16     /* of a queue pair: 268 ms to four times as much, tried 8 times */

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void fail(const char *format, ...)
{
    va_list args;
    int err = errno;
    va_start(args, format);
    fprintf(stderr, "process %ld: ", (long)getpid());
    vfprintf(stderr, format, args);
    fprintf(stderr, " (errno %d)\n", err);
    va_end(args);
    exit(1);
}

/* --- a device and queue pairs of it --- */

struct end {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    struct ibv_mr *mr;
    struct ibv_qp *qp[QPS_MAX];
    unsigned qps;
    uint8_t
        *memory; /* of each queue pair: what it sends, what it receives, what is written to it each round */
    size_t bytes;
    union ibv_gid gid;
};

static uint8_t *sent(const struct end *e, unsigned qp)
{
    return e->memory + (size_t)qp * QP_BYTES;
}

static uint8_t *received(const struct end *e, unsigned qp)
{
    return sent(e, qp) + WRITE_BYTES;
}

static uint8_t *written(const struct end *e, unsigned qp, unsigned round)
{
    return sent(e, qp) + (size_t)(2 + round) * WRITE_BYTES;
}

static void open_device(struct end *e)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    if (!list || !list[0])
        fail("there is no device");
    e->context = ibv_open_device(list[0]);
    if (!e->context)
        fail("the device cannot be opened");
    ibv_free_device_list(list);
    if (ibv_query_gid(e->context, 1, 0, &e->gid))
        fail("there is no GID");
}

static void make_memory(struct end *e, unsigned qps)
{
    e->qps = qps;
    e->bytes = (size_t)qps * QP_BYTES;
    e->memory = mmap(NULL, e->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (e->memory == MAP_FAILED)
        fail("no memory");
    e->mr = ibv_reg_mr(e->pd, e->memory, e->bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (!e->mr)
        fail("no region");
}

static void make_qp(struct end *e, unsigned qp)
{
    struct ibv_qp_init_attr init = {
        .send_cq = e->cq,
        .recv_cq = e->cq,
        .cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
        .qp_type = IBV_QPT_RC,
        .sq_sig_all = 1,
    };
    e->qp[qp] = ibv_create_qp(e->pd, &init);
    if (!e->qp[qp])
        fail("no queue pair %u", qp);
}

static void to_init(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
        fail("no INIT");
}

static void to_rtr(const struct end *e, struct ibv_qp *qp, uint32_t peer)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
                               .path_mtu = IBV_MTU_1024,
                               .dest_qp_num = peer,
                               .min_rnr_timer = 12,
                               .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 1}}};
    attr.ah_attr.grh.dgid = e->gid;
    if (ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
        fail("no RTR");
}

static void to_rts(struct ibv_qp *qp)
{
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS, .timeout = TIMEOUT, .retry_cnt = 7, .rnr_retry = 7};
    if (ibv_modify_qp(qp, &attr,
                      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                          IBV_QP_MAX_QP_RD_ATOMIC))
        fail("no RTS");
}

static void make_end(struct end *e, unsigned qps)
{
    open_device(e);
    e->pd = ibv_alloc_pd(e->context);
    e->cq = ibv_create_cq(e->context, (int)qps * 8, NULL, NULL, 0);
    if (!e->pd || !e->cq)
        fail("no protection domain or completion queue");
    make_memory(e, qps);
    for (unsigned i = 0; i < qps; i++)
        make_qp(e, i);
}

static void free_end(struct end *e)
{
    for (unsigned i = 0; i < e->qps; i++)
        if (e->qp[i] && ibv_destroy_qp(e->qp[i]))
            fail("queue pair %u cannot be destroyed", i);
    if ((e->mr && ibv_dereg_mr(e->mr)) || (e->cq && ibv_destroy_cq(e->cq)) ||
        (e->pd && ibv_dealloc_pd(e->pd)) || (e->context && ibv_close_device(e->context)))
        fail("something cannot be given back");
    if (e->memory)
        munmap(e->memory, e->bytes);
    *e = (struct end){0};
}

/* --- work --- */

#define ID_WRITE 0x10000u
#define ID_SEND  0x20000u
#define ID_RECV  0x40000u

static void post_recv(struct end *e, unsigned qp)
{
    struct ibv_sge piece = {(uintptr_t)received(e, qp), WRITE_BYTES, e->mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = ID_RECV | qp, .sg_list = &piece, .num_sge = 1}, *bad;
    if (ibv_post_recv(e->qp[qp], &wr, &bad))
        fail("no receive");
}

static void post(struct end *e, unsigned qp, unsigned id, uint64_t addr, uint32_t rkey)
{
    struct ibv_sge piece = {(uintptr_t)sent(e, qp), WRITE_BYTES, e->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = id | qp,
                             .sg_list = &piece,
                             .num_sge = 1,
                             .opcode = id == ID_SEND ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
                             .wr.rdma = {addr, rkey}},
                       *bad;
    if (ibv_post_send(e->qp[qp], &wr, &bad))
        fail("nothing can be posted to queue pair %u", qp);
}

/* The next completion, whatever it says. */
static struct ibv_wc next(struct end *e)
{
    struct ibv_wc wc;
    for (int waited = 0; waited < WAIT_MS; waited += poll(NULL, 0, 1) == 0) {
        int got = ibv_poll_cq(e->cq, 1, &wc);
        if (got < 0)
            fail("the completion queue cannot be polled");
        if (got)
            return wc;
    }
    fail("no completion comes");
}

/* --- the swarm --- */

/* What the processes know of each other. */
struct board {
    atomic_uint ready[4]; /* processes that have come to each line */
    struct {
        uint64_t addr;
        uint32_t rkey, qpn[QPS_MAX];
    } of[PROCESSES_MAX];
};

struct swarm {
    struct board *board;
    unsigned processes, qps, killed;
};

static void meet(const struct swarm *s, unsigned line, unsigned wanted)
{
    atomic_fetch_add(&s->board->ready[line], 1);
    for (int waited = 0; atomic_load(&s->board->ready[line]) < wanted; waited += poll(NULL, 0, 1) == 0)
        if (waited >= WAIT_MS)
            fail("%u of %u processes came to line %u", atomic_load(&s->board->ready[line]), wanted, line);
}

/* Those that kill themselves stand apart, so that each has neighbours that live. */
static bool is_killed(const struct swarm *s, unsigned process)
{
    unsigned apart = s->killed ? s->processes / s->killed : 0;
    return s->killed && process % apart == 1 && process / apart < s->killed;
}

static uint8_t pattern(unsigned process, unsigned qp, unsigned round)
{
    return (uint8_t)(process * 31 + qp * 7 + round * 3 + 1);
}

/* The first half of the queue pairs goes to the next process's second half. */
static void connect_all(const struct swarm *s, struct end *e, unsigned self)
{
    unsigned half = s->qps / 2, next_one = (self + 1) % s->processes;
    unsigned before = (self + s->processes - 1) % s->processes;
    for (unsigned i = 0; i < s->qps; i++) {
        to_init(e->qp[i]);
        if (i >= half)
            post_recv(e, i);
        to_rtr(e, e->qp[i],
               i < half ? s->board->of[next_one].qpn[i + half] : s->board->of[before].qpn[i - half]);
        to_rts(e->qp[i]);
    }
}

static void post_write(const struct swarm *s, struct end *e, unsigned self, unsigned qp, unsigned round)
{
    unsigned next_one = (self + 1) % s->processes, there = qp + s->qps / 2;
    post(e, qp, ID_WRITE, s->board->of[next_one].addr + (uint64_t)(written(e, there, round) - e->memory),
         s->board->of[next_one].rkey);
}

/* A message has come: it, and the write before it, are what the process before this one sent. */
static void check(const struct swarm *s, const struct end *e, unsigned self, unsigned qp, unsigned round)
{
    unsigned before = (self + s->processes - 1) % s->processes;
    uint8_t wanted[WRITE_BYTES];
    memset(wanted, pattern(before, qp - s->qps / 2, round), sizeof wanted);
    if (memcmp(received(e, qp), wanted, sizeof wanted) != 0 ||
        memcmp(written(e, qp, round), wanted, sizeof wanted) != 0)
        fail("wrong data at queue pair %u in round %u", qp, round);
}

/* A write and a send on each queue pair to the next, and as many from the one before. */
static void exchange(const struct swarm *s, struct end *e, unsigned self)
{
    unsigned half = s->qps / 2, rounds[QPS_MAX] = {0}, left = half * 3 * ROUNDS;
    for (unsigned i = 0; i < half; i++) {
        memset(sent(e, i), pattern(self, i, 0), WRITE_BYTES);
        post_write(s, e, self, i, 0);
        post(e, i, ID_SEND, 0, 0);
    }
    for (; left; left--) {
        struct ibv_wc wc = next(e);
        unsigned qp = (unsigned)wc.wr_id & 0xffff;
        if (wc.status != IBV_WC_SUCCESS)
            fail("queue pair %u: %s", qp, ibv_wc_status_str(wc.status));
        if (wc.wr_id & ID_WRITE)
            continue;
        unsigned round = rounds[qp]++;
        if (wc.wr_id & ID_RECV)
            check(s, e, self, qp, round);
        if (wc.wr_id & ID_RECV && round + 1 < ROUNDS)
            post_recv(e, qp);
        if (wc.wr_id & ID_SEND && round + 1 < ROUNDS) {
            memset(sent(e, qp), pattern(self, qp, round + 1), WRITE_BYTES);
            post_write(s, e, self, qp, round + 1);
            post(e, qp, ID_SEND, 0, 0);
        }
    }
}

/* Writes to the next process by each queue pair: one where it lives; and where it kills itself just now,
 * until one ends because it is dead. */
static void write_on(const struct swarm *s, struct end *e, unsigned self)
{
    unsigned left = s->qps / 2;
    bool is_dying = is_killed(s, (self + 1) % s->processes);
    for (unsigned i = 0; i < left; i++)
        post_write(s, e, self, i, 0);
    while (left) {
        struct ibv_wc wc = next(e);
        if (is_dying && wc.status == IBV_WC_SUCCESS) {
            post_write(s, e, self, (unsigned)wc.wr_id & 0xffff, 0);
            continue;
        }
        if (wc.status != (is_dying ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS))
            fail("to a process that is %s: %s", is_dying ? "dead" : "alive", ibv_wc_status_str(wc.status));
        left--;
    }
}

static void be_one(const struct swarm *s, unsigned self)
{
    struct end e = {0};
    make_end(&e, s->qps);
    s->board->of[self].addr = (uintptr_t)e.memory;
    s->board->of[self].rkey = e.mr->rkey;
    for (unsigned i = 0; i < s->qps; i++)
        s->board->of[self].qpn[i] = e.qp[i]->qp_num;
    meet(s, 0, s->processes);
    connect_all(s, &e, self);
    meet(s, 1, s->processes); /* the receives are there */
    exchange(s, &e, self);
    meet(s, 2, s->processes);
    if (is_killed(s, self)) {
        for (unsigned i = 0; i < s->qps / 2; i++)
            post_write(s, &e, self, i, 0);
        kill(getpid(), SIGKILL);
    }
    if (s->killed)
        write_on(s, &e, self);
    meet(s, 3, s->processes - s->killed); /* nobody leaves while others write to it */
    free_end(&e);
    exit(0);
}

static int swarm(unsigned processes, unsigned qps, unsigned killed)
{
    struct swarm s = {.processes = processes, .qps = qps, .killed = killed};
    pid_t children[PROCESSES_MAX];
    unsigned good = 0, ended = 0;
    s.board = mmap(NULL, sizeof *s.board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s.board == MAP_FAILED)
        fail("no memory");
    for (unsigned i = 0; i < processes; i++) {
        children[i] = fork();
        if (children[i] == 0)
            be_one(&s, i);
    }
    for (unsigned i = 0; i < processes; i++) {
        int how = 0;
        pid_t child = wait(&how);
        unsigned which = 0;
        while (which < processes && children[which] != child)
            which++;
        bool is_good = WIFEXITED(how) && WEXITSTATUS(how) == 0;
        bool is_planned = which < processes && is_killed(&s, which) && WIFSIGNALED(how);
        good += is_good;
        ended += is_planned;
        for (unsigned other = 0; !is_good && !is_planned && other < processes; other++)
            if (other != which)
                kill(children[other], SIGKILL); /* they would wait for it */
    }
    printf("%u queue pairs in %u processes: %u ended well, %u killed themselves\n", processes * qps,
           processes, good, ended);
    return good == processes - killed && ended == killed ? 0 : 1;
}

/* --- forks --- */

static void write_to_self(struct end *e)
{
    struct ibv_wc wc;
    memset(sent(e, 0), 0x5a, WRITE_BYTES);
    memset(written(e, 1, 0), 0, WRITE_BYTES);
    post(e, 0, ID_WRITE, (uintptr_t)written(e, 1, 0), e->mr->rkey);
    wc = next(e);
    if (wc.status != IBV_WC_SUCCESS || memcmp(sent(e, 0), written(e, 1, 0), WRITE_BYTES) != 0)
        fail("a write does not arrive: %s", ibv_wc_status_str(wc.status));
}

static void connect_to_self(struct end *e)
{
    for (unsigned i = 0; i < 2; i++) {
        to_init(e->qp[i]);
        to_rtr(e, e->qp[i], e->qp[1 - i]->qp_num);
        to_rts(e->qp[i]);
    }
}

/* What a child does: it gives back all that its parent has, or leaves it; then it has a connection of its
 * own, or becomes another program. */
static void be_child(struct end *inherited, unsigned kind)
{
    struct end own = {0};
    if (kind == 0)
        execl("/bin/true", "true", (char *)NULL);
    if (kind == 1)
        free_end(inherited);
    make_end(&own, 2);
    connect_to_self(&own);
    write_to_self(&own);
    free_end(&own);
    exit(0);
}

static unsigned forks_made;

static void fork_here(struct end *e)
{
    for (unsigned kind = 0; kind < 3; kind++) {
        int how = 0;
        pid_t child = fork();
        if (child == 0)
            be_child(e, kind);
        if (child < 0 || waitpid(child, &how, 0) != child || !WIFEXITED(how) || WEXITSTATUS(how) != 0)
            fail("child %u of kind %u ends with status 0x%x", forks_made, kind, (unsigned)how);
        forks_made++;
    }
}

static int forks(void)
{
    struct end e = {.qps = 2};
    fork_here(&e);
    open_device(&e);
    fork_here(&e);
    e.pd = ibv_alloc_pd(e.context);
    fork_here(&e);
    e.cq = ibv_create_cq(e.context, 16, NULL, NULL, 0);
    fork_here(&e);
    make_memory(&e, 2);
    fork_here(&e);
    for (unsigned i = 0; i < 2; i++) {
        make_qp(&e, i);
        fork_here(&e);
    }
    for (unsigned i = 0; i < 2; i++) {
        to_init(e.qp[i]);
        fork_here(&e);
        to_rtr(&e, e.qp[i], e.qp[1 - i]->qp_num);
        fork_here(&e);
        to_rts(e.qp[i]);
        fork_here(&e);
    }
    post(&e, 0, ID_WRITE, (uintptr_t)written(&e, 1, 0), e.mr->rkey);
    fork_here(&e); /* on its way */
    if (next(&e).status != IBV_WC_SUCCESS)
        fail("a write that was under way at a fork");
    fork_here(&e);
    write_to_self(&e);
    for (unsigned i = 0; i < 2; i++) {
        ibv_destroy_qp(e.qp[i]);
        e.qp[i] = NULL;
        fork_here(&e);
    }
    free_end(&e);
    fork_here(&e);
    printf("%u children, none was noticed\n", forks_made);
    return 0;
}

/* --- ends --- */

#define ENDS       16
#define END_STATUS 7

static void end_here(int signal)
{
    (void)signal;
    exit(END_STATUS); /* NOLINT(bugprone-signal-handler): programs do it, and that is what is tried */
}

static void be_ended(unsigned after_us)
{
    struct end e = {.qps = 0};
    struct ibv_port_attr port;
    const struct itimerval timer = {.it_value = {.tv_usec = (suseconds_t)after_us}};
    open_device(&e);
    signal(SIGALRM, end_here);
    setitimer(ITIMER_REAL, &timer, NULL);
    while (ibv_query_port(e.context, 1, &port) == 0)
        ;
    fail("a port cannot be asked");
}

static int ends(void)
{
    int how = 0;
    for (unsigned i = 0; i < ENDS; i++) {
        pid_t child = fork();
        if (child == 0)
            be_ended(1000 + 100 * i);
        if (child < 0)
            fail("no child");
    }
    for (unsigned i = 0; i < ENDS; i++)
        if (wait(&how) < 0 || !WIFEXITED(how) || WEXITSTATUS(how) != END_STATUS)
            fail("a child that calls exit(%d) ends with status 0x%x", END_STATUS, (unsigned)how);
    printf("%d children ended in a signal handler\n", ENDS);
    return 0;
}

/* --- the guilty --- */

static struct end victim;

static void *use(void *arg)
{
    struct ibv_wc wc[4];
    unsigned seed = *(unsigned *)arg;
    for (;;) {
        unsigned qp = (unsigned)rand_r(&seed) % victim.qps;
        struct ibv_sge piece = {(uintptr_t)sent(&victim, qp), WRITE_BYTES, victim.mr->lkey};
        struct ibv_send_wr wr = {.sg_list = &piece,
                                 .num_sge = 1,
                                 .opcode = IBV_WR_RDMA_WRITE,
                                 .wr.rdma = {(uintptr_t)written(&victim, qp, 0), victim.mr->rkey}},
                           *bad;
        (void)ibv_post_send(victim.qp[qp], &wr, &bad);
        (void)ibv_poll_cq(victim.cq, 4, wc);
    }
    return NULL;
}

static int guilty(unsigned seed)
{
    pthread_t thread;
    make_end(&victim, 8);
    for (unsigned i = 0; i < 8; i += 2)
        for (unsigned j = 0; j < 2; j++) {
            to_init(victim.qp[i + j]);
            to_rtr(&victim, victim.qp[i + j], victim.qp[i + 1 - j]->qp_num);
            to_rts(victim.qp[i + j]);
        }
    if (pthread_create(&thread, NULL, use, &seed))
        fail("no thread");
    poll(NULL, 0, 1 + (int)(seed % 5));
    for (unsigned i = 0; i < 8; i++) {
        ibv_destroy_qp(victim.qp[i]);
        ibv_destroy_qp(victim.qp[i]);
    }
    ibv_dereg_mr(victim.mr);
    munmap(victim.memory, victim.bytes / 2);
    ibv_destroy_cq(victim.cq);
    ibv_close_device(victim.context);
    poll(NULL, 0, 20);
    puts("the guilty lives");
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "swarm") == 0 && argc == 5) {
        unsigned processes = (unsigned)atoi(argv[2]), qps = (unsigned)atoi(argv[3]),
                 killed = (unsigned)atoi(argv[4]);
        if (processes >= 2 && processes <= PROCESSES_MAX && qps >= 2 && qps <= QPS_MAX &&
            killed * 2 <= processes)
            return swarm(processes, qps, killed);
    }
    if (strcmp(mode, "forks") == 0)
        return forks();
    if (strcmp(mode, "ends") == 0)
        return ends();
    if (strcmp(mode, "guilty") == 0 && argc == 3)
        return guilty((unsigned)atoi(argv[2]));
    fprintf(stderr, "usage: hostile swarm PROCESSES QPS KILLED | forks | ends | guilty SEED\n");
    return 2;
}
