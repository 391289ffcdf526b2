/* SPDX-License-Identifier: BSD-2-Clause */
/* Which port to take where none is named. */
#ifndef NORNIC_HOST_PORT_DEFAULT_H
#define NORNIC_HOST_PORT_DEFAULT_H

#include <stdbool.h>

#include "net/error.h"
#include "nornic/addr.h"

/* Names as host_port_open() takes them. */
struct host_port_default {
    char xdp[32];                /* to be tried first; "": this user cannot have it, or it leads nowhere */
    struct nornic_error not_xdp; /* then: why */
    char udp[64];
};

/* The ports that lead to `to`, or NULL: to the world. `from`: the own address that they must have; NULL: the
 * one that the kernel's route has, or all of an interface where `to` is NULL, too. 0, or -errno with a
 * sentence: no route, or `from` is no address of this machine. */
int host_port_default(const struct nornic_addr *from, const struct nornic_addr *to,
                      struct host_port_default *out, struct nornic_error *why);

#endif
