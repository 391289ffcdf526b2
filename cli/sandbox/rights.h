/* SPDX-License-Identifier: BSD-2-Clause */
/* Capabilities of a sandbox. Internal to cli/sandbox/. */
#ifndef NORNIC_CLI_SANDBOX_RIGHTS_H
#define NORNIC_CLI_SANDBOX_RIGHTS_H

#include <stdint.h>

#include "cli/sandbox/kind.h"

/* Returns the capabilities, a bit each, that a process of this kind uses after the sandbox is closed. */
uint64_t sandbox_rights_of(enum cli_sandbox_kind kind);

/* Returns the capabilities without which this process cannot use `path` so: 0 where it needs none, or has
 * none. */
uint64_t sandbox_rights_for(const char *path, enum cli_sandbox_use use);

/* Sets no_new_privs. 0 or -errno. */
int sandbox_rights_fix(void);

/* Drops all capabilities but `kept` from each set of the thread. The bounding set of an ordinary user
 * stays: only a process with CAP_SETPCAP can shrink it, and no_new_privs makes it void. */
void sandbox_rights_drop(uint64_t kept);

#endif
