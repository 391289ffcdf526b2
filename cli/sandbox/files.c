/* SPDX-License-Identifier: BSD-2-Clause */
/* Landlock (landlock(7), Documentation/userspace-api/landlock.rst), by the calls of the kernel: the C
 * library has none of them. The numbers stand here, since a build's linux/landlock.h may be older than
 * the kernel. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/sandbox/files.h"

#define CREATE_RULESET 444 /* of every architecture */
#define ADD_RULE       445
#define RESTRICT_SELF  446
#define ASK_VERSION    1
#define PATH_BENEATH   1

#define WRITE_FILE  (UINT64_C(1) << 1)
#define READ_FILE   (UINT64_C(1) << 2)
#define READ_DIR    (UINT64_C(1) << 3)
#define REMOVE_DIR  (UINT64_C(1) << 4)
#define REMOVE_FILE (UINT64_C(1) << 5)
#define MAKE_REG    (UINT64_C(1) << 8)
#define MAKE_SOCK   (UINT64_C(1) << 9)
#define TRUNCATE    (UINT64_C(1) << 14)
#define OF_A_FILE   (WRITE_FILE | READ_FILE | TRUNCATE)

struct ruleset {
    uint64_t files, net, scoped;
};

struct __attribute__((packed)) beneath {
    uint64_t files;
    int32_t fd;
};

/* Returns the accesses to files that a version knows: each of them is refused without a rule. */
static uint64_t accesses(unsigned version)
{
    unsigned count = version < 2 ? 13 : version < 3 ? 14 : version < 5 ? 15 : 16;
    return (UINT64_C(1) << count) - 1;
}

unsigned sandbox_files_begin(enum cli_sandbox_kind kind, int *ruleset_fd)
{
    long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
    if (version <= 0)
        return 0;
    struct ruleset rules = {
        .files = accesses((unsigned)version),
        .net = version >= 4 ? 3 : 0, /* bind() and connect() of TCP */
        /* sockets with abstract names, which the service's processes meet by; signals */
        .scoped = version < 6                                              ? 0
                  : kind == CLI_SANDBOX_SERVICE || kind == CLI_SANDBOX_RAW ? 2
                                                                           : 3,
    };
    size_t bytes = version < 4   ? offsetof(struct ruleset, net)
                   : version < 6 ? offsetof(struct ruleset, scoped)
                                 : sizeof rules;
    *ruleset_fd = (int)syscall(CREATE_RULESET, &rules, bytes, 0);
    return *ruleset_fd >= 0 ? (unsigned)version : 0;
}

static uint64_t rights_of(enum cli_sandbox_use use)
{
    switch (use) {
    case CLI_SANDBOX_READS:
        return READ_FILE | READ_DIR;
    case CLI_SANDBOX_WRITES:
        return OF_A_FILE;
    case CLI_SANDBOX_MAKES:
        return OF_A_FILE | READ_DIR | MAKE_REG | MAKE_SOCK | REMOVE_FILE;
    case CLI_SANDBOX_REMOVES:
        return REMOVE_FILE | REMOVE_DIR;
    }
    return 0;
}

void sandbox_files_allow(int ruleset_fd, unsigned version, const char *path, enum cli_sandbox_use use)
{
    struct stat st;
    struct beneath rule = {.files = rights_of(use) & accesses(version), .fd = open(path, O_PATH | O_CLOEXEC)};
    if (rule.fd < 0)
        return;
    if (fstat(rule.fd, &st) == 0 && !S_ISDIR(st.st_mode))
        rule.files &= OF_A_FILE;
    if (rule.files) /* EBADFD: a pipe, a socket, a file in memory, which need no rule */
        (void)syscall(ADD_RULE, ruleset_fd, PATH_BENEATH, &rule, 0);
    close(rule.fd);
}

int sandbox_files_close(int ruleset_fd)
{
    int err = syscall(RESTRICT_SELF, ruleset_fd, 0) == 0 ? 0 : -errno;
    close(ruleset_fd);
    return err;
}
