/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer that is a kernel TCP socket with the option, and CLC messages made by hand. */
#ifndef NORNIC_TEST_SOCK_CLC_HAND_H
#define NORNIC_TEST_SOCK_CLC_HAND_H

#include "smcr/clc_wire.h"
#include "sock/rendezvous/rendezvous.h"
#include "test/sock/lab.h"

/* The test's own process is one side; the other runs nornic. */
struct hand {
    struct lab *lab;
    struct smcr_rendezvous_ctl *ctl;
};
void hand_open(struct hand *h, struct lab *lab);
void hand_close(struct hand *h);

/* Connected from side 0 to `port` of side 1, or accepted from a listener on side 1; with the option. */
int hand_connect(struct hand *h, uint16_t port);
int hand_listen(struct hand *h, uint16_t port);
int hand_accept(int listen_fd);

void hand_send(int fd, const void *bytes, size_t n);
/* Exactly `n`; fewer when the stream ended, which is returned; -errno. Waits at most 5 seconds. */
ssize_t hand_recv(int fd, void *bytes, size_t n);
/* Whether the other end resets the connection within `ms`; bytes that come before are dropped. */
bool hand_is_reset(int fd, int ms);

/* Messages as side 0 (a client) or 1 (a server) would send them: right in everything until changed. */
struct smcr_proposal hand_proposal(void);
struct smcr_subnet hand_subnet(void);
size_t hand_put_proposal(uint8_t *to, const struct smcr_proposal *p, const struct smcr_subnet *s);
struct smcr_accept hand_accept_msg(int side, bool first);
size_t hand_put_accept(uint8_t *to, const struct smcr_accept *a);
size_t hand_put_decline(uint8_t *to, uint32_t diagnosis);

#endif
