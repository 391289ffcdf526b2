/* SPDX-License-Identifier: BSD-2-Clause */
/* The front of the `nornic` command: finds the sub-command, reads its options and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/option/option.h"
#include "cli/stop.h"
#include "nornic/version.h"

/* Whoever starts us with one of descriptors 0 to 2 closed gets an error where it is used. Left closed, it
 * would become whatever is opened next, an eventfd or a socket, and that would take our output. So each
 * is opened the wrong way round: what is written to a standard output that is closed fails. */
static void occupy_standard_descriptors(void)
{
    static const int modes[3] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", modes[fd]) != fd)
            _exit(CLI_ERROR);
}

/* A full disk behind a redirected report must not look like success. */
static int end_output(int status)
{
    bool had_failed = ferror(stdout) != 0;
    errno = 0;
    if (fflush(stdout) == 0 && !had_failed)
        return status;
    const char *why = errno ? strerror(errno) : "an earlier part of it could not be written";
    return status == CLI_OK ? cli_fail("cannot write to standard output: %s", why) : status;
}

/* A command that is only a name for others. */
static int run_group(const struct cli_command *command, int argc, char **argv)
{
    char names[128] = "";
    size_t len = 0, skip = strlen(command->name) + 1;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        cli_help_print(stdout, command);
        return end_output(CLI_OK);
    }
    for (const struct cli_command *const *one = command->commands; *one && len < sizeof names; one++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%s",
                                len == 0  ? ""
                                : !one[1] ? " or "
                                          : ", ",
                                (*one)->name + skip);
    if (argc > 1)
        return cli_fail("there is no `nornic %s %s`: say %s; see `nornic help %s`", command->name, argv[1],
                        names, command->name);
    return cli_fail("say what: %s; see `nornic help %s`", names, command->name);
}

static int run_command(const struct cli_command *command, int argc, char **argv)
{
    cli_command_set(command->name);
    if (command->commands)
        return run_group(command, argc, argv);
    void *settings = calloc(1, command->settings_bytes);
    if (!settings)
        return cli_fail("out of memory");
    int status = cli_parse(command, argc, argv, settings);
    if (status == CLI_OK)
        status = command->run(settings);
    else if (status == CLI_HELP)
        status = CLI_OK;
    free(settings);
    status = end_output(status);
    /* What a signal has cut short has not failed. */
    return status != CLI_OK && cli_stopped() ? 128 + cli_stop_signal() : status;
}

int main(int argc, char **argv)
{
    occupy_standard_descriptors();
    if (argc < 2) {
        cli_commands_print(stderr);
        return CLI_ERROR;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_commands_print(stdout);
        return end_output(CLI_OK);
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("nornic %s\n", nornic_version());
        return end_output(CLI_OK);
    }
    int taken;
    const struct cli_command *command = cli_command_find(argv + 1, argc - 1, &taken);
    if (!command)
        return cli_fail("there is no command '%s'; `nornic help` lists them", argv[1]);
    return run_command(command, argc - taken, argv + taken);
}
