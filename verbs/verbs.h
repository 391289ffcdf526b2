/* SPDX-License-Identifier: BSD-2-Clause */
/* libibverbs.so.1 for programs that know nothing of nornic: the verbs ABI over nornic/nornic.h.
 *
 * A program holds one of its own structs (`base`, first, as <infiniband/verbs.h> lays it out). The members
 * of nornic follow it, so that a pointer to one is a pointer to the other. The structs of
 * the ABI are taken from the distribution's header when this is built, under its BSD licence, and nothing of
 * it is copied here; test/verbs holds its layout against the offsets that programs were compiled with.
 * Internal to verbs/. */
#ifndef NORNIC_VERBS_VERBS_H
#define NORNIC_VERBS_VERBS_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/base.h"
#include "host/port/names.h"
#include "nornic/nornic.h"
#include "verbs/idle.h"

/* The header has macros of these names, which pick a newer entry for newer flags; here are the entries. */
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define VERBS_PORT_NUM     1
#define VERBS_COMP_VECTORS 8 /* any of them is as good: completions come from one thread */
/* Rights that a window may be bound with; programs name local rights too, which are the region's. */
#define VERBS_WINDOW_RIGHTS \
    (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ZERO_BASED)
/* Other rights that programs name there: those of the region. All other bits are unknown. */
#define VERBS_WINDOW_KNOWN \
    (VERBS_WINDOW_RIGHTS | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | IBV_ACCESS_RELAXED_ORDERING)
/* The bits of a datagram's QPN that adapters look at. */
#define VERBS_QPN_MASK 0xffffffu
/* Libraries of vendors, which programs link, read a pointer just behind the public struct and compare it
 * with one of theirs. */
#define VERBS_BEYOND_DEVICE 64

/* One of the device list. */
struct verbs_device {
    struct ibv_device base;
    char beyond[VERBS_BEYOND_DEVICE];
    char port[HOST_PORT_NAME_BYTES]; /* docs/ports.md */
    uint64_t guid;                   /* in network order, as the ABI has it; never 0 */
    int index;
    atomic_uint users; /* lists and contexts */
};

struct verbs_faults;
struct verbs_hold;

/* An open device. Each context has an engine and a thread of its own; contexts reach each other over the
 * wire, as if they were processes of their own. */
struct verbs_context_own {
    struct nornic_dev *dev;
    struct verbs_device *device;
    struct verbs_context_own *next; /* of the process's */
    atomic_uint users;              /* opened once, and imported */
    bool has_told_stat;             /* NORNIC_STAT */
    bool is_inherited;              /* a parent opened it, before this process was forked */
    atomic_uint next_handle;        /* of objects that have a number */
    pthread_mutex_t lock;           /* the lists below */
    LIST_HEAD(verbs_pd_list, verbs_pd) pds;
    LIST_HEAD(verbs_mr_list, verbs_mr) mrs;
    LIST_HEAD(verbs_dm_list, verbs_dm) dms;
    LIST_HEAD(verbs_qp_list, verbs_qp) qps;
    LIST_HEAD(verbs_xrcd_list, verbs_xrcd) xrcds;
    LIST_HEAD(verbs_ah_list, verbs_ah) spent_ahs;
    LIST_HEAD(verbs_fated_list, verbs_fated) fated; /* requests that will fail: verbs/faults/apply.c */
    struct verbs_faults *faults;                    /* the process's; NULL: none */
    struct verbs_context abi;                       /* last: programs see its end */
};

struct verbs_pd {
    struct ibv_pd base;
    struct nornic_pd *nornic;
    atomic_uint users;       /* parent domains and imports, which are other names of it */
    struct verbs_pd *origin; /* it is another name of this one; NULL: it is none */
    LIST_ENTRY(verbs_pd) entry;
};

struct verbs_mr {
    struct ibv_mr base;
    struct nornic_mr *nornic;
    uint32_t access; /* enum ibv_access_flags, of its registration */
    void *memory;    /* its first byte, and how the program names that */
    uint64_t iova;
    void *null_memory;     /* of ibv_alloc_null_mr(): mapped for it */
    struct verbs_dm *dm;   /* registered of it */
    struct verbs_buf *buf; /* the same, of ibv_alloc_buf() */
    LIST_ENTRY(verbs_mr) entry;
};

/* Memory "of the device", which is memory of the process. */
struct verbs_dm {
    struct ibv_dm base;
    uint8_t *bytes;
    size_t len_bytes;
    atomic_uint users; /* regions */
    LIST_ENTRY(verbs_dm) entry;
};

struct verbs_mw {
    struct ibv_mw base;
    struct nornic_mw *nornic;
};

struct verbs_channel {
    struct ibv_comp_channel base;
    struct nornic_channel *nornic;
};

