/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/sandbox/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sandbox/calls.h"
#include "cli/sandbox/files.h"
#include "cli/sandbox/rights.h"

/* A sanitizer looks for leaks with a process and ptrace(), and reads /proc: it gets no sandbox. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_SANITIZER true
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER false
#endif

void cli_sandbox_begin(struct cli_sandbox *sandbox, enum cli_sandbox_kind kind, bool is_off)
{
    const char *unwanted = getenv("NORNIC_NO_SANDBOX");
    *sandbox = (struct cli_sandbox){
        .kind = kind,
        .is_off = HAS_SANITIZER || is_off || (unwanted && *unwanted),
        .ruleset_fd = -1,
        .kept_cap = sandbox_rights_of(kind),
    };
    if (!sandbox->is_off)
        sandbox->version = sandbox_files_begin(kind, &sandbox->ruleset_fd);
}

void cli_sandbox_allow(struct cli_sandbox *sandbox, const char *path, enum cli_sandbox_use use)
{
    if (sandbox->is_off)
        return;
    if (strcmp(path, "-") == 0)
        path = "/dev/stdin";
    sandbox->kept_cap |= sandbox_rights_for(path, use);
    if (sandbox->version)
        sandbox_files_allow(sandbox->ruleset_fd, sandbox->version, path, use);
}

/* Landlock needs no_new_privs, and comes first: making rules takes calls that the filter refuses. */
void cli_sandbox_close(struct cli_sandbox *sandbox)
{
    if (sandbox->is_off)
        return;
    bool is_fixed = sandbox_rights_fix() == 0;
    bool has_files = sandbox->version && sandbox_files_close(sandbox->ruleset_fd) == 0;
    sandbox->ruleset_fd = -1;
    sandbox_rights_drop(sandbox->kept_cap);
    int err = is_fixed ? sandbox_calls_close(sandbox->kind) : -EPERM;
    if (!has_files)
        cli_tell(
            "the kernel lacks Landlock here: the sandbox of this process does without (docs/sandbox.md)");
    if (err)
        cli_tell("no filter of system calls here (%s): the sandbox of this process does without "
                 "(docs/sandbox.md)",
                 err == -EINVAL || err == -ENOSYS ? "the kernel has none" : strerror(-err));
}
