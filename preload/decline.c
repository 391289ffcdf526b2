/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "preload/decline.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
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

/* Sends a Decline to the peer of `fd` without waiting. Returns whether all of it was sent. */
static bool send_decline(int fd)
{
    uint8_t message[SMCR_DECLINE_BYTES] = {0};
    const struct smcr_decline decline = {
        .eye_catcher = SMCR_EYE_CATCHER,
        .type = SMCR_CLC_DECLINE,
        .length = SMCR_DECLINE_BYTES,
        .version = 1,
        .diagnosis = SMCR_DIAG_NO_RESOURCES,
        .trailer = SMCR_EYE_CATCHER,
    };
    smcr_decline_put(message, &decline);
    return libc()->send(fd, message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof message;
}

bool decline_peer(int fd, enum borrow_role role, bool is_nonblocking)
{
    unsigned type = role == BORROW_CLIENT ? SMCR_CLC_PROPOSAL
                    : is_nonblocking      ? take_first_briefly(fd)
                                          : take_first(fd, base_now_ns() + PROPOSAL_NS);
    if (type == SMCR_CLC_DECLINE) /* which is not answered */
        return true;
    return type == SMCR_CLC_PROPOSAL && send_decline(fd);
}

/* --- a message that may be there or not --- */

/* How many bytes the message at the head of `bytes` has, by its first ones; 0: it is none. `n`: how
 * many are there, at least one. */
static size_t length_of(const uint8_t *bytes, size_t n)
{
    const uint8_t eye[] = {SMCR_EYE_CATCHER >> 24, SMCR_EYE_CATCHER >> 16 & 0xff,
                           SMCR_EYE_CATCHER >> 8 & 0xff, SMCR_EYE_CATCHER & 0xff};
    struct smcr_clc head;
    if (memcmp(bytes, eye, n < sizeof eye ? n : sizeof eye) != 0)
        return 0;
    if (n < SMCR_CLC_BYTES)
        return SMCR_CLC_BYTES;
    smcr_clc_get(&head, bytes);
    bool is_sound = head.length <= SMCR_CLC_MAX_BYTES &&
                    head.length >= SMCR_CLC_BYTES + SMCR_CLC_TRAIL_BYTES &&
                    (head.type == SMCR_CLC_PROPOSAL || head.type == SMCR_CLC_DECLINE);
    return is_sound ? head.length : 0;
}

enum decline_first decline_first(int fd, bool is_due)
{
    const enum decline_first otherwise = is_due ? DECLINE_BROKEN : DECLINE_TCP;
    uint8_t bytes[SMCR_CLC_MAX_BYTES];
    ssize_t n = libc()->recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return DECLINE_NOTHING_YET;
    size_t length = n > 0 ? length_of(bytes, (size_t)n) : 0;
    if (length == 0)
        return otherwise;
    if ((size_t)n < length || length == SMCR_CLC_BYTES)
        return DECLINE_NOTHING_YET;
    if (net_bits_get(bytes + length - SMCR_CLC_TRAIL_BYTES, 0, 32) != SMCR_EYE_CATCHER)
        return otherwise;
    struct smcr_clc head;
    smcr_clc_get(&head, bytes);
    n = libc()->recv(fd, bytes, length, MSG_DONTWAIT); /* it was there a moment ago */
    return n == (ssize_t)length && (head.type == SMCR_CLC_DECLINE || send_decline(fd)) ? DECLINE_TCP
                                                                                       : DECLINE_BROKEN;
}

void decline_wait(int fd, bool is_brief, uint64_t deadline_ns)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    uint64_t now_ns = base_now_ns();
    uint64_t patience = is_brief ? patience_ns(now_ns) : deadline_ns;
    uint64_t left_ns = deadline_ns > now_ns ? min_u64(deadline_ns - now_ns, patience) : 0;
    if (left_ns == 0)
        return;
    libc()->poll(&wait, 1, (int)(left_ns / NS_PER_MS) + 1);
    if (is_brief)
        atomic_fetch_add(&brief.waited_ns, base_now_ns() - now_ns);
}

void decline_reset(int fd)
{
    const struct sockaddr none = {.sa_family = AF_UNSPEC};
    int err = libc()->connect(fd, &none, sizeof none);
    (void)err; /* it has ended already */
}
