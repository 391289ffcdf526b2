/* SPDX-License-Identifier: BSD-2-Clause */
/* Who listens is no iWARP, or speaks another revision: what a program that connects there is told. The suite
 * is that of test_hostile.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/host.h"
#include "test/host/iw_pair.h"
#include "iwarp/wire/crc.h"
#include "iwarp/wire/setup.h"

static const struct nornic_conn_param eight = {.private_data = "who I am", .private_data_len = 8};

/* A client that connects to a socket which listens, with `eight`; that socket. */
static int begin(struct iw_end *client, const struct nornic_iwarp_config *config)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t at_bytes = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    cr_assert_eq(listen(fd, 1), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)&at, &at_bytes), 0);
    iw_open(client, "iwarp:127.0.0.1", config);
    iw_start(client, ntohs(at.sin_port), &eight);
    return fd;
}

static void end(struct iw_end *client, int socket_fd)
{
    iw_close(client);
    close(socket_fd);
}

/* covers: IWARP-MPA-14 */
Test(iw_hostile, a_reply_that_never_comes_is_not_waited_for_long)
{
    struct iw_end client;
    int socket_fd = begin(&client, NULL);
    uint64_t start_ns = host_now_ns();
    struct nornic_cm_event *event = iw_event(&client, NORNIC_CM_EVENT_UNREACHABLE);
    cr_expect_eq(event->status, -ETIMEDOUT);
    cr_expect_not_null(strstr(event->why.text, "no MPA Reply comes"), "%s", event->why.text);
    nornic_cm_ack_event(event);
    cr_expect_geq(host_now_ns() - start_ns, IWARP_REPLY_TIMEOUT_NS * 9 / 10);
    end(&client, socket_fd);
}

/* A connection that comes to `socket_fd`; of what it asks for, which is `wanted` octets, `asked` has room. */
static int accept_request(int socket_fd, uint8_t *asked, size_t wanted)
{
    int fd = accept(socket_fd, NULL, NULL);
    cr_assert_geq(fd, 0);
    cr_assert_eq(recv(fd, asked, wanted, MSG_WAITALL), (ssize_t)wanted);
    return fd;
}

/* By a FIN or by a reset. */
static void hang_up(int fd, bool is_reset)
{
    if (is_reset)
        iw_tcp_reset(fd);
    else
        close(fd);
}

Test(iw_hostile, a_server_that_answers_with_noise_is_told_of)
{
    struct iw_end client;
    uint8_t asked[32];
    int socket_fd = begin(&client, NULL);
    int fd = accept_request(socket_fd, asked, 32);
    iw_tcp_say(fd, "HTTP/1.0 400 Bad Request\r\n\r\n", 28);
    cr_expect_lt(iw_hears(&client, NORNIC_CM_EVENT_CONNECT_ERROR), 0);
    close(fd);
    end(&client, socket_fd);
}

/* It is asked once more, for revision 1, and no third time. covers: IWARP-MPA-12 */
Test(iw_hostile, a_server_that_hangs_up_is_asked_for_revision_1_and_then_told_of)
{
    for (int is_reset = 0; is_reset < 2; is_reset++) {
        struct iw_end client;
        uint8_t asked[32];
        int socket_fd = begin(&client, NULL);
        hang_up(accept_request(socket_fd, asked, 32), is_reset);
        hang_up(accept_request(socket_fd, asked, 28), is_reset);
        cr_expect_arr_eq(asked, "MPA ID Req Frame\x40\x01\x00\x08who I am", 28);
        cr_expect_lt(iw_hears(&client, NORNIC_CM_EVENT_CONNECT_ERROR), 0);
        cr_expect_eq(nornic_qp_state(client.qp), NORNIC_QPS_ERR, "it is over");
        end(&client, socket_fd);
    }
}

/* One that knows no other revision is connected to, by a queue pair that still has its receives.
 * covers: IWARP-MPA-12 */
Test(iw_hostile, a_server_of_revision_1_alone_is_connected_to)
{
    struct iw_end client;
    struct nornic_cm_endpoints ends;
    uint8_t asked[32], fpdu[24] = {0, 18, 0x41, 0x43, [15] = 1}; /* a SEND of nothing */
    uint8_t first[2 + 14 + 4]; /* an FPDU of the client, behind which a responder may speak */
    int socket_fd = begin(&client, NULL);
    iw_post_recv(&client, 0, 16);
    hang_up(accept_request(socket_fd, asked, 32), false);
    int fd = accept_request(socket_fd, asked, 28);
    iw_tcp_say(fd, "MPA ID Rep Frame\x40\x01\x00\x00", 20);
    cr_expect_eq(iw_hears(&client, NORNIC_CM_EVENT_ESTABLISHED), 0);
    nornic_cm_id_endpoints(client.id, &ends);
    struct sockaddr_in from = {.sin_port = 0};
    socklen_t from_bytes = sizeof from;
    cr_assert_eq(getpeername(fd, (struct sockaddr *)&from, &from_bytes), 0);
    cr_expect_eq(ends.local_port, ntohs(from.sin_port), "of the second connection");
    const struct nornic_send_wr write = {.opcode = NORNIC_WR_RDMA_WRITE, .send_flags = NORNIC_SEND_SIGNALED};
    iw_post(&client, &write);
    cr_expect_eq(iw_wait(&client).status, NORNIC_WC_SUCCESS);
    cr_assert_eq(recv(fd, first, sizeof first, MSG_WAITALL), (ssize_t)sizeof first);
    iwarp_crc_put(fpdu + 20, iwarp_crc(0, fpdu, 20));
    iw_tcp_say(fd, fpdu, sizeof fpdu);
    cr_expect_eq(iw_wait(&client).status, NORNIC_WC_SUCCESS, "a SEND into the receive that was there before");
    close(fd);
    end(&client, socket_fd);
}

/* Who asks for revision 2 by name gets that or nothing. */
Test(iw_hostile, who_wants_revision_2_alone_falls_back_to_none)
{
    struct iw_end client;
    uint8_t asked[32];
    int socket_fd = begin(&client, &(struct nornic_iwarp_config){.mpa_rev = 2});
    hang_up(accept_request(socket_fd, asked, 32), false);
    cr_expect_lt(iw_hears(&client, NORNIC_CM_EVENT_CONNECT_ERROR), 0);
    end(&client, socket_fd);
}
