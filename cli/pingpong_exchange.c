/* SPDX-License-Identifier: BSD-2-Clause */
/* The stock exchange: one line of fixed length with its NUL, "%04x:%06x:%06x:%s" of LID, QPN, PSN and GID.
 * Each side reads and writes it in one piece, and so must we: the stock program does not put pieces
 * together. */
#include "cli/pingpong.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "cli/tcp.h"

#define GID_AT 19 /* of the line */

void pingpong_dest_format(const struct pingpong_dest *dest, char *line)
{
    /* The LID is 0: RoCE has none. */
    int n =
        snprintf(line, PINGPONG_LINE_BYTES, "0000:%06x:%06x:", dest->qpn & 0xffffff, dest->psn & 0xffffff);
    for (unsigned i = 0; i < sizeof dest->gid.b; i++)
        n += snprintf(line + n, PINGPONG_LINE_BYTES - (size_t)n, "%02x", dest->gid.b[i]);
}

/* Reads `digits` hexadecimal digits; false if there are others among them. */
static bool hex(const char *text, unsigned digits, uint32_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < digits; i++) {
        unsigned char c = (unsigned char)text[i];
        if (!isxdigit(c))
            return false;
        *out = *out << 4 | (uint32_t)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
    }
    return true;
}

bool pingpong_dest_parse(const char *line, struct pingpong_dest *dest)
{
    uint32_t lid, byte;
    if (line[PINGPONG_LINE_BYTES - 1] != '\0' || line[4] != ':' || line[11] != ':' || line[18] != ':')
        return false;
    if (!hex(line, 4, &lid) || !hex(line + 5, 6, &dest->qpn) || !hex(line + 12, 6, &dest->psn))
        return false;
    for (unsigned i = 0; i < sizeof dest->gid.b; i++) {
        if (!hex(line + GID_AT + 2 * i, 2, &byte))
            return false;
        dest->gid.b[i] = (uint8_t)byte;
    }
    return true;
}

static int send_line(int fd, const struct pingpong_dest *mine, uint64_t timeout_ns, struct net_error *err)
{
    char line[PINGPONG_LINE_BYTES];
    pingpong_dest_format(mine, line);
    return cli_tcp_write(fd, line, sizeof line, timeout_ns, err);
}

static int read_line(int fd, struct pingpong_dest *peer, uint64_t timeout_ns, struct net_error *err)
{
    char line[PINGPONG_LINE_BYTES];
    int rc = cli_tcp_read(fd, line, sizeof line, timeout_ns, err);
    if (rc != 0)
        return rc;
    if (!pingpong_dest_parse(line, peer))
        return net_error_set(err, EPROTO, "the peer does not speak the exchange of ibv_rc_pingpong");
    if (net_addr_is_zero(&peer->gid))
        return net_error_set(err, EPROTO, "the peer named no GID: start ibv_rc_pingpong with -g INDEX");
    return 0;
}

int pingpong_exchange_client(int fd, const struct pingpong_dest *mine, struct pingpong_dest *peer,
                             uint64_t timeout_ns, struct net_error *err)
{
    int rc = send_line(fd, mine, timeout_ns, err);
    if (rc == 0)
        rc = read_line(fd, peer, timeout_ns, err);
    return rc == 0 ? cli_tcp_write(fd, "done", sizeof "done", timeout_ns, err) : rc;
}

int pingpong_exchange_server_read(int fd, struct pingpong_dest *peer, uint64_t timeout_ns,
                                  struct net_error *err)
{
    return read_line(fd, peer, timeout_ns, err);
}

int pingpong_exchange_server_reply(int fd, const struct pingpong_dest *mine, uint64_t timeout_ns,
                                   struct net_error *err)
{
    int rc = send_line(fd, mine, timeout_ns, err);
    char done[sizeof "done"];
    return rc == 0 ? cli_tcp_read(fd, done, sizeof done, timeout_ns, err) : rc;
}
