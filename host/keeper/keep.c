/* SPDX-License-Identifier: BSD-2-Clause */
/* The threads of the keeper. A thread for each ledger waits for the end of the owner. It ends the
 * connections, unless the thread of another ledger of the same port takes them along. The main thread
 * looks for new ledgers, and ends the keeper when there has been none for a while. Where no thread can
 * be made, the main thread looks for the dead as well. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/base.h"
#include "host/keeper/keeper.h"
#include "net/share/share.h"

#define GRACE_MS     300 /* without a ledger: programs may start one after the other */
#define LOOK_MS      500 /* without inotify, threads or descriptors */
#define STACK_BYTES  (512u * 1024u)
#define DEVICE_FDS   128u
#define BURIERS_MOST 8 /* devices at a time, of 10 MB each */

struct watch {
    struct host_keeper_estate estate; /* the first member; its ledger is read when the owner has died */
    struct watch *next;
    struct keeper *keeper;
    bool has_thread;
    char name[96];
};

/* A thread that ends the connections of a port's dead processes. */
struct burier {
    struct burier *next;
    struct keeper *keeper;
    const char *port; /* of an estate that it has */
};

struct keeper {
    struct host_keeper_place place;
    pthread_mutex_t lock;  /* of the members below, to the blank line */
    struct watch *watches; /* `watch_count` of them */
    unsigned watch_count;
    struct host_keeper_estate *dead; /* estates that no burier has taken */
    struct burier *buriers;

    sem_t devices;
    unsigned watches_most; /* so that devices have descriptors as well */
    int news_fd;           /* inotify, or -1 */
    int ended_fd;          /* eventfd: a watch has ended */
    bool looks_soon;       /* a ledger could not be opened, or has no thread: of the main thread */
};

static void remove_watch(struct watch *watch)
{
    struct keeper *keeper = watch->keeper;
    pthread_mutex_lock(&keeper->lock);
    struct watch **at = &keeper->watches;
    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    keeper->watch_count--;
    pthread_mutex_unlock(&keeper->lock);
    free(watch);
}

/* --- the dead --- */

/* Takes an estate off the list of the dead, of that port and of at most `room` connections. NULL: there is
 * none. The caller has the lock. */
static struct host_keeper_estate *pick(struct keeper *keeper, const char *port, unsigned room)
{
    struct host_keeper_estate **at = &keeper->dead;
    while (*at && (strcmp((*at)->head.port, port) != 0 || (*at)->count > room))
        at = &(*at)->next;
    struct host_keeper_estate *found = *at;
    if (found)
        *at = found->next;
    return found;
}

static struct host_keeper_estate *take(void *ctx, const char *port, unsigned room)
{
    struct keeper *keeper = ((struct burier *)ctx)->keeper;
    pthread_mutex_lock(&keeper->lock);
    struct host_keeper_estate *found = pick(keeper, port, room);
    pthread_mutex_unlock(&keeper->lock);
    return found;
}

/* Adds an estate to those of the dead. False: the port has a burier already. */
static bool add_dead(struct host_keeper_estate *estate, struct burier *burier)
{
    struct keeper *keeper = burier->keeper;
    pthread_mutex_lock(&keeper->lock);
    estate->next = keeper->dead;
    keeper->dead = estate;
    const struct burier *other = keeper->buriers;
    while (other && strcmp(other->port, burier->port) != 0)
        other = other->next;
    if (!other) {
        burier->next = keeper->buriers;
        keeper->buriers = burier;
    }
    pthread_mutex_unlock(&keeper->lock);
    return !other;
}

/* Returns the next estate of the port. NULL: there is none, and the port has no burier any more. */
static struct host_keeper_estate *take_or_end(struct burier *burier)
{
    struct keeper *keeper = burier->keeper;
    pthread_mutex_lock(&keeper->lock);
    struct host_keeper_estate *found = pick(keeper, burier->port, UINT_MAX);
    if (!found) {
        struct burier **at = &keeper->buriers;
        while (*at != burier)
            at = &(*at)->next;
        *at = burier->next;
    }
    pthread_mutex_unlock(&keeper->lock);
    return found;
}

