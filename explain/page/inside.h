/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the page writer. Only explain/page/ includes this. */
#ifndef NORNIC_EXPLAIN_PAGE_INSIDE_H
#define NORNIC_EXPLAIN_PAGE_INSIDE_H

#include "explain/analysis.h"
#include "explain/show/glossary.h"
#include "explain/show/text.h"

#define HTML_DICT_MAX   4096 /* texts; what comes after is written out each time */
#define HTML_DICT_SLOTS 8192 /* a power of two, more than HTML_DICT_MAX */

/* Texts that come again and again, by number in the order of their first use. All zero: empty. */
struct explain_html_dict {
    char *texts[HTML_DICT_MAX];
    uint16_t slots[HTML_DICT_SLOTS]; /* number + 1; 0: free */
    unsigned count;
};

/* The number of `text`, which is added when it is new (*is_new); -1: there is no room for it. */
int explain_html_dict_number(struct explain_html_dict *dict, const char *text, bool *is_new);
void explain_html_dict_free(struct explain_html_dict *dict);

/* Appends `text` so that it stays on its line and cannot end the <script> that it stands in: \\ for \, \l for
 * <, \n, \t, \r. */
void explain_html_put_safe(struct explain_text *out, const char *text);
/* Appends the base64 of `n` bytes, without padding. */
void explain_html_put_base64(struct explain_text *out, const uint8_t *bytes, size_t n);
/* Splits `words` into what stays the same from packet to packet, with \# for each number, and the numbers,
 * each after a blank. */
void explain_html_split_words(const char *words, struct explain_text *frame, struct explain_text *numbers);

/* Appends the tables as a JSON object's members: headers, findings, causes, verdicts. */
void explain_html_put_tables(struct explain_text *out);
/* Appends the member rules: what those say that fields or findings name. */
void explain_html_put_rules(struct explain_text *out, const struct explain_glossary *named);
/* Appends the members flows and forgotten. */
void explain_html_put_flows(struct explain_text *out, const struct explain_analysis *analysis);

/* Appends the members groups and connections: those of SMC-R. */
void explain_html_put_smc(struct explain_text *out, const struct explain_analysis *analysis);
/* Appends the member iwarp: connections of it. */
void explain_html_put_iwarp(struct explain_text *out, const struct explain_analysis *analysis);

/* explain/page/: each a string. */
extern const char explain_page_html[], explain_page_css[], explain_page_js[], explain_page_words[];

#endif
