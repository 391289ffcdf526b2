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
 *
 * How does it end connections of hundreds of processes at once? The first thread of a port opens a device.
 * The others leave it their ledgers, also while it is at work. A device for each process would need 10 MB
 * each, and time to join the processes that share the address. Internal to host/ and cli/keep/. */
#ifndef NORNIC_HOST_KEEPER_KEEPER_H
#define NORNIC_HOST_KEEPER_KEEPER_H

#include <stdbool.h>

#include "net/error.h"
#include "net/share/ledger.h"
#include "roce/cm/estate.h"

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

/* The connections of a dead process. */
struct host_keeper_estate {
    struct host_keeper_estate *next;
    struct net_ledger ledger; /* the keeper's by net_ledger_wait() */
    struct net_ledger_head head;
    struct roce_cm_connection *connections; /* `count` of them */
    unsigned count;
};

/* Reads the ledger of an estate into its other members, which are zero. Without connections or memory
 * `count` is 0. */
void host_keeper_read(struct host_keeper_estate *estate);
/* Frees the connections, and removes the ledger. */
void host_keeper_close(struct host_keeper_estate *estate);

/* Other dead processes of the same port. */
struct host_keeper_more {
    /* Returns the next estate, of at most `room` connections, or NULL. It has `count` > 0. */
    struct host_keeper_estate *(*take)(void *ctx, const char *port, unsigned room);
    void *ctx;
};
/* Ends the connections of `first`, which has some, and of more estates that come until the end. These
 * are then the list from `first` on, for the caller to close. Takes 8 s at the most, and 2.5 s for one. */
void host_keeper_bury(struct host_keeper_estate *first, const struct host_keeper_more *more);

/* Is the keeper, until no ledger is left. 0, also if another keeper is there; or -errno with a sentence. */
int host_keeper_run(struct nornic_error *why);

#endif
