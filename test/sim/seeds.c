/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/seeds.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* After so many a test gives up: a broken engine fails everywhere. */
#define FAILURES_MAX 3

/* No seed computes nearly as long, whatever built it: an engine that does is caught in a loop. Time that
 * others have the processor does not count. */
#define CPU_SECONDS_MAX 30

static char crash_line[256]; /* written ahead: nothing is formatted in a signal handler */

static void on_crash(int signal_number)
{
    ssize_t ignored = write(STDERR_FILENO, crash_line, strlen(crash_line));
    (void)ignored;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (; *text; text++)
        hash = (hash ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t from_environment(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 0) : otherwise;
}

void sim_seeds_init(struct sim_seeds *seeds, uint64_t count)
{
    uint64_t one = from_environment("NORNIC_SEED", 0);
    uint64_t salt = hash_text(UINT64_C(0xcbf29ce484222325), criterion_current_suite->name);
    *seeds = (struct sim_seeds){.first = one ? one : 1,
                                .count = one ? 1 : from_environment("NORNIC_SEEDS", count),
                                .ladder = one != 0,
                                .salt = hash_text(salt, criterion_current_test->name)};
    signal(SIGABRT, on_crash);
    signal(SIGVTALRM, on_crash);
#ifndef __SANITIZE_ADDRESS__
    signal(SIGSEGV, on_crash);
#endif
}

static int format_line(char *line, size_t size, uint64_t n, const char *what)
{
    return snprintf(line, size,
                    "seed %" PRIu64 ": %s; rerun: NORNIC_SEED=%" PRIu64
                    " build/test/sim/run --filter %s/%s\n",
                    n, what, n, criterion_current_suite->name, criterion_current_test->name);
}

bool sim_seeds_more(const struct sim_seeds *seeds, uint64_t n)
{
    return n < seeds->first + seeds->count && seeds->failures < FAILURES_MAX;
}

uint64_t sim_seeds_begin(struct sim_seeds *seeds, uint64_t n)
{
    format_line(crash_line, sizeof crash_line, n, "crashed or hung");
    setitimer(ITIMER_VIRTUAL, &(struct itimerval){.it_value = {.tv_sec = CPU_SECONDS_MAX}}, NULL);
    return seeds->salt + n;
}

void sim_seeds_report(struct sim_seeds *seeds, uint64_t n, const char *why)
{
    if (!why)
        return;
    char line[700];
    format_line(line, sizeof line, n, why);
    seeds->failures++;
    fputs(line, stderr);
}

void sim_seeds_judge(struct sim_seeds *seeds, uint64_t n, const struct sim *sim)
{
    sim_seeds_report(seeds, n, sim->failed ? sim->failure : NULL);
}

void sim_seeds_end(struct sim_seeds *seeds, uint64_t n, const struct sim_run *run)
{
    bool exhausted = false;
    for (unsigned i = 0; i < 2 * SIM_PAIRS_MAX; i++)
        exhausted |= run->end[i / 2][i % 2].failed;
    seeds->exhausted += exhausted;
    sim_seeds_judge(seeds, n, &run->sim);
}

/* At a loss of up to 20 % each way about one workload in 200 sees eight failures in a row. */
static void check_exhaustion(const struct sim_seeds *seeds)
{
    cr_assert_leq(seeds->exhausted, 1 + seeds->count / 40,
                  "%u of %" PRIu64 " seeds ended with exhausted retries", seeds->exhausted, seeds->count);
}

void sim_seeds_run(const struct sim_profile *profile, uint64_t count)
{
    struct sim_seeds seeds;
    struct sim_run *run = malloc(sizeof *run);
    cr_assert_not_null(run);
    sim_seeds_init(&seeds, count);
    for (uint64_t n = seeds.first; sim_seeds_more(&seeds, n); n++) {
        sim_run(run, sim_plan_draw(sim_seeds_begin(&seeds, n), profile), seeds.ladder);
        sim_seeds_end(&seeds, n, run);
    }
    free(run);
    cr_assert_eq(seeds.failures, 0, "%u seeds failed", seeds.failures);
    check_exhaustion(&seeds);
}
