/* SPDX-License-Identifier: BSD-2-Clause */
/* The options that impair a port, as rows of several commands. */
#ifndef NORNIC_CLI_IMPAIR_ROWS_H
#define NORNIC_CLI_IMPAIR_ROWS_H

#include "cli/option/option.h"

/* Lists the rows for a member `impair` of type struct nornic_impair. AT_(member) gives offset and width of a
 * member of the command's struct (CLI_SETS). */
#define CLI_IMPAIR_ROWS(AT_)                                                                               \
    CLI_IMPAIR_RATE_(AT_, "loss", loss_ppm, "lose frames, such as 1% or 200ppm, of both directions"),      \
        CLI_IMPAIR_RATE_(AT_, "duplicate", duplicate_ppm, "send frames twice"),                            \
        CLI_IMPAIR_RATE_(AT_, "reorder", reorder_ppm, "let frames be overtaken"),                          \
        CLI_IMPAIR_RATE_(AT_, "corrupt", corrupt_ppm, "flip a bit of frames"),                             \
        CLI_IMPAIR_RATE_(AT_, "ecn", ecn_ppm, "mark frames \"congestion experienced\", as a router does"), \
        CLI_IMPAIR_SEED_ROW(AT_)
/* The row of the seed alone. */
#define CLI_IMPAIR_SEED_ROW(AT_)                                                                         \
    {                                                                                                    \
        "seed", 0, "NUMBER", "which frames these are", AT_(impair.seed), CLI_TAKES_COUNT(0, UINT64_MAX), \
            .preset = "1"                                                                                \
    }
#define CLI_IMPAIR_RATE_(AT_, name_, member_, help_)                   \
    {                                                                  \
        name_, 0, "RATE", help_, AT_(impair.member_), .kind = CLI_RATE \
    }

#endif
