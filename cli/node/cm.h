/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of a connection manager, for commands that connect by one: the loop that takes them, and what
 * all commands do alike. */
#ifndef NORNIC_CLI_NODE_CM_H
#define NORNIC_CLI_NODE_CM_H

#include <stdbool.h>

#include "cli/node/node.h"

/* What a command does itself. Each returns CLI_OK, or another exit status after a sentence. */
struct cli_cm_ops {
    int (*on_route)(void *ctx, struct nornic_cm_id *id); /* it may connect now */
    /* `*refused`: the event's id is to be destroyed, which refuses it. */
    int (*on_request)(void *ctx, const struct nornic_cm_event *event, bool *refused);
    int (*on_established)(void *ctx, const struct nornic_cm_event *event);
    int (*on_disconnected)(void *ctx, const struct nornic_cm_event *event);
    /* REJECTED, UNREACHABLE, CONNECT_ERROR or ROUTE_ERROR. */
    int (*on_failure)(void *ctx, const struct nornic_cm_event *event);
};

/* Handles all events that wait, with `ctx` for the command's part. `*did`: set if there was one. CLI_OK, or
 * what went wrong first. */
int cli_cm_handle_events(struct nornic_cm *cm, const struct cli_node *node, const struct cli_cm_ops *ops,
                         void *ctx, bool *did);

#endif
