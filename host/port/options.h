/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of a device behind the name of its port, "udp:eth0,cc,dscp=26": docs/devices.md. */
#ifndef NORNIC_HOST_PORT_OPTIONS_H
#define NORNIC_HOST_PORT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "net/error.h"
#include "nornic/device.h"
#include "roce/cc_config.h"

#define HOST_PORT_PKEYS 16 /* that a name may give, beside the default one */

/* The options of a device. Zero: not given. */
struct host_port_options {
    struct roce_cc_config cc; /* congestion management */
    bool path_migration;      /* alternate paths */
    bool masked_atomics;
    bool entropy;          /* a UDP source port and an IPv6 flow label for each queue pair */
    uint8_t hop_limit;     /* of all packets; 0: as the address vector says */
    uint8_t traffic_class; /* of packets whose address vector has none; its ECN bits are 0 */
    uint16_t first_pkey;   /* entry 0 of the P_Key table; 0: the default P_Key. Else that is the last */
    uint16_t num_pkeys;
    uint16_t pkeys[HOST_PORT_PKEYS]; /* entries 1 and up */
};

/* The length of the port's name in octets, without its options. */
unsigned host_port_name_bytes(const char *port);

/* Reads the options of `port`. 0, or -EINVAL with a sentence that names the option, its value and the legal
 * ones. */
int host_port_options(const char *port, struct host_port_options *out, struct nornic_error *why);

#endif
