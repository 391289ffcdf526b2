/* SPDX-License-Identifier: BSD-2-Clause */
/* Which objects there are. A program's handle is a pointer, and a program that gives one back twice, or makes
 * one up, is told so (as a kernel tells, by ENOENT or EINVAL) before anything behind that pointer is read.
 * For calls that make, change or give back; the path of data takes what it is handed. Internal to verbs/. */
#ifndef NORNIC_VERBS_OBJECT_H
#define NORNIC_VERBS_OBJECT_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

enum verbs_kind {
    VERBS_CONTEXT,
    VERBS_PD, /* also parent domains and imports */
    VERBS_TD,
    VERBS_MR,
    VERBS_MR_IMPORT,
    VERBS_DM,
    VERBS_BUF,
    VERBS_MW,
    VERBS_AH,
    VERBS_CHANNEL,
    VERBS_CQ,
    VERBS_SRQ,
    VERBS_XRCD,
    VERBS_QP, /* also other names of XRC targets */
    VERBS_EVENT_CHANNEL,
    VERBS_KIND_COUNT,
};

/* Of protection domains, completion queues, SRQs and address handles a process has at most so many each:
 * what ibv_query_device() says. */
#define VERBS_OBJECTS_MAX 65536

/* From now on the handlers of forks are there that take the lock of objects; handlers that are registered
 * later come before them. */
void verbs_object_follow_forks(void);

/* A new one of that size, zeros, for verbs_object_free(). NULL: no memory, or there are VERBS_OBJECTS_MAX. */
void *verbs_object_new(enum verbs_kind kind, size_t bytes);
/* It is gone. NULL: nothing happens. */
void verbs_object_free(enum verbs_kind kind, void *object);

/* A number for a new object's `handle`, which is remembered together with its context: who changes either
 * asks for another object, and the calls below say that there is none, as a kernel does. Objects without
 * are not looked at. */
uint32_t verbs_object_number(enum verbs_kind kind, const void *object, struct ibv_context *context);

/* Whether it is there and nobody is giving it back. 0 or EINVAL, told in words. */
int verbs_object_need(enum verbs_kind kind, const void *object);

/* The same for a call that posts to a queue: the number is not looked at, as adapters' libraries do not. */
int verbs_object_need_to_post(enum verbs_kind kind, const void *object);

/* The caller gives it back, and from now on nobody else can. 0; or ENOENT, told in words: it is not there.
 * Then comes verbs_object_free(), or verbs_object_keep(): it stays after all. */
int verbs_object_claim(enum verbs_kind kind, const void *object);
void verbs_object_keep(enum verbs_kind kind, const void *object);

#endif
