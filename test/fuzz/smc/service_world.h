/* SPDX-License-Identifier: BSD-2-Clause */
/* A service in this process, with the loop, the clients and the memory of the real one. Its clock is
 * virtual and its ports are none. Two of its loans carry connections of a simulated pair, and so move
 * bytes. */
#ifndef NORNIC_TEST_FUZZ_SERVICE_WORLD_H
#define NORNIC_TEST_FUZZ_SERVICE_WORLD_H

#include <netinet/in.h>

#include "service/inner.h"
#include "test/smcr_pair/pair.h"

#define SERVICE_WORLD_LENT     2
#define SERVICE_WORLD_PROGRAMS 3
#define SERVICE_WORLD_KEPT     16

/* A loan whose bytes go by SMC-R. */
struct service_world_lent {
    struct pair_conn *c; /* its end 0 is the loan's, its end 1 a peer's */
    struct smcr_sock *sock;
};

struct service_world {
    struct service *service;
    struct pair *pair;
    struct service_world_lent lent[SERVICE_WORLD_LENT];
    int program[SERVICE_WORLD_PROGRAMS]; /* control sockets; -1: none */
    int kept[SERVICE_WORLD_KEPT];        /* descriptors of answers and peers; -1: none */
    unsigned kept_count;                 /* of all that were ever kept */
    int listen_tcp, stop_fd;
    struct sockaddr_in tcp_at; /* of `listen_tcp` */
};

/* Makes the world. Aborts if the kernel refuses a descriptor. */
void service_world_begin(struct service_world *w);
/* Ends all that programs and peers have, then the service. Traps if a loan, a buffer or memory is left. */
void service_world_end(struct service_world *w);
/* Lets `ns` of virtual time pass, and the service's loop turn once. */
void service_world_turn(struct service_world *w, uint64_t ns);
/* Connects program `i` to the service, if it is not. */
void service_world_connect(struct service_world *w, unsigned i);
/* Keeps a descriptor in the place of the oldest, which is closed; -1: none is kept. */
void service_world_keep(struct service_world *w, int fd);
/* Makes a TCP connection over the loopback interface. The peer's end is kept. -1: there is none. */
int service_world_tcp(struct service_world *w);
/* The virtual time, which the target's clock tells. */
extern uint64_t service_world_now_ns;
/* The virtual time that passes with each look at the clock; 0 unless the runtime stops. */
extern uint64_t service_world_step_ns;

#endif
