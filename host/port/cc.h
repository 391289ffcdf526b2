/* SPDX-License-Identifier: BSD-2-Clause */
/* Parameters of congestion management as text: --cc of the commands, cc= of a port's name. */
#ifndef NORNIC_HOST_PORT_CC_H
#define NORNIC_HOST_PORT_CC_H

#include "net/error.h"
#include "roce/cc_config.h"

/* Reads settings NAME=VALUE with `separator` between them, or none, and switches congestion management on.
 * The names are those of docs/congestion.md. 0, or -EINVAL with a sentence that begins with the setting. */
int host_port_cc(const char *text, char separator, struct roce_cc_config *out, struct nornic_error *why);

#endif
