/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of an offer that cannot be kept. Whoever has sent the TCP option, and seen the peer's, owes it CLC
 * messages (RFC 7609); where the service cannot say them (it has no room, it is gone, the program has set an
 * option in the meantime that only TCP has), this process declines itself, and TCP goes on. */
#ifndef NORNIC_PRELOAD_DECLINE_H
#define NORNIC_PRELOAD_DECLINE_H

#include <stdbool.h>
#include <stdint.h>

#include "service/borrow/borrow.h"

/* Whether both ends of the established connection `fd` have sent the option (base/smc_mark.h). Kernels
 * before 6.1 do not tell: false. */
bool decline_is_due(int fd);
/* Says to the peer of the established connection `fd`, of which no byte was read or written yet, that it
 * goes on as TCP: as client in the place of the Proposal; as server in answer to it, which is waited for a
 * second, or, where the program does not want to wait (`is_nonblocking`: its listening socket does not
 * block), a tenth of a second in any one second, for all such connections together. True: what follows is the
 * application's. False: the peer said no CLC, or nothing in time: the connection is of no use (SMCR-CLC-10,
 * CLC-42). */
bool decline_peer(int fd, enum borrow_role role, bool is_nonblocking);
/* The kinds of first bytes that a client sends. */
enum decline_first {
    DECLINE_NOTHING_YET, /* not all of a message is there, or nothing at all */
    DECLINE_TCP,         /* the application's, or the end; or a message that was declined and taken away */
    DECLINE_BROKEN,      /* it is due, and they are no message; or it could not be said */
};
/* Looks at the first bytes of the accepted connection `fd` without waiting, and declines a
 * Proposal. `is_due`: as decline_is_due() has it. */
enum decline_first decline_first(int fd, bool is_due);
/* Waits for more bytes of `fd` until `deadline_ns` (CLOCK_MONOTONIC); with `is_brief` as
 * decline_peer() waits for a listening socket that does not block. */
void decline_wait(int fd, bool is_brief, uint64_t deadline_ns);

/* Before `fd` connects once more: the option of a connection that it had before is none of the next one's,
 * which may be made while nobody can offer SMC-R. */
void decline_forget(int fd);
/* Resets it: SO_ERROR is ECONNRESET. */
void decline_reset(int fd);

#endif
