/* SPDX-License-Identifier: BSD-2-Clause */
/* The ports of a command that was told none. */
#ifndef NORNIC_CLI_NODE_CHOOSE_H
#define NORNIC_CLI_NODE_CHOOSE_H

#include "host/port/default.h"

/* The ports that lead to `host`, a name or an address (NULL: a server), with the own address `bind` (NULL:
 * any). CLI_OK or CLI_ERROR. */
int cli_node_choose_port(const char *host, const char *bind, struct host_port_default *out);

#endif
