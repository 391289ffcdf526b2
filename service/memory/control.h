/* SPDX-License-Identifier: BSD-2-Clause */
/* What programs and the service say to each other by a UNIX socket (SOCK_SEQPACKET): a request, with a
 * descriptor or none, and its answer, with up to SERVICE_MAX_FDS. Each is one packet of exactly its struct.
 * Answers come in the order of the requests, and bear their numbers: a program that did not wait for one
 * knows it when it comes. The service ends a connection that says anything else, or takes no answers. */
#ifndef NORNIC_SERVICE_CONTROL_H
#define NORNIC_SERVICE_CONTROL_H

#include <inttypes.h>
#include <stdint.h>

#include "service/memory/shared.h"

#define SERVICE_MAX_FDS 2
/* The name of the inner end of a lent connection's pair, in the abstract namespace: who has the outer end
 * asks getpeername() which one it has. The service's process, the slot and the generation; behind them stands
 * a random number, since anybody may have taken a name that can be guessed. */
#define SERVICE_NAME_FORMAT "nornic-smc/%d/%u/%u"
#define SERVICE_NAME_RANDOM "/%016" PRIx64
#define SERVICE_NAME_SIZE   64

enum service_what {
    SERVICE_HELLO = 1, /* first; answered with the memory and the doorbell's eventfd */
    SERVICE_BEGIN,     /* with a TCP socket; answered with the outer end, or, `result` 1, with why not */
    SERVICE_TCP,       /* of a connection in BORROW_TCP: its TCP socket */
    SERVICE_BESIDE,    /* of a connection in any state: the same */
    SERVICE_WAITER,    /* answered with its number, and the end of a pair that is readable after a wake-up */
    SERVICE_NO_WAITER, /* gives it back */
    SERVICE_ENTER,     /* the process goes into the cgroup of the rendezvous */
};

/* Why a connection stays plain TCP, as SERVICE_BEGIN says it. */
#define SERVICE_WHY_NOT(W)                                                                              \
    W(SERVICE_NOT_TCP, "the socket is no established TCP connection")                                   \
    W(SERVICE_NO_BPF, "the TCP option needs BPF, which is not allowed, and the peer is not configured") \
    W(SERVICE_NOT_OFFERED, "the peer did not offer SMC-R")                                              \
    W(SERVICE_FULL, "the service has no room for one more connection")                                  \
    W(SERVICE_LOOPBACK, "both ends are on this host")
enum service_why_not {
#define SERVICE_WHY_ENUM_(name, words) name,
    SERVICE_WHY_NOT(SERVICE_WHY_ENUM_)
#undef SERVICE_WHY_ENUM_
};

/* As the program had set them; 0 where it had not. */
struct service_begin {
    uint32_t is_server;
    uint32_t rcvbuf_bytes, sndbuf_bytes;
    uint32_t options; /* enum service_option */
    uint32_t keepidle_s, linger_s;
};

struct service_request {
    uint32_t what; /* enum service_what */
    uint32_t id;   /* of this request, among those of its connection */
    uint32_t magic, version;
    uint32_t number; /* slot or waiter */
    uint32_t generation;
    struct service_begin begin;
};

struct service_answer {
    uint32_t what, id; /* those of the request */
    int32_t result; /* 0, -errno; SERVICE_BEGIN: 1 stays plain TCP; 2: likewise, but the peer waits for CLC */
    uint32_t number; /* slot, waiter, or enum service_why_not */
    uint32_t generation;
    int32_t pid; /* SERVICE_HELLO: the service's */
    uint64_t bytes;
};

#endif
