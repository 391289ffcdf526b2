/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "cli/stop.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static atomic_int stopped; /* the signal; 0: none yet */
static int wake_fd = -1;

static void on_signal(int signo)
{
    int saved_errno = errno, none = 0;
    atomic_compare_exchange_strong(&stopped, &none, signo);
    uint64_t one = 1;
    /* An eventfd is full only after 2^64 - 2 signals; it is readable then all the same. */
    ssize_t ignored = write(wake_fd, &one, sizeof one);
    (void)ignored;
    errno = saved_errno;
}

int cli_stop_install(void)
{
    if (wake_fd >= 0)
        return 0;
    wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (wake_fd < 0)
        return -errno;
    /* SA_RESETHAND: the second Ctrl-C is for a command whose cleanup hangs. */
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < array_len(signals); i++)
        if (sigaction(signals[i], &action, NULL) != 0)
            return -errno;
    return sigaction(SIGPIPE, &ignore, NULL) == 0 && sigaction(SIGXFSZ, &ignore, NULL) == 0 ? 0 : -errno;
}

bool cli_stopped(void)
{
    return atomic_load(&stopped) != 0;
}

int cli_stop_signal(void)
{
    return atomic_load(&stopped);
}

int cli_stop_fd(void)
{
    return wake_fd;
}
