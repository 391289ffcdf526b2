/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests of processes that share an address: a directory of their own to meet in, an address of the
 * loopback interface that nobody else has, and packets. */
#ifndef NORNIC_TEST_NET_SHARE_PAIR_H
#define NORNIC_TEST_NET_SHARE_PAIR_H

#include "net/share/who.h"

/* Makes the directory, and NORNIC_RUNTIME_DIR name it; and removes it, which fails the test where something
 * was left in it. */
void share_dir_make(void);
void share_dir_remove(void);
/* Removes what is in it, where that is right. 0 or -errno. */
int share_dir_clear(void);
const char *share_dir_path(void);

/* 127.x.y.1 of this process. */
struct nornic_addr share_addr(void);

/* A packet of `bytes` to a queue pair, from its BTH on; all else is 0. */
void share_packet(uint8_t *payload, uint32_t bytes, uint32_t qpn);

/* A message of the CM to queue pair 1, NET_SHARE_MAD_BYTES of it: the attribute, with the receiver's id
 * (SIDR_REP: the request's), or, of a request, a service id. */
void share_mad(uint8_t *payload, uint8_t attr, uint64_t id);

#endif
