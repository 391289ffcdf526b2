/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic explain --quiz: the exercises of docs/exercises.txt, asked on the terminal. */
#ifndef NORNIC_CLI_EXPLAIN_QUIZ_H
#define NORNIC_CLI_EXPLAIN_QUIZ_H

#include <stdbool.h>

#include "cli/option/option.h"
#include "cli/sandbox/sandbox.h"

struct cli_quiz {
    const char *topic; /* "loss", "loss-2", "all", or "list"; NULL: no quiz */
    bool answers;      /* tell the answers, ask nothing */
};

/* The rows of `member`, a struct cli_quiz of `type`. */
#define CLI_QUIZ_ROWS(type, member)                                                                  \
    {"quiz",                                                                                         \
     0,                                                                                              \
     "TOPIC",                                                                                        \
     "exercises about the captures in pcaps/ (or in the directory that is named instead of a "       \
     "FILE): loss, rnr, ..., one of them (loss-2), or all; list says which there are. Asks, reads "  \
     "answers from standard input, and checks them against the capture",                             \
     CLI_SETS(type, member.topic),                                                                   \
     .kind = CLI_TEXT},                                                                              \
    {                                                                                                \
        "answers", 0, NULL, "with --quiz: tell the answers and why; with --json an object for each", \
            CLI_SETS(type, member.answers)                                                           \
    }

/* Does what `quiz` says with the captures of `directory` (NULL: pcaps). CLI_OK; CLI_NEGATIVE: not all was
 * answered rightly; CLI_ERROR after a sentence. */
int cli_explain_quiz(const struct cli_quiz *quiz, const struct cli_sandbox_options *sandbox,
                     const char *directory, bool as_json, unsigned columns);

#endif
