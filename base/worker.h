/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread of the library's own, which makes progress beside the application. */
#ifndef NORNIC_BASE_WORKER_H
#define NORNIC_BASE_WORKER_H

#include <pthread.h>

/* How long a worker looks again before it sleeps: about what a sleep and its wake-up cost. It does not
 * yield meanwhile: a thread that sleeps is woken before those that compute, one that yielded waits for
 * their whole time slice. */
#define WORKER_SPIN_NS 20000u

/* Starts `run(arg)`. Signals are for the application's threads: all are blocked in it, but for those of
 * its own faults. 0 or -errno. */
int worker_start(pthread_t *worker, void *(*run)(void *arg), void *arg);

/* To be called by it first: its name (at most 15 characters), and timers to the microsecond instead of
 * the default of 50, which would show in every RNR and ack timer. */
void worker_begin(const char *name);

#endif
