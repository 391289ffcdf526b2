/* SPDX-License-Identifier: BSD-2-Clause */
/* The port's fate: a thread of the process takes the ports of its contexts down and up again, when the rules
 * say so. It begins with the first context that follows one. */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "verbs/device/context_list.h"
#include "verbs/faults/faults.h"

static struct {
    pthread_mutex_t lock;
    bool is_running;
    uint64_t began_ns;
    const struct verbs_faults *faults;
} clock_of = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* The line of a rule by which the port is down at `at_ns` since the beginning; 0: it is up. *next_ns is when
 * that may change; UINT64_MAX: never. */
static unsigned down_by(uint64_t at_ns, uint64_t *next_ns)
{
    unsigned line = 0;
    *next_ns = UINT64_MAX;
    for (unsigned i = 0; i < clock_of.faults->count; i++) {
        const struct verbs_fault_rule *rule = &clock_of.faults->rules[i];
        if (rule->kind != VERBS_FAULT_PORT)
            continue;
        uint64_t end_ns = rule->for_ns ? rule->after_ns + rule->for_ns : UINT64_MAX;
        if (at_ns < rule->after_ns)
            *next_ns = min_u64(*next_ns, rule->after_ns);
        else if (at_ns < end_ns) {
            *next_ns = min_u64(*next_ns, end_ns);
            line = rule->line;
        }
    }
    return line;
}

static void set_port(struct verbs_context_own *own, const void *line)
{
    bool is_up = *(const unsigned *)line == 0;
    int err = nornic_dev_set_port(own->dev, is_up);
    if (err)
        verbs_tell("fault: the port of %s cannot be taken down", own->device->base.name);
}

static void *run(void *arg)
{
    unsigned line = 0, before = 0;
    uint64_t next_ns = 0;
    (void)arg;
    while (next_ns != UINT64_MAX) {
        const uint64_t end_ns = clock_of.began_ns + next_ns;
        const struct timespec until = {.tv_sec = (time_t)(end_ns / NS_PER_S),
                                       .tv_nsec = (long)(end_ns % NS_PER_S)};
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
            ;
        line = down_by(now_ns() - clock_of.began_ns, &next_ns);
        if (!line != !before) {
            verbs_tell("fault of line %u: the port goes %s", line ? line : before, line ? "down" : "up");
            verbs_context_list_each(set_port, &line);
        }
        before = line;
    }
    return NULL;
}

static bool has_rule(const struct verbs_faults *faults)
{
    for (unsigned i = 0; faults && i < faults->count; i++)
        if (faults->rules[i].kind == VERBS_FAULT_PORT)
            return true;
    return false;
}

/* Signals are for the program's threads. */
static int start(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&thread, NULL, run, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!err)
        pthread_detach(thread);
    return err;
}

int verbs_fault_port_follow(struct verbs_context_own *own)
{
    uint64_t next_ns;
    unsigned line;
    int err = 0;
    if (!has_rule(own->faults))
        return 0;
    pthread_mutex_lock(&clock_of.lock);
    if (!clock_of.is_running) {
        clock_of.faults = own->faults;
        clock_of.began_ns = now_ns();
        err = start();
        clock_of.is_running = !err;
    }
    line = err ? 0 : down_by(now_ns() - clock_of.began_ns, &next_ns);
    pthread_mutex_unlock(&clock_of.lock);
    if (line)
        set_port(own, &line);
    return err;
}
