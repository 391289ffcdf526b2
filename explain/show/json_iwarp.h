/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said of iWARP, as JSON. */
#ifndef NORNIC_EXPLAIN_SHOW_JSON_IWARP_H
#define NORNIC_EXPLAIN_SHOW_JSON_IWARP_H

#include "explain/analysis.h"
#include "explain/show/text.h"

/* Appends ,"iwarp":{...}: the connection that a packet is of, and the FPDUs that it completes. */
void explain_json_iwarp(struct explain_text *out, const struct explain_meaning *meaning);
/* Appends the object of a connection. */
void explain_json_iwarp_conn(struct explain_text *out, const struct explain_iwarp_conn *conn);

#endif
