/* SPDX-License-Identifier: BSD-2-Clause */
/* Capabilities (capabilities(7)), by the calls of the kernel: the library for them is one dependency
 * more. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/sandbox/rights.h"

#define BIT(cap)      (UINT64_C(1) << (cap))
#define CAP_PERFMON_  38 /* linux/capability.h of Linux 5.8 */
#define CAP_BPF_      39
#define OF_FILES      (BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH))
#define PR_AMBIENT    47
#define AMBIENT_CLEAR 4

/* The three sets of the thread, a bit each. */
struct sets {
    uint64_t effective, permitted;
};

static int get(struct sets *sets)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    if (syscall(SYS_capget, &head, data) != 0)
        return -errno;
    sets->effective = data[0].effective | (uint64_t)data[1].effective << 32;
    sets->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
    return 0;
}

/* Sets the sets; none is inherited by a program. */
static int set(const struct sets *sets)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {
        {.effective = (uint32_t)sets->effective, .permitted = (uint32_t)sets->permitted},
        {.effective = (uint32_t)(sets->effective >> 32), .permitted = (uint32_t)(sets->permitted >> 32)},
    };
    return syscall(SYS_capset, &head, data) == 0 ? 0 : -errno;
}

uint64_t sandbox_rights_of(enum cli_sandbox_kind kind)
{
    switch (kind) {
    case CLI_SANDBOX_READER:
    case CLI_SANDBOX_CAPTURE:
    case CLI_SANDBOX_ROTATE:
        return 0;
    case CLI_SANDBOX_RAW: /* sockets of packets, memory of their rings, XDP programs that compare pointers */
        return BIT(CAP_NET_RAW) | BIT(CAP_IPC_LOCK) | BIT(CAP_PERFMON_) |
               sandbox_rights_of(CLI_SANDBOX_SERVICE);
    case CLI_SANDBOX_SERVICE: /* maps; XDP programs, and sockets of other users, by netlink */
        return BIT(CAP_NET_ADMIN) |
               (prctl(PR_CAPBSET_READ, CAP_BPF_) >= 0 ? BIT(CAP_BPF_) : BIT(CAP_SYS_ADMIN));
    }
    return 0;
}

static int access_mode(enum cli_sandbox_use use)
{
    switch (use) {
    case CLI_SANDBOX_READS:
        return R_OK;
    case CLI_SANDBOX_WRITES:
        return W_OK;
    case CLI_SANDBOX_MAKES:
    case CLI_SANDBOX_REMOVES:
        return W_OK | X_OK;
    }
    return R_OK;
}

/* Returns whether the effective rights reach `path`; -ENOSYS: the kernel has no such call, or refuses it.
 * faccessat() of the C library would ask for the permitted capabilities instead, before Linux 5.8. */
static int reaches(const char *path, int mode)
{
#ifdef SYS_faccessat2
    if (syscall(SYS_faccessat2, AT_FDCWD, path, mode, AT_EACCESS) == 0)
        return 1;
    return errno == ENOSYS || errno == EPERM ? -ENOSYS : 0;
#else
    (void)path, (void)mode;
    return -ENOSYS;
#endif
}

uint64_t sandbox_rights_for(const char *path, enum cli_sandbox_use use)
{
    struct sets all = {0};
    int mode = access_mode(use);
    if (get(&all) != 0 || !(all.effective & OF_FILES) || reaches(path, mode) == 0)
        return 0;
    struct sets without = {.effective = all.effective & ~OF_FILES, .permitted = all.permitted};
    if (set(&without) != 0)
        return 0;
    bool is_needed = reaches(path, mode) <= 0; /* unknown: kept */
    set(&all);
    if (!is_needed)
        return 0;
    return mode == R_OK && all.effective & BIT(CAP_DAC_READ_SEARCH) ? BIT(CAP_DAC_READ_SEARCH)
                                                                    : BIT(CAP_DAC_OVERRIDE);
}

int sandbox_rights_fix(void)
{
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : -errno;
}

void sandbox_rights_drop(uint64_t kept)
{
    struct sets sets = {0};
    prctl(PR_AMBIENT, AMBIENT_CLEAR, 0, 0, 0);
    for (unsigned cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
        if (!(kept & BIT(cap)))
            prctl(PR_CAPBSET_DROP, cap);
    if (get(&sets) != 0)
        return;
    sets.permitted &= kept;
    sets.effective &= kept;
    set(&sets);
}
