/* SPDX-License-Identifier: BSD-2-Clause */
/* The question about a packet that comes again, and the answer of a witness. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_VERDICT_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_VERDICT_H

#include "base/base.h"
#include "explain/flow/half/half.h"
#include "explain/flow/half/ids.h"

/* The kinds of a packet that repeats a PSN. */
enum explain_again {
    EXPLAIN_AGAIN_SENT,      /* the sender sent it again */
    EXPLAIN_AGAIN_COPY,      /* the network made a copy */
    EXPLAIN_AGAIN_OVERTAKEN, /* sent once, and comes late */
};

/* How well a cause fits the facts. */
enum explain_fit {
    EXPLAIN_FIT_NOT,
    EXPLAIN_FIT_DOUBT, /* nothing speaks against it, and nothing for it */
    EXPLAIN_FIT_MAY,   /* nothing else that this witness sees can have prompted the sender */
    EXPLAIN_FIT_WELL,
    EXPLAIN_FIT_NEVER, /* as a bound: no fit reaches it */
};

/* The condition on which a cause is shown, and not likely only. */
enum explain_strength {
    EXPLAIN_STRENGTH_LIKELY,     /* nothing shows it */
    EXPLAIN_STRENGTH_UNRIVALLED, /* it is shown if its rival is excluded */
    EXPLAIN_STRENGTH_SHOWN,
};

/* A request packet that repeats a PSN. */
struct explain_case {
    struct explain_half *half; /* with a recovery */
    const struct explain_ids *ids;
    const struct explain_packet *packet;
    /* its newest copy, or the request of the READ of which it asks for the rest; NULL: none is in the
     * capture */
    const struct explain_sent *before;
    uint32_t psn, end_psn; /* end_psn: one past the PSNs that it takes */
    uint64_t now_ns;
    uint64_t silence_ns; /* since the newest sign that the sender's timer counts from; 0: none is known */
    bool is_proved;      /* no copy that the network made: it was sent again */
    bool is_next;        /* by identifications, nothing of this sender is missing directly before it */
    bool is_direct;      /* it is proved, and nothing that was sent just before it is missing */
    bool is_late;        /* others that left after it are here already */
};

/* The statement of a witness. `why` has the evidence of the silence when the witness is asked. */
struct explain_verdict {
    enum explain_again again;
    enum explain_fit fit;
    enum explain_strength strength;
    enum explain_fit rival_least; /* a rival is named beside it that fits so well */
    bool is_excluded;             /* as a rival: it cannot have been */
    struct explain_why why;
};

/* A witness judges a case by the facts that it alone sees. Returns false: it says nothing. */
typedef bool explain_witness(const struct explain_case *c, struct explain_verdict *v);

#endif
