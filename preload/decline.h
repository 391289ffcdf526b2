/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of an offer that cannot be kept. Whoever has sent the TCP option, and seen the peer's, owes it CLC
 * messages (RFC 7609); where the service cannot say them (it has no room, it is gone, the program has set an
 * option in the meantime that only TCP has), this process declines itself, and TCP goes on. */
#ifndef NORNIC_PRELOAD_DECLINE_H
#define NORNIC_PRELOAD_DECLINE_H

#include <stdbool.h>

#include "service/borrow.h"

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
/* Before `fd` connects once more: the option of a connection that it had before is none of the next one's,
 * which may be made while nobody can offer SMC-R. */
void decline_forget(int fd);
/* Resets it: SO_ERROR is ECONNRESET. */
void decline_reset(int fd);

#endif
