/* SPDX-License-Identifier: BSD-2-Clause */
/* The sandbox of a command that reads bytes of strangers. The command opens its files, names those that it
 * opens later, and closes the sandbox. From then on a process has
 *
 *     no_new_privs    no program that it starts gets rights of its file
 *     capabilities    those of its kind alone: also in the bounding and the ambient set
 *     Landlock        the named files alone (landlock(7)), by the version that the kernel has
 *     seccomp         the calls of its kind alone (seccomp(2)); another one fails by EPERM, and a sentence
 *                     names the first
 *
 * docs/sandbox.md has a table for each kind. A sandbox is the process's until it ends. It is closed before
 * the process has threads: Landlock and capabilities are a thread's, and threads inherit them. */
#ifndef NORNIC_CLI_SANDBOX_SANDBOX_H
#define NORNIC_CLI_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/option/option.h"
#include "cli/sandbox/kind.h"

/* A sandbox that is not closed yet. */
struct cli_sandbox {
    enum cli_sandbox_kind kind;
    bool is_off;       /* the user wants none, or a sanitizer is in this program */
    int ruleset_fd;    /* of Landlock; -1: the kernel has none */
    unsigned version;  /* of Landlock; 0: none */
    uint64_t kept_cap; /* capabilities, a bit each, that stay if the process has them */
};

/* Options of the user for it. */
struct cli_sandbox_options {
    bool is_off;
};

/* The row of the option; `member` is a bool of the struct `type`. */
#define CLI_SANDBOX_ROW(type, member)                                                                      \
    {                                                                                                      \
        "no-sandbox", 0, NULL, "keep all rights while bytes of strangers are read", CLI_SETS(type, member) \
    }

/* Begins a sandbox. `is_off`: none is wanted. A variable NORNIC_NO_SANDBOX that is not empty means the same,
 * for a service that another command starts. */
void cli_sandbox_begin(struct cli_sandbox *sandbox, enum cli_sandbox_kind kind, bool is_off);

/* Names a file or a directory that is used after the sandbox is closed. "-" is the file at standard input,
 * which may be opened anew. A path that is not there is left out: its use fails as before. `path` is borrowed
 * for the call. */
void cli_sandbox_allow(struct cli_sandbox *sandbox, const char *path, enum cli_sandbox_use use);

/* Closes the sandbox around this process. If the kernel lacks a part, one sentence says so, and the rest
 * holds. */
void cli_sandbox_close(struct cli_sandbox *sandbox);

#endif
