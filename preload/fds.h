/* SPDX-License-Identifier: BSD-2-Clause */
/* Which descriptors of the process are this library's business, and what is behind each.
 *
 * A table by number. Looking takes no lock and enters no kernel, and for the descriptors of others it is
 * two loads. An object (a socket, an epoll instance) lives as long as a number leads to it or a call that
 * found it is under way: so a call survives that another thread closes the number meanwhile, as in the
 * kernel.
 *
 * How a call gets hold of what it has just found, though the last number may go at that moment: memory of
 * objects is never given back, but used again for objects of the same kind; a count of holders that is 0 is
 * never raised; and who raised it looks whether the number still leads to the same object. */
#ifndef NORNIC_PRELOAD_FDS_H
#define NORNIC_PRELOAD_FDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fds_object;

struct fds_kind {
    unsigned bytes; /* of the struct that begins with struct fds_object */
    /* No number leads to it any more; calls may be under way. May be NULL. */
    void (*unbound)(struct fds_object *object);
    /* Nobody holds it. What it has is given back, not its memory. */
    void (*destroy)(struct fds_object *object);
    struct fds_object *_Atomic spare; /* of this file: memory to be used again */
};

struct fds_object {
    struct fds_kind *kind;
    _Atomic uint32_t holders; /* numbers, and calls that are under way */
    _Atomic uint32_t numbers; /* that lead to it */
    struct fds_object *next;  /* of the spare ones */
};

/* A new one of that kind, its own part zeroed; the caller holds it. NULL: no memory. */
void *fds_new(struct fds_kind *kind);
/* The object behind `fd`, held; NULL: none, or not of that kind. */
void *fds_get(int fd, const struct fds_kind *kind);
/* Whether there is any. */
bool fds_has(int fd);
/* Another holder of what the caller holds already. */
void fds_hold(void *object);
/* The caller's hold ends. NULL: nothing. */
void fds_put(void *object);

/* `fd` leads to `object` (the caller's hold stays) instead of to what it led to, which is unbound. false: no
 * memory, or a number too high: then it leads to nothing. */
bool fds_bind(int fd, void *object);
/* `fd` leads to nothing. */
void fds_unbind(int fd);
/* The same if it leads to `object`; else nothing. */
void fds_unbind_from(int fd, const void *object);
/* All from `first` to `last`. */
void fds_unbind_range(unsigned first, unsigned last);
/* For calls that may fail: `fd` leads to nothing, but what it led to does not know yet; then either back, or
 * it is unbound. NULL: nothing. */
void *fds_take(int fd);
void fds_give_back(int fd, void *object);
void fds_let_go(void *object);
/* `to`, a duplicate of `from`, leads to the same, or to nothing. */
void fds_copy(int from, int to);
/* The lowest number above `after` (-1: from the beginning) that leads to `object`; -1: none. */
int fds_next_of(const void *object, int after);

/* The lowest number above `after` (-1: from the beginning) that leads to an object of that kind;
 * -1: none. */
int fds_next_kind(const struct fds_kind *kind, int after);

/* A descriptor that this library keeps for itself goes where programs seldom are, above those that select()
 * can name if the limit of descriptors allows it, and the program's close() and dup2() do not reach it. */

/* Such a copy of `fd`, close-on-exec. -1 with errno. */
int fds_keep_copy(int fd);
/* The same, and `fd` is closed; negative: stays so. The caller uses the number that is returned. */
int fds_keep(int fd);
/* Ends what fds_keep() or fds_keep_copy() has returned. */
void fds_close_kept(int fd);
/* Whether `fd` is one of these. */
bool fds_is_kept(int fd);
/* The lowest that is kept, from `first` on; -1: none. */
int fds_next_kept(unsigned first);

/* Around fork(). */
void fds_lock(void);
void fds_unlock(void);

#endif
