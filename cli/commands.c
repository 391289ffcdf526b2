/* SPDX-License-Identifier: BSD-2-Clause */
/* Which commands there are, and the one that tells of them. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/option/option.h"

extern const struct cli_command demo_command, pingpong_command, rping_command, udaddy_command,
    cmatose_command, rdma_client_command, rdma_server_command, smc_command, explain_command, header_command,
    replay_command, sniff_command, verify_command, perf_command, ports_command, stat_command, run_command,
    keep_command;

static const struct cli_command help_command;

const struct cli_command *const cli_commands[] = {
    &demo_command,    &help_command,        &pingpong_command,    &rping_command,  &udaddy_command,
    &cmatose_command, &rdma_client_command, &rdma_server_command, &smc_command,    &explain_command,
    &header_command,  &replay_command,      &sniff_command,       &verify_command, &perf_command,
    &ports_command,   &stat_command,        &run_command,         &keep_command,   NULL,
};

/* The one of `commands` whose last word is `word`. */
static const struct cli_command *find_in(const struct cli_command *const *commands, const char *word)
{
    for (; *commands; commands++) {
        const char *blank = strchr((*commands)->name, ' ');
        if (strcmp(blank ? blank + 1 : (*commands)->name, word) == 0)
            return *commands;
    }
    return NULL;
}

const struct cli_command *cli_command_find(char **name, int count, int *taken)
{
    const struct cli_command *outer = count > 0 ? find_in(cli_commands, name[0]) : NULL;
    const struct cli_command *inner =
        outer && outer->commands && count > 1 ? find_in(outer->commands, name[1]) : NULL;
    *taken = inner ? 2 : 1;
    return inner ? inner : outer;
}

/* --- nornic help --- */

struct settings {
    struct cli_words command;
    const char *shell;
    bool manual;
};

void cli_commands_print(FILE *out)
{
    fprintf(out,
            "Usage: nornic COMMAND [OPTION...]\n"
            "A software RNIC in userspace: RoCEv2 over UDP sockets, AF_XDP or AF_PACKET, and SMC-R, without\n"
            "RDMA hardware or kernel modules.\n"
            "\n"
            "Commands:\n");
    for (const struct cli_command *const *one = cli_commands; *one; one++)
        fprintf(out, "  %-11s %s\n", (*one)->name, (*one)->summary);
    fprintf(
        out,
        "\n"
        "`nornic help COMMAND` teaches one of them; `nornic --version` prints the version.\n"
        "Exit status: 0 success, 1 a negative result, 2 wrong usage or environment, 130 stopped by Ctrl-C\n"
        "before its end.\n");
}

static int run(void *options)
{
    const struct settings *s = options;
    if (s->manual) {
        cli_roff_print(stdout, cli_commands);
        return CLI_OK;
    }
    if (s->shell)
        return cli_completion_print(stdout, cli_commands, s->shell)
                   ? CLI_OK
                   : cli_fail("--completion %s: give bash, zsh or fish", s->shell);
    if (s->command.count == 0) {
        cli_commands_print(stdout);
        return CLI_OK;
    }
    int taken;
    const struct cli_command *command = cli_command_find(s->command.at, (int)s->command.count, &taken);
    if (!command || (unsigned)taken < s->command.count)
        return cli_fail("there is no command '%s%s%s'; `nornic help` lists them", s->command.at[0],
                        s->command.count > 1 ? " " : "", s->command.count > 1 ? s->command.at[1] : "");
    cli_help_print(stdout, command);
    return CLI_OK;
}

#define AT(member) CLI_SETS(struct settings, member)

static const struct cli_command help_command = {
    .name = "help",
    .summary = "explain a command: nornic help COMMAND",
    .usage = "help [COMMAND]\n"
             "help --completion SHELL",
    .about = "Explains a command, with examples; without one, lists them all. Each command explains itself "
             "with --help, too, wherever on its line that stands.",
    .groups = {{.rows =
                    (const struct cli_option[]){
                        {"completion", 0, "SHELL",
                         "print the script with which bash, zsh or fish completes command lines of nornic",
                         AT(shell), .kind = CLI_TEXT},
                        {"manual", 0, NULL, "as roff", AT(manual), .is_hidden = true},
                        {NULL},
                    }}},
    .operands = (const struct cli_operand[]){{.name = "COMMAND",
                                              .kind = CLI_TEXT,
                                              .is_optional = true,
                                              .is_many = true,
                                              .offset = offsetof(struct settings, command)},
                                             {NULL}},
    .examples = "Example:\n"
                "  $ nornic help smc listen\n"
                "  $ source <(nornic help --completion bash)\n",
    .status = {"explained", NULL, "there is no such command"},
    .settings_bytes = sizeof(struct settings),
    .run = run,
};
