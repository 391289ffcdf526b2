/* SPDX-License-Identifier: BSD-2-Clause */
/* SIGINT, SIGTERM and SIGHUP as a flag and a descriptor, so that a command ends by its own cleanup. */
#ifndef NORNIC_CLI_STOP_H
#define NORNIC_CLI_STOP_H

#include <stdbool.h>

/* From now on the first of these signals only sets the flag; a second one ends the process. SIGPIPE and
 * SIGXFSZ are ignored: the write that failed says so. 0, or -errno. */
int cli_stop_install(void);

bool cli_stopped(void);

/* The signal that did it; 0: none has. */
int cli_stop_signal(void);

/* Polls readable (POLLIN) once stopped; stays so. -1 before cli_stop_install(). */
int cli_stop_fd(void);

#endif
