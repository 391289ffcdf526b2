/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/worker.h"

#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

int worker_start(pthread_t *worker, void *(*run)(void *arg), void *arg)
{
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* base/guard.h */
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSYS); /* of a sandbox: blocked, it would end the process */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(worker, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -err;
}

void worker_begin(const char *name)
{
    prctl(PR_SET_NAME, name);
    prctl(PR_SET_TIMERSLACK, 1000ul);
}
