/* SPDX-License-Identifier: BSD-2-Clause */
/* Landlock rules of a sandbox. Internal to cli/sandbox/. */
#ifndef NORNIC_CLI_SANDBOX_FILES_H
#define NORNIC_CLI_SANDBOX_FILES_H

#include "cli/sandbox/kind.h"

/* Makes an empty set of rules. Returns the version of the kernel's Landlock, with the set at `*ruleset_fd`.
 * 0: the kernel has none. */
unsigned sandbox_files_begin(enum cli_sandbox_kind kind, int *ruleset_fd);

/* Adds a rule; a path that is not there, or in no file system (a pipe), needs none. */
void sandbox_files_allow(int ruleset_fd, unsigned version, const char *path, enum cli_sandbox_use use);

/* Closes the set around this thread, and its descriptor. 0 or -errno. */
int sandbox_files_close(int ruleset_fd);

#endif
