/* SPDX-License-Identifier: BSD-2-Clause */
/* A stream that this side ends, and lets go, while its peer has not got all and still speaks. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/host.h"
#include "test/host/iw_pair.h"
#include "iwarp/qp.h"
#include "test/support/fds.h"

/* A peer that reads nothing until it is told to: what TCP has taken for it is more than it has room for. */
#define LITTLE_BYTES 32768

static struct iw_end server;
static struct nornic_cm_id *listener;
static int peer;
static const char request[] = "MPA ID Req Frame\x40\x01\x00\x00"; /* C, revision 1, no private data */
static const char empty_write[] =
    "\x00\x0e\xc1\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xa3\x05\x72\xab";

static void say_a_write(void)
{
    iw_tcp_say(peer, empty_write, sizeof empty_write - 1);
}

static void setup(void)
{
    const int little = LITTLE_BYTES;
    iw_open(&server, "iwarp:127.0.0.1", NULL);
    peer = iw_tcp(iw_listen(&server, &listener, 4));
    setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    iw_tcp_say(peer, request, sizeof request - 1);
    iw_take(&server, NULL);
    cr_assert_eq(iw_hears(&server, NORNIC_CM_EVENT_ESTABLISHED), 0);
    say_a_write();
}

static void teardown(void)
{
    close(peer);
    if (server.dev) {
        nornic_cm_id_destroy(listener);
        iw_close(&server);
    }
}

TestSuite(iw_part, .init = setup, .fini = teardown, .timeout = 60);

/* A Send that the program sees completed. */
static void send_much(void)
{
    struct nornic_sge sge;
    const struct nornic_send_wr wr = iw_wr(NORNIC_WR_SEND, &server, &server, &sge, 0, 0, IW_BYTES);
    iw_post(&server, &wr);
    cr_assert_eq(iw_wait(&server).status, NORNIC_WC_SUCCESS);
}

static void let_qp_go(void)
{
    cr_assert_eq(nornic_qp_destroy(server.qp), 0);
    server.qp = NULL;
}

/* All of it, and then a FIN. */
static void expect_all(void)
{
    static char bytes[2 * IW_BYTES];
    size_t taken = 0;
    ssize_t n;
    while ((n = recv(peer, bytes, sizeof bytes, 0)) > 0)
        taken += (size_t)n;
    cr_expect_eq(n, 0, "%s after %zu octets", strerror(errno), taken);
    cr_expect_gt(taken, IW_BYTES);
}

static bool has_fds_within(unsigned count, uint64_t limit_ns)
{
    uint64_t begun_ns = host_now_ns();
    while (fds_count() != count && host_now_ns() - begun_ns < limit_ns)
        usleep(1000);
    return fds_count() == count;
}

Test(iw_part, what_was_sent_arrives_though_the_peer_speaks_on)
{
    unsigned fds = fds_count();
    send_much();
    let_qp_go();
    say_a_write();
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_DISCONNECTED), 0, "the id does not wait for the peer");
    expect_all();
    say_a_write();
    cr_expect_eq(fds_count(), fds, "it still listens");
    shutdown(peer, SHUT_WR);
    cr_expect(has_fds_within(fds - 1, IWARP_CLOSE_WAIT_NS / 2));
}

Test(iw_part, who_never_ends_is_not_listened_to_for_ever)
{
    uint64_t begun_ns = host_now_ns();
    let_qp_go();
    while (send(peer, empty_write, sizeof empty_write - 1, MSG_NOSIGNAL) > 0 &&
           host_now_ns() - begun_ns < IW_WAIT_NS)
        usleep(10000);
    cr_expect(errno == ECONNRESET || errno == EPIPE, "%s", strerror(errno));
    cr_expect_geq(host_now_ns() - begun_ns, IWARP_CLOSE_WAIT_NS);
}

static void *read_late(void *unused)
{
    (void)unused;
    usleep(100000);
    say_a_write();
    expect_all();
    return NULL;
}

Test(iw_part, a_device_is_closed_when_all_has_arrived)
{
    pthread_t reader;
    send_much();
    cr_assert_eq(pthread_create(&reader, NULL, read_late, NULL), 0);
    let_qp_go();
    nornic_cm_id_destroy(server.id);
    server.id = NULL;
    nornic_cm_id_destroy(listener);
    iw_close(&server);
    server.dev = NULL;
    pthread_join(reader, NULL);
}
