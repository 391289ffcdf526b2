/* SPDX-License-Identifier: BSD-2-Clause */
/* One pass: starts both sides, watches them, and sees to it that both end. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/demo/demo.h"
#include "cli/demo/lab.h"
#include "cli/stop.h"
#include "host/host.h"
#include "net/memory.h"

#define TICK_NS          100000000u
#define GRACE_NS         3000000000u /* from "stop" to SIGKILL */
#define MEMORY_MTU_BYTES 4500u       /* room for path MTU 4096 */
#define MEMORY_FRAMES    1024u

struct side_run {
    struct demo_board *board;
    enum demo_role role;
    int peer;
    pid_t pid; /* 0: none, or reaped */
    pthread_t thread;
    struct net_port *memory[2];
};

static void say(struct demo_board *board, enum demo_role role, const char *what, int errnum)
{
    net_error_set(&board->sides[role].error, errnum, "%s: %s", what, strerror(errnum));
}

static void pause_ns(uint64_t ns)
{
    struct timespec t = {.tv_nsec = (long)ns};
    nanosleep(&t, NULL);
}

/* --- as processes --- */

static void inherit(int fd)
{
    fcntl(fd, F_SETFD, 0);
}

/* Between fork and exec: only calls that are safe there. */
static void become_side(const struct side_run *run, int board_fd, pid_t parent, char *const argv[])
{
    /* A child never outlives the front; it may have gone already. */
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
        _exit(CLI_ERROR);
    inherit(board_fd);
    inherit(run->peer);
    execv("/proc/self/exe", argv);
    _exit(CLI_ERROR);
}

static void start_process(struct side_run *run, int board_fd)
{
    char board_arg[16], peer_arg[16], role_arg[2] = {"ab"[run->role], 0};
    char *argv[] = {"nornic", "demo", "--side", role_arg, "--board", board_arg, "--peer", peer_arg, NULL};
    pid_t parent = getpid();

    snprintf(board_arg, sizeof board_arg, "%d", board_fd);
    snprintf(peer_arg, sizeof peer_arg, "%d", run->peer);
    run->pid = fork();
    if (run->pid == 0)
        become_side(run, board_fd, parent, argv);
    if (run->pid < 0) {
        say(run->board, run->role, "cannot start a process", errno);
        run->pid = 0;
    }
    close(run->peer);
}

static void reap(struct side_run *run)
{
    struct demo_side_result *result = &run->board->sides[run->role];
    int status;

    if (run->pid == 0 || waitpid(run->pid, &status, WNOHANG) != run->pid)
        return;
    run->pid = 0;
    if (WIFSIGNALED(status)) {
        result->ok = false;
        net_error_set(&result->error, ECHILD, "side %c was ended by signal %d (%s)", "AB"[run->role],
                      WTERMSIG(status), strsignal(WTERMSIG(status)));
    }
}

static void watch_processes(struct side_run runs[2], demo_tick *tick, void *ctx)
{
    struct demo_board *board = runs[0].board;
    uint64_t kill_at_ns = UINT64_MAX;

    while (runs[0].pid || runs[1].pid) {
        for (int i = 0; i < 2; i++) {
            reap(&runs[i]);
            bool failed = !runs[i].pid && !board->sides[i].ok;
            if (kill_at_ns == UINT64_MAX && (failed || cli_stopped())) {
                atomic_store(&board->stop, true);
                kill_at_ns = host_now_ns() + GRACE_NS;
            }
            if (runs[i].pid && host_now_ns() > kill_at_ns)
                kill(runs[i].pid, SIGKILL);
        }
        tick(ctx, board);
        if (runs[0].pid || runs[1].pid)
            pause_ns(TICK_NS);
    }
}

int demo_side_main(const char *role_name, int board_fd, int peer)
{
    enum demo_role role = role_name[0] == 'b' ? DEMO_B : DEMO_A;
    struct demo_board *board = demo_board_map(board_fd);

    if (!board)
        return cli_fail("--side is for the demo's own processes: %s", strerror(errno));
    /* Ctrl-C reaches every process of the terminal: the front's word decides. */
    if (cli_stop_install() != 0)
        return CLI_ERROR;
    signal(SIGINT, SIG_IGN);
    fcntl(board_fd, F_SETFD, FD_CLOEXEC);
    fcntl(peer, F_SETFD, FD_CLOEXEC);
    if (board->plan.netns[role][0] && demo_lab_enter(board->plan.netns[role], &board->sides[role].error) != 0)
        return CLI_ERROR;
    bool ok = demo_side_run(board, role, peer, NULL);
    demo_board_unmap(board);
    return ok ? CLI_OK : CLI_NEGATIVE;
}

/* --- as threads --- */

static void *side_thread(void *arg)
{
    struct side_run *run = arg;
    demo_side_run(run->board, run->role, run->peer, run->memory);
    return NULL;
}

static bool make_memory_ports(struct side_run runs[2])
{
    struct net_port *ends[2];

    for (int part = 0; part < 2; part++) {
        int err = net_memory_pair(MEMORY_MTU_BYTES, MEMORY_FRAMES, ends);
        if (err) {
            for (int i = 0; part == 1 && i < 2; i++)
                net_port_close(runs[i].memory[0]);
            say(runs[0].board, DEMO_A, "cannot make a memory port", -err);
            return false;
        }
        runs[0].memory[part] = ends[0];
        runs[1].memory[part] = ends[1];
    }
    return true;
}

static void run_threads(struct side_run runs[2], demo_tick *tick, void *ctx)
{
    struct demo_board *board = runs[0].board;
    int started = 0, rc = 0;

    if (!make_memory_ports(runs))
        return;
    for (; started < 2; started++) {
        rc = pthread_create(&runs[started].thread, NULL, side_thread, &runs[started]);
        if (rc)
            break;
    }
    if (rc) {
        say(board, (enum demo_role)started, "cannot start a thread", rc);
        atomic_store(&board->stop, true);
        for (int i = started; i < 2; i++)
            for (int part = 0; part < 2; part++)
                net_port_close(runs[i].memory[part]);
    }
    for (int i = 0; i < started; i++)
        while (!atomic_load(&board->sides[i].ended)) {
            tick(ctx, board);
            pause_ns(TICK_NS);
        }
    for (int i = 0; i < started; i++)
        pthread_join(runs[i].thread, NULL);
    tick(ctx, board);
}

void demo_pass_run(struct demo_board *board, int board_fd, bool in_processes, demo_tick *tick, void *ctx)
{
    struct side_run runs[2] = {{.board = board, .role = DEMO_A}, {.board = board, .role = DEMO_B}};
    int peers[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, peers) != 0) {
        say(board, DEMO_A, "cannot make a socket pair", errno);
        return;
    }
    for (int i = 0; i < 2; i++)
        runs[i].peer = peers[i];
    if (!in_processes) {
        run_threads(runs, tick, ctx);
        close(peers[0]);
        close(peers[1]);
        return;
    }
    for (int i = 0; i < 2; i++)
        start_process(&runs[i], board_fd);
    watch_processes(runs, tick, ctx);
}
