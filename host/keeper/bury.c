/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends the connections of a dead process. A device on the port of that process, with the numbers of that
 * process, gets the answers. Its CM sends the DREQs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "base/base.h"
#include "host/cm/bury.h"
#include "host/keeper/keeper.h"
#include "net/share/ledger.h"

#define LIMIT_NS (1500 * NS_PER_MS)
#define NAP_NS   (20 * NS_PER_MS)
#define OPEN_NS  NS_PER_S

struct estate {
    struct net_ledger_head head;
    struct roce_cm_connection *connections;
    unsigned count;
};

static void read_estate(const struct net_ledger *ledger, struct estate *out)
{
    struct roce_cm_connection c, *grown;
    uint32_t row = 0;
    unsigned bad = 0;
    while (net_ledger_read(ledger, &row, &c, sizeof c, &bad)) {
        grown = realloc(out->connections, (out->count + 1) * sizeof c);
        if (!grown)
            break;
        out->connections = grown;
        out->connections[out->count++] = c;
    }
    if (bad)
        syslog(LOG_USER | LOG_WARNING,
               "nornic: %u connections of %s (process %u) cannot be ended: their records in %s are not sound",
               bad, out->head.name, out->head.pid, ledger->path);
}

/* --- the device --- */

static int open_port(const char *port, uint32_t first_qpn, struct host_dev **out)
{
    const struct host_dev_config config = {
        .port = port, .first_qpn = first_qpn, .no_thread = true, .is_keeper = true};
    return host_dev_open(&config, out, NULL);
}

/* Opens a device by the name and the numbers of the dead process. A child of that process may still have
 * the numbers; then others do: the DREQs arrive, and only the DREPs go astray. A packet port serves for
 * an xdp port, and a udp port for both if the keeper lacks the privilege. */
static int open_device(const struct estate *estate, struct host_dev **out)
{
    const struct net_ledger_head *head = &estate->head;
    uint32_t first_qpn = head->slot < NET_SHARE_SLOTS ? (uint32_t)head->slot << NET_SHARE_SLOT_BITS : 0;
    char packet[NET_LEDGER_PORT_BYTES + 8] = "", udp[NORNIC_ADDR_STR_SIZE + 8], addr[NORNIC_ADDR_STR_SIZE];
    if (strncmp(head->port, "xdp:", 4) == 0)
        snprintf(packet, sizeof packet, "packet:%.*s", (int)strcspn(head->port + 4, ":"), head->port + 4);
    nornic_addr_str(&estate->connections[0].local, addr);
    snprintf(udp, sizeof udp, "udp:%s", addr);
    const struct {
        const char *port;
        uint32_t first_qpn;
    } ways[] = {{packet, first_qpn}, {head->port, first_qpn}, {head->port, 0}, {udp, 0}};
    int err = -ENODEV;
    for (unsigned i = 0; i < array_len(ways) && err; i++)
        if (ways[i].port[0])
            err = open_port(ways[i].port, ways[i].first_qpn, out);
    return err;
}

/* Tries again for a while: the kernel takes back the XDP program and the sockets of a process after its
 * locks. */
static int open_soon(const struct estate *estate, struct host_dev **out)
{
    static const struct timespec pause = {.tv_nsec = NAP_NS};
    uint64_t end_ns = host_now_ns() + OPEN_NS;
    int err = open_device(estate, out);
    while (err && host_now_ns() < end_ns) {
        nanosleep(&pause, NULL);
        err = open_device(estate, out);
    }
    return err;
}

/* --- the end --- */

static void end_connections(struct host_dev *dev, const struct estate *estate)
{
    const struct host_cm_config config = {.is_keeper = true};
    struct host_cm *cm;
    if (host_cm_open(dev, &config, &cm, NULL) != 0)
        return;
    uint64_t end_ns = host_now_ns() + LIMIT_NS;
    (void)host_cm_bury(cm, estate->connections, estate->count);
    while (host_cm_is_burying(cm) && host_now_ns() < end_ns)
        if (!host_round(dev, NULL))
            host_dev_wait(dev, NAP_NS);
    (void)host_cm_close(cm);
}

void host_keeper_bury(struct net_ledger *ledger)
{
    struct estate estate = {.count = 0};
    struct host_dev *dev;
    if (net_ledger_read_head(ledger, &estate.head))
        read_estate(ledger, &estate);
    else
        syslog(LOG_USER | LOG_WARNING,
               "nornic: the connections in %s cannot be ended: its head is not sound, or of another version",
               ledger->path);
    if (estate.count > 0 && open_soon(&estate, &dev) == 0) {
        end_connections(dev, &estate);
        (void)host_dev_close(dev, NULL);
    }
    free(estate.connections);
    net_ledger_close(ledger);
}
