/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP connection on which two sides tell each other how to connect their queue pairs. Functions return 0
 * or -errno with a sentence in `why`; -EINTR: the user stopped the command (see cli/stop.h). */
#ifndef NORNIC_CLI_NODE_TCP_H
#define NORNIC_CLI_NODE_TCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "net/error.h"

/* What a user can do about it, to stand behind "cannot connect: WHY": "; start the server there first";
 * or "". */
const char *cli_tcp_remedy(int errnum);
/* The same for what getaddrinfo() returned about a host's name. */
const char *cli_name_remedy(int gai);

/* Connects to `host`, a name or an address, waiting at most `timeout_ns` in all. */
int cli_tcp_connect(const char *host, uint16_t port, uint64_t timeout_ns, int *out_fd,
                    struct nornic_error *why);

/* Listens on all addresses of both families. */
int cli_tcp_listen(uint16_t port, int *out_fd, struct nornic_error *why);

/* Waits, without a limit, for one connection. */
int cli_tcp_accept(int listen_fd, int *out_fd, struct nornic_error *why);

/* Reads or writes exactly `len_bytes`, waiting at most `timeout_ns` in all. -ECONNRESET: the peer closed. */
int cli_tcp_read(int fd, void *buf, size_t len_bytes, uint64_t timeout_ns, struct nornic_error *why);
int cli_tcp_write(int fd, const void *buf, size_t len_bytes, uint64_t timeout_ns, struct nornic_error *why);

/* This side's address of a connection, and the other's; false for other kinds of sockets. */
bool cli_tcp_local_addr(int fd, struct nornic_addr *out);
bool cli_tcp_peer_addr(int fd, struct nornic_addr *out);

#endif
