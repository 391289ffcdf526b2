/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets whose bytes travel by SMC-R where both ends can, else by TCP. The calls mean what the POSIX calls
 * of the same name mean: they return -1 and set errno. A descriptor of nornic_socket() is one of the
 * kernel's: poll(), select() and epoll (level and edge) can wait on it, dup() and close-on-exec work.
 * nornic_close() closes it; after the kernel's close() the connection ends too, but without lingering. Any
 * thread may call, but no signal handler that interrupts one of these calls. In a forked child the
 * descriptors of its parent's sockets answer EBADF (SMCR-ARC-28).
 *
 * Where a program meets something else than with the kernel's TCP (test/sock/same_*.h hold all the rest
 * equal):
 *
 * - Readiness. Urgent data shows POLLIN beside POLLPRI. A socket that was never connected does not show
 *   POLLHUP. Data that a recv() of another thread waits for goes to that thread, without a poll() being
 *   woken in between. SO_RCVLOWAT above what the RMBE holds is reached when that is full.
 * - Urgent data. What is behind the urgent byte is sent when the reader is past it, so that the read that
 *   returns this byte in line returns no more.
 * - Resets. One takes away what was received and not read (SMCR-ABT-04). A process that ends without
 *   exit(), by _exit() or a signal, resets its connections: nobody is left who could close them. One that
 *   is stopped for longer than three seconds (SIGSTOP, a debugger) while data is on its way loses them, as
 *   does one that is stopped for half a minute at any time.
 * - Options. TCP_CORK and MSG_MORE hold back for 5 ms. TCP_USER_TIMEOUT and TCP_QUICKACK have no effect,
 *   TCP_INFO tells of the idle TCP connection, the error queue stays empty. What acts on TCP's bytes alone
 *   (SO_ZEROCOPY, SO_TIMESTAMP..., SO_PEEK_OFF, TCP_INQ, TCP_FASTOPEN..., TCP_MD5SIG, TCP_AO_..., TCP_ULP,
 *   TCP_REPAIR, IPsec policies) keeps a socket with TCP, or fails with EOPNOTSUPP once SMC-R is offered.
 * - The kernel's own calls. read() returns nothing of use. write(), sendfile() and splice() are not
 *   refused, but end the connection with EOPNOTSUPP: what they take is in no stream.
 * - Signals. One in the first 50 microseconds of a call that then waits does not interrupt it. A thread can
 *   be cancelled while it waits, and not in calls that do not.
 * - A listener lets in, two seconds late, those whom its backlog has no room for, since they do not wait
 *   longer.
 *
 * exit() closes what is open, and waits at most two seconds for what the peers have not taken. */
#ifndef NORNIC_SOCKET_H
#define NORNIC_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "nornic/decls.h"
#include "nornic/device.h"
#include "nornic/error.h"

NORNIC_BEGIN_DECLS

/* --- the process as an SMC-R peer --- */

#define NORNIC_SOCKETS_MAX_PORTS 8
#define NORNIC_SOCKETS_MAX_EIDS  4

/* A RoCE device of the process. */
struct nornic_socket_port {
    const char *port;            /* "xdp:IFACE", "packet:IFACE"; its first address of the family that fits */
    const char *pnetid;          /* of the network that it is in; NULL: "" */
    const char *capture_path;    /* pcapng of everything that crosses the port; NULL: none */
    struct nornic_impair impair; /* of what is sent and what is received */
};

/* Zero means the default. */
struct nornic_sockets_config {
    size_t struct_bytes; /* NORNIC_INIT() */
    struct nornic_socket_port ports[NORNIC_SOCKETS_MAX_PORTS];
    unsigned num_ports;
    uint8_t max_links;     /* symmetric links of a link group, 2..8; default 2 */
    uint8_t elems_per_rmb; /* connections that share one RMB, 1..255; default 16 */
    bool no_stat;          /* no socket for `nornic smc stat` */
    /* Enterprise ids, of 1 to 32 of A-Z 0-9 . and -, a letter or digit first; NULL ends them. With peers that
     * know one of them, such as Linux, SMC-R of version 2 is spoken; without, version 1 alone. */
    const char *eids[NORNIC_SOCKETS_MAX_EIDS];
};

/* Once a process, before the sockets: opens the ports, makes the cgroup with the BPF program that writes
 * and reads the TCP option, moves this process into it, and starts the thread that makes progress. 0;
 * -EINVAL, -E2BIG (`struct_bytes`); or another -errno, with a sentence in `why` (may be NULL). Where only
 * BPF is not allowed: 0, with the sentence in `why` all the same; then every connection is plain TCP
 * (SMCR-REN-06). */
int nornic_sockets_start(const struct nornic_sockets_config *config, struct nornic_error *why);

/* Resets what is left, leaves and removes the cgroup, closes the ports. 0, also when nothing was started;
 * or -errno with a sentence in `why` about a capture that lacks its end: a full disk. */
int nornic_sockets_stop(struct nornic_error *why);

/* --- sockets --- */

/* As the calls without the prefix. A socket is SOCK_STREAM (with SOCK_NONBLOCK, SOCK_CLOEXEC) of AF_INET
 * or AF_INET6; one that is made before nornic_sockets_start() is plain TCP. */
int nornic_socket(int family, int type, int protocol);
int nornic_bind(int fd, const struct sockaddr *addr, socklen_t len);
int nornic_listen(int fd, int backlog);
int nornic_accept(int fd, struct sockaddr *addr, socklen_t *len);
int nornic_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int nornic_connect(int fd, const struct sockaddr *addr, socklen_t len);
ssize_t nornic_read(int fd, void *bytes, size_t len_bytes);
ssize_t nornic_write(int fd, const void *bytes, size_t len_bytes);
ssize_t nornic_readv(int fd, const struct iovec *iov, int n);
ssize_t nornic_writev(int fd, const struct iovec *iov, int n);
ssize_t nornic_recv(int fd, void *bytes, size_t len_bytes, int flags);
ssize_t nornic_send(int fd, const void *bytes, size_t len_bytes, int flags);
ssize_t nornic_recvmsg(int fd, struct msghdr *msg, int flags);
ssize_t nornic_sendmsg(int fd, const struct msghdr *msg, int flags);
int nornic_shutdown(int fd, int how);
int nornic_close(int fd);
int nornic_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int nornic_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int nornic_getsockname(int fd, struct sockaddr *addr, socklen_t *len);
int nornic_getpeername(int fd, struct sockaddr *addr, socklen_t *len);
int nornic_fcntl(int fd, int cmd, long arg);
int nornic_ioctl(int fd, unsigned long request, void *arg);

/* How the bytes of a connection travel, and why not by SMC-R. 0, or -1 with errno. */
struct nornic_socket_info {
    bool smcr;          /* SMC-R; else TCP, or not connected */
    const char *reason; /* of a fallback or an error, in words; never NULL; static */
    uint32_t diagnosis;
    bool declined_by_peer;
};
int nornic_socket_info(int fd, struct nornic_socket_info *out);

/* Never SMC-R for this socket: before connect or listen (SMCR-REN-06). */
int nornic_socket_set_tcp_only(int fd, bool tcp_only);

NORNIC_END_DECLS

#endif
