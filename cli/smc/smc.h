/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic smc`: bytes between two programs over SMC-R, and a look into those that use it. Shared by the files
 * of cli/smc/. Functions that return an exit status have printed their sentence. */
#ifndef NORNIC_CLI_SMC_SMC_H
#define NORNIC_CLI_SMC_SMC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#include "cli/smc/sum.h"
#include "sock/sock.h"

struct cli_command;

/* The report of a command at its end. */
struct smc_say {
    bool sum, json, quiet;
};

struct smc_options {
    bool listen, keep; /* smc listen, -k */
    char *where;       /* smc listen: as it was given */
    const char *host;  /* to connect to, or to listen on; NULL: all addresses */
    const char *service;
    int family; /* AF_UNSPEC: either */
    const char *input, *output;
    struct smcr_sock_config sock;
    char captures[SMCR_SOCK_MAX_PORTS][256]; /* the memory that sock.ports[].capture_path points to */
    const char *capture, *trace;
    struct nornic_impair impair;
    uint32_t rcvbuf_bytes, sndbuf_bytes; /* 0: the default */
    uint64_t connect_ns, idle_ns;        /* UINT64_MAX: without end */
    bool require_smc, tcp_only;
    struct smc_say say;
};

/* Their settings are a struct smc_options: options.c. */
extern const struct cli_command smc_listen_command, smc_connect_command;

/* --- devices and enterprise ids: device.c --- */

/* The interface of "xdp:eth0:native"; `*len` letters. */
const char *smc_interface_of(const char *port, int *len);
/* --device and --ueid, as a row's take() has them: one more into `sock`. A device's `text` is cut in place
 * at its comma, and `sock` keeps pointing into it, as it does into the text behind ",pnetid=". CLI_OK; or
 * CLI_ERROR after a sentence. */
int smc_take_device(struct smcr_sock_config *sock, const char *option, char *text);
int smc_take_ueid(struct smcr_sock_config *sock, const char *option, char *text);

/* --- one connection: pump.c --- */

/* One direction of the bytes. */
struct smc_flow {
    uint64_t bytes;
    uint64_t size_bytes; /* of the file that it comes from; 0: not known */
    bool has_ended;      /* all is over, and the other side of it was told */
    struct smc_sum *sum; /* NULL: not asked for */
    uint8_t *buf;
    size_t from, to; /* the waiting bytes in it */
    bool is_eof;     /* nothing comes in any more */
};

struct smc_connection {
    const struct smc_options *options;
    int fd;                      /* of nornic_socket() */
    int in_fd, out_fd;           /* -1: nothing to send */
    struct smc_flow sent, taken; /* in_fd to the peer, and back */
    struct sockaddr_storage local, peer;
    struct nornic_socket_info info; /* of its beginning */
    uint64_t connected_ns, end_ns;
};

/* Moves bytes both ways until both have ended. CLI_OK, or CLI_NEGATIVE after a sentence. */
int smc_pump(struct smc_connection *c);

/* --- progress on a terminal: progress.c --- */

struct smc_progress {
    bool is_on;
    uint64_t next_ns, last_ns, last_bytes;
    double rate; /* bytes a second, smoothed */
};

void smc_progress_begin(struct smc_progress *p, const struct smc_connection *c);
/* Redraws the line when it is time. */
void smc_progress_show(struct smc_progress *p, const struct smc_connection *c);
void smc_progress_end(struct smc_progress *p);

/* --- reports: report.c --- */

/* "192.0.2.1:5000" or "[fd00::1]:5000" into `text`, SMC_ADDR_TEXT bytes; returns it. */
#define SMC_ADDR_TEXT 64
const char *smc_addr_text(const struct sockaddr_storage *addr, char *text);

/* How the bytes will travel, and why not by SMC-R, on standard error. */
void smc_say_transport(const struct smc_connection *c);
/* After its end: sums and figures, on standard error or as JSON on standard output. */
void smc_report(const struct smc_connection *c, bool ok);

/* "1.5 GiB" and "0:42"; `text` has 32 bytes. Return it. */
const char *smc_bytes_text(double bytes, char *text);
const char *smc_time_text(double seconds, char *text);

/* --- the process as a peer: session.c --- */

/* Runs `smc listen` or `smc connect`. */
int smc_session(struct smc_options *options);

/* --- trace lines: trace.c --- */

/* Opens the file ("-": standard error). CLI_OK or CLI_ERROR. */
int smc_trace_open(const char *path, struct smcr_sock_config *config);
/* `status`, or CLI_ERROR after a sentence: the disk was full. */
int smc_trace_close(int status);

/* --- `nornic smc stat`: stat.c; `nornic smc ladder`: ladder.c; `nornic smc enable`, ...: enable.c --- */

extern const struct cli_command smc_stat_command, smc_ladder_command, smc_service_command, smc_enable_command,
    smc_disable_command, smc_status_command;

#endif
