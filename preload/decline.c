/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "preload/decline.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>
#include <time.h>

#include "base/base.h"
#include "base/now.h"
#include "base/smc_mark.h"
#include "preload/libc.h"
#include "smcr/clc_wire.h"

#define PROPOSAL_NS NS_PER_S /* the peer sends it as soon as it is connected */
#define BRIEFLY_NS  (100 * NS_PER_MS)

/* Of servers that do not want to wait. */
static struct {
    _Atomic uint64_t since_ns, waited_ns;
} brief;

/* Exactly so many bytes: what follows is the application's. */
static bool take(int fd, uint8_t *bytes, size_t len_bytes, uint64_t deadline_ns)
{
    while (len_bytes > 0) {
        ssize_t n = libc()->recv(fd, bytes, len_bytes, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        if (n > 0) {
            bytes += n;
            len_bytes -= (size_t)n;
            continue;
        }
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        uint64_t now = base_now_ns();
        if (now >= deadline_ns)
            return false;
        libc()->poll(&wait, 1, (int)((deadline_ns - now) / NS_PER_MS) + 1);
    }
    return true;
}

/* What is left of this second's patience. */
static uint64_t patience_ns(uint64_t now)
{
    if (now - atomic_load(&brief.since_ns) >= NS_PER_S) {
        atomic_store(&brief.waited_ns, 0);
        atomic_store(&brief.since_ns, now);
    }
    uint64_t waited_ns = atomic_load(&brief.waited_ns);
    return waited_ns < BRIEFLY_NS ? BRIEFLY_NS - waited_ns : 0;
}

/* The client's first message, whole; its type, or 0: it is none. */
static unsigned take_first(int fd, uint64_t deadline_ns)
{
    uint8_t message[SMCR_CLC_MAX_BYTES];
    struct smcr_clc head;
    if (!take(fd, message, SMCR_CLC_BYTES, deadline_ns))
        return 0;
    smcr_clc_get(&head, message);
    bool is_clc = head.eye_catcher == SMCR_EYE_CATCHER && head.length <= sizeof message &&
                  head.length >= SMCR_CLC_BYTES + SMCR_CLC_TRAIL_BYTES;
    if (!is_clc || !take(fd, message + SMCR_CLC_BYTES, head.length - SMCR_CLC_BYTES, deadline_ns))
        return 0;
    uint32_t trail = (uint32_t)net_bits_get(message + head.length - SMCR_CLC_TRAIL_BYTES, 0, 32);
    return trail == SMCR_EYE_CATCHER ? head.type : 0;
}

static unsigned take_first_briefly(int fd)
{
    uint64_t began_ns = base_now_ns();
    unsigned type = take_first(fd, began_ns + patience_ns(began_ns));
    atomic_fetch_add(&brief.waited_ns, base_now_ns() - began_ns);
    return type;
}

bool decline_is_due(int fd)
{
    int mark = 0;
    socklen_t len_bytes = sizeof mark;
    return libc()->getsockopt(fd, IPPROTO_TCP, TCP_SAVE_SYN, &mark, &len_bytes) == 0 && mark == SMC_MARK_SEEN;
}

void decline_forget(int fd)
{
    const int none = 0;
    if (decline_is_due(fd))
        libc()->setsockopt(fd, IPPROTO_TCP, TCP_SAVE_SYN, &none, sizeof none);
}

bool decline_peer(int fd, enum borrow_role role, bool is_nonblocking)
{
    uint8_t message[SMCR_DECLINE_BYTES];
    const struct smcr_decline decline = {
        .eye_catcher = SMCR_EYE_CATCHER,
        .type = SMCR_CLC_DECLINE,
        .length = SMCR_DECLINE_BYTES,
        .version = 1,
        .diagnosis = SMCR_DIAG_NO_RESOURCES,
        .trailer = SMCR_EYE_CATCHER,
    };
    unsigned type = role == BORROW_CLIENT ? SMCR_CLC_PROPOSAL
                    : is_nonblocking      ? take_first_briefly(fd)
                                          : take_first(fd, base_now_ns() + PROPOSAL_NS);
    if (type == SMCR_CLC_DECLINE) /* which is not answered */
        return true;
    if (type != SMCR_CLC_PROPOSAL)
        return false;
    smcr_decline_put(message, &decline);
    return libc()->send(fd, message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof message;
}

void decline_reset(int fd)
{
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    int err = libc()->connect(fd, &none, sizeof none);
    (void)err; /* it has ended already */
}
