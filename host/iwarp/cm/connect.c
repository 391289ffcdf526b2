/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP connections that an iWARP CM begins. */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "host/dev/clock.h"
#include "host/iwarp/cm/inner.h"
#include "net/kernel/sockaddr.h"

#define CONNECT_NS (10 * NS_PER_S) /* for TCP's three-way handshake: four SYNs */

/* What the kernel may say at once, and otherwise later: it is told in the same way. */
static bool is_answer(int err)
{
    return err == ECONNREFUSED || err == EHOSTUNREACH || err == ENETUNREACH;
}

/* A socket that connects, or that was refused at once for the reason *refusal. -errno: it cannot begin to. */
static int open_socket(const struct host_iw_id *id, int *out, int *refusal)
{
    const struct host_iw *iw = id->cm->iw;
    const struct nornic_cm_endpoints *ends = &id->ends;
    const int on = 1;
    union net_sockaddr from, to;
    socklen_t from_bytes = net_sockaddr_set(&from, &ends->local, id->src_port, iw->interface.index);
    socklen_t to_bytes = net_sockaddr_set(&to, &ends->remote, ends->remote_port, iw->interface.index);
    int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on); /* the port is chosen by both ends */
    if (id->src_port) /* for several, each to another peer; and again at once where nobody listened */
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    host_iw_set_tcp_of_dev(fd, iw);
    host_iw_set_tcp(fd, &id->tcp);
    int err = 0;
    if (bind(fd, &from.any, from_bytes) < 0 || (connect(fd, &to.any, to_bytes) < 0 && errno != EINPROGRESS))
        err = errno;
    *refusal = is_answer(err) ? err : 0;
    if (err && !*refusal) {
        close(fd);
        return -err;
    }
    *out = fd;
    return 0;
}

void host_iw_cm_join(struct host_iw_conn *conn, struct host_iw_qp *qp)
{
    conn->qp = qp;
    qp->conn = conn;
}

int host_iw_cm_start(struct host_iw_id *id, struct host_iw_qp *qp)
{
    int fd = -1, refusal = 0, err = open_socket(id, &fd, &refusal);
    if (err)
        return err;
    struct host_iw_conn *conn = host_iw_conn_new(id->cm->iw, fd, true, host_deadline_ns(CONNECT_NS));
    if (!conn)
        return -ENOMEM;
    id->conn = conn;
    conn->owner = id;
    conn->is_port_named = id->src_port != 0;
    host_iw_cm_join(conn, qp);
    if (refusal)
        host_iw_conn_close(conn, false, -refusal);
    id->step = HOST_IW_STARTED;
    return 0;
}

/* Another connection in the place of the one that ended. */
static bool replace(struct host_iw_id *id)
{
    struct host_iw_conn *ended = id->conn;
    if (host_iw_cm_start(id, ended->qp) != 0)
        return false;
    ended->owner = NULL;
    ended->qp = NULL;
    host_iw_conn_release(ended);
    return true;
}

/* Nobody listened, and perhaps will in a moment. */
static bool is_too_early(const struct host_iw_id *id, uint64_t now_ns)
{
    return id->conn->err == -ECONNREFUSED && now_ns < id->patient_until_ns;
}

bool host_iw_cm_try_again(struct host_iw_id *id, uint64_t now_ns)
{
    struct host_iw_qp *qp = id->conn->qp;
    host_dev_assert_held(id->cm->iw->dev);
    if (!qp)
        return false;
    if (iwarp_qp_may_fall_back(qp->engine)) {
        if (!replace(id))
            return false;
        int err = iwarp_qp_fall_back(qp->engine, host_now_ns());
        assert(!err && "it may");
        (void)err;
        return true;
    }
    if (id->again_ns && now_ns >= id->again_ns) {
        id->again_ns = 0;
        return replace(id);
    }
    if (!is_too_early(id, now_ns))
        return false;
    if (!id->again_ns)
        id->again_ns = now_ns + NORNIC_CM_ASK_AGAIN_NS;
    host_iw_conn_recall(id->conn, id->again_ns);
    return true;
}
