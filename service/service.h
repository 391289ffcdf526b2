/* SPDX-License-Identifier: BSD-2-Clause */
/* The service that lends SMC-R connections to programs of its user: the ports, link groups and RMBs are its
 * own, so a connection outlives whatever becomes of a program. service/borrow/borrow.h is the program's
 * half and says how it works; docs/smc.md is the guide. */
#ifndef NORNIC_SERVICE_SERVICE_H
#define NORNIC_SERVICE_SERVICE_H

#include <stdint.h>

#include "sock/sock.h"

#define SERVICE_MAX_PEERS 64

/* Addresses of peers, for SMC-R without the TCP option. */
struct service_peers {
    struct nornic_addr addr;
    uint8_t prefix_len; /* of an IPv4 address 0 to 32, of an IPv6 address 0 to 128 */
};

struct service_config {
    struct smcr_sock_config
        sock;         /* its ports, EIDs, times; `no_thread`, `all_offer` and `buffers` are filled in */
    const char *path; /* of its UNIX socket: service_path() */
    struct service_peers peers[SERVICE_MAX_PEERS];
    unsigned num_peers;
    uint64_t idle_ns; /* it ends when nobody has used it for so long; NET_TIME_NONE: never */
};

struct service;

/* The path of the service, for programs of this user in this network namespace; SERVICE_PATH_BYTES.
 * It is in the user's own directory, which is closed to others (net/share/dir.h). 0, or -errno with a
 * sentence. */
#define SERVICE_PATH_BYTES 108
int service_path(char path[SERVICE_PATH_BYTES], struct nornic_error *why);

/* Opens the ports and listens. One a path: -EADDRINUSE if one runs there already, -EACCES if
 * another file has its name, and -EBUSY if another program has an address. 0 with a sentence in
 * `why` if only BPF is not allowed: then SMC-R is for configured peers alone. Else -errno with a
 * sentence. The configuration is copied, its pointers are kept. */
int service_open(const struct service_config *config, struct service **out, struct nornic_error *why);
/* Serves until `stop_fd` polls readable (-1: none), or nobody has used it for `idle_ns`. In the thread that
 * opened it, which programs take for its life. */
void service_run(struct service *service, int stop_fd);
/* Visits the files that the service uses after it was opened, for a sandbox around the process. */
void service_files(const struct service *service, smcr_file_visit visit, void *ctx);
/* Ends the loans, in order as far as two seconds allow, and removes the socket. 0, or -errno with a
 * sentence as smcr_sock_stop() has it. */
int service_close(struct service *service, struct nornic_error *why);

#endif