struct verbs_cq {
    struct ibv_cq_ex base; /* begins like a struct ibv_cq, of which plain queues are made */
    struct nornic_cq *nornic;
    uint32_t number;        /* its handle, as it was made */
    struct nornic_wc wc;    /* between start_poll and end_poll: the one read */
    uint64_t taken_ns;      /* and when it was taken, CLOCK_MONOTONIC */
    uint64_t taken_wall_ns; /* CLOCK_REALTIME */
    struct verbs_idle idle;
    atomic_uint unacked;       /* events taken and not acknowledged */
    struct verbs_hold *hold;   /* of completions that come late; else NULL */
    atomic_bool has_told_end;  /* NORNIC_TRACE was told that polls fail */
    atomic_uint flushed_qpn;   /* the last QP with flushed requests that NORNIC_TRACE was told of; 0: none */
    bool is_single_threaded;   /* the program says so: no lock around a poll */
    pthread_mutex_t poll_lock; /* from start_poll to end_poll, as libibverbs has it */
};

struct verbs_srq {
    struct ibv_srq base;
    struct nornic_srq *nornic;
    uint32_t max_sge;
};

struct verbs_xrcd {
    struct ibv_xrcd base;
    struct nornic_xrcd *nornic;
    /* under the context's lock */
    struct verbs_xrcd *origin; /* it is another name of this one, of the same file; NULL: it is none */
    unsigned names;            /* such names */
    bool has_file;
    dev_t device; /* of the file, */
    ino_t inode;  /* and its number there */
    LIST_ENTRY(verbs_xrcd) entry;
};

struct verbs_ah {
    struct ibv_ah base;
    struct nornic_ah *nornic;
    struct nornic_pd *pd;
    LIST_ENTRY(verbs_ah) entry; /* given back by the program while a posted send named it */
};

struct verbs_builder;

struct verbs_qp {
    struct ibv_qp_ex base;
    struct nornic_qp *nornic;
    struct ibv_qp_init_attr init;  /* as granted */
    unsigned access_flags;         /* as set, local rights too */
    struct verbs_builder *builder; /* between wr_start and wr_complete; NULL: made without send operations */
    LIST_ENTRY(verbs_qp) entry;
    uint64_t serial;                /* its number in the process, from 1, if there are faults */
    const struct nornic_xrcd *xrcd; /* of an XRC target */
    struct verbs_qp *origin;        /* ibv_open_qp(): it is another name of this one */
    atomic_uint users;              /* such names */
};

static inline struct verbs_context_own *verbs_own(struct ibv_context *context)
{
    return container_of(context, struct verbs_context_own, abi.context);
}

/* Whether a parent of this process opened the context. The thread that served it is not here, and its sockets
 * are the parent's: nothing of it works, and giving something of it back does nothing. */
static inline bool verbs_is_inherited(struct ibv_context *context)
{
    return verbs_own(context)->is_inherited;
}

#define VERBS_CAST_(type, name)                                        \
    static inline struct verbs_##name *verbs_##name##_of(type *object) \
    {                                                                  \
        return (struct verbs_##name *)(void *)object;                  \
    }
VERBS_CAST_(struct ibv_pd, pd)
VERBS_CAST_(struct ibv_mr, mr)
VERBS_CAST_(struct ibv_dm, dm)
VERBS_CAST_(struct ibv_mw, mw)
VERBS_CAST_(struct ibv_comp_channel, channel)
VERBS_CAST_(struct ibv_cq, cq)
VERBS_CAST_(struct ibv_srq, srq)
VERBS_CAST_(struct ibv_xrcd, xrcd)
VERBS_CAST_(struct ibv_ah, ah)
VERBS_CAST_(struct ibv_qp, qp)
#undef VERBS_CAST_

/* A call failed with `err` (an errno value): sets errno, tells why on stderr if NORNIC_TRACE is set, and
 * returns `err`. The format has no newline at its end. */
int verbs_fail(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reports on stderr, if NORNIC_TRACE is set, without an error. */
void verbs_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports a wrong setting or a lack of the machine: on stderr, also without NORNIC_TRACE, with the name of
 * `err` after it (0: none). Without NORNIC_TRACE the same sentence is not said twice in a row. `errno`
 * stays. */
void verbs_say(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As verbs_fail(), for calls that return a pointer. */
void *verbs_fail_null(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Sends posted requests: an adapter sends in a microsecond, and programs that destroy their queue pair, or
 * end, right after a post count on that. In verbs/common.c. */
void verbs_settle(struct verbs_context_own *own);

/* Programs cancel threads (pthread_cancel()) that sleep for an event, or that poll. Many calls of the C
 * library end a cancelled thread, also with a lock of nornic held, which would stay locked. So a thread may
 * be cancelled in the sleep alone, and around the rest stands: int state = verbs_hold(); ...
 * verbs_let(state); */
static inline int verbs_hold(void)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    return state;
}

static inline void verbs_let(int state)
{
    pthread_setcancelstate(state, NULL);
}

/* Sleeps until `fd` is readable, if the program has left it blocking. 0; EAGAIN; or EINTR: a signal came. In
 * verbs/common.c. */
int verbs_wait(int fd);

/* Frees the address handles of `pd` that programs gave back and that no posted send names any more. In
 * verbs/memory/av.c. */
void verbs_sweep_ahs(struct ibv_pd *pd);

/* The key that a program asks a type 2 window to be bound under: its low octet is the program's to choose,
 * the others are the window's (ROCE-MW-2). Programs give the whole key, or that octet alone. */
static inline uint32_t verbs_window_key(const struct ibv_mw *mw, uint32_t key)
{
    return mw ? (mw->rkey & ~UINT32_C(0xff)) | (key & 0xff) : key;
}

#endif
