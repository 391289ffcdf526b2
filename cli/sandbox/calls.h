/* SPDX-License-Identifier: BSD-2-Clause */
/* The filter of calls. Internal to cli/sandbox/. */
#ifndef NORNIC_CLI_SANDBOX_CALLS_H
#define NORNIC_CLI_SANDBOX_CALLS_H

#include "cli/sandbox/kind.h"

/* Lets only the calls of the kind through, in all threads. 0, or -errno: the kernel has no such filters. */
int sandbox_calls_close(enum cli_sandbox_kind kind);

#endif
