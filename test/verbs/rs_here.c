/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/verbs/rs_here.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "test/support/netns.h"

static void begin(void)
{
    netns_loopback();
    setenv("NORNIC_PORT", "udp:127.0.0.1", 1);
}

TestSuite(rsocket, .init = begin, .timeout = 60);

static void begin_iwarp(void)
{
    netns_loopback();
    setenv("NORNIC_PORT", "iwarp:127.0.0.1", 1);
}

TestSuite(rsocket_iwarp, .init = begin_iwarp, .timeout = 60);

static struct sockaddr_in here(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(RS_HERE_PORT)};
    inet_pton(AF_INET, "127.0.0.1", &addr.sin_addr);
    return addr;
}

int rs_here_listen(void)
{
    struct sockaddr_in addr = here();
    int fd = rsocket(AF_INET, SOCK_STREAM, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(rbind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    cr_assert_eq(rlisten(fd, 4), 0);
    return fd;
}

int rs_here_connect(void)
{
    struct sockaddr_in addr = here();
    int fd = rsocket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(rconnect(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    return fd;
}

void rs_here_set(int fd, int level, int name, int value)
{
    cr_assert_eq(rsetsockopt(fd, level, name, &value, sizeof value), 0);
}

int rs_here_meet(struct rs_peer *peer, int *listener)
{
    *listener = rs_here_listen();
    rs_peer_open(peer, RS_HERE_PORT);
    rs_peer_connect(peer);
    int server = raccept(*listener, NULL, NULL);
    cr_assert_geq(server, 0);
    return server;
}

void rs_here_part(struct rs_peer *peer, int listener, int server)
{
    cr_assert_eq(rclose(server), 0);
    rs_peer_close(peer);
    /* others are served */
    int client = rs_here_connect();
    rclose(client);
    rclose(listener);
}

void rs_here_fails_with(int server, int wanted)
{
    char byte;
    cr_assert_eq(rrecv(server, &byte, 1, 0), -1);
    cr_assert_eq(errno, wanted);
}
