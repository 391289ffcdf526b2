/* SPDX-License-Identifier: BSD-2-Clause */
/* --cc: congestion management and its parameters. */
#ifndef NORNIC_CLI_OPTION_CC_H
#define NORNIC_CLI_OPTION_CC_H

#include "roce/cc_config.h"

/* Reads "NAME=VALUE,NAME=VALUE...", or nothing (NULL), and switches congestion management on. CLI_OK, or
 * CLI_ERROR after one sentence that names the setting and what is accepted. */
int cli_parse_cc(const char *text, struct roce_cc_config *out);

#endif
