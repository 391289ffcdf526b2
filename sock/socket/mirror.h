/* SPDX-License-Identifier: BSD-2-Clause */
/* The descriptor that the application holds: the outer end of a UNIX stream pair, whose readiness mirrors
 * that of a connection whose bytes are elsewhere. Internal to sock/.
 *
 * A byte that the inner end wrote makes the outer end readable, an urgent one POLLPRI too; bytes that the
 * outer end wrote and nobody took make it unwritable; what the inner end shuts, the outer end reports as
 * POLLRDHUP and POLLHUP; an inner end that closes over an untaken byte leaves POLLERR. Levels go up from any
 * thread, by the inner end. They go down by the outer end, in a call of the application, which alone can
 * make them go down: that call names a descriptor of it that is valid. Each rise is an edge for epoll.
 *
 * The outer end takes what the kernel's write() gives it, which is in no stream then (sock/socket/events.c). It
 * cannot refuse that: an end that is shut for writing does, but once the other end is shut as well, as it is
 * when the peer's stream ends, the kernel reports POLLHUP, and a program that could still answer gives up;
 * nor could it go unwritable any more, which takes bytes written. What else fails write() and polls (an
 * epoll, the reading end of a pipe, an eventfd that is full) is no socket, or has not all of IN, OUT, PRI,
 * RDHUP and HUP. Nor can it be the TCP socket itself: what is written there goes to the peer, as bytes of
 * TCP. So the first such call succeeds, and the connection ends at once. */
#ifndef NORNIC_SOCK_MIRROR_H
#define NORNIC_SOCK_MIRROR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct smcr_mirror {
    int inner;         /* -1: closed, after an error or by smcr_mirror_close() */
    ino_t ino;         /* of the outer end: the same for all its duplicates */
    unsigned in_bytes; /* that make it readable */
    bool in, out, pri, rdhup, hup, err;
};

/* Makes the pair: writable, nothing else. `flags`: SOCK_NONBLOCK, SOCK_CLOEXEC of the outer end. Returns the
 * outer end, which is the caller's, or -errno. */
int smcr_mirror_open(struct smcr_mirror *mirror, int flags);
/* The inner end goes; the outer one hangs up. */
void smcr_mirror_close(struct smcr_mirror *mirror);

/* Up: any thread, under the runtime's lock. `edge`: something new came, tell epoll even if it is up. */
void smcr_mirror_raise_in(struct smcr_mirror *mirror, bool edge);
void smcr_mirror_raise_pri(struct smcr_mirror *mirror);
void smcr_mirror_raise_out(struct smcr_mirror *mirror);
/* The peer writes no more; and neither do we; or it has failed. For good. */
void smcr_mirror_raise_rdhup(struct smcr_mirror *mirror);
void smcr_mirror_raise_hup(struct smcr_mirror *mirror);
void smcr_mirror_raise_err(struct smcr_mirror *mirror);

/* Down: in a call of the application on descriptor `outer`. */
void smcr_mirror_lower_in(struct smcr_mirror *mirror, int outer);
void smcr_mirror_lower_out(struct smcr_mirror *mirror, int outer);
void smcr_mirror_lower_err(struct smcr_mirror *mirror, int outer);

/* Whether all descriptors of the outer end are closed. Cannot be told after POLLHUP: false then. */
bool smcr_mirror_is_dropped(const struct smcr_mirror *mirror);
/* Whether bytes came through the outer end that smcr_mirror_lower_out() did not put there. */
bool smcr_mirror_has_foreign(const struct smcr_mirror *mirror);

#endif
