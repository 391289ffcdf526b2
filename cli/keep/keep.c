/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic keep: ends the connections of programs that have died. Programs start it themselves. */
#define _GNU_SOURCE /* closefrom() */
#include <unistd.h>

#include "cli/cli.h"
#include "cli/option/option.h"
#include "host/keeper/keeper.h"

struct settings {
    char none;
};

static int run(void *options)
{
    struct nornic_error why;
    (void)options;
    closefrom(STDERR_FILENO + 1);
    return host_keeper_run(&why) == 0 ? CLI_OK : cli_fail("%s", why.text);
}

const struct cli_command keep_command = {
    .name = "keep",
    .summary = "disconnect for programs that have died; they start it themselves",
    .usage = "keep",
    .about =
        "Ends the connections of programs that have died, so that their peers hear of it at once. The "
        "first connection of a program starts it, and there is no need to. It serves all programs of a user "
        "in a network namespace, and ends when none of them has a connection manager with connections any "
        "more. NORNIC_KEEPER=never in the environment of a program does without it: docs/deaths.md.",
    .examples = "Example: without it, for a program whose peers shall run into their timers\n"
                "  $ NORNIC_KEEPER=never nornic run -- ./server\n",
    .status = {"all that there was to do is done, or another one does it", NULL,
               "the directory of this user "
               "cannot be used"},
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
