/* SPDX-License-Identifier: BSD-2-Clause */
/* The threads of the keeper. A thread for each ledger waits for the end of the owner, and ends the
 * connections. The main thread looks for new ledgers, and ends the keeper when there has been none for a
 * while. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/base.h"
#include "host/keeper/keeper.h"
#include "net/share/ledger.h"
#include "net/share/share.h"

#define GRACE_MS    300 /* without a ledger: programs may start one after the other */
#define LOOK_MS     500 /* without inotify */
#define STACK_BYTES (512u * 1024u)

struct watch {
    struct watch *next;
    struct keeper *keeper;
    struct net_ledger ledger;
    char name[96];
};

struct keeper {
    struct host_keeper_place place;
    pthread_mutex_t lock; /* of `watches` */
    struct watch *watches;
    int news_fd;  /* inotify, or -1 */
    int ended_fd; /* eventfd: a watch has ended */
};

/* --- a ledger's thread --- */

static void remove_watch(struct watch *watch)
{
    struct keeper *keeper = watch->keeper;
    pthread_mutex_lock(&keeper->lock);
    struct watch **at = &keeper->watches;
    while (*at != watch)
        at = &(*at)->next;
    *at = watch->next;
    pthread_mutex_unlock(&keeper->lock);
    free(watch);
}

static void *wait_and_bury(void *arg)
{
    struct watch *watch = arg;
    const uint64_t one = 1;
    const int ended_fd = watch->keeper->ended_fd;
    if (net_ledger_wait(&watch->ledger))
        host_keeper_bury(&watch->ledger);
    remove_watch(watch);
    (void)!write(ended_fd, &one, sizeof one);
    return NULL;
}

static bool start_watch(struct watch *watch)
{
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int err = pthread_create(&thread, &attr, wait_and_bury, watch);
    pthread_attr_destroy(&attr);
    return err == 0;
}

/* --- the main thread --- */

static bool is_watched(struct keeper *keeper, const char *name)
{
    pthread_mutex_lock(&keeper->lock);
    const struct watch *watch = keeper->watches;
    while (watch && strcmp(watch->name, name) != 0)
        watch = watch->next;
    pthread_mutex_unlock(&keeper->lock);
    return watch != NULL;
}

/* Without memory or a thread now, the next look finds the ledger again. */
static void add_watch(void *ctx, const char *name, unsigned slot)
{
    struct keeper *keeper = ctx;
    (void)slot;
    if (strlen(name) >= sizeof((struct watch *)0)->name || is_watched(keeper, name))
        return;
    struct watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return;
    watch->keeper = keeper;
    snprintf(watch->name, sizeof watch->name, "%s", name);
    if (net_ledger_open(&keeper->place.dir, name, &watch->ledger) != 0) {
        free(watch);
        return;
    }
    pthread_mutex_lock(&keeper->lock);
    watch->next = keeper->watches;
    keeper->watches = watch;
    pthread_mutex_unlock(&keeper->lock);
    if (!start_watch(watch)) {
        close(watch->ledger.fd);
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
        net_ledger_list(&keeper->place.dir, add_watch, keeper);
        bool is_idle = !has_watches(keeper);
        int timeout_ms = is_idle ? GRACE_MS : keeper->news_fd < 0 ? LOOK_MS : -1;
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

static int open_keeper(struct keeper *keeper)
{
    keeper->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (keeper->ended_fd < 0)
        return -errno;
    keeper->news_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (keeper->news_fd >= 0 && inotify_add_watch(keeper->news_fd, keeper->place.dir.path, IN_MOVED_TO) < 0) {
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
