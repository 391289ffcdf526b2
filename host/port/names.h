/* SPDX-License-Identifier: BSD-2-Clause */
/* The ports that programs of others are given as devices (docs/verbs.md), by their names (docs/ports.md). */
#ifndef NORNIC_HOST_PORT_NAMES_H
#define NORNIC_HOST_PORT_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "net/error.h"
#include "net/kernel/kernel.h"

#define HOST_PORT_NAMES_MAX  16
#define HOST_PORT_NAME_BYTES 160 /* with the 0 at its end */

struct host_port_names {
    unsigned count;
    unsigned left_out; /* names that there was no room for */
    char at[HOST_PORT_NAMES_MAX][HOST_PORT_NAME_BYTES];
};

/* The names in `listed`, separated by commas or spaces, each with its options behind it
 * (host/port/options.h); where it is NULL or "", the udp port of the default route's interface, or else
 * of 127.0.0.1. A name that is too long, which is no port's, is cut; names beyond the room that there is
 * are counted. Nothing is opened. */
void host_port_names(const char *listed, struct host_port_names *out);

/* The interface that a port is on, up or not, as far as its name says it; all zero: there is none. */
void host_port_place(const char *port, struct net_interface *out);

/* Whether programs are to see an RNIC of iWARP there; else it is a channel adapter. */
bool host_port_is_iwarp(const char *port);

/* The same each time for one port of one machine, and no other's: an EUI-64 in network order, marked as
 * locally administered, made of the MAC of the interface, if there is one, and the port's name. */
uint64_t host_port_guid(const char *port);

#endif
