/* SPDX-License-Identifier: BSD-2-Clause */
/* The device list: one device for each port that NORNIC_PORT names (separated by commas; docs/ports.md), or
 * else the udp port of the default route's interface. Naming costs nothing: a port is opened with its
 * device. */
#include "verbs/device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/port_default.h"
#include "net/kernel.h"

#define IWARP_PORT  "iwarp:"
#define DEVICES_MAX 16

/* --- names --- */

/* FNV-1a. */
static uint64_t hash(uint64_t so_far, const void *bytes, size_t count)
{
    const uint8_t *p = bytes;
    for (size_t i = 0; i < count; i++)
        so_far = (so_far ^ p[i]) * UINT64_C(0x100000001b3);
    return so_far;
}

/* The same each time for one port of one machine, and no other's: made of the interface's MAC and the port's
 * name, and marked as locally administered, as an EUI-64 is. */
static uint64_t guid_of(const char *port)
{
    const char *place = strchr(port, ':') ? strchr(port, ':') + 1 : port;
    struct net_interface interface = {.mac = {{0}}};
    struct nornic_error why;
    struct nornic_addr addr;
    uint8_t bytes[8];
    if (nornic_addr_parse(place, &addr) == 0)
        (void)net_interface_of_addr(&addr, &interface, &why); /* a GUID of zeros and the name will do */
    else
        (void)net_interface_get(place, &interface, &why);
    uint64_t sum = hash(UINT64_C(0xcbf29ce484222325), interface.mac.b, sizeof interface.mac.b);
    sum = hash(sum, port, strlen(port));
    memcpy(bytes, &sum, sizeof bytes);
    bytes[0] = (uint8_t)((bytes[0] & 0xfc) | 2);
    memcpy(&sum, bytes, sizeof sum);
    return sum;
}

static struct verbs_device *new_device(const char *port, size_t port_bytes, int index)
{
    struct verbs_device *device = calloc(1, sizeof *device);
    if (!device)
        return NULL;
    bool is_iwarp = strncmp(port, IWARP_PORT, strlen(IWARP_PORT)) == 0;
    device->base.node_type = is_iwarp ? IBV_NODE_RNIC : IBV_NODE_CA;
    device->base.transport_type = is_iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
    device->index = index;
    atomic_init(&device->users, 1);
    snprintf(device->port, sizeof device->port, "%.*s", (int)port_bytes, port);
    snprintf(device->base.name, sizeof device->base.name, "nornic%d", index);
    snprintf(device->base.dev_name, sizeof device->base.dev_name, "uverbs%d", index);
    snprintf(device->base.dev_path, sizeof device->base.dev_path, "/sys/class/infiniband_verbs/uverbs%d",
             index);
    snprintf(device->base.ibdev_path, sizeof device->base.ibdev_path, "/sys/class/infiniband/nornic%d",
             index);
    device->guid = guid_of(device->port);
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

/* The names of all ports, separated by commas. */
static void list_ports(char *out, size_t out_bytes)
{
    const char *named = getenv("NORNIC_PORT");
    struct host_port_default found;
    struct nornic_error why;
    if (named && *named)
        snprintf(out, out_bytes, "%s", named);
    else if (host_port_default(NULL, NULL, &found, &why) == 0)
        snprintf(out, out_bytes, "%s", found.udp);
    else
        snprintf(out, out_bytes, "udp:127.0.0.1");
}

/* --- the list --- */

struct ibv_device **ibv_get_device_list(int *num_devices)
{
    char ports[1024];
    int count = 0;
    struct ibv_device **list = calloc(DEVICES_MAX + 1, sizeof(struct ibv_device *));
    if (!list)
        return verbs_fail_null(ENOMEM, "no memory for the list of devices");
    list_ports(ports, sizeof ports);
    for (const char *at = ports; *at && count < DEVICES_MAX;) {
        size_t bytes = strcspn(at, ", ");
        struct verbs_device *device =
            bytes && bytes < VERBS_PORT_NAME_SIZE ? new_device(at, bytes, count) : NULL;
        if (device)
            list[count++] = &device->base;
        at += bytes + strspn(at + bytes, ", ");
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
