/* SPDX-License-Identifier: BSD-2-Clause */
/* Sentences about things that are odd on this machine, but stop nothing. */
#ifndef NORNIC_BASE_NOTICE_H
#define NORNIC_BASE_NOTICE_H

#include <stdbool.h>

/* Writes a line with the sentence to standard error. The same sentence is written once in a process. errno
 * stays. Any thread may call it. */
__attribute__((format(printf, 1, 2))) void base_notice(const char *format, ...);

#define BASE_USER_SIZE 64

/* Writes the name and the number of a user: "user nobody (uid 65534)". Without an entry in /etc/passwd it is
 * "user 65534". Returns `text`. */
const char *base_user(unsigned uid, char text[BASE_USER_SIZE]);

/* Returns whether a process of this PID namespace is stopped, by a signal or a debugger. */
bool base_is_stopped(int pid);

#endif
