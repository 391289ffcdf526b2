/* SPDX-License-Identifier: BSD-2-Clause */
/* The filter of calls (seccomp(2)). A list of calls for each kind of process is made into a program of BPF: a
 * comparison a call, and a comparison for each value of an argument that matters. The kernel keeps a map of
 * calls that pass with all arguments, so that the length of the list costs those nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/sandbox/calls.h"
#include "cli/sandbox/lists.h"
#include "cli/sandbox/refused.h"

#define MAX_STEPS 2048
#define NEWEST    462 /* mseal(): a call of a later Linux, and of another ABI (x32), is not there */

#if defined(__x86_64__)
#define HERE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define HERE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define HERE AUDIT_ARCH_RISCV64
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOW_BYTES 0 /* of the half of an argument that an int is in */
#else
#define LOW_BYTES 4
#endif

struct program {
    struct sock_filter steps[MAX_STEPS];
    unsigned short count;
    bool is_too_long;
    uint32_t refusal; /* the result of a refused call */
};

static void add(struct program *p, uint16_t code, uint32_t k, uint8_t if_true, uint8_t if_false)
{
    p->is_too_long |= p->count == MAX_STEPS;
    if (p->count < MAX_STEPS)
        p->steps[p->count++] = (struct sock_filter){code, if_true, if_false, k};
}

static void add_load(struct program *p, size_t offset)
{
    add(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void add_result(struct program *p, uint32_t result)
{
    add(p, BPF_RET | BPF_K, result, 0, 0);
}

/* Refuses the call unless the argument, masked, is among the values of the check. */
static void add_check(struct program *p, const struct sandbox_check *check)
{
    add_load(p, offsetof(struct seccomp_data, args) + check->arg * sizeof(uint64_t) + LOW_BYTES);
    add(p, BPF_ALU | BPF_AND | BPF_K, check->mask ? check->mask : UINT32_MAX, 0, 0);
    for (unsigned i = 0; i < check->count; i++)
        add(p, BPF_JMP | BPF_JEQ | BPF_K, check->values[i], (uint8_t)(check->count - i), 0);
    add_result(p, p->refusal);
}

/* Lets a call pass, if its checks do. */
static void add_call(struct program *p, const struct sandbox_call *call)
{
    unsigned short at = p->count;
    add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call->number, 0, 0);
    for (unsigned i = 0; i < SANDBOX_CHECKS && call->checks[i].count; i++)
        add_check(p, &call->checks[i]);
    add_result(p, SECCOMP_RET_ALLOW);
    if (!p->is_too_long)
        p->steps[at].jf = (uint8_t)(p->count - at - 1);
}

static void add_missing(struct program *p, long number)
{
    add(p, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)number, 0, 1);
    add_result(p, SECCOMP_RET_ERRNO | ENOSYS);
}

/* The C library asks for newer calls first, and takes older ones if these are missing. */
static void build(struct program *p, enum cli_sandbox_kind kind)
{
    const struct sandbox_list *lists[SANDBOX_LISTS];
    unsigned count = sandbox_lists(kind, lists);
#ifdef HERE
    add_load(p, offsetof(struct seccomp_data, arch));
    add(p, BPF_JMP | BPF_JEQ | BPF_K, HERE, 1, 0);
    add_result(p, SECCOMP_RET_ERRNO | EPERM);
#endif
    add_load(p, offsetof(struct seccomp_data, nr));
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < lists[i]->count; j++)
            add_call(p, &lists[i]->calls[j]);
    /* raise() and abort(): to threads of this process alone */
    add_call(p, &(struct sandbox_call){SYS_tgkill, {{.arg = 0, .count = 1, .values = {(uint32_t)getpid()}}}});
#ifdef SYS_clone3
    /* its flags are behind a pointer, which a filter cannot follow: clone() has them in a register */
    add_missing(p, SYS_clone3);
#endif
    add(p, BPF_JMP | BPF_JGT | BPF_K, NEWEST, 0, 1);
    add_result(p, SECCOMP_RET_ERRNO | ENOSYS);
    add_result(p, p->refusal);
}

int sandbox_calls_close(enum cli_sandbox_kind kind)
{
    static struct program p;
    p = (struct program){.refusal =
                             sandbox_refused_is_caught() ? SECCOMP_RET_TRAP : SECCOMP_RET_ERRNO | EPERM};
    build(&p, kind);
    struct sock_fprog program = {.len = p.count, .filter = p.steps};
    if (p.is_too_long)
        return -E2BIG;
    sandbox_refused_catch();
    long err = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    return err == 0 ? 0 : err > 0 ? -EBUSY : -errno;
}
