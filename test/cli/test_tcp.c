/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/node/tcp.h"

#define SECOND 1000000000ull

static int ends[2]; /* of one connection: who connected, who accepted */

static uint16_t port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t len = sizeof at;
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    return ntohs(at.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&at)->sin6_port
                                          : ((struct sockaddr_in *)&at)->sin_port);
}

static void setup(void)
{
    struct nornic_error why = {""};
    int listener;
    cr_assert_eq(cli_tcp_listen(0, &listener, &why), 0, "%s", why.text);
    cr_assert_eq(cli_tcp_connect("127.0.0.1", port_of(listener), 5 * SECOND, &ends[0], &why), 0, "%s",
                 why.text);
    cr_assert_eq(cli_tcp_accept(listener, &ends[1], &why), 0, "%s", why.text);
    close(listener);
}

static void teardown(void)
{
    close(ends[0]);
    close(ends[1]);
}

TestSuite(tcp, .init = setup, .fini = teardown, .timeout = 30);

static int option(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof value;
    cr_assert_eq(getsockopt(fd, level, name, &value, &len), 0);
    return value;
}

/* A peer whose machine or interface is gone is noticed within ten seconds, by both ends; not before a
 * reliable connection would have given up. */
Test(tcp, a_silent_peer_is_noticed)
{
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(option(ends[i], SOL_SOCKET, SO_KEEPALIVE), 1, "end %d", i);
        int seconds = option(ends[i], IPPROTO_TCP, TCP_KEEPIDLE) +
                      option(ends[i], IPPROTO_TCP, TCP_KEEPINTVL) * option(ends[i], IPPROTO_TCP, TCP_KEEPCNT);
        cr_expect_leq(seconds, 10, "end %d", i);
        cr_expect_geq(seconds, 6, "end %d: a short outage is no end", i);
    }
}

Test(tcp, reads_and_writes_are_whole_and_end_in_time)
{
    static uint8_t out[300000], in[sizeof out];
    struct nornic_error why;
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t at = 0; at < sizeof out; at += 100000) {
        cr_assert_eq(cli_tcp_write(ends[0], out + at, 100000, 5 * SECOND, &why), 0, "%s", why.text);
        cr_assert_eq(cli_tcp_read(ends[1], in + at, 100000, 5 * SECOND, &why), 0, "%s", why.text);
    }
    cr_expect_arr_eq(in, out, sizeof out);
    cr_expect_eq(cli_tcp_read(ends[1], in, 1, SECOND / 20, &why), -ETIMEDOUT);
    cr_assert_eq(shutdown(ends[0], SHUT_WR), 0);
    cr_expect_eq(cli_tcp_read(ends[1], in, 1, 5 * SECOND, &why), -ECONNRESET);
    struct nornic_addr local, expected = nornic_addr_from_v4((uint8_t[]){127, 0, 0, 1});
    cr_assert(cli_tcp_local_addr(ends[1], &local));
    cr_expect(nornic_addr_equal(&local, &expected));
}
