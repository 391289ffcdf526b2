/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture as one HTML page that needs nothing else: no network, no further file. The page holds the tables
 * of all headers (net/field.h) once and a line a packet with its first bytes; its script reads the fields out
 * of these bytes by the tables, so that no header is described twice. Streams: memory is bounded by the
 * dictionaries, whatever the number of packets. */
#ifndef NORNIC_EXPLAIN_PAGE_HTML_H
#define NORNIC_EXPLAIN_PAGE_HTML_H

#include "explain/analysis.h"
#include "explain/show/text.h"
#include "explain/story/story.h"

#define EXPLAIN_HTML_FRAME_BYTES 384 /* of a frame are kept at the most, if not all */
#define EXPLAIN_HTML_DATA_BYTES  16  /* of a message's data are kept at the most */

struct explain_html;

/* With `is_whole` the page keeps every byte that was captured. NULL: no memory. */
struct explain_html *explain_html_create(bool is_whole);
void explain_html_destroy(struct explain_html *html);

/* Where a packet of two joined captures was seen. */
struct explain_html_ends {
    unsigned from;             /* 0: it left the end of the first file; 1: that of the second */
    const char *fate, *sure;   /* what became of it, and how sure that is: keys of JSON */
    bool is_overtaken, has[2]; /* [0]: the first file has it */
    uint64_t time_ns[2];       /* when, by the clock of the first */
};

/* Each appends the next part of the page to `out`, which the caller writes out and clears as it likes: first
 * begin, then a capture, then end, once. A capture is open, for each file its name and its packets in the
 * order of the analysis, the findings of the end, and close. A page may hold several: those of lessons, whose
 * `tour` names them by the keys of explain/page/tours.js, with blanks between; a page about a capture of the
 * user's has one, and tour NULL. A packet may be left out (a filter): its number tells. `out->failed` tells
 * of missing memory. */
void explain_html_begin(struct explain_html *html, struct explain_text *out);
void explain_html_open(struct explain_html *html, struct explain_text *out, const char *tour);
void explain_html_file(struct explain_html *html, struct explain_text *out, const char *name);
void explain_html_packet(struct explain_html *html, struct explain_text *out,
                         const struct explain_packet *packet, const struct explain_meaning *meaning);
/* Of the packet that was appended last. */
void explain_html_ends(struct explain_html *html, struct explain_text *out,
                       const struct explain_html_ends *ends);
/* Behind the packet that completes it. */
void explain_html_operation(struct explain_text *out, const struct explain_operation *operation);
void explain_html_finding(struct explain_html *html, struct explain_text *out,
                          const struct explain_finding *finding);
/* `total` packets were read; `analysis` knows the flows; `story` is the capture in a few sentences, a line
 * each. */
void explain_html_close(struct explain_html *html, struct explain_text *out, uint64_t total,
                        const struct explain_analysis *analysis, const char *story);
void explain_html_end(struct explain_html *html, struct explain_text *out);

#endif
