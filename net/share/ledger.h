/* SPDX-License-Identifier: BSD-2-Clause */
/* The ledger of a device: rows of bytes, one for each connection, in a file that outlives the process.
 * The keeper reads the ledger of a dead process and ends its connections (host/keeper/).
 *
 * A ledger is in the directory of its user alone (net/share/dir.h), never in a common one, since the
 * reader acts upon its rows. Its name is "cm1-NETNS.SLOT.PID.COUNT", all in hexadecimal. SLOT is the
 * lease of the device's numbers (net/share/table.h). A slot is not leased anew while a ledger names it.
 *
 * The owner holds a lock on the file as long as it lives. It is a lock of fcntl(2) that belongs to a
 * process, and not to an open file. A child of fork() does not inherit it. exec() ends it (O_CLOEXEC),
 * and so does each death. A lock of an open file (F_OFD_SETLK) would live on in children, and a pidfd
 * would not tell of exec(). Internal to net/ and host/. */
#ifndef NORNIC_NET_SHARE_LEDGER_H
#define NORNIC_NET_SHARE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "net/share/dir.h"
#include "net/share/table.h"

#define NET_LEDGER_PREFIX     "cm1-"
#define NET_LEDGER_PORT_BYTES 128
#define NET_LEDGER_ROW_BYTES  120 /* of a row's contents at the most */
#define NET_LEDGER_ROWS_MAX   65536
#define NET_LEDGER_NO_SLOT    NET_SHARE_SLOTS

struct net_ledger {
    int fd;    /* -1: none */
    pid_t pid; /* the owner: a child of it has no ledger */
    char path[128];
};

/* The device of a ledger. */
struct net_ledger_head {
    uint32_t pid;                     /* as its own namespace counts; for people */
    uint32_t slot;                    /* NET_LEDGER_NO_SLOT: none */
    char port[NET_LEDGER_PORT_BYTES]; /* the name of the device's port */
    char name[16];                    /* of the program; for people */
};

/* Makes a ledger for a device of `port` that has leased `slot`, and locks it. Returns 0 or -errno. */
int net_ledger_create(const char *port, unsigned slot, struct net_ledger *out);
/* Writes a row, `bytes` of contents; NULL: nothing is owed there. Returns 0 or -errno. */
int net_ledger_write(struct net_ledger *ledger, uint32_t row, const void *contents, size_t bytes);
/* Removes the file. Has no effect on a ledger that is closed, or the parent's. */
void net_ledger_close(struct net_ledger *ledger);

/* Returns whether the keeper ends connections of a dead process of this user in this network namespace, or
 * has yet to begin. */
bool net_ledger_has_dead(void);

/* --- for readers --- */

/* Calls `visit` for each ledger of the caller's network namespace in `dir`. */
void net_ledger_list(const struct net_share_dir *dir,
                     void (*visit)(void *ctx, const char *name, unsigned slot), void *ctx);
/* Opens a ledger by its name. Returns 0; -ENOENT: it is gone, or no file of this user; or another -errno. */
int net_ledger_open(const struct net_share_dir *dir, const char *name, struct net_ledger *out);
/* Waits until the owner has died or closed its ledger. True: the owner has died, and the ledger is the
 * caller's, to be removed by net_ledger_close(). False: there is nothing to read, and the ledger is
 * closed. */
bool net_ledger_wait(struct net_ledger *ledger);
/* The same without a wait. Returns 0: the owner has died; -EAGAIN: it lives; -ENOENT: there is nothing to
 * read, and the ledger is closed. */
int net_ledger_try(struct net_ledger *ledger);
/* Reads the head. False: it is not sound, or of another version. */
bool net_ledger_read_head(const struct net_ledger *ledger, struct net_ledger_head *out);
/* Reads rows from `*row` on, until a row has contents of `bytes`, which is not 0; then `*row` is the next.
 * `bad` grows by the rows that are not sound. False: there are no more. */
bool net_ledger_read(const struct net_ledger *ledger, uint32_t *row, void *contents, size_t bytes,
                     unsigned *bad);

#endif
