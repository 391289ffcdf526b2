/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/ipv6.h"

NET_HEADER_TABLE(net_ipv6, "IPv6", NET_IPV6_BYTES, NET_IPV6_FIELDS);
