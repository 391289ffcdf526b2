/* SPDX-License-Identifier: BSD-2-Clause */
/* What `nornic smc stat` reads: each process that has called smcr_sock_start() listens on a UNIX socket, and
 * answers whoever connects with one JSON object and the end of the stream. */
#ifndef NORNIC_SMCR_SOCK_STAT_JSON_H
#define NORNIC_SMCR_SOCK_STAT_JSON_H

#include <stddef.h>

/* One socket a process, "smc-PID", removed by smcr_sock_stop(). Of a pathname, so that it is found from every
 * network namespace. */
#define SMCR_STAT_DIR        "/run/nornic"
#define SMCR_STAT_PREFIX     "smc-"
#define SMCR_STAT_PATH_BYTES sizeof(SMCR_STAT_DIR "/" SMCR_STAT_PREFIX "4294967295")

/* The path of the socket of process `pid` into `path`, SMCR_STAT_PATH_BYTES. */
void smcr_stat_path(unsigned pid, char *path);

/* The object, of this process now, by smcr_sock_counters(), smcr_sock_stat_visit() and smcr_sock_fallbacks():
 * pid, command, counters, fallbacks, groups, and links, rmbs and conns, each of which names its group (conns
 * without one: 0); lent ones have owner_pid and owner. free() it. NULL: no memory. */
char *smcr_stat_json(size_t *len_bytes);

#endif
