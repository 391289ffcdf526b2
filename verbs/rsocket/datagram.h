/* SPDX-License-Identifier: BSD-2-Clause */
/* Rsockets of datagrams: a UDP socket, over which the number of a peer's queue pair is found out, and a
 * UD queue pair for each own address. Internal to verbs/rsocket/. */
#ifndef NORNIC_VERBS_RSOCKET_DATAGRAM_H
#define NORNIC_VERBS_RSOCKET_DATAGRAM_H

#include "verbs/rsocket/rsocket.h"

/* What an rsocket of datagrams has; and its end, also of one that has nothing. 0 or an errno value. */
int ds_open(struct rsock *s);
void ds_close(struct rsock *s);

/* As the calls of these names, under the lock; 0 or an errno value. */
int ds_bind(struct rsock *s, const struct sockaddr *addr, socklen_t addrlen);
int ds_connect(struct rsock *s, const struct sockaddr *addr, socklen_t addrlen);
int ds_name(struct rsock *s, bool is_peer, struct sockaddr *addr, socklen_t *addrlen);

/* -1 with errno. `name` may be NULL. */
ssize_t ds_recv(struct rsock *s, struct rs_parts to, int flags, struct sockaddr *name, socklen_t *namelen);
ssize_t ds_send(struct rsock *s, struct rs_parts from, int flags, const struct sockaddr *to, socklen_t tolen);

/* What rs_progress(), rs_arm() and rs_events() are for these; ds_poll(): whether there was anything. */
bool ds_poll(struct rsock *s);
bool ds_arm(struct rsock *s);
short ds_events(const struct rsock *s, short asked);

#endif
