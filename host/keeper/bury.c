/* SPDX-License-Identifier: BSD-2-Clause */
/* Ends the connections of dead processes of one port. The CM of a device on that port sends the messages.
 * The device has the numbers of the first of these processes, and so gets the answers to it. Answers to
 * another one may go astray: its DREQs are then all sent. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "base/base.h"
#include "host/cm/bury.h"
#include "host/keeper/keeper.h"

#define LIMIT_NS         (1500 * NS_PER_MS) /* from the last estate on */
#define TAKES_NS         (5 * NS_PER_S)     /* more estates: later ones get a device of their own */
#define NAP_NS           (20 * NS_PER_MS)
#define OPEN_NS          NS_PER_S
#define CONNECTIONS_MOST 16384 /* of a CM at a time */

/* --- estates --- */

static void read_rows(struct host_keeper_estate *estate)
{
    struct roce_cm_connection c, *grown;
    uint32_t row = 0;
    unsigned bad = 0;
    while (net_ledger_read(&estate->ledger, &row, &c, sizeof c, &bad)) {
        grown = realloc(estate->connections, (estate->count + 1) * sizeof c);
        if (!grown)
            break;
        estate->connections = grown;
        estate->connections[estate->count++] = c;
    }
    if (bad)
        syslog(LOG_USER | LOG_WARNING,
               "nornic: %u connections of %s (process %u) cannot be ended: their records in %s are not sound",
               bad, estate->head.name, estate->head.pid, estate->ledger.path);
}

void host_keeper_read(struct host_keeper_estate *estate)
{
    if (net_ledger_read_head(&estate->ledger, &estate->head))
        read_rows(estate);
    else
        syslog(LOG_USER | LOG_WARNING,
               "nornic: the connections in %s cannot be ended: its head is not sound, or of another version",
               estate->ledger.path);
}

void host_keeper_close(struct host_keeper_estate *estate)
{
    free(estate->connections);
    net_ledger_close(&estate->ledger);
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
static int open_device(const struct host_keeper_estate *estate, struct host_dev **out)
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
static int open_soon(const struct host_keeper_estate *estate, struct host_dev **out)
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

struct burial {
    struct host_keeper_estate *first, *last;
    const struct host_keeper_more *more;
    unsigned count; /* of connections */
};

/* Takes one more estate into the list. NULL: there is none. */
static struct host_keeper_estate *take_more(struct burial *burial)
{
    unsigned room = burial->count < CONNECTIONS_MOST ? CONNECTIONS_MOST - burial->count : 0;
    struct host_keeper_estate *estate = burial->more->take(burial->more->ctx, burial->first->head.port, room);
    if (!estate)
        return NULL;
    estate->next = NULL;
    burial->last->next = estate;
    burial->last = estate;
    burial->count += estate->count;
    return estate;
}

/* Returns whether estates have come. */
static bool begin_more(struct burial *burial, struct host_cm *cm)
{
    const struct host_keeper_estate *estate;
    bool have_come = false;
    while ((estate = take_more(burial))) {
        (void)host_cm_bury(cm, estate->connections, estate->count);
        have_come = true;
    }
    return have_come;
}

static void end_connections(struct burial *burial, struct host_dev *dev)
{
    const struct host_cm_config config = {.timeouts.max_ids = max_u32(burial->count, CONNECTIONS_MOST),
                                          .is_keeper = true};
    struct host_cm *cm;
    if (host_cm_open(dev, &config, &cm, NULL) != 0)
        return;
    uint64_t now_ns = host_now_ns(), takes_until_ns = now_ns + TAKES_NS, end_ns = now_ns + LIMIT_NS;
    (void)host_cm_bury(cm, burial->first->connections, burial->first->count);
    while (now_ns < end_ns) {
        if (now_ns < takes_until_ns && begin_more(burial, cm))
            end_ns = host_now_ns() + LIMIT_NS;
        if (!host_cm_is_burying(cm))
            break;
        if (!host_round(dev, NULL))
            host_dev_wait(dev, NAP_NS);
        now_ns = host_now_ns();
    }
    (void)host_cm_close(cm);
}

void host_keeper_bury(struct host_keeper_estate *first, const struct host_keeper_more *more)
{
    struct burial burial = {.first = first, .last = first, .more = more, .count = first->count};
    struct host_dev *dev;
    first->next = NULL;
    if (open_soon(first, &dev) == 0) {
        end_connections(&burial, dev);
        (void)host_dev_close(dev, NULL);
        return;
    }
    while (take_more(&burial)) /* they would find no device either */
        ;
}
