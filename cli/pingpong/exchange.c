/* SPDX-License-Identifier: BSD-2-Clause */
/* The stock exchange: a line of fixed length with its NUL, "%04x:%06x:%06x:%s" of LID, QPN, PSN and GID,
 * for each queue pair; ibv_srq_pingpong sends 256 in any case, the unused ones zero. A line is read and
 * written in one piece, and so must we: most of the stock programs do not put pieces together. */
#include "cli/pingpong/pingpong.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "cli/node/tcp.h"

#define GID_AT    19 /* of the line */
#define IWARP_LID 0xffffu

void pingpong_dest_format(const struct pingpong_dest *dest, char *line)
{
    /* The LID is 0: RoCE has none. */
    int n = snprintf(line, PINGPONG_LINE_BYTES, "%04x:%06x:%06x:", dest->is_iwarp ? IWARP_LID : 0,
                     dest->qpn & 0xffffff, dest->psn & 0xffffff);
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
    dest->is_iwarp = lid == IWARP_LID;
    for (unsigned i = 0; i < sizeof dest->gid.b; i++) {
        if (!hex(line + GID_AT + 2 * i, 2, &byte))
            return false;
        dest->gid.b[i] = (uint8_t)byte;
    }
    return true;
}

static int send_lines(int fd, const struct pingpong_dest *mine, uint32_t n, uint64_t timeout_ns,
                      struct nornic_error *why)
{
    char lines[PINGPONG_MAX_PAIRS * PINGPONG_LINE_BYTES];
    for (uint32_t i = 0; i < n; i++)
        pingpong_dest_format(&mine[i], lines + i * PINGPONG_LINE_BYTES);
    return cli_tcp_write(fd, lines, n * PINGPONG_LINE_BYTES, timeout_ns, why);
}

int pingpong_exchange_server_read(int fd, struct pingpong_dest *peer, uint32_t n, uint64_t timeout_ns,
                                  struct nornic_error *why)
{
    char lines[PINGPONG_MAX_PAIRS * PINGPONG_LINE_BYTES];
    int err = cli_tcp_read(fd, lines, n * PINGPONG_LINE_BYTES, timeout_ns, why);
    if (err)
        return err;
    for (uint32_t i = 0; i < n; i++)
        if (!pingpong_dest_parse(lines + i * PINGPONG_LINE_BYTES, &peer[i]))
            return net_error_set(why, EPROTO, "the peer does not speak the exchange of ibv_*_pingpong");
    if (nornic_addr_is_zero(&peer[0].gid))
        return net_error_set(why, EPROTO, "the peer named no GID: start ibv_*_pingpong with -g INDEX");
    return 0;
}

int pingpong_exchange_server_reply(int fd, const struct pingpong_dest *mine, uint32_t n, uint64_t timeout_ns,
                                   struct nornic_error *why)
{
    int err = send_lines(fd, mine, n, timeout_ns, why);
    char done[sizeof "done"];
    return !err ? cli_tcp_read(fd, done, sizeof done, timeout_ns, why) : err;
}

int pingpong_exchange_client(int fd, const struct pingpong_dest *mine, struct pingpong_dest *peer, uint32_t n,
                             uint64_t timeout_ns, struct nornic_error *why)
{
    int err = send_lines(fd, mine, n, timeout_ns, why);
    if (!err)
        err = pingpong_exchange_server_read(fd, peer, n, timeout_ns, why);
    return !err ? cli_tcp_write(fd, "done", sizeof "done", timeout_ns, why) : err;
}
