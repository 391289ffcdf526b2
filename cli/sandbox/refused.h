/* SPDX-License-Identifier: BSD-2-Clause */
/* Refused calls. Internal to cli/sandbox/. */
#ifndef NORNIC_CLI_SANDBOX_REFUSED_H
#define NORNIC_CLI_SANDBOX_REFUSED_H

#include <stdbool.h>

/* Catches refused calls: each returns EPERM, and a sentence names the first. */
void sandbox_refused_catch(void);

/* Whether this processor's registers are known: otherwise the filter itself answers EPERM. */
bool sandbox_refused_is_caught(void);

#endif
