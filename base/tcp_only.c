/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "base/tcp_only.h"

#include <linux/in6.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/base.h"

/* Later than the C library's header. */
#ifndef TCP_AO_ADD_KEY
#define TCP_AO_ADD_KEY 38
#define TCP_AO_INFO    40
#endif

/* IPsec for this socket: its bytes may not go around it (SMCR-REN-06, SEC-04). */
static bool is_ipsec(int level, int name)
{
    return (level == IPPROTO_IP && (name == IP_XFRM_POLICY || name == IP_IPSEC_POLICY)) ||
           (level == IPPROTO_IPV6 && (name == IPV6_XFRM_POLICY || name == IPV6_IPSEC_POLICY));
}

bool tcp_only_option(int level, int name)
{
    static const int of_socket[] = {SO_ZEROCOPY,         SO_TIMESTAMP_OLD,   SO_TIMESTAMP_NEW,
                                    SO_TIMESTAMPNS_OLD,  SO_TIMESTAMPNS_NEW, SO_TIMESTAMPING_OLD,
                                    SO_TIMESTAMPING_NEW, SO_PEEK_OFF};
    static const int of_tcp[] = {TCP_FASTOPEN,   TCP_FASTOPEN_CONNECT, /* data on SYNs: SMCR-REN-09 */
                                 TCP_MD5SIG,     TCP_MD5SIG_EXT,       /* leave no room for the option, too */
                                 TCP_AO_ADD_KEY, TCP_AO_INFO,          TCP_ULP, TCP_INQ, TCP_REPAIR};
    for (unsigned i = 0; level == SOL_SOCKET && i < array_len(of_socket); i++)
        if (name == of_socket[i])
            return true;
    for (unsigned i = 0; level == IPPROTO_TCP && i < array_len(of_tcp); i++)
        if (name == of_tcp[i])
            return true;
    return is_ipsec(level, name);
}

bool tcp_only_is_off(int level, int name, int value)
{
    if (level == SOL_SOCKET)
        return name == SO_PEEK_OFF ? value < 0 : value == 0;
    return level == IPPROTO_TCP && (name == TCP_INQ || name == TCP_REPAIR) && value == 0;
}
