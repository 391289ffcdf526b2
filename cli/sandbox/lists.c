/* SPDX-License-Identifier: BSD-2-Clause */
/* The lists of calls, each with its reason; docs/sandbox.md tells of them. Frequent calls come first. */
#define _GNU_SOURCE
#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/base.h"
#include "cli/sandbox/lists.h"

#define CALL(name)           \
    {                        \
        .number = SYS_##name \
    }
#define CHECKED(name, ...)                              \
    {                                                   \
        .number = SYS_##name, .checks = { __VA_ARGS__ } \
    }
#define VALUES(...) .count = sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), .values = {__VA_ARGS__}
#define IS(number, ...)                      \
    {                                        \
        .arg = (number), VALUES(__VA_ARGS__) \
    }
#define MASKED(number, m, ...)                            \
    {                                                     \
        .arg = (number), .mask = (m), VALUES(__VA_ARGS__) \
    }

#define SET_VMA     0x53564d41 /* PR_SET_VMA: the C library names its memory */
#define TERMIOS2    0x802c542a /* TCGETS2: isatty() of newer C libraries */
#define NEW_SPACES  0x7e020080 /* CLONE_NEW... */
#define TYPE_BITS   0xf        /* of socket(), without SOCK_CLOEXEC and SOCK_NONBLOCK */
#define LINK_DETACH 34         /* BPF_LINK_DETACH */

/* Input and output with what is open or was named, memory without code, time, and the end. */
static const struct sandbox_call common[] = {
    CALL(read),
    CALL(write),
    CALL(readv),
    CALL(writev),
    CALL(pread64),
    CALL(pwrite64),
    CALL(lseek),
    CALL(close),
    CALL(openat),
    CALL(fstat),
    CALL(newfstatat),
    CALL(statx),
    CALL(faccessat),
    CALL(readlinkat),
    CALL(brk),
    CALL(munmap),
    CALL(mremap),
    CALL(madvise),
    CALL(futex),
    CALL(ppoll),
    CALL(pselect6),
    CALL(clock_gettime),
    CALL(clock_getres),
    CALL(clock_nanosleep),
    CALL(nanosleep),
    CALL(gettimeofday),
    CALL(getrandom),
    CALL(rt_sigaction),
    CALL(rt_sigprocmask),
    CALL(rt_sigreturn),
    CALL(sigaltstack),
    CALL(restart_syscall),
    CALL(exit),
    CALL(exit_group),
    CALL(getpid),
    CALL(gettid),
    CALL(getppid),
    CALL(getuid),
    CALL(geteuid),
    CALL(getgid),
    CALL(getegid),
    CALL(uname),
    CALL(sysinfo),
    CALL(getcwd),
    CALL(sched_yield),
    CALL(sched_getaffinity),
    CALL(set_robust_list),
    CALL(get_robust_list),
    CALL(fsync),
    CALL(ftruncate),
    CALL(dup),
    CALL(dup3),
    CALL(fadvise64),
    CALL(memfd_create),
    CALL(getrusage),
    CALL(times),
    CHECKED(mmap, MASKED(2, PROT_EXEC, 0)),
    CHECKED(mprotect, MASKED(2, PROT_EXEC, 0)),
    CHECKED(ioctl, IS(1, TCGETS, TERMIOS2, TIOCGWINSZ, FIONREAD, SIOCOUTQ, SIOCETHTOOL, SIOCGIFFLAGS,
                      SIOCGIFINDEX, SIOCGIFMTU, SIOCGIFNAME)),
    CHECKED(fcntl, IS(1, F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC, F_GETPIPE_SZ,
                      F_OFD_GETLK, F_OFD_SETLK, F_SETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS)),
    CHECKED(prctl,
            IS(0, PR_SET_NAME, PR_GET_NAME, PR_SET_TIMERSLACK, PR_GET_DUMPABLE, PR_CAPBSET_READ, SET_VMA)),
    CHECKED(prlimit64, IS(2, 0)), /* asks, and sets nothing */
#ifdef SYS_open                   /* an architecture with the older calls beside the newer ones */
    CALL(open),
    CALL(stat),
    CALL(lstat),
    CALL(access),
    CALL(readlink),
    CALL(poll),
    CALL(select),
    CALL(time),
    CALL(dup2),
    CALL(getrlimit),
#endif
#ifdef SYS_faccessat2
    CALL(faccessat2),
#endif
#ifdef SYS_rseq
    CALL(rseq),
#endif
#ifdef SYS_membarrier
    CALL(membarrier),
#endif
};

