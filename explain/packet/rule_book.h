/* SPDX-License-Identifier: BSD-2-Clause */
/* What the rules say: docs/rules.txt, which travels inside the library. */
#ifndef NORNIC_EXPLAIN_PACKET_RULE_BOOK_H
#define NORNIC_EXPLAIN_PACKET_RULE_BOOK_H

#include <stdbool.h>

#define EXPLAIN_RULE_ID_SIZE 24

/* An entry; each string ends with a NUL. */
struct explain_rule {
    char id[EXPLAIN_RULE_ID_SIZE]; /* "ROCE-RS-11" */
    char name[96];                 /* "RNR NAK" */
    char text[600];                /* one plain sentence or two */
    char source[160];              /* "IBA 9.7.5.2.8, Linux hfi1" */
};

/* The entry of an id. False: there is none. */
bool explain_rule_find(const char *id, struct explain_rule *rule);

/* Goes through the book in its order: the entry at *place, which begins as NULL and becomes the next one's.
 * False: there are no more. */
bool explain_rule_next(const char **place, struct explain_rule *rule);

#endif
