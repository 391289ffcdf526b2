/* SPDX-License-Identifier: BSD-2-Clause */
/* iWARP between machines: what loopback cannot show. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/api/api.h"
#include "host/iwarp/iwarp.h"
#include "host/dev/clock.h"
#include "test/host/iw_pair.h"
#include "test/support/netns.h"

static struct netns_veth veth;
static struct iw_end e;

static void setup(void)
{
    netns_veth_open(&veth, 1500);
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 address 02:00:5e:10:20:30"), 0);
    netns_enter(&veth, 0);
    iw_open(&e, "iwarp:nn0", NULL);
}

static void teardown(void)
{
    iw_close(&e);
    netns_veth_destroy(&veth);
}

TestSuite(iw_apart, .init = setup, .fini = teardown, .timeout = 60);

static struct nornic_addr addr_of(const char *text)
{
    struct nornic_addr addr;
    cr_assert_eq(nornic_addr_parse(text, &addr), 0);
    return addr;
}

Test(iw_apart, the_gid_is_the_mac)
{
    static const uint8_t wanted[16] = {0x02, 0x00, 0x5e, 0x10, 0x20, 0x30};
    struct nornic_gid gid;
    cr_assert_eq(nornic_dev_query_gid(e.dev, 0, &gid), 0);
    cr_expect_arr_eq(gid.addr.b, wanted, sizeof wanted);
    cr_expect_arr_eq(gid.mac.b, wanted, 6);
}

/* --- connections that do not come to stand --- */

/* Connects, and hears of it as `type`; the queue pair is in ERR then, and its receive is flushed. */
static void expect_err(const char *to_text, uint16_t port, enum nornic_cm_event_type type, int status)
{
    const struct nornic_addr from = addr_of(NETNS_VETH_V4(0)), to = addr_of(to_text);
    struct nornic_qp_attr attr;
    iw_resolve(&e, &from, &to, port);
    iw_post_recv(&e, 0, 8);
    cr_assert_eq(nornic_cm_id_connect(e.id, e.qp, NULL), 0);
    cr_expect_eq(iw_hears(&e, type), status, "%s", to_text);
    cr_expect_eq(iw_wait(&e).status, NORNIC_WC_WR_FLUSH_ERR, "%s", to_text);
    nornic_qp_query(e.qp, &attr, NULL);
    cr_expect_eq(attr.state, NORNIC_QPS_ERR, "%s", to_text);
    nornic_cm_id_destroy(e.id);
    cr_assert_eq(nornic_qp_destroy(e.qp), 0);
    e.id = NULL;
    e.qp = NULL;
}

/* Nobody listens, which a RST says; there is no such host; the kernel has no route, and says so at once. */
Test(iw_apart, a_queue_pair_that_does_not_connect_is_in_err)
{
    cr_assert_eq(netns_run(&veth, 0, "ip route add unreachable 10.88.0.0/16"), 0);
    expect_err(NETNS_VETH_V4(1), 4001, NORNIC_CM_EVENT_REJECTED, 8);
    expect_err("10.77.0.9", 4001, NORNIC_CM_EVENT_UNREACHABLE, -EHOSTUNREACH);
    expect_err("10.88.0.1", 4001, NORNIC_CM_EVENT_UNREACHABLE, -EHOSTUNREACH);
}

/* --- a peer that is gone --- */

/* Nothing comes back from it: TCP gives up after as long as the program said. The traffic class of IPv6 is
 * set as IPv4's is. */
Test(iw_apart, tcp_gives_up_when_the_program_said)
{
    const struct nornic_conn_param param = {
        .has_traffic_class = true, .traffic_class = 0x88, .has_ack_timeout = true, .ack_timeout = 13};
    const struct nornic_addr from = addr_of(NETNS_VETH_V6(0)), to = addr_of(NETNS_VETH_V6(1));
    struct iw_end server;
    struct nornic_cm_id *listener;
    struct nornic_sge sge;
    int value;
    socklen_t bytes = sizeof value;
    netns_enter(&veth, 1);
    iw_open(&server, "iwarp:nn1", NULL);
    uint16_t port = iw_listen(&server, &listener, 4);
    netns_enter(&veth, 0);
    iw_resolve(&e, &from, &to, port);
    cr_assert_eq(nornic_cm_id_connect(e.id, e.qp, &param), 0);
    iw_take(&server, NULL);
    cr_assert_eq(iw_hears(&e, NORNIC_CM_EVENT_ESTABLISHED), 0);
    cr_assert_eq(iw_hears(&server, NORNIC_CM_EVENT_ESTABLISHED), 0);
    cr_assert_eq(
        getsockopt(host_iw_qp_of(e.qp->base)->conn->socket.fd, IPPROTO_IPV6, IPV6_TCLASS, &value, &bytes), 0);
    cr_expect_eq(value, 0x88);
    cr_assert_eq(netns_run(&veth, 1, "ip link set nn1 down"), 0);
    const struct nornic_send_wr wr = iw_wr(NORNIC_WR_RDMA_WRITE, &e, &server, &sge, 0, 0, 8);
    uint64_t start_ns = host_now_ns();
    iw_post(&e, &wr);
    cr_expect_eq(iw_hears(&e, NORNIC_CM_EVENT_DISCONNECTED), -ECONNRESET);
    cr_expect_geq(host_now_ns() - start_ns, NS_PER_S);
    cr_expect_lt(host_now_ns() - start_ns, 10 * NS_PER_S);
    nornic_cm_id_destroy(listener);
    iw_close(&server);
}

/* --- a path that gets narrower --- */

static void write_once(struct iw_end *server)
{
    struct nornic_sge sge;
    const struct nornic_send_wr wr = iw_wr(NORNIC_WR_RDMA_WRITE, &e, server, &sge, 0, 0, 5000);
    iw_post(&e, &wr);
    cr_assert_eq(iw_wait(&e).status, NORNIC_WC_SUCCESS);
}

/* The longest ULPDU of the segments that TCP then makes: it learns of it when it sends, and is asked each
 * second.
 * covers: IWARP-FPDU-05 */
Test(iw_apart, segments_follow_the_path)
{
    const struct nornic_addr from = addr_of(NETNS_VETH_V4(0)), to = addr_of(NETNS_VETH_V4(1));
    struct iw_end server;
    struct nornic_cm_id *listener;
    netns_enter(&veth, 1);
    iw_open(&server, "iwarp:nn1", NULL);
    uint16_t port = iw_listen(&server, &listener, 4);
    netns_enter(&veth, 0);
    iw_resolve(&e, &from, &to, port);
    cr_assert_eq(nornic_cm_id_connect(e.id, e.qp, NULL), 0);
    iw_take(&server, NULL);
    cr_assert_eq(iw_hears(&e, NORNIC_CM_EVENT_ESTABLISHED), 0);
    const struct iwarp_qp *engine = host_iw_qp_of(e.qp->base)->engine;
    write_once(&server);
    cr_expect_eq(engine->mulpdu_bytes, 1442);
    cr_assert_eq(
        netns_run(&veth, 0, "ip route replace 10.77.0.0/24 dev nn0 src %s mtu 1280", NETNS_VETH_V4(0)), 0);
    for (int i = 0; i < 50 && engine->mulpdu_bytes > 1222; i++) {
        usleep(100000);
        write_once(&server);
    }
    cr_expect_eq(engine->mulpdu_bytes, 1222);
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_ESTABLISHED), 0);
    nornic_cm_id_destroy(listener);
    iw_close(&server);
}
