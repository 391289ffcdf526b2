/* SPDX-License-Identifier: BSD-2-Clause */
/* What a trace hook of SMC-R sees: every message and every change of a state, with its cause in words. */
#ifndef NORNIC_SMCR_TRACE_H
#define NORNIC_SMCR_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

struct smcr_conn;
struct smcr_group;
struct smcr_link;

enum smcr_trace_type {
    SMCR_TRACE_CLC_TX,
    SMCR_TRACE_CLC_RX,
    SMCR_TRACE_LLC_TX,
    SMCR_TRACE_LLC_RX,
    SMCR_TRACE_CDC_TX,
    SMCR_TRACE_CDC_RX,
    SMCR_TRACE_CONN,  /* its state changed */
    SMCR_TRACE_LINK,  /* its state changed */
    SMCR_TRACE_GROUP, /* its redundancy changed, or it came or went */
    SMCR_TRACE_MOVED, /* a connection sends over `link` from now on */
    SMCR_TRACE_DROP,  /* a message was not taken */
};

struct smcr_trace {
    enum smcr_trace_type type;
    uint64_t now_ns;
    const struct smcr_group *group; /* these three: those that it concerns; else NULL */
    const struct smcr_link *link;
    const struct smcr_conn *conn;
    const uint8_t *message; /* of the first six and DROP; borrowed for the call */
    size_t len_bytes;
    const char *from, *to; /* names of states, of the changes */
    const char *cause;     /* in words; may be NULL */
};

/* Must not call back into the instance. */
typedef void smcr_trace_hook(void *ctx, const struct smcr_trace *trace);

NORNIC_END_DECLS

#endif
