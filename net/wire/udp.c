/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/udp.h"

NET_HEADER_TABLE(net_udp, "UDP", NET_UDP_BYTES, NET_UDP_FIELDS);
