/* SPDX-License-Identifier: BSD-2-Clause */
/* Who connects from a port that the program has named (nornic_cm_id_set_src_port()). */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/host/cm_pair.h"
#include "test/host/iw_pair.h"

#define MINE 7490

/* --- RoCE --- */

static struct cm_pair pair;

static void open_pair(void)
{
    cm_pair_open(&pair, false, NULL);
}

static void close_pair(void)
{
    cm_pair_close(&pair);
}

TestSuite(src_port, .init = open_pair, .fini = close_pair, .timeout = 60);

/* The request bears it. covers: ROCE-CM-61 */
Test(src_port, ROCE_CM_61_the_request_tells_the_port_that_was_named)
{
    struct host_cm_id *listener = cm_pair_listen(&pair, NORNIC_PS_TCP), *id;
    struct roce_qp *qp = cm_pair_qp(&pair.side[0], NORNIC_QPT_RC);
    struct roce_cm_endpoints ends;
    struct nornic_error why = {""};
    cr_assert_eq(host_cm_create_id(pair.side[0].cm, NORNIC_PS_TCP, NULL, &id), 0);
    cr_assert_eq(host_cm_set_src_port(id, MINE), 0);
    cr_assert_eq(host_cm_resolve_addr(id, NULL, &pair.side[1].addr, CM_PAIR_PORT, 5 * NS_PER_S, &why), 0,
                 "%s", why.text);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_ADDR_RESOLVED);
    host_cm_id_endpoints(id, &ends);
    cr_expect_eq(ends.local_port, MINE, "told before it connects");
    cr_expect_eq(host_cm_set_src_port(id, MINE + 1), -EINVAL, "too late");
    cr_assert_eq(host_cm_resolve_route(id), 0);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_ROUTE_RESOLVED);
    cr_assert_eq(host_cm_connect(id, qp, NULL), 0);
    struct host_cm_event *event = cm_pair_expect(&pair.side[1], NORNIC_CM_EVENT_CONNECT_REQUEST);
    struct host_cm_id *request = event->id;
    host_cm_ack_event(event);
    host_cm_id_endpoints(request, &ends);
    cr_expect_eq(ends.remote_port, MINE);
    cr_expect_eq(ends.local_port, CM_PAIR_PORT);
    host_cm_destroy_id(request);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_REJECTED);
    host_cm_destroy_id(id);
    cm_pair_drop_qp(&pair.side[0], qp);
    host_cm_destroy_id(listener);
}

/* --- iWARP --- */

static struct iw_end client;

static void open_client(void)
{
    netns_loopback();
    iw_open(&client, "iwarp:127.0.0.1", NULL);
}

static void close_client(void)
{
    iw_close(&client);
}

TestSuite(iw_src_port, .init = open_client, .fini = close_client, .timeout = 60);

static int listen_by_tcp(uint16_t *port)
{
    const struct timeval limit = {.tv_sec = 10};
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit), 0);
    cr_assert(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 4) == 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

/* The next connection, which comes from MINE and asks by so many octets. */
static int accept_mine(int listener, size_t asked_bytes)
{
    struct sockaddr_in from = {.sin_port = 0};
    socklen_t bytes = sizeof from;
    uint8_t asked[32];
    int fd = accept(listener, (struct sockaddr *)&from, &bytes);
    cr_assert_geq(fd, 0);
    cr_expect_eq(ntohs(from.sin_port), MINE);
    cr_assert_eq(recv(fd, asked, asked_bytes, MSG_WAITALL), (ssize_t)asked_bytes);
    return fd;
}

/* A server of revision 1 hangs up, and is asked again from the same port: what had it is reset for that, or
 * TCP would not give it away before the server's last ACK has come. */
Test(iw_src_port, who_asks_for_revision_1_comes_from_the_same_port)
{
    const uint8_t v4[4] = {127, 0, 0, 1};
    const struct nornic_addr to = nornic_addr_from_v4(v4);
    struct nornic_cm_endpoints ends;
    struct nornic_error why;
    uint16_t port;
    uint8_t byte;
    int listener = listen_by_tcp(&port);
    cr_assert_eq(nornic_cm_id_create(client.cm, NORNIC_PS_TCP, &client, &client.id), 0);
    cr_assert_eq(nornic_cm_id_set_src_port(client.id, MINE), 0);
    cr_assert_eq(nornic_cm_id_resolve_addr(client.id, NULL, &to, port, IW_WAIT_NS, &why), 0, "%s", why.text);
    iw_hears(&client, NORNIC_CM_EVENT_ADDR_RESOLVED);
    nornic_cm_id_endpoints(client.id, &ends);
    cr_expect_eq(ends.local_port, MINE, "told before it connects");
    cr_expect_eq(nornic_cm_id_set_src_port(client.id, MINE + 1), -EINVAL, "too late");
    cr_assert_eq(nornic_cm_id_resolve_route(client.id), 0);
    iw_hears(&client, NORNIC_CM_EVENT_ROUTE_RESOLVED);
    iw_make_qp(&client);
    cr_assert_eq(nornic_cm_id_connect(client.id, client.qp, NULL), 0);
    int first = accept_mine(listener, 24);
    shutdown(first, SHUT_WR);
    errno = 0;
    cr_expect_eq(recv(first, &byte, 1, 0), -1);
    cr_expect_eq(errno, ECONNRESET);
    int second = accept_mine(listener, 20);
    cr_assert_eq(send(second, "MPA ID Rep Frame\x40\x01\x00\x00", 20, MSG_NOSIGNAL), 20);
    cr_expect_eq(iw_hears(&client, NORNIC_CM_EVENT_ESTABLISHED), 0);
    nornic_cm_id_endpoints(client.id, &ends);
    cr_expect_eq(ends.local_port, MINE);
    close(first);
    close(second);
    close(listener);
}
