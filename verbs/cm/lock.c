/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock, and what a fork does to it and to what it guards. Who forks has it meanwhile, so that no other
 * thread does, whom the child would wait for without end. */
#include <errno.h>
#include <pthread.h>

#include "verbs/cm/cma.h"
#include "verbs/device/context_list.h"
#include "verbs/object.h"

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    unsigned forks;
} all = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void in_child(void)
{
    all.forks++;
    cma_unlock();
}

/* The locks of contexts, devices and objects are taken under this one, so it has to be taken before them, and
 * of handlers the last one comes first. */
static void follow_forks(void)
{
    verbs_context_list_follow_forks();
    verbs_object_follow_forks();
    (void)pthread_atfork(cma_lock, cma_unlock, in_child); /* without memory: as if nobody forked */
}

void cma_lock(void)
{
    pthread_once(&all.once, follow_forks);
    pthread_mutex_lock(&all.lock);
}

void cma_unlock(void)
{
    pthread_mutex_unlock(&all.lock);
}

unsigned cma_forks(void)
{
    return all.forks;
}

bool cma_is_inherited(const struct cma_id *id)
{
    return (id->device || id->num_listeners) && id->forks != all.forks;
}

int cma_need_own(const struct cma_id *id)
{
    return cma_is_inherited(id)
               ? cma_fail(EINVAL, "the id is the parent's: this process was forked after it had a device")
               : 0;
}
