/* SPDX-License-Identifier: BSD-2-Clause */
/* The device list: one device for each port that NORNIC_PORT names (separated by commas; docs/ports.md), or
 * else the udp port of the default route's interface. Naming costs nothing: a port is opened with its
 * device. */
#include "verbs/device/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/port/names.h"

static struct verbs_device *new_device(const char *port, int index)
{
    struct verbs_device *device = calloc(1, sizeof *device);
    if (!device)
        return NULL;
    bool is_iwarp = host_port_is_iwarp(port);
    device->base.node_type = is_iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
    device->base.transport_type = is_iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
    device->index = index;
    atomic_init(&device->users, 1);
    snprintf(device->port, sizeof device->port, "%s", port);
    snprintf(device->base.name, sizeof device->base.name, "nornic%d", index);
    snprintf(device->base.dev_name, sizeof device->base.dev_name, "uverbs%d", index);
    snprintf(device->base.dev_path, sizeof device->base.dev_path, "/sys/class/infiniband_verbs/uverbs%d",
             index);
    snprintf(device->base.ibdev_path, sizeof device->base.ibdev_path, "/sys/class/infiniband/nornic%d",
             index);
    device->guid = host_port_guid(device->port);
    return device;
}

void verbs_device_get(struct verbs_device *device)
{
    atomic_fetch_add(&device->users, 1);
}

void verbs_device_put(struct verbs_device *device)
{
    if (atomic_fetch_sub(&device->users, 1) == 1)
        free(device);
}

/* --- the list --- */

struct ibv_device **ibv_get_device_list(int *num_devices)
{
    struct host_port_names ports;
    int count = 0;
    struct ibv_device **list = calloc(HOST_PORT_NAMES_MAX + 1, sizeof(struct ibv_device *));
    if (!list)
        return verbs_fail_null(ENOMEM, "no memory for the list of devices");
    host_port_names(getenv("NORNIC_PORT"), &ports);
    if (ports.left_out)
        verbs_say(0,
                  "NORNIC_PORT names %u ports: the last %u are left out, as a process has %u devices at most",
                  ports.count + ports.left_out, ports.left_out, HOST_PORT_NAMES_MAX);
    for (unsigned i = 0; i < ports.count; i++) {
        struct verbs_device *device = new_device(ports.at[i], count);
        if (device)
            list[count++] = &device->base;
    }
    if (num_devices)
        *num_devices = count;
    return list;
}

void ibv_free_device_list(struct ibv_device **list)
{
    for (struct ibv_device **one = list; *one; one++)
        verbs_device_put((struct verbs_device *)(void *)*one);
    free(list);
}

const char *ibv_get_device_name(struct ibv_device *device)
{
    return device->name;
}

int ibv_get_device_index(struct ibv_device *device)
{
    return ((struct verbs_device *)(void *)device)->index;
}

__be64 ibv_get_device_guid(struct ibv_device *device)
{
    return ((struct verbs_device *)(void *)device)->guid;
}
