/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/tcp.h"

NET_HEADER_TABLE(net_tcp, "TCP", NET_TCP_BYTES, NET_TCP_FIELDS);
NET_HEADER_TABLE(net_tcp_exid, "experimental TCP option", NET_TCP_EXID_BYTES, NET_TCP_EXID_FIELDS);
