/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a sandbox, a file each. Internal to cli/sandbox/. */
#ifndef NORNIC_CLI_SANDBOX_PARTS_H
#define NORNIC_CLI_SANDBOX_PARTS_H

#include "cli/sandbox/sandbox.h"

/* --- rights.c --- */

/* Returns the capabilities, a bit each, that a process of this kind uses after the sandbox is closed. */
uint64_t sandbox_rights_of(enum cli_sandbox_kind kind);

/* Returns the capabilities without which this process cannot use `path` so: 0 where it needs none, or has
 * none. */
uint64_t sandbox_rights_for(const char *path, enum cli_sandbox_use use);

/* Sets no_new_privs. 0 or -errno. */
int sandbox_rights_fix(void);

/* Drops all capabilities but `kept` from each set of the thread. An ordinary user's bounding set stays: only a
 * process with CAP_SETPCAP can shrink it, and no_new_privs makes it void. */
void sandbox_rights_drop(uint64_t kept);

/* --- files.c --- */

/* Makes an empty set of rules. Returns the version of the kernel's Landlock, with the set at `*ruleset_fd`.
 * 0: the kernel has none. */
unsigned sandbox_files_begin(enum cli_sandbox_kind kind, int *ruleset_fd);

/* Adds a rule; a path that is not there, or in no file system (a pipe), needs none. */
void sandbox_files_allow(int ruleset_fd, unsigned version, const char *path, enum cli_sandbox_use use);

/* Closes the set around this thread, and its descriptor. 0 or -errno. */
int sandbox_files_close(int ruleset_fd);

/* --- calls.c --- */

/* Lets only the calls of the kind through, in all threads. 0, or -errno: the kernel has no such filters. */
int sandbox_calls_close(enum cli_sandbox_kind kind);

/* --- refused.c --- */

/* Catches refused calls: each returns EPERM, and a sentence names the first. */
void sandbox_refused_catch(void);

/* Whether this processor's registers are known: otherwise the filter itself answers EPERM. */
bool sandbox_refused_is_caught(void);

#endif
