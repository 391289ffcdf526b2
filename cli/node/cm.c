/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/node/cm.h"

#include "cli/cli.h"

static int on_event(const struct cli_node *node, const struct cli_cm_ops *ops, void *ctx,
                    const struct nornic_cm_event *event, bool *refused)
{
    switch (event->type) {
    case NORNIC_CM_EVENT_ADDR_RESOLVED:
        return nornic_cm_id_resolve_route(event->id) == 0 ? CLI_OK : cli_fail("cannot resolve the route");
    case NORNIC_CM_EVENT_ROUTE_RESOLVED:
        return ops->on_route(ctx, event->id);
    case NORNIC_CM_EVENT_ADDR_ERROR:
        return cli_fail("%s", event->why.text);
    case NORNIC_CM_EVENT_CONNECT_REQUEST:
        return ops->on_request(ctx, event, refused);
    case NORNIC_CM_EVENT_ESTABLISHED:
        return ops->on_established(ctx, event);
    case NORNIC_CM_EVENT_DISCONNECTED:
        return ops->on_disconnected(ctx, event);
    case NORNIC_CM_EVENT_REJECTED:
    case NORNIC_CM_EVENT_UNREACHABLE:
    case NORNIC_CM_EVENT_CONNECT_ERROR:
    case NORNIC_CM_EVENT_ROUTE_ERROR:
        return ops->on_failure(ctx, event);
    case NORNIC_CM_EVENT_DEVICE_REMOVAL:
        return cli_fail("the interface of port %s is gone", cli_node_port_name(node));
    case NORNIC_CM_EVENT_CONNECT_RESPONSE:
    case NORNIC_CM_EVENT_MULTICAST_JOIN:
    case NORNIC_CM_EVENT_MULTICAST_ERROR:
    case NORNIC_CM_EVENT_ADDR_CHANGE:
    case NORNIC_CM_EVENT_TIMEWAIT_EXIT:
        break;
    }
    return CLI_OK;
}

int cli_cm_handle_events(struct nornic_cm *cm, const struct cli_node *node, const struct cli_cm_ops *ops,
                         void *ctx, bool *did)
{
    struct nornic_cm_event *event;
    int err = CLI_OK;
    while (err == CLI_OK && nornic_cm_get_event(cm, &event, 0) == 0) {
        bool refused = false;
        struct nornic_cm_id *id = event->id;
        err = on_event(node, ops, ctx, event, &refused);
        nornic_cm_ack_event(event);
        if (refused) /* once its event is acknowledged */
            nornic_cm_id_destroy(id);
        *did = true;
    }
    return err;
}
