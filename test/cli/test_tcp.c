/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
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

/* --- ends and failures, in words --- */

Test(tcp, a_peer_that_takes_nothing_is_not_waited_for_without_end)
{
    static uint8_t much[1 << 20];
    struct nornic_error why = {""};
    int err = 0;
    for (unsigned i = 0; i < 1000 && !err; i++) /* until the buffers of both kernels are full */
        err = cli_tcp_write(ends[0], much, sizeof much, SECOND / 20, &why);
    cr_expect_eq(err, -ETIMEDOUT);
    cr_expect_str_eq(why.text, "the peer said nothing on the TCP connection in time");
}

Test(tcp, an_abort_is_told_as_an_end)
{
    struct nornic_error why = {""};
    struct linger abort = {.l_onoff = 1, .l_linger = 0};
    char byte;
    cr_assert_eq(setsockopt(ends[0], SOL_SOCKET, SO_LINGER, &abort, sizeof abort), 0);
    close(ends[0]);
    cr_expect_eq(cli_tcp_read(ends[1], &byte, 1, 5 * SECOND, &why), -ECONNRESET);
    cr_expect_str_eq(why.text, "the peer closed the TCP connection");
    cr_expect_eq(cli_tcp_write(ends[1], &byte, 1, 5 * SECOND, &why), -ECONNRESET);
    cr_expect_str_eq(why.text, "the peer closed the TCP connection");
    ends[0] = dup(ends[1]);
}

Test(tcp, a_port_that_is_taken_is_told_with_the_remedy)
{
    struct nornic_error why = {""};
    char said[128];
    int listener, second = -1;
    cr_assert_eq(cli_tcp_listen(0, &listener, &why), 0, "%s", why.text);
    cr_expect_eq(cli_tcp_listen(port_of(listener), &second, &why), -EADDRINUSE);
    snprintf(said, sizeof said,
             "cannot listen on TCP port %u: Address already in use; choose another with -p",
             port_of(listener));
    cr_expect_str_eq(why.text, said);
    cr_expect_eq(second, -1);
    close(listener);
}

Test(tcp, a_listener_takes_clients_of_both_families)
{
    static const char *const hosts[] = {"127.0.0.1", "::1", "localhost"};
    struct nornic_error why = {""};
    int listener, client, server;
    cr_assert_eq(cli_tcp_listen(0, &listener, &why), 0, "%s", why.text);
    if (option(listener, SOL_SOCKET, SO_DOMAIN) != AF_INET6)
        cr_skip_test("this machine has no IPv6");
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        struct nornic_addr local;
        cr_assert_eq(cli_tcp_connect(hosts[i], port_of(listener), 5 * SECOND, &client, &why), 0, "%s",
                     why.text);
        cr_assert_eq(cli_tcp_accept(listener, &server, &why), 0, "%s", why.text);
        cr_assert(cli_tcp_local_addr(server, &local));
        if (i < 2)
            cr_expect_eq(nornic_addr_is_v4(&local), i == 0, "%s", hosts[i]);
        close(client);
        close(server);
    }
    close(listener);
}

Test(tcp, what_is_no_tcp_has_no_address)
{
    struct nornic_addr local;
    int pair[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    cr_expect_not(cli_tcp_local_addr(pair[0], &local));
    close(pair[0]);
    close(pair[1]);
    cr_expect_not(cli_tcp_local_addr(-1, &local));
}
