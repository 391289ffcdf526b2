/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP connections that an iWARP CM begins. */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "host/clock.h"
#include "host/iw_cm_inner.h"
#include "net/udp_frame.h"

#define CONNECT_NS (10 * NS_PER_S) /* for TCP's three-way handshake: four SYNs */

/* A socket that connects. -errno: it cannot begin to. */
static int open_socket(const struct host_iw_id *id, int *out)
{
    const struct host_iw *iw = id->cm->iw;
    const struct nornic_cm_endpoints *ends = &id->ends;
    const int on = 1;
    union net_sockaddr from, to;
    socklen_t from_bytes = net_sockaddr_set(&from, &ends->local, 0, iw->interface.index);
    socklen_t to_bytes = net_sockaddr_set(&to, &ends->remote, ends->remote_port, iw->interface.index);
    int fd = socket(to.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on); /* the port is chosen by both ends */
    host_iw_set_tcp(fd, &id->tcp);
    if (bind(fd, &from.any, from_bytes) < 0 || (connect(fd, &to.any, to_bytes) < 0 && errno != EINPROGRESS)) {
        int err = -errno;
        close(fd);
        return err;
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
    int fd = -1, err = open_socket(id, &fd);
    bool is_told = err == -ECONNREFUSED || err == -EHOSTUNREACH || err == -ENETUNREACH;
    if (err && !is_told)
        return err;
    if (err)
        return host_iw_cm_refused(id, qp, err);
    id->conn = host_iw_conn_new(id->cm->iw, fd, true, host_deadline_ns(CONNECT_NS));
    if (!id->conn)
        return -ENOMEM;
    id->conn->owner = id;
    host_iw_cm_join(id->conn, qp);
    id->step = HOST_IW_STARTED;
    return 0;
}

bool host_iw_cm_start_again(struct host_iw_id *id)
{
    struct host_iw_conn *ended = id->conn;
    struct host_iw_qp *qp = ended->qp;
    int fd = -1;
    host_dev_assert_held(id->cm->iw->dev);
    if (!qp || !iwarp_qp_may_fall_back(qp->engine) || open_socket(id, &fd) != 0)
        return false;
    struct host_iw_conn *conn = host_iw_conn_new(id->cm->iw, fd, true, host_deadline_ns(CONNECT_NS));
    if (!conn)
        return false;
    int err = iwarp_qp_fall_back(qp->engine, host_now_ns());
    assert(!err && "it may");
    (void)err;
    ended->owner = NULL;
    ended->qp = NULL;
    host_iw_conn_release(ended);
    id->conn = conn;
    conn->owner = id;
    host_iw_cm_join(conn, qp);
    return true;
}
