/* SPDX-License-Identifier: BSD-2-Clause */
/* A view of the file system of one's own, in which /dev/infiniband and /sys/class/infiniband are nornic's:
 * a mount namespace, inside a user namespace where this user may not mount otherwise. Nothing changes for
 * others, and it is gone with the last process in it. */
#ifndef NORNIC_CLI_RUN_VIEW_H
#define NORNIC_CLI_RUN_VIEW_H

#include "cli/run/files.h"

/* Finds out in a process of its own whether run_view_enter() works here. 0, or -errno with a sentence. */
int run_view_try(const struct run_device *devices, unsigned count, struct nornic_error *why);

/* Moves this process, which has one thread, into such a view; its user and its rights stay what they are.
 * 0, or -errno with a sentence, and then this process is of no use any more. */
int run_view_enter(const struct run_device *devices, unsigned count, struct nornic_error *why);

#endif
