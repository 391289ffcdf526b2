/* SPDX-License-Identifier: BSD-2-Clause */
/* The keeper ends the connections of processes that have died. A kernel's CM does so for the processes
 * on a kernel's devices. A process of nornic carries its own CM, so another process has to send its last
 * messages. A user has one keeper in a network namespace. It is `nornic keep`, a program beside the
 * libraries, and lives while there are ledgers (net/share/ledger.h).
 *
 * Why not a neighbour, which learns of deaths anyhow (net/share/news.c)? A process that dies alone on
 * its host has none. A neighbour is a program of others: it may be stopped, busy or about to end. With a
 * keeper there is one way for all cases.
 *
 * Why a program, and not a child of fork()? A child would hold the memory of a program, its huge pages
 * among it, for as long as it lives. A fork of a process with threads also leaves locks without a
 * holder. Why one keeper for a user? Hundreds of ranks of a job would have hundreds of keepers.
 *
 * How does it learn of a death? A thread waits for the lock of each ledger. The lock ends with a death
 * of any kind, with exec() and with an orderly close. An orderly close removes the file first, and then
 * nothing is owed. A pidfd does not tell of exec(), and shows no process of another PID namespace.
 * Internal to host/ and cli/keep/. */
#ifndef NORNIC_HOST_KEEPER_KEEPER_H
#define NORNIC_HOST_KEEPER_KEEPER_H

#include <stdbool.h>

#include "net/error.h"
#include "net/share/dir.h"

/* Returns whether a keeper can serve a device of this port: NORNIC_KEEPER does not forbid it, the helper is
 * where the library is, and the keeper can open the port by its name. */
bool host_keeper_is_wanted(const char *port);

/* Starts a keeper unless there is one. The caller has a ledger by then. A failure costs the peers of this
 * process their DREQs, if it dies, and nothing else. */
void host_keeper_start(void);

/* --- the keeper's own --- */

/* The place of a keeper: a file with a lock. */
struct host_keeper_place {
    struct net_share_dir dir;
    char path[112];
    int fd; /* -1: none */
};

/* Finds where the place is. 0 or -errno. */
int host_keeper_find_place(struct host_keeper_place *out);
/* Takes the place. 0; -EAGAIN: another keeper has it; or another -errno. And leaves it. */
int host_keeper_take_place(struct host_keeper_place *place);
void host_keeper_leave_place(struct host_keeper_place *place);

/* Removes files of keepers and dead processes of other network namespaces that have no keeper. */
void host_keeper_sweep(const struct host_keeper_place *place);

/* Ends the connections in a ledger of a dead process, and removes the ledger. Takes 2.5 s at the most. */
struct net_ledger;
void host_keeper_bury(struct net_ledger *ledger);

/* Is the keeper, until no ledger is left. 0, also if another keeper is there; or -errno with a sentence. */
int host_keeper_run(struct nornic_error *why);

#endif
