/* SPDX-License-Identifier: BSD-2-Clause */
/* The socket by which a process that has devices open is looked at: `nornic stat` connects, and gets one JSON
 * object and the end of the stream.
 *
 * Its name is abstract (unix(7)): nothing is in a file system, and the kernel takes it back when the process
 * ends, however it ends. It is found in /proc/net/unix of the network namespace. */
#ifndef NORNIC_VERBS_SHOW_SOCKET_H
#define NORNIC_VERBS_SHOW_SOCKET_H

#include <stddef.h>

/* One user more: the first opens the socket and starts the thread that answers, with what `describe` returns
 * (it is freed; NULL: nothing can be said). 0 or -errno: this process is not to be seen; it counts as a user
 * all the same. */
int verbs_show_socket_open(char *(*describe)(size_t *len_bytes));

/* One user less; the last one closes the socket and waits for the thread, whatever its reader does. To be
 * called without a lock that `describe` takes. */
void verbs_show_socket_close(void);

/* Around a fork. The child has neither thread nor socket. */
void verbs_show_socket_before_fork(void);
void verbs_show_socket_in_parent(void);
void verbs_show_socket_in_child(void);

#endif