/* Packets of a socket that is open: libpcap, a packet port. */
static const struct sandbox_call packets[] = {
    CALL(recvfrom), CALL(recvmsg),    CALL(sendto),     CALL(sendmsg),
    CALL(shutdown), CALL(getsockopt), CALL(setsockopt), CALL(getsockname),
};

/* Files that come and go. */
static const struct sandbox_call names[] = {
    CALL(unlinkat),
#ifdef SYS_unlink
    CALL(unlink),
#endif
};

/* Packet and xdp ports that are opened again. The list comes before that of the service: the first row
 * of a call counts. */
static const struct sandbox_call raw[] = {
    CHECKED(socket, IS(0, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_XDP),
            MASKED(1, TYPE_BITS, SOCK_DGRAM, SOCK_RAW)),
    CHECKED(bpf,
            IS(0, BPF_MAP_CREATE, BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM,
               BPF_MAP_GET_NEXT_KEY, BPF_PROG_LOAD, BPF_BTF_LOAD, BPF_LINK_CREATE, BPF_OBJ_GET_INFO_BY_FD,
               BPF_PROG_GET_FD_BY_ID, BPF_MAP_FREEZE, BPF_PROG_BIND_MAP, LINK_DETACH)),
};

/* The service: programs that connect, their TCP connections, queries of the kernel by netlink, RoCE by UDP,
 * maps of BPF, its cgroup, threads that close. */
static const struct sandbox_call service[] = {
    CALL(recvmmsg),
    CALL(sendmmsg),
    CALL(accept4),
    CALL(epoll_pwait),
    CALL(epoll_ctl),
    CALL(preadv2),
    CALL(pwritev2),
    CALL(preadv),
    CALL(pwritev),
    CALL(splice),
    CALL(vmsplice),
    CALL(tee),
    CALL(pipe2),
    CALL(eventfd2),
    CALL(timerfd_create),
    CALL(timerfd_settime),
    CALL(timerfd_gettime),
    CALL(epoll_create1),
    CALL(bind),
    CALL(connect),
    CALL(listen),
    CALL(getpeername),
    CALL(socketpair),
    CALL(getdents64),
    CALL(fallocate), /* memory of connections that are over goes back */
    CALL(fstatfs),
    CALL(statfs),
    CALL(flock),
    CALL(chdir),
    CALL(mlock),
    CALL(munlock),
    CALL(pidfd_open),
    CALL(fchmod), /* the table of addresses is made anew */
    CALL(fchmodat),
    CALL(renameat2),
    /* RoCE by UDP and questions about routes; netlink; programs, claims of addresses */
    CHECKED(socket, IS(0, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK),
            MASKED(1, TYPE_BITS, SOCK_DGRAM, SOCK_RAW)),
    CHECKED(clone, MASKED(0, NEW_SPACES | CLONE_THREAD | CLONE_VM, CLONE_THREAD | CLONE_VM)),
    CHECKED(kill, IS(1, 0)), /* whether a process is there */
    CHECKED(bpf, IS(0, BPF_MAP_LOOKUP_ELEM, BPF_MAP_UPDATE_ELEM, BPF_MAP_DELETE_ELEM, BPF_MAP_GET_NEXT_KEY,
                    BPF_OBJ_GET_INFO_BY_FD, BPF_PROG_GET_FD_BY_ID, LINK_DETACH)),
#ifdef SYS_open
    CALL(epoll_wait),
    CALL(chmod),
    CALL(rmdir),
    CALL(pipe),
    CALL(eventfd),
#endif
};

#define LIST(calls)             \
    {                           \
        calls, array_len(calls) \
    }

unsigned sandbox_lists(enum cli_sandbox_kind kind, const struct sandbox_list *lists[SANDBOX_LISTS])
{
    static const struct sandbox_list all[] = {LIST(common), LIST(packets), LIST(names)};
    static const struct sandbox_list of_service = LIST(service), of_raw = LIST(raw);
    unsigned count = 0, common_count = 0;
    switch (kind) {
    case CLI_SANDBOX_READER:
        common_count = 1;
        break;
    case CLI_SANDBOX_CAPTURE:
        common_count = 2;
        break;
    case CLI_SANDBOX_ROTATE:
    case CLI_SANDBOX_SERVICE:
    case CLI_SANDBOX_RAW:
        common_count = 3;
        break;
    }
    while (count < common_count) {
        lists[count] = &all[count];
        count++;
    }
    if (kind == CLI_SANDBOX_RAW)
        lists[count++] = &of_raw;
    if (kind == CLI_SANDBOX_SERVICE || kind == CLI_SANDBOX_RAW)
        lists[count++] = &of_service;
    return count;
}
