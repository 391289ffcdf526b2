/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic smc`: what it has to offer. */
#include "cli/smc/smc.h"

#include "cli/cli.h"
#include "cli/option/option.h"

const struct cli_command smc_command = {
    .name = "smc",
    .summary = "bytes over SMC-R, as netcat moves them over TCP; and who uses SMC-R here",
    .usage = "smc COMMAND [OPTION...]",
    .about =
        "SMC-R (RFC 7609): TCP connections whose bytes travel by RDMA, over several links that stand in for "
        "each other. docs/smc.md is the guide.",
    .commands =
        (const struct cli_command *const[]){&smc_listen_command, &smc_connect_command, &smc_service_command,
                                            &smc_enable_command, &smc_disable_command, &smc_status_command,
                                            &smc_stat_command, &smc_ladder_command, NULL},
    .examples = "Example, as root on two machines:\n"
                "  server# nornic smc listen -d xdp:eth0 5000 > copy\n"
                "  client# nornic smc connect -d xdp:eth0 192.0.2.1 5000 < file\n",
};
