/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/dev/fault.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"
#include "base/guard.h"

/* A signal, and the action that was in force before. The members of `before` are complete before
 * `is_known` is set; they change only when the program installs a handler of its own behind which this
 * one is put again. */
struct fault_signal {
    int number;
    _Atomic(const struct sigaction *) before;
    struct sigaction known[2]; /* the newest action, and the one that a running handler may still read */
    unsigned installs;
};

static struct fault_signal signals[] = {{.number = SIGSEGV}, {.number = SIGBUS}};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The signal that the thread's handler passes on: its context, and the frame of the handler that the
 * kernel has called with it. A program's handler may call this handler again, which it had found
 * installed: with the same context, from another frame. A handler of the program may also leave by
 * siglongjmp(): the next signal with a context at the same place comes in the same frame. */
static _Thread_local struct {
    const void *context, *frame;
} passing __attribute__((tls_model("initial-exec")));

/* Lets the default action end the process, or ignores what a process has sent and the program ignores. A
 * fault comes again when the handler returns. */
static void act_by_default(int number, const siginfo_t *info, const struct sigaction *before)
{
    if (info->si_code <= 0 && before->sa_handler == SIG_IGN)
        return;
    struct sigaction fatal = {.sa_handler = SIG_DFL};
    sigaction(number, &fatal, NULL);
    if (info->si_code <= 0)
        raise(number);
}

/* Calls the program's handler with the mask that it asked for. */
static void call(int number, siginfo_t *info, void *context, const struct sigaction *before)
{
    sigset_t mask = before->sa_mask, old;
    if (!(before->sa_flags & SA_NODEFER))
        sigaddset(&mask, number);
    pthread_sigmask(SIG_BLOCK, &mask, &old);
    if (before->sa_flags & SA_SIGINFO)
        before->sa_sigaction(number, info, context);
    else
        before->sa_handler(number);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void handle(int number, siginfo_t *info, void *context)
{
    const void *frame = __builtin_frame_address(0);
    bool is_ring = passing.context == context && passing.frame != frame;
    guard_caught(info);
    const struct fault_signal *s = &signals[number == SIGBUS];
    const struct sigaction *before = atomic_load(&s->before);
    bool is_default =
        !(before->sa_flags & SA_SIGINFO) && (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN);
    if (is_default || is_ring) {
        act_by_default(number, info, before);
        return;
    }
    passing.context = context;
    passing.frame = frame;
    call(number, info, context, before);
    passing.context = NULL;
}

static bool is_ours(const struct sigaction *action)
{
    return action->sa_flags & SA_SIGINFO && action->sa_sigaction == handle;
}

/* SA_NODEFER: the guard leaves the handler by a jump, which does not restore the mask. */
static void install(struct fault_signal *s)
{
    struct sigaction now, ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    if (sigaction(s->number, NULL, &now) || is_ours(&now))
        return;
    s->known[s->installs % 2] = now;
    atomic_store(&s->before, &s->known[s->installs % 2]);
    s->installs++;
    sigaction(s->number, &ours, NULL);
}

void host_fault_install(void)
{
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < array_len(signals); i++)
        install(&signals[i]);
    pthread_mutex_unlock(&lock);
}

void host_fault_admit(void)
{
    static _Thread_local bool is_admitted;
    if (is_admitted)
        return;
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    sigaddset(&faults, SIGBUS);
    pthread_sigmask(SIG_UNBLOCK, &faults, NULL);
    is_admitted = true;
}
