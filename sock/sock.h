/* SPDX-License-Identifier: BSD-2-Clause */
/* The process as an SMC-R peer, for who looks inside: nornic/socket.h has the sockets, and what programs
 * need besides. */
#ifndef NORNIC_SOCK_SOCK_H
#define NORNIC_SOCK_SOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "host/host.h"
#include "net/error.h"
#include "nornic/socket.h"
#include "smcr/smcr.h"
#include "smcr/stat.h"

/* --- the process as an SMC-R peer --- */

#define SMCR_SOCK_MAX_PORTS NORNIC_SOCKETS_MAX_PORTS

struct smcr_sock_port {
    const char *port;         /* "xdp:IFACE", "packet:IFACE"; its first address of the family that fits */
    const char *pnetid;       /* NULL: "" */
    const char *capture_path; /* as host_dev_config has it, NULL: none; ends where the interface is deleted */
    struct nornic_impair impair; /* likewise */
};

/* Zero means the default where one is named. */
struct smcr_sock_config {
    struct smcr_sock_port ports[SMCR_SOCK_MAX_PORTS];
    unsigned num_ports;
    struct smcr_times times;
    struct smcr_interop interop;
    uint8_t max_links, elems_per_rmb;
    uint8_t eids[SMCR_MAX_EIDS]
                [SMCR_EID_LEN]; /* smcr_eid_parse(); with one of them version 2 is spoken too */
    unsigned num_eids;
    bool no_stat;   /* no socket for `nornic smc stat` */
    bool no_thread; /* the caller drives the runtime itself, as service/ does (sock/runtime.h) */
    bool all_offer; /* TCP sockets of the cgroup offer SMC-R that keep the SYN, of whatever process there */
    const struct rdma_mem *buffers; /* as smcr_config has it */
    /* Called with the instance's lock held. May be NULL. */
    smcr_trace_hook *trace;
    void *trace_ctx;
};

/* Opens the ports, makes the cgroup with the BPF program that writes and reads the TCP option, moves this
 * process into it, and starts the thread that makes progress. Once a process. 0, or -errno with a
 * sentence in `why`. Where only BPF is not allowed: 0, with the sentence in `why` all the same; then
 * every connection is plain TCP (SMCR-REN-06). */
int smcr_sock_start(const struct smcr_sock_config *config, struct nornic_error *why);
/* Resets what is left, leaves and removes the cgroup, closes the ports. 0, also when nothing was started; or
 * -errno with a sentence in `why` (NULL: not wanted) about a capture that lacks its end: a full disk. */
int smcr_sock_stop(struct nornic_error *why);
/* The instance's counters as they are now; all 0 before smcr_sock_start() and after smcr_sock_stop(). */
void smcr_sock_counters(struct smcr_counters *out);
/* The instance's statistics, visited under its lock. */
void smcr_sock_stat_visit(const struct smcr_stat_visitor *visitor);
/* Why connections of this process became plain TCP, in words, each with how often: those that the core
 * counts, and those without the option. For sock/stat/json.h, which answers on the stat socket. */
void smcr_sock_fallbacks(void (*visit)(void *ctx, const char *reason, uint64_t count), void *ctx);

/* Use of a file, or of the files in a directory, by the runtime after its start. */
enum smcr_file_use { SMCR_FILE_READ, SMCR_FILE_WRITTEN, SMCR_FILES_MADE, SMCR_FILES_REMOVED };
typedef void (*smcr_file_visit)(void *ctx, const char *path, enum smcr_file_use use);
/* Visits these files, for a sandbox around the process. `path` is lent for the call. */
void smcr_sock_files(smcr_file_visit visit, void *ctx);

#endif
