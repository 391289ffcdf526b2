/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that call libibverbs, librdmacm, rsockets or TCP sockets at random, legally or not. It knows
 * nothing of nornic.
 *
 *   random KIND ADDRESS SEED THREADS CALLS SECONDS
 *
 * KIND is verbs, cm, rsockets, sockets, or all for the first three. Processes of THREADS threads each make
 * CALLS calls in all. They reach each other at ADDRESS. Meanwhile processes are killed and begun anew, and
 * threads make children. No process may end otherwise than by that, nor hang: the run ends with 0, or with
 * 1 and a sentence. After SECONDS it ends as well, with the calls that it has made by then. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test/verbs/random/random.h"

#define PROCESSES   3
#define THREADS_MAX 8
#define DEATHS      12  /* in a run, at equal distances */
#define CHILD_S     20  /* of a child that a thread makes */
#define END_S       200 /* of the end of the processes, once they are told */
#define LOOK_NS     20000000
#define SEED_STRIDE UINT64_C(0x9e3779b97f4a7c15)
#define NS_PER_S    UINT64_C(1000000000)

struct run {
    const struct random_kind *kinds[4];
    unsigned kind_count, thread_count;
    struct in_addr addr;
    uint64_t seed, calls, seconds;
    struct random_shared *shared;
};

static struct run run;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* --- for the kinds --- */

void random_count_call(struct random_player *p, long result)
{
    atomic_fetch_add_explicit(&p->shared->calls, 1, memory_order_relaxed);
    if (result != 0)
        atomic_fetch_add_explicit(&p->shared->refused, 1, memory_order_relaxed);
}

void random_fork(struct random_player *p, void (*body)(struct random_player *p))
{
    pid_t child = fork();
    if (child == 0) {
        alarm(CHILD_S);
        body(p);
        _exit(0);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (child > 0 && status != 0) {
        fprintf(stderr, "a child of process %d ended with status %#x\n", (int)getpid(), (unsigned)status);
        _exit(1);
    }
    atomic_fetch_add(&p->shared->forks, 1);
}

/* --- a process --- */

static void *play(void *arg)
{
    struct random_player *p = arg;
    const struct random_kind *kind = run.kinds[p->number % run.kind_count];
    kind->begin(p);
    while (!atomic_load_explicit(&p->shared->is_over, memory_order_relaxed))
        kind->step(p);
    kind->end(p);
    return NULL;
}

/* Process `number` of the run. */
static void live(unsigned number)
{
    static struct random_player players[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    for (unsigned i = 0; i < run.thread_count; i++) {
        players[i] = (struct random_player){
            .shared = run.shared, .number = number * run.thread_count + i, .addr = run.addr};
        players[i].state = (run.seed * 1000 + players[i].number + 1) * SEED_STRIDE;
        if (pthread_create(&threads[i], NULL, play, &players[i]) != 0)
            _exit(1);
    }
    for (unsigned i = 0; i < run.thread_count; i++)
        pthread_join(threads[i], NULL);
    exit(0);
}

static pid_t begin_process(unsigned number)
{
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        live(number);
    return pid;
}

/* --- all of them --- */

/* Reports a process that ended by itself. */
static bool report(pid_t pid, int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return true;
    fprintf(stderr, "process %d ended with status %#x\n", (int)pid, (unsigned)status);
    return false;
}

/* Kills process `*pid` in mid call and begins another one. */
static void replace(pid_t *pid, unsigned number)
{
    int status;
    kill(*pid, SIGKILL);
    waitpid(*pid, &status, 0);
    *pid = begin_process(number);
}

/* Waits until all calls are made, with a death now and then. Returns the deaths, or -1 after a report. */
static int watch(pid_t pids[PROCESSES])
{
    const uint64_t end_ns = now_ns() + run.seconds * NS_PER_S;
    unsigned deaths = 0;
    for (;;) {
        uint64_t calls = atomic_load(&run.shared->calls);
        int status;
        if (calls >= run.calls || now_ns() >= end_ns)
            return (int)deaths;
        for (unsigned i = 0; i < PROCESSES; i++)
            if (waitpid(pids[i], &status, WNOHANG) == pids[i]) {
                pid_t pid = pids[i];
                pids[i] = 0;
                fprintf(stderr, "before the end: ");
                (void)report(pid, status);
                return -1;
            }
        if (calls >= run.calls * (deaths + 1) / (DEATHS + 1)) {
            replace(&pids[(deaths + run.seed) % PROCESSES], PROCESSES + deaths);
            deaths++;
        }
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
}

/* Ends all processes. Returns whether each ended well and in time. */
static bool end_all(pid_t pids[PROCESSES])
{
    const uint64_t end_ns = now_ns() + END_S * NS_PER_S;
    bool is_well = true;
    atomic_store(&run.shared->is_over, true);
    for (unsigned i = 0; i < PROCESSES; i++) {
        int status = 0;
        pid_t ended = pids[i] ? 0 : -1;
        while (ended == 0 && now_ns() < end_ns) {
            ended = waitpid(pids[i], &status, WNOHANG);
            if (ended == 0)
                nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
        }
        if (ended == 0) {
            fprintf(stderr, "process %d has not ended %d s after it was told\n", (int)pids[i], END_S);
            kill(pids[i], SIGABRT);
            waitpid(pids[i], &status, 0);
        }
        is_well &= ended < 0 ? pids[i] == 0 : ended > 0 && report(pids[i], status);
    }
    return is_well;
}

static bool choose(const char *name)
{
    const struct random_kind *all[] = {&random_verbs, &random_cm, &random_rsockets, &random_sockets};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if ((strcmp(name, "all") == 0 && all[i] != &random_sockets) || strcmp(name, all[i]->name) == 0)
            run.kinds[run.kind_count++] = all[i];
    return run.kind_count > 0;
}

int main(int argc, char **argv)
{
    pid_t pids[PROCESSES];
    if (argc != 7 || !choose(argv[1]) || inet_pton(AF_INET, argv[2], &run.addr) != 1) {
        fprintf(stderr, "random verbs|cm|rsockets|sockets|all ADDRESS SEED THREADS CALLS SECONDS\n");
        return 2;
    }
    run.seed = strtoull(argv[3], NULL, 10);
    run.thread_count = (unsigned)strtoul(argv[4], NULL, 10) % (THREADS_MAX + 1);
    run.calls = strtoull(argv[5], NULL, 10);
    run.seconds = strtoull(argv[6], NULL, 10);
    run.shared = mmap(NULL, sizeof *run.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (run.shared == MAP_FAILED)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    for (unsigned i = 0; i < PROCESSES; i++)
        pids[i] = begin_process(i);
    int deaths = watch(pids);
    bool is_well = end_all(pids) && deaths >= 0;
    printf("seed %s: %llu calls, %llu refused, %llu completions, %llu events, %d deaths, %llu forks: %s\n",
           argv[3], (unsigned long long)run.shared->calls, (unsigned long long)run.shared->refused,
           (unsigned long long)run.shared->completions, (unsigned long long)run.shared->events, deaths,
           (unsigned long long)run.shared->forks, is_well ? "all well" : "not well");
    return is_well ? 0 : 1;
}
