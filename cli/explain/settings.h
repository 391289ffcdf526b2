/* SPDX-License-Identifier: BSD-2-Clause */
/* The settings of one `nornic explain`. Internal to cli/explain/. */
#ifndef NORNIC_CLI_EXPLAIN_SETTINGS_H
#define NORNIC_CLI_EXPLAIN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/explain/quiz.h"
#include "cli/option/color.h"
#include "cli/option/option.h"
#include "cli/sandbox/sandbox.h"
#include "explain/show/filter.h"
#include "explain/show/line.h"

enum cli_explain_csv {
    CLI_CSV_NONE,
    CLI_CSV_OPERATIONS,
    CLI_CSV_FLOWS,
    CLI_CSV_IWARP_OPERATIONS,
    CLI_CSV_IWARP
};

/* The form of the output; none: a line a packet. */
struct cli_explain_form {
    bool json, boxes, ladder;
};

/* The page for a browser. */
struct cli_explain_page {
    const char *path; /* NULL: none is wanted */
    bool whole;       /* it keeps whole packets */
};

struct cli_explain_settings {
    struct cli_explain_form form;
    struct cli_explain_page page;
    bool all, iwarp, strict, join;
    struct cli_sandbox_options sandbox;
    const char *ifname;   /* NULL: files */
    uint64_t packets_max; /* end after so many that are shown; 0: no end */
    uint64_t duration_ns;
    uint64_t link_gbit; /* 0: not known */
    enum cli_explain_csv csv;
    const char *rule; /* the id of the rule to print; NULL: none */
    struct cli_quiz quiz;
    const char *filter_text;
    struct explain_filter *filter;
    enum cli_color color;
    struct cli_words files;
    struct explain_line_style style;
};

/* Reads the captures, or listens at the interface, and writes the output. Returns the exit status after a
 * sentence for each failure. */
int cli_explain_captures(const struct cli_explain_settings *settings);

#endif
