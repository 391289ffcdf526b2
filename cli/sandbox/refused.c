/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer to a refused call, by the signal that the filter sends to its thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/sandbox/refused.h"

#define NAMED(call)       \
    {                     \
        SYS_##call, #call \
    }

/* Calls by which a process gets out; others are told by their number. */
static const struct {
    long number;
    const char *name;
} names[] = {
    NAMED(execve),
    NAMED(execveat),
    NAMED(clone),
    NAMED(ptrace),
    NAMED(socket),
    NAMED(connect),
    NAMED(bind),
    NAMED(unshare),
    NAMED(setns),
    NAMED(mount),
    NAMED(umount2),
    NAMED(chroot),
    NAMED(pivot_root),
    NAMED(kill),
    NAMED(tgkill),
    NAMED(bpf),
    NAMED(ioctl),
    NAMED(fcntl),
    NAMED(prctl),
    NAMED(mmap),
    NAMED(mprotect),
    NAMED(unlinkat),
    NAMED(renameat),
    NAMED(mkdirat),
    NAMED(fchmodat),
    NAMED(fchownat),
    NAMED(linkat),
    NAMED(symlinkat),
    NAMED(setuid),
    NAMED(setresuid),
    NAMED(capset),
    NAMED(process_vm_readv),
    NAMED(memfd_create),
    NAMED(keyctl),
    NAMED(perf_event_open),
    NAMED(process_vm_writev),
#ifdef SYS_open
    NAMED(fork),
    NAMED(vfork),
    NAMED(unlink),
    NAMED(rename),
    NAMED(mkdir),
    NAMED(chmod),
    NAMED(link),
    NAMED(symlink),
#endif
#ifdef SYS_io_uring_setup
    NAMED(io_uring_setup),
#endif
#ifdef SYS_pidfd_getfd
    NAMED(pidfd_getfd),
#endif
};

static atomic_bool has_told;

bool sandbox_refused_is_caught(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return true;
#else
    return false;
#endif
}

/* Writes the sentence; with calls that a handler of a signal may make. */
static void tell(long number)
{
    const char *name = NULL;
    char line[256], digits[24];
    for (size_t i = 0; i < array_len(names) && !name; i++)
        if (names[i].number == number)
            name = names[i].name;
    if (!name) {
        char *at = digits + sizeof digits - 1;
        *at = '\0';
        do
            *--at = (char)('0' + number % 10);
        while ((number /= 10) > 0);
        name = at;
    }
    const char *const parts[] = {"nornic ", cli_command_name(), ": the sandbox refused the call ", name,
                                 " of this program: report it, please; --no-sandbox goes on without\n"};
    size_t len = 0;
    for (size_t i = 0; i < array_len(parts); i++) {
        size_t n = strlen(parts[i]);
        n = n < sizeof line - len ? n : sizeof line - len;
        memcpy(line + len, parts[i], n);
        len += n;
    }
    ssize_t put = write(STDERR_FILENO, line, len);
    (void)put;
}

static void on_refused(int signo, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    (void)signo;
    if (!atomic_exchange(&has_told, true))
        tell(info->si_syscall);
#if defined(__x86_64__)
    at->uc_mcontext.gregs[REG_RAX] = -EPERM;
#elif defined(__aarch64__)
    at->uc_mcontext.regs[0] = (unsigned long long)-EPERM;
#else
    (void)at;
#endif
}

void sandbox_refused_catch(void)
{
    sigset_t it;
    struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER};
    sigemptyset(&it);
    sigaddset(&it, SIGSYS);
    sigaction(SIGSYS, &action, NULL);
    sigprocmask(SIG_UNBLOCK, &it, NULL); /* the kernel kills a thread that blocks it */
}
