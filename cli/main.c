/* SPDX-License-Identifier: BSD-2-Clause */
/* The front of the `nornic` command: finds the sub-command and runs it. */
#include "base/base.h"
#include "cli/cli.h"
#include "nornic/version.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct cli_command {
    const char *name;
    const char *summary;
    int (*run)(int argc, char **argv);
};

static const struct cli_command commands[] = {
#define CLI_COMMAND_ROW_(id, name, summary) {name, summary, cli_##id},
    CLI_COMMANDS(CLI_COMMAND_ROW_)
#undef CLI_COMMAND_ROW_
};

static const struct cli_command *find(const char *name)
{
    for (size_t i = 0; i < array_len(commands); i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static void print_usage(FILE *to)
{
    fprintf(to, "Usage: nornic COMMAND [OPTION...]\n"
                "A software RNIC in userspace: RoCEv2 over AF_XDP, without RDMA hardware or kernel modules.\n"
                "\n"
                "Commands:\n");
    for (size_t i = 0; i < array_len(commands); i++)
        fprintf(to, "  %-11s %s\n", commands[i].name, commands[i].summary);
    fprintf(to, "\n"
                "`nornic help COMMAND` teaches one of them; `nornic --version` prints the version.\n"
                "Exit status: 0 success, 1 a negative result, 2 wrong usage or environment.\n");
}

static int run_command(const struct cli_command *command, int argc, char **argv)
{
    cli_command_set(command->name);
    int status = command->run(argc, argv);
    /* A full disk behind a redirected report must not look like success. */
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == CLI_OK)
        return cli_fail("cannot write to standard output");
    return status;
}

static int unknown(const char *name)
{
    cli_command_set("");
    return cli_fail("there is no command '%s'; `nornic --help` lists them", name);
}

int cli_help(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return CLI_OK;
    }
    const struct cli_command *command = find(argv[1]);
    if (!command)
        return unknown(argv[1]);
    char help[] = "--help";
    char *help_argv[] = {argv[1], help, NULL};
    return run_command(command, 2, help_argv);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_usage(stderr);
        return CLI_ERROR;
    }
    const char *first = argv[1];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0) {
        print_usage(stdout);
        return CLI_OK;
    }
    if (strcmp(first, "--version") == 0 || strcmp(first, "-V") == 0) {
        printf("nornic %s\n", nornic_version());
        return CLI_OK;
    }
    const struct cli_command *command = find(first);
    return command ? run_command(command, argc - 1, argv + 1) : unknown(first);
}
