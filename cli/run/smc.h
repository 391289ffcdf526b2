/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NORNIC_CLI_RUN_SMC_H
#define NORNIC_CLI_RUN_SMC_H

#include <limits.h>

struct run_smc {
    const char *ports;   /* separated by commas; NULL: as `nornic smc service` chooses */
    const char *socket;  /* of the service; NULL: this user's, in this network namespace */
    const char *ueid;    /* NULL: none */
    const char *peers;   /* separated by commas; NULL: whoever offers by the TCP option */
    const char *capture; /* NULL: none */
};

/* Makes of this process one whose TCP connections go by SMC-R where the peer does so, too: starts the
 * service if none runs, enters its cgroup, and has `library` loaded before the C library. CLI_OK, or
 * CLI_ERROR after the sentence that says why. */
int run_smc_prepare(const struct run_smc *options, const char *library);

#endif
