/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic smc`: finds the sub-command. */
#include "base/base.h"
#include "cli/smc/smc.h"

#include <string.h>

#include "cli/cli.h"

static const char help[] =
    "Usage: nornic smc COMMAND [OPTION...]\n"
    "SMC-R (RFC 7609): TCP connections whose bytes travel by RDMA, over several links that stand in for\n"
    "each other.\n"
    "\n"
    "  listen    wait for a connection; its bytes to standard output or a file, and back\n"
    "  connect   connect; standard input or a file to the other end, and back\n"
    "  stat      what the processes of this machine do by SMC-R: groups, links, connections, counters\n"
    "  ladder    draw what two --trace files tell, side by side\n"
    "\n"
    "`nornic smc COMMAND --help` teaches one of them. docs/smc.md is the guide.\n"
    "\n"
    "Example, as root on two machines:\n"
    "  server# nornic smc listen -d xdp:eth0 5000 > copy\n"
    "  client# nornic smc connect -d xdp:eth0 192.0.2.1 5000 < file\n";

static int run(int argc, char **argv, bool listen)
{
    static struct smc_options options;
    int err = smc_parse(argc, argv, listen, &options);
    if (err != CLI_OK)
        return err < 0 ? CLI_OK : err;
    return smc_session(&options);
}

static int run_listen(int argc, char **argv)
{
    return run(argc, argv, true);
}

static int run_connect(int argc, char **argv)
{
    return run(argc, argv, false);
}

int cli_smc(int argc, char **argv)
{
    static const struct {
        const char *name, *full_name;
        int (*run)(int argc, char **argv);
    } commands[] = {
        {"listen", "smc listen", run_listen},
        {"connect", "smc connect", run_connect},
        {"stat", "smc stat", smc_stat},
        {"ladder", "smc ladder", smc_ladder},
    };
    if (argc < 2)
        return cli_fail("say what: listen, connect, stat or ladder; see `nornic help smc`");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        fputs(help, stdout);
        return CLI_OK;
    }
    for (size_t i = 0; i < array_len(commands); i++) {
        if (strcmp(commands[i].name, argv[1]) != 0)
            continue;
        cli_command_set(commands[i].full_name);
        return commands[i].run(argc - 1, argv + 1);
    }
    return cli_fail("there is no `nornic smc %s`; there are listen, connect, stat and ladder", argv[1]);
}
