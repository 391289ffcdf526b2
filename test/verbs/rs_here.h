/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of rsockets: those of this process, at one port of a loopback of its own, and one that a peer
 * made of verbs is connected to. Whatever fails fails the test. The suites are `rsocket` (RoCE) and
 * `rsocket_iwarp`; their tests stand in the files test_rsocket*.c. */
#ifndef TEST_VERBS_RS_HERE_H
#define TEST_VERBS_RS_HERE_H

#include "test/verbs/rs_peer.h"

#define RS_HERE_PORT 7600

/* An rsocket that listens there, and one that has connected to it. */
int rs_here_listen(void);
int rs_here_connect(void);
/* Sets an option that is an int. */
void rs_here_set(int fd, int level, int name, int value);

/* The rsocket of `*listener`, which is made, that an honest peer has connected to. */
int rs_here_meet(struct rs_peer *peer, int *listener);
/* Closes all three, and looks whether others are still served. */
void rs_here_part(struct rs_peer *peer, int listener, int server);
/* Reading fails with that errno value. */
void rs_here_fails_with(int server, int wanted);

#endif
