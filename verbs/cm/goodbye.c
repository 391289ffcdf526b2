/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a process that has connections left. A kernel ends them when their descriptor is closed; here
 * the peer would ask a process that is no more, until its patience ends (qperf's server returns from main()
 * with its connection, and its client would wait 4.8 seconds in each test).
 * A process that ends by _exit() or a signal says nothing. */
#include "verbs/cm/cma.h"
#include "verbs/show/last_words.h"

#define GOODBYE_NS (200 * NS_PER_MS)

static LIST_HEAD(cma_id_list, cma_id) met = LIST_HEAD_INITIALIZER(met);
static atomic_uint met_count; /* of `met` */
static atomic_uint met_forks; /* cma_forks() of the process that has these ids */

/* Those of a parent are the parent's to end. Under the lock. */
static void forget_inherited(void)
{
    if (met_forks != cma_forks()) {
        LIST_INIT(&met);
        met_count = 0;
    }
    met_forks = cma_forks();
}

bool cma_meet(struct cma_id *id)
{
    cma_lock();
    forget_inherited();
    bool is_new = !id->has_met;
    if (is_new) {
        LIST_INSERT_HEAD(&met, id, of_met);
        met_count++;
    }
    id->has_met = true;
    cma_unlock();
    return is_new;
}

void cma_part(struct cma_id *id)
{
    cma_lock();
    if (id->has_met && met_forks == cma_forks())
        met_count--;
    if (id->has_met)
        LIST_REMOVE(id, of_met);
    id->has_met = false;
    cma_unlock();
}

static void *part_from_all(void *unused)
{
    struct cma_id *id;
    (void)unused;
    cma_lock();
    for (id = LIST_FIRST(&met); id; id = LIST_NEXT(id, of_met))
        (void)nornic_cm_id_disconnect(id->nornic); /* refused after the end */
    cma_unlock();
    return NULL;
}

/* Without the lock, which a thread that a signal handler has ended may hold for ever. */
static __attribute__((destructor)) void say_goodbye(void)
{
    if (atomic_load(&met_count) > 0 && atomic_load(&met_forks) == cma_forks())
        verbs_last_words(part_from_all, GOODBYE_NS);
}
