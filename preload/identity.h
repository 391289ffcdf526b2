/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether this process is still the user of its service. A service serves one user, and its memory
 * holds what all of that user's connections carry: a process that gives up the user gives up the
 * service with it. */
#ifndef NORNIC_PRELOAD_IDENTITY_H
#define NORNIC_PRELOAD_IDENTITY_H

#include <sys/types.h>

/* The ids of a process, or of a thread where a program has changed those of one alone. */
struct identity {
    uid_t real, effective, saved;
};

/* Remembers the user, and where standard error leads, as the program begins. */
void identity_begin(void);
/* The ids of the calling thread now. */
struct identity identity_now(void);
/* Looks whether the user is given up, after a call with success that may have changed the ids: none
 * of the three is the service's user any more. Then the loans are ended, and standard error says so
 * once. `before`: the ids before the call. */
void identity_changed(struct identity before);
/* Checks the ids of the process before a call that makes or accepts a connection: a program may change its
 * ids without the C library. Gives the loans up as identity_changed() does. */
void identity_look(void);
/* Gives up root's loans after this process has entered another user namespace. */
void identity_in_namespace(void);
/* Makes what a process with loans needs of the service, while it still can: it is about to enter a
 * sandbox. */
void identity_before_sandbox(void);

#endif
