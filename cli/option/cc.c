/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/option/cc.h"

#include "cli/cli.h"
#include "host/port/cc.h"

int cli_parse_cc(const char *text, struct roce_cc_config *out)
{
    struct nornic_error why;
    return host_port_cc(text ? text : "", ',', out, &why) ? cli_fail("--cc %s", why.text) : CLI_OK;
}
