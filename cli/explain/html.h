/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic explain --html OUT`: the page into a file, with progress on a terminal. */
#ifndef NORNIC_CLI_EXPLAIN_HTML_H
#define NORNIC_CLI_EXPLAIN_HTML_H

#include "explain/join/join.h"
#include "explain/story/numbers.h"

struct cli_page;

/* Opens `path` ("-": standard output) and writes the head of the page. NULL, after a sentence for the user,
 * when that fails. `path` is kept. With `is_whole` the page keeps every byte that was captured. */
struct cli_page *cli_page_open(const char *path, bool is_whole);

/* In the order of explain/page/html.h: a page has one capture, or several with lessons. What cannot be
 * written is told by cli_page_close(). */
void cli_page_capture(struct cli_page *page, const char *tour);
void cli_page_file(struct cli_page *page, const char *name);
void cli_page_packet(struct cli_page *page, const struct explain_packet *packet,
                     const struct explain_meaning *meaning);
/* Of the packet before, with --join. */
void cli_page_ends(struct cli_page *page, const struct explain_join_place *place);
void cli_page_operation(struct cli_page *page, const struct explain_operation *operation);
void cli_page_finding(struct cli_page *page, const struct explain_finding *finding);

/* The capture ends; `total` packets of it were read; `story` has a sentence a line. */
void cli_page_capture_end(struct cli_page *page, uint64_t total, const struct explain_analysis *analysis,
                          const char *story);

/* Ends the page and frees it. CLI_OK; or CLI_ERROR after a sentence: the
 * file is then removed (what is no regular file stays). */
int cli_page_close(struct cli_page *page);

#endif
