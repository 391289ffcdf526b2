/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/option/color.h"

#include <stdlib.h>
#include <unistd.h>

const char *const cli_color_words[] = {
    [CLI_COLOR_AUTO] = "auto", [CLI_COLOR_ALWAYS] = "always", [CLI_COLOR_NEVER] = "never", NULL};

bool cli_color_is_wanted(enum cli_color when, FILE *out)
{
    const char *no_color = getenv("NO_COLOR");
    if (when != CLI_COLOR_AUTO)
        return when == CLI_COLOR_ALWAYS;
    return isatty(fileno(out)) && !(no_color && no_color[0]);
}
