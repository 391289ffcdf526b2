/* SPDX-License-Identifier: BSD-2-Clause */
/* The registry of the processes that share addresses: a file for each network namespace. net/share/dir.h
 * has the directory. It has a slot for each udp port. A slot is leased by a lock on a byte of the file. The
 * kernel takes the lock back when the process ends, however it ends; the record of a slot without holder says
 * nothing.
 *
 * Slot s stands for the queue pair numbers and the communication ids with the upper 8 bits s. All of a
 * record is checked when it is read: another process may have written nonsense, or died while
 * it wrote. Whoever writes holds the lock of the whole table, and writes only its own record, or clears one
 * of a process that is gone. Internal to net/. */
#ifndef NORNIC_NET_SHARE_TABLE_H
#define NORNIC_NET_SHARE_TABLE_H

#include <stdint.h>

#include "net/share/dir.h"
#include "nornic/addr.h"

#define NET_SHARE_SLOTS        255u /* 0 to 254: 0xffffff is the number of multicast */
#define NET_SHARE_SLOT_BITS    16   /* of a QPN below the slot */
#define NET_SHARE_ID_BITS      24   /* of a communication id below the slot */
#define NET_SHARE_PLACES_MAX   255  /* as many as a GID table has */
#define NET_SHARE_SERVICES_MAX 128
#define NET_SHARE_INDEX_MAX    1023

/* A socket in the reuseport group of an address. */
struct net_share_place {
    struct nornic_addr addr;
    uint32_t scope; /* the interface of a link-local address, else 0 */
    uint32_t index; /* in the group, as far as its process knows */
};

/* The record of a process about one of its udp ports. */
struct net_share_record {
    uint32_t pid; /* as its own namespace counts; for people */
    uint32_t uid;
    char name[16];    /* of the program; for people */
    uint32_t has_qp1; /* 1: its queue pair 1 takes packets for none of the others */
    uint32_t place_count, service_count;
    uint32_t sum;       /* in the file: of all else, for a reader that meets a writer */
    uint64_t opened_ns; /* by CLOCK_BOOTTIME */
    struct net_share_place places[NET_SHARE_PLACES_MAX];
    uint64_t services[NET_SHARE_SERVICES_MAX]; /* ids that it listens to */
};

struct net_share_table {
    int fd;
    bool is_common; /* in a directory of several users */
    int last_fd;    /* the same again behind all sockets, or -1: net_share_table_keep() */
    char path[104]; /* that a socket's name is made of */
};

/* Tells network namespaces apart: by a number that is never used again, or on kernels before 5.14 by one that
 * lives as long as the namespace. Fails if a process has no descriptor for the question: by the other number
 * it would meet nobody. Returns 0 or -errno. */
int net_share_namespace(uint64_t *id);

/* Opens the table of the caller's network namespace in `dir`, which is made if it is missing, and locks
 * it, within `wait_ns`. 0; -EAGAIN: another process keeps it locked; -EACCES: it is a file that another user
 * may have put there for a purpose; or another -errno. */
int net_share_table_open(const struct net_share_dir *dir, struct net_share_table *out, uint64_t wait_ns);

/* Opens the table of any namespace by the name of its file, and locks it if that is free now. 0; -EAGAIN; or
 * another -errno: -ENOENT: the name is not a table's. */
int net_share_table_open_named(const struct net_share_dir *dir, const char *name,
                               struct net_share_table *out);

/* The same to look at it only, without a lock. -ENOENT: nobody has shared anything here. */
int net_share_table_look(const struct net_share_dir *dir, struct net_share_table *out);

/* The leases end after the socket `fd`, too, when the process is killed: the kernel closes descriptors in the
 * order of their numbers, up or down, and the leases last until the last of two is closed. So a process
 * without its lease has no socket any more. */
void net_share_table_keep(struct net_share_table *table, int fd);

/* The leases of this opening end. */
void net_share_table_close(struct net_share_table *table);

/* Locks the table: at once, or within `wait_ns`, and as much again, five times at the most, if others have
 * written meanwhile: they get on with it, and there are many. In a common directory that proves nothing, and
 * `wait_ns` is all. 0, -EAGAIN, or another -errno. It is tried
 * again and again: fcntl(2) waits for ever or not at all, and a neighbour that was stopped must not stop all.
 * So nothing that takes long is done under the lock: a tenth of a millisecond, or some milliseconds if
 * hundreds of addresses get new filters. */
int net_share_table_lock(struct net_share_table *table, uint64_t wait_ns);
void net_share_table_unlock(struct net_share_table *table);

/* Leases a slot, under the lock: 0; -EAGAIN: it is leased; or another -errno. And gives it back. */
int net_share_table_lease(struct net_share_table *table, unsigned slot);
void net_share_table_release(struct net_share_table *table, unsigned slot);
/* Somebody else has leased it; or any. */
bool net_share_table_is_leased(const struct net_share_table *table, unsigned slot);
bool net_share_table_has_leases(const struct net_share_table *table);

/* By slot: the number of the write that made its record, which no other write has, so that a record need not
 * be read again while this stays; 0: there is no record. */
void net_share_table_marks(const struct net_share_table *table, uint64_t marks[NET_SHARE_SLOTS]);

/* Reads a record: values out of bounds are cut, unprintable octets of the name are question marks. False:
 * there is none, or not a whole one. */
bool net_share_table_read(const struct net_share_table *table, unsigned slot, struct net_share_record *out);

/* Writes one; NULL clears it. Under the lock. 0 or -errno. */
int net_share_table_write(struct net_share_table *table, unsigned slot,
                          const struct net_share_record *record);

/* How often the table was written to, by anybody: another number says that there is something to read. */
uint64_t net_share_table_writes(const struct net_share_table *table);

/* Removes the file: under the lock, by a caller that sees no leased slot. */
void net_share_table_remove(struct net_share_table *table);

#endif
