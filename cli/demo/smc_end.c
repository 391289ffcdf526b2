/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/demo/smc.h"

#define GRACE_MS 5000
#define SERVICE  "5000"
#define MAX_ARGS 24

static const char *server_addr(const struct demo_smc_plan *plan)
{
    return plan->ipv6 ? "fd77::2" : "10.77.0.2";
}

/* "/proc/self/fd/N": a memory file by a name that the process can open. */
static void name_fd(char *text, size_t size, int fd)
{
    snprintf(text, size, "/proc/self/fd/%d", fd);
}

struct command {
    char devices[2][80], trace[32], output[32], where[64];
    char *argv[MAX_ARGS];
};

static void make_command(struct command *c, const struct demo_smc_end *end, const struct demo_smc_plan *plan,
                         int which)
{
    unsigned n = 0;
    static const char *const ifnames[] = {DEMO_LAB_IFNAME, DEMO_LAB_IFNAME2};
    static char words[][16] = {"nornic",    "smc",    "listen",  "connect", "-d", "--require-smc",
                               "--sum",     "--json", "--trace", "-o",      "-i", "/dev/stdin",
                               "/dev/null", SERVICE};
    enum { NORNIC, SMC, LISTEN, CONNECT, D, REQUIRE, SUM, JSON, TRACE, O, I, STDIN, NOWHERE, PORT };
    for (int i = 0; i < 2; i++)
        snprintf(c->devices[i], sizeof c->devices[i], "%s:%s", plan->kind, ifnames[i]);
    name_fd(c->trace, sizeof c->trace, end->trace_fd);
    name_fd(c->output, sizeof c->output, end->output_fd);
    c->argv[n++] = words[NORNIC];
    c->argv[n++] = words[SMC];
    c->argv[n++] = words[which ? LISTEN : CONNECT];
    for (int i = 0; i < 2; i++) {
        c->argv[n++] = words[D];
        c->argv[n++] = c->devices[i];
    }
    c->argv[n++] = words[REQUIRE];
    c->argv[n++] = words[SUM];
    c->argv[n++] = words[JSON];
    c->argv[n++] = words[TRACE];
    c->argv[n++] = c->trace;
    c->argv[n++] = words[O];
    c->argv[n++] = which ? c->output : words[NOWHERE];
    snprintf(c->where, sizeof c->where, plan->ipv6 ? "[%s]:" SERVICE : "%s:" SERVICE, server_addr(plan));
    if (which) {
        c->argv[n++] = c->where;
    } else {
        c->argv[n++] = words[I];
        c->argv[n++] = words[STDIN];
        snprintf(c->where, sizeof c->where, "%s", server_addr(plan));
        c->argv[n++] = c->where;
        c->argv[n++] = words[PORT];
    }
    c->argv[n] = NULL;
}

/* Between fork and exec. A child never outlives the front; Ctrl-C reaches it too, but the front's word
 * decides. */
static void become_end(const struct demo_smc_end *end, const char *netns, int in, pid_t parent,
                       char *const argv[])
{
    struct nornic_error why;
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent || demo_lab_enter(netns, &why) != 0)
        _exit(CLI_ERROR);
    if (dup2(in, STDIN_FILENO) < 0 || dup2(end->out_fd, STDOUT_FILENO) < 0 ||
        dup2(end->err_fd, STDERR_FILENO) < 0)
        _exit(CLI_ERROR);
    fcntl(end->trace_fd, F_SETFD, 0);
    fcntl(end->output_fd, F_SETFD, 0);
    setpgid(0, 0);
    execv("/proc/self/exe", argv);
    _exit(CLI_ERROR);
}

static bool make_files(struct demo_smc_end *end, int pipe_fds[2])
{
    end->out_fd = memfd_create("smc-out", MFD_CLOEXEC);
    end->err_fd = memfd_create("smc-err", MFD_CLOEXEC);
    end->trace_fd = memfd_create("smc-trace", MFD_CLOEXEC);
    end->output_fd = memfd_create("smc-file", MFD_CLOEXEC);
    return end->out_fd >= 0 && end->err_fd >= 0 && end->trace_fd >= 0 && end->output_fd >= 0 &&
           pipe2(pipe_fds, O_CLOEXEC) == 0;
}

int demo_smc_end_start(struct demo_smc_end *end, const struct demo_smc_plan *plan, int which)
{
    struct command command;
    int fds[2] = {-1, -1};
    pid_t parent = getpid();
    if (!make_files(end, fds))
        return cli_fail("no memory files for the second act: %s", strerror(errno));
    make_command(&command, end, plan, which);
    end->pid = fork();
    if (end->pid == 0)
        become_end(end, plan->lab->netns[which], fds[0], parent, command.argv);
    close(fds[0]);
    end->in_fd = fds[1];
    if (end->pid > 0)
        return CLI_OK;
    end->pid = 0;
    return cli_fail("cannot start a process: %s", strerror(errno));
}

bool demo_smc_end_runs(struct demo_smc_end *end)
{
    if (end->pid > 0 && waitpid(end->pid, &end->status, WNOHANG) == end->pid)
        end->pid = 0;
    return end->pid > 0;
}

void demo_smc_end_stop(struct demo_smc_end *end)
{
    if (demo_smc_end_runs(end))
        kill(end->pid, SIGTERM);
    for (int ms = 0; demo_smc_end_runs(end); ms += 10) {
        struct timespec t = {.tv_nsec = 10000000};
        if (ms == GRACE_MS)
            kill(end->pid, SIGKILL);
        nanosleep(&t, NULL);
    }
    int *fds[] = {&end->in_fd, &end->out_fd, &end->err_fd, &end->trace_fd, &end->output_fd};
    for (size_t i = 0; i < array_len(fds); i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
}

/* The last line of a memory file, without its end; "" when there is none. */
static void last_line(int fd, char *text, size_t size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    off_t start = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
    ssize_t n = pread(fd, text, size - 1, start);
    text[n > 0 ? n : 0] = 0;
    for (size_t len = strlen(text); len > 0 && text[len - 1] == '\n'; len--)
        text[len - 1] = 0;
    char *newline = strrchr(text, '\n');
    if (newline)
        memmove(text, newline + 1, strlen(newline));
}

const char *demo_smc_end_words(const struct demo_smc_end *end, char *text, size_t size)
{
    last_line(end->err_fd, text, size);
    if (*text)
        return text;
    if (end->pid == 0 && WIFSIGNALED(end->status))
        snprintf(text, size, "it was ended by signal %d (%s)", WTERMSIG(end->status),
                 strsignal(WTERMSIG(end->status)));
    else
        snprintf(text, size, "it said nothing");
    return text;
}

bool demo_smc_end_spoke(const struct demo_smc_end *end)
{
    struct stat st;
    return fstat(end->out_fd, &st) == 0 && st.st_size > 0;
}

struct json_object *demo_smc_end_report(const struct demo_smc_end *end)
{
    char text[8192];
    last_line(end->out_fd, text, sizeof text);
    struct json_object *o = *text ? json_tokener_parse(text) : NULL;
    struct json_object *ok;
    if (o && json_object_object_get_ex(o, "ok", &ok))
        return o;
    json_object_put(o);
    return NULL;
}
