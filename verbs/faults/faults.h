/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults on demand: what NORNIC_FAULTS asks for, so that programs can try what they do when a request, an
 * allocation or the port fails. The grammar is in docs/verbs.md. Internal to verbs/. */
#ifndef NORNIC_VERBS_FAULT_H
#define NORNIC_VERBS_FAULT_H

#include "verbs/verbs.h"

#define VERBS_FAULT_RULES_MAX 64
#define VERBS_FAULT_TEXT_MAX  16384 /* bytes of rules */

enum verbs_fault_kind {
    VERBS_FAULT_REQUEST, /* a request ends with an error */
    VERBS_FAULT_ALLOC,   /* a call that makes an object fails */
    VERBS_FAULT_DELAY,   /* completions come late */
    VERBS_FAULT_PORT,    /* the port goes down */
};

/* What requests are counted as: F(name) */
#define VERBS_FAULT_OPERATIONS(F) F(REQUEST) F(SEND) F(WRITE) F(READ) F(ATOMIC) F(BIND) F(INVALIDATE) F(RECV)
/* What is allocated. */
#define VERBS_FAULT_OBJECTS(F) F(DEVICE) F(PD) F(MR) F(MW) F(CQ) F(QP) F(SRQ) F(AH) F(CHANNEL)

#define OPERATION_(name) VERBS_FAULT_OP_##name,
#define OBJECT_(name)    VERBS_FAULT_OF_##name,
enum verbs_fault_operation { VERBS_FAULT_OPERATIONS(OPERATION_) };
enum verbs_fault_object { VERBS_FAULT_OBJECTS(OBJECT_) };
#undef OPERATION_
#undef OBJECT_

/* One rule. Which of the requests or allocations that it is about it hits: the one with number `nth`, counted
 * from 1 in this process; with `is_every` each whose number `nth` divides; or, with `nth` 0, `ppm` of a
 * million, drawn by the seed. */
struct verbs_fault_rule {
    enum verbs_fault_kind kind;
    unsigned line; /* where it stands, from 1 */
    uint64_t nth;
    bool is_every;
    uint32_t ppm;
    _Atomic uint64_t seen; /* of what it is about */
    /* of a request */
    enum verbs_fault_operation operation; /* VERBS_FAULT_OP_REQUEST: any that is sent */
    bool has_qp_num;
    uint32_t qp_num;
    uint64_t qp_nth; /* the QP that was created as the n-th in this process; 0: any */
    enum nornic_wc_status status;
    /* of an allocation */
    enum verbs_fault_object object;
    int err; /* errno value */
    /* of time */
    uint64_t delay_ns;         /* of completions */
    uint64_t after_ns, for_ns; /* of the port: from the first device's opening; 0: for good */
};

struct verbs_faults {
    struct verbs_fault_rule rules[VERBS_FAULT_RULES_MAX];
    unsigned count;
    uint64_t seed;
    atomic_uint qps_made; /* in this process */
};

/* Reads rules: `text` ends with a zero. 0; or -EINVAL with the line and the column, and what could stand
 * there. In verbs/faults/parse.c. */
int verbs_faults_parse(const char *text, struct verbs_faults *out, struct nornic_error *why);

/* NORNIC_FAULTS of this process, or the file that it names by an '@', read once: *out is NULL where nothing
 * is asked for, else belongs to the process. 0, or -EINVAL or what opening the file answers, with a
 * sentence. */
int verbs_faults_get(struct verbs_faults **out, struct nornic_error *why);

/* Counts an allocation: 0, or the errno value that it is to fail with. `faults` may be NULL. */
int verbs_fault_alloc(struct verbs_faults *faults, enum verbs_fault_object object);

/* Counts a request that is about to be posted, and turns the one that is to fail into one that fails: it is
 * carried out no more, and verbs_fault_wc() gives its completion the status. Where the context has faults. */
void verbs_fault_send(struct verbs_qp *qp, struct nornic_send_wr *wr);

/* The same for a receive; `qp` is NULL where `own`'s SRQ takes it. */
void verbs_fault_recv(struct verbs_context_own *own, struct verbs_qp *qp, struct nornic_recv_wr *wr);

/* A completion that is no success, of a context with faults: gets its status if it was made to fail. */
void verbs_fault_wc(struct verbs_context_own *own, struct nornic_wc *wc);

/* How late completions come; 0: not. `faults` may be NULL. */
uint64_t verbs_fault_delay_ns(const struct verbs_faults *faults);

/* A context was opened: its port follows the rules from now on. In verbs/faults/port.c. 0, or an errno value
 * where there is no thread for that. */
int verbs_fault_port_follow(struct verbs_context_own *own);

/* --- verbs/faults/hold.c: completions that come late --- */

struct verbs_hold;

/* NULL: no memory. */
struct verbs_hold *verbs_hold_new(uint64_t delay_ns);
void verbs_hold_free(struct verbs_hold *hold);

/* Keeps `n` completions that have been taken now. False: no memory, and none is kept. */
bool verbs_hold_put(struct verbs_hold *hold, const struct nornic_wc *wcs, unsigned n);

/* Takes up to `n` of those whose time has come. How many. */
unsigned verbs_hold_take(struct verbs_hold *hold, struct nornic_wc *wcs, unsigned n);

bool verbs_hold_is_empty(struct verbs_hold *hold);

/* Sleeps until the time of all has come. */
void verbs_hold_wait(struct verbs_hold *hold);

/* Drops those of a queue pair. */
void verbs_hold_drop(struct verbs_hold *hold, uint32_t qp_num);

#endif
