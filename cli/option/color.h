/* SPDX-License-Identifier: BSD-2-Clause */
/* --color WHEN, the same in every command that can write in colours. */
#ifndef NORNIC_CLI_OPTION_COLOR_H
#define NORNIC_CLI_OPTION_COLOR_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/option/option.h"

enum cli_color { CLI_COLOR_AUTO, CLI_COLOR_ALWAYS, CLI_COLOR_NEVER };

extern const char *const cli_color_words[];

/* The rows; `member` is the enum cli_color in a struct `type`. */
#define CLI_COLOR_ROWS(type, member)                                              \
    {"color",                                                                     \
     0,                                                                           \
     "WHEN",                                                                      \
     "%r; auto is on a terminal where NO_COLOR is not set",                       \
     CLI_SETS(type, member),                                                      \
     CLI_TAKES_ONE_OF(cli_color_words),                                           \
     .preset = "auto",                                                            \
     .also = {"colour"}},                                                         \
    {                                                                             \
        "no-color", 0, NULL, "the same as --color=never", CLI_SETS(type, member), \
            CLI_MEANS(CLI_COLOR_NEVER), .is_hidden = true                         \
    }

/* Whether what goes to `out` is to be coloured. */
bool cli_color_is_wanted(enum cli_color when, FILE *out);

#endif
