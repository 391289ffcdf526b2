/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that each kind of process makes. Internal to cli/sandbox/. */
#ifndef NORNIC_CLI_SANDBOX_LISTS_H
#define NORNIC_CLI_SANDBOX_LISTS_H

#include <stdint.h>

#include "cli/sandbox/kind.h"

#define SANDBOX_CHECKS 2
#define SANDBOX_VALUES 24
#define SANDBOX_LISTS  5

/* A condition for an argument: masked, it is one of the values. Only the low 32 bits are compared: the
 * kernel takes no more of an int. */
struct sandbox_check {
    uint8_t arg;   /* from 0 */
    uint8_t count; /* of values; 0: no check */
    uint32_t mask; /* 0: all bits */
    uint32_t values[SANDBOX_VALUES];
};

struct sandbox_call {
    long number; /* SYS_... */
    struct sandbox_check checks[SANDBOX_CHECKS];
};

struct sandbox_list {
    const struct sandbox_call *calls;
    unsigned count;
};

/* Sets `lists` to those of a kind; returns their number. */
unsigned sandbox_lists(enum cli_sandbox_kind kind, const struct sandbox_list *lists[SANDBOX_LISTS]);

#endif