static void close_estates(struct host_keeper_estate *estate)
{
    struct host_keeper_estate *next;
    for (; estate; estate = next) {
        next = estate->next;
        host_keeper_close(estate);
        remove_watch((struct watch *)estate);
    }
}

/* Ends the connections of a dead process, or leaves them to the burier of the port. */
static void settle(struct watch *watch)
{
    char port[NET_LEDGER_PORT_BYTES];
    struct burier burier = {.keeper = watch->keeper, .port = port};
    const struct host_keeper_more more = {.take = take, .ctx = &burier};
    struct host_keeper_estate *estate = &watch->estate;
    host_keeper_read(estate);
    if (estate->count == 0) {
        estate->next = NULL;
        close_estates(estate);
        return;
    }
    memcpy(port, estate->head.port, sizeof port);
    if (!add_dead(estate, &burier))
        return;
    while ((estate = take_or_end(&burier))) {
        while (sem_wait(&burier.keeper->devices) != 0)
            ;
        host_keeper_bury(estate, &more);
        sem_post(&burier.keeper->devices);
        close_estates(estate);
    }
}

/* --- a ledger's thread --- */

static void tell_end(const struct keeper *keeper)
{
    const uint64_t one = 1;
    (void)!write(keeper->ended_fd, &one, sizeof one);
}

static void *wait_and_settle(void *arg)
{
    struct watch *watch = arg;
    const struct keeper *keeper = watch->keeper;
    if (net_ledger_wait(&watch->estate.ledger))
        settle(watch);
    else
        remove_watch(watch);
    tell_end(keeper);
    return NULL;
}

static bool start_thread(struct watch *watch)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    watch->has_thread = true;
    int err = pthread_create(&thread, &attr, wait_and_settle, watch);
    if (err)
        watch->has_thread = false;
    pthread_attr_destroy(&attr);
    return err == 0;
}

/* --- the main thread --- */

/* Returns whether a ledger is to be watched: it is not yet, and there is room. */
static bool is_wanted(struct keeper *keeper, const char *name)
{
    pthread_mutex_lock(&keeper->lock);
    const struct watch *watch = keeper->watches;
    while (watch && strcmp(watch->name, name) != 0)
        watch = watch->next;
    bool has_room = keeper->watch_count < keeper->watches_most;
    keeper->looks_soon |= !watch && !has_room;
    pthread_mutex_unlock(&keeper->lock);
    return !watch && has_room;
}

/* Without memory or a descriptor now, a later look finds the ledger again. */
static void add_watch(void *ctx, const char *name, unsigned slot)
{
    struct keeper *keeper = ctx;
    (void)slot;
    if (strlen(name) >= sizeof((struct watch *)0)->name || !is_wanted(keeper, name))
        return;
    struct watch *watch = calloc(1, sizeof *watch);
    int err = watch ? net_ledger_open(&keeper->place.dir, name, &watch->estate.ledger) : -ENOMEM;
    if (err) {
        keeper->looks_soon |= err != -ENOENT;
        free(watch);
        return;
    }
    watch->keeper = keeper;
    snprintf(watch->name, sizeof watch->name, "%s", name);
    pthread_mutex_lock(&keeper->lock);
    watch->next = keeper->watches;
    keeper->watches = watch;
    keeper->watch_count++;
    pthread_mutex_unlock(&keeper->lock);
    if (!start_thread(watch))
        keeper->looks_soon = true;
}

/* Takes a ledger without a thread if its owner has ended; `*has_died`: without closing it. Returns false
 * if the owner lives, and tries again to start a thread. */
static bool take_ended(struct keeper *keeper, struct watch *watch, bool *has_died)
{
    if (watch->has_thread)
        return false;
    int ended = net_ledger_try(&watch->estate.ledger);
    if (ended == -EAGAIN) {
        keeper->looks_soon |= !start_thread(watch);
        return false;
    }
    watch->has_thread = true; /* this one */
    *has_died = ended == 0;
    return true;
}

/* Returns the first ledger that take_ended() takes. NULL: there is none. */
static struct watch *find_ended(struct keeper *keeper, bool *has_died)
{
    pthread_mutex_lock(&keeper->lock);
    struct watch *watch = keeper->watches;
    while (watch && !take_ended(keeper, watch, has_died))
        watch = watch->next;
    pthread_mutex_unlock(&keeper->lock);
    return watch;
}

