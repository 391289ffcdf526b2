/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic run --smc`: the program's TCP sockets over the service of this user. */
#define _GNU_SOURCE
#include "cli/run/smc.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/notice.h"
#include "base/now.h"
#include "cli/cli.h"
#include "service/borrow/borrow.h"
#include "service/service.h"

#define MAX_WORDS 64
#define DYING_NS  (10 * NS_PER_S) /* how long the kernel may take over a process that was killed */
#define LOOK_MS   50

/* The words of a command, for execv(). */
struct words {
    char *at[MAX_WORDS];
    unsigned n;
};

static bool add(struct words *w, const char *word)
{
    if (w->n + 1 >= MAX_WORDS)
        return false;
    w->at[w->n++] = (char *)word;
    return true;
}

/* `option` before each part of `list`, which is cut at its commas. */
static bool add_each(struct words *w, const char *option, char *list)
{
    bool fits = true;
    for (char *rest = list, *part; rest && (part = strsep(&rest, ",")) && fits;)
        fits = !*part || (add(w, option) && add(w, part));
    return fits;
}

/* --- the service --- */

/* One that runs already is as good: then it ends at once. It tells its failure itself. */
static int start_service(const struct run_smc *o, const char *path)
{
    char *ports = o->ports ? strdup(o->ports) : NULL, *peers = o->peers ? strdup(o->peers) : NULL;
    struct words w = {.at = {"nornic", "smc", "service", "--on-demand", "--socket", (char *)path}, .n = 6};
    int status, result = CLI_ERROR;
    bool fits = add_each(&w, "--device", ports) && add_each(&w, "--peers", peers);
    fits = fits && (!o->ueid || (add(&w, "--ueid") && add(&w, o->ueid)));
    fits = fits && (!o->capture || (add(&w, "--capture") && add(&w, o->capture)));
    pid_t child = fits ? fork() : -1;
    if (child == 0) {
        unsetenv("LD_PRELOAD"); /* in a program under `run --smc` the service would be lent to itself */
        unsetenv("NORNIC_SMC");
        execv("/proc/self/exe", w.at);
        _exit(127);
    }
    if (!fits)
        cli_fail("--port or --peers has too many parts");
    else if (child < 0 || waitpid(child, &status, 0) != child)
        cli_fail("cannot start the service: %s", strerror(errno));
    else if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        cli_fail("the service for SMC-R did not start (`nornic smc service --foreground` says more)");
    else
        result = CLI_OK;
    free(ports);
    free(peers);
    return result;
}

static bool is_none(int err)
{
    return err == -ECONNREFUSED || err == -ECONNRESET || err == -ENOTCONN || err == -ENOENT;
}

/* One that ends, or was killed, holds its path until the kernel has closed all that it had, and answers no
 * more. 0 or -errno; -ECHILD: it could not be started, as was said. */
static int open_service(const struct run_smc *o, const char *path)
{
    int err = -ECONNREFUSED;
    const uint64_t end_ns = base_now_ns() + DYING_NS;
    while (is_none(err) && base_now_ns() < end_ns) {
        if (start_service(o, path) != CLI_OK)
            return -ECHILD;
        err = borrow_open(path);
        if (is_none(err))
            poll(NULL, 0, LOOK_MS);
    }
    return err;
}

/* The process that listens at a path, as the kernel reports it; 0: none is known. */
static int listener_of(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct ucred peer = {.pid = 0};
    socklen_t len = sizeof peer;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    snprintf(addr.sun_path, sizeof addr.sun_path, "%s", path);
    if (fd >= 0 && (connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0 ||
                    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0))
        peer.pid = 0;
    if (fd >= 0)
        close(fd);
    return peer.pid;
}

/* Says that the service is silent, and how to go on. Returns CLI_ERROR. */
static int tell_silent(const char *path, int err)
{
    const int pid = listener_of(path);
    if (pid <= 0)
        return cli_fail("the service at %s does not answer: %s", path, strerror(-err));
    if (base_is_stopped(pid))
        return cli_fail("the service at %s (process %d) does not answer, since it is stopped: continue it "
                        "(kill -CONT %d), or end it (kill -KILL %d) and try again",
                        path, pid, pid, pid);
    return cli_fail("the service at %s (process %d) does not answer: %s; end it (kill %d) and try again",
                    path, pid, strerror(-err), pid);
}

/* Opens the service and enters its cgroup, which alone outlives exec(). */
static int enter(const struct run_smc *o, const char *path)
{
    int err = open_service(o, path);
    if (err == -ECHILD)
        return CLI_ERROR;
    if (err == -EPERM)
        return cli_fail("the service at %s is another user's", path);
    if (err == -EPROTO)
        return cli_fail("the service at %s is of another version of nornic: end it first (`nornic smc stat` "
                        "names its process)",
                        path);
    if (err)
        return tell_silent(path, err);
    err = borrow_enter();
    if (err && err != -EOPNOTSUPP)
        cli_tell("the service cannot offer SMC-R for this program's connections (%s)", strerror(-err));
    return CLI_OK;
}

/* --- the environment --- */

static int load_first(const char *library)
{
    const char *before = getenv("LD_PRELOAD");
    char value[2 * PATH_MAX];
    if (strpbrk(library, ": "))
        return cli_fail("%s cannot be preloaded: the dynamic linker takes no path with a space or a colon",
                        library);
    int n =
        snprintf(value, sizeof value, "%s%s%s", library, before && *before ? ":" : "", before ? before : "");
    if (n < 0 || (size_t)n >= sizeof value)
        return cli_fail("LD_PRELOAD is too long");
    setenv("LD_PRELOAD", value, 1);
    return CLI_OK;
}

int run_smc_prepare(const struct run_smc *options, const char *library)
{
    char path[SERVICE_PATH_BYTES];
    struct nornic_error why;
    if (access(library, R_OK) != 0)
        return cli_fail("%s: %s: build it (make), or install it (make install)", library, strerror(errno));
    if (options->socket && strlen(options->socket) >= sizeof path)
        return cli_fail("--service %s: a path of at most %zu letters", options->socket, sizeof path - 1);
    if (options->socket)
        snprintf(path, sizeof path, "%s", options->socket);
    else if (service_path(path, &why) != 0)
        return cli_fail("%s", why.text);
    if (enter(options, path) != CLI_OK)
        return CLI_ERROR;
    setenv("NORNIC_SMC", path, 1);
    return load_first(library);
}
