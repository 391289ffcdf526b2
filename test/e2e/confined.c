/* SPDX-License-Identifier: BSD-2-Clause */
/* A library for LD_PRELOAD: code of an attacker in the process of a command. Its destructor runs when the
 * command has done its work, within the sandbox, and tries to get out. A line on standard error each:
 * "escape NAME ERRNO", 0 for success. With ESCAPE_NO_LANDLOCK its constructor makes the kernel one without
 * Landlock. For confined.sh. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LANDLOCK_FIRST 444
#define LANDLOCK_LAST  446

static void tell(const char *name, long result)
{
    fprintf(stderr, "escape %s %d\n", name, result >= 0 ? 0 : errno);
}

__attribute__((constructor)) static void lose_landlock(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, LANDLOCK_FIRST, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, LANDLOCK_LAST, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof steps / sizeof steps[0], .filter = steps};
    if (!getenv("ESCAPE_NO_LANDLOCK"))
        return;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

__attribute__((destructor)) static void escape(void)
{
    char *const echo[] = {"echo", "escape exec 0", NULL};
    const char *made = getenv("ESCAPE_FILE");
    if (!made)
        return;
    unsetenv("LD_PRELOAD");
    tell("read_a_file", open("/etc/passwd", O_RDONLY | O_CLOEXEC));
    tell("make_a_file", open(made, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    tell("socket", socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    tell("packet_socket", socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
    tell("new_namespace", unshare(CLONE_NEWUSER));
    tell("code", (long)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    tell("signal", kill(getppid(), SIGCONT));
    tell("trace", ptrace(PTRACE_SEIZE, getppid(), NULL, NULL));
    pid_t child = fork();
    tell("fork", child);
    if (child == 0)
        _exit(0);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execv("/bin/echo", echo);
    tell("exec", -1);
}