/* Looks for new ledgers, and for ends of those without a thread. */
static void look(struct keeper *keeper)
{
    struct watch *watch;
    bool has_died;
    keeper->looks_soon = false;
    net_ledger_list(&keeper->place.dir, add_watch, keeper);
    while ((watch = find_ended(keeper, &has_died))) {
        if (has_died)
            settle(watch);
        else
            remove_watch(watch);
    }
}

static bool has_watches(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->lock);
    bool has = keeper->watches != NULL;
    pthread_mutex_unlock(&keeper->lock);
    return has;
}

/* Sleeps until there is something new. False: `timeout_ms` have passed. */
static bool await_news(const struct keeper *keeper, int timeout_ms)
{
    char events[4096];
    struct pollfd fds[2] = {{.fd = keeper->ended_fd, .events = POLLIN},
                            {.fd = keeper->news_fd, .events = POLLIN}};
    int count = poll(fds, 2, timeout_ms);
    if (count > 0 && fds[0].revents)
        (void)!read(keeper->ended_fd, events, sizeof(uint64_t));
    if (count > 0 && fds[1].revents)
        (void)!read(keeper->news_fd, events, sizeof events);
    return count != 0;
}

static void serve(struct keeper *keeper)
{
    for (bool is_over = false; !is_over;) {
        look(keeper);
        bool is_idle = !has_watches(keeper);
        bool looks_soon = keeper->news_fd < 0 || keeper->looks_soon;
        int timeout_ms = is_idle ? GRACE_MS : looks_soon ? LOOK_MS : -1;
        is_over = !await_news(keeper, timeout_ms) && is_idle;
    }
}

static void note_any(void *ctx, const char *name, unsigned slot)
{
    (void)name, (void)slot;
    *(bool *)ctx = true;
}

/* Ignores the signals that end a group of processes, or a service: the keeper ends after these. */
static void ignore_signals(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM};
    sigset_t none;
    for (unsigned i = 0; i < array_len(signals); i++)
        signal(signals[i], SIG_IGN);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}

/* Returns how many ledgers may be open at a time. Each has a descriptor: the limit of the program may be
 * too low for those of all programs. */
static unsigned raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return DEVICE_FDS;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur >= UINT_MAX)
        return UINT_MAX;
    return (unsigned)(limit.rlim_cur > 2 * DEVICE_FDS ? limit.rlim_cur - DEVICE_FDS : limit.rlim_cur / 2);
}

static int open_keeper(struct keeper *keeper)
{
    keeper->watches_most = raise_limit();
    if (sem_init(&keeper->devices, 0, BURIERS_MOST) != 0)
        return -errno;
    keeper->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (keeper->ended_fd < 0)
        return -errno;
    keeper->news_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (keeper->news_fd >= 0 &&
        inotify_add_watch(keeper->news_fd, keeper->place.dir.path, IN_CREATE | IN_MOVED_TO) < 0) {
        close(keeper->news_fd);
        keeper->news_fd = -1;
    }
    return 0;
}

int host_keeper_run(struct nornic_error *why)
{
    static struct keeper keeper = {.lock = PTHREAD_MUTEX_INITIALIZER};
    ignore_signals();
    prctl(PR_SET_NAME, "nornic-keeper"); /* `nornic stat` shows it while it ends connections */
    int err = host_keeper_find_place(&keeper.place);
    if (!err)
        err = open_keeper(&keeper);
    if (err)
        return net_error_set(why, -err, "cannot keep connections: %s", strerror(-err));
    for (bool is_needed = true; is_needed;) {
        err = host_keeper_take_place(&keeper.place);
        if (err)
            break;
        serve(&keeper);
        host_keeper_sweep(&keeper.place);
        net_share_tidy(&keeper.place.dir);
        host_keeper_leave_place(&keeper.place);
        is_needed = false;
        net_ledger_list(&keeper.place.dir, note_any, &is_needed);
    }
    return err && err != -EAGAIN ? net_error_set(why, -err, "cannot keep connections by %s: %s",
                                                 keeper.place.path, strerror(-err))
                                 : 0;
}
