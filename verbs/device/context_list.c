/* SPDX-License-Identifier: BSD-2-Clause */
/* For imports, for the rules about ports, and for the captures that are written out at the process's end. A
 * child of a fork begins with an empty list: what its parent has open is the parent's, whose sockets and
 * capture it must not touch, also when it ends.
 *
 * Programs ask an inherited context all the same what its device can do. The child does not have the thread
 * that drives the device, so a lock that this thread held at the fork would be held there for ever. Who
 * forks has the locks of each context and of its device meanwhile, in the order in which they are always
 * taken. */
#include "verbs/device/context_list.h"

#include <sys/stat.h>

#include "host/host.h"
#include "verbs/show/socket.h"

static struct {
    pthread_once_t once;
    pthread_mutex_t lock;
    struct verbs_context_own *list;
    unsigned opened; /* ever */
} contexts = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static void before_fork(void)
{
    verbs_show_socket_before_fork(); /* before the lock that its thread takes */
    pthread_mutex_lock(&contexts.lock);
    for (struct verbs_context_own *own = contexts.list; own; own = own->next) {
        pthread_mutex_lock(&own->lock);
        host_dev_lock(host_dev_of(own->dev));
    }
}

static void in_parent(void)
{
    for (struct verbs_context_own *own = contexts.list; own; own = own->next) {
        host_dev_unlock(host_dev_of(own->dev));
        pthread_mutex_unlock(&own->lock);
    }
    pthread_mutex_unlock(&contexts.lock);
    verbs_show_socket_in_parent();
}

static void in_child(void)
{
    for (struct verbs_context_own *own = contexts.list; own; own = own->next) {
        host_dev_unlock_in_child(host_dev_of(own->dev));
        pthread_mutex_unlock(&own->lock);
        own->is_inherited = true;
    }
    contexts.list = NULL;
    pthread_mutex_unlock(&contexts.lock);
    verbs_show_socket_in_child();
}

static void follow_forks(void)
{
    (void)pthread_atfork(before_fork, in_parent, in_child); /* without memory: as if nobody forked */
}

void verbs_context_list_follow_forks(void)
{
    pthread_once(&contexts.once, follow_forks);
}

void verbs_context_list_add(struct verbs_context_own *own)
{
    verbs_context_list_follow_forks();
    pthread_mutex_lock(&contexts.lock);
    own->next = contexts.list;
    contexts.list = own;
    pthread_mutex_unlock(&contexts.lock);
}

bool verbs_context_list_drop(struct verbs_context_own *own)
{
    struct verbs_context_own **at = &contexts.list;
    pthread_mutex_lock(&contexts.lock);
    while (*at && *at != own)
        at = &(*at)->next;
    bool is_last = *at && atomic_fetch_sub(&own->users, 1) == 1;
    if (is_last)
        *at = own->next;
    pthread_mutex_unlock(&contexts.lock);
    return is_last;
}

static bool is_same_file(int a, int b)
{
    struct stat of_a, of_b;
    return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
           of_a.st_ino == of_b.st_ino;
}

struct verbs_context_own *verbs_context_list_find(int cmd_fd)
{
    struct verbs_context_own *own;
    pthread_mutex_lock(&contexts.lock);
    for (own = contexts.list; own && !is_same_file(own->abi.context.cmd_fd, cmd_fd); own = own->next)
        ;
    if (own)
        atomic_fetch_add(&own->users, 1);
    pthread_mutex_unlock(&contexts.lock);
    return own;
}

void verbs_context_list_each(void (*visit)(struct verbs_context_own *own, const void *arg), const void *arg)
{
    pthread_mutex_lock(&contexts.lock);
    for (struct verbs_context_own *own = contexts.list; own; own = own->next)
        visit(own, arg);
    pthread_mutex_unlock(&contexts.lock);
}

bool verbs_context_list_is_any(void)
{
    if (pthread_mutex_trylock(&contexts.lock))
        return true;
    bool is_any = contexts.list;
    pthread_mutex_unlock(&contexts.lock);
    return is_any;
}

unsigned verbs_context_list_count(void)
{
    pthread_mutex_lock(&contexts.lock);
    unsigned number = contexts.opened++;
    pthread_mutex_unlock(&contexts.lock);
    return number;
}
