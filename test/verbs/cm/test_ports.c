/* SPDX-License-Identifier: BSD-2-Clause */
/* librdmacm: the ports that ids are bound to, connect from, and have for themselves. Both ends in this
 * process, on a loopback of its own. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/support/netns.h"
#include "test/support/tsan.h"
#include "test/verbs/cm_conn.h"
#include "verbs/cm/cma.h"

#define MINE  7490 /* what who connects is bound to */
#define PEER  7491
#define OTHER 7492

static struct rdma_event_channel *channel;

static void over_roce(void)
{
    netns_loopback();
    setenv("NORNIC_PORT", "udp:" CM_HOST, 1);
    channel = rdma_create_event_channel();
}

static void over_iwarp(void)
{
    netns_loopback();
    setenv("NORNIC_PORT", "iwarp:" CM_HOST, 1);
    channel = rdma_create_event_channel();
}

TestSuite(cm_ports, .init = over_roce, .timeout = 60);
TestSuite(cm_ports_iwarp, .init = over_iwarp, .timeout = 60);

/* --- ids --- */

static struct sockaddr_in addr_of(const char *host, uint16_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, host, &addr.sin_addr);
    return addr;
}

static struct rdma_cm_id *new_id(enum rdma_port_space space)
{
    struct rdma_cm_id *id;
    cr_assert_eq(rdma_create_id(channel, &id, NULL, space), 0);
    return id;
}

static int share(struct rdma_cm_id *id, int shares)
{
    return rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &shares, sizeof shares) ? errno : 0;
}

/* 0 or an errno value. */
static int bind_to(struct rdma_cm_id *id, const char *host, uint16_t port)
{
    struct sockaddr_in addr = addr_of(host, port);
    return rdma_bind_addr(id, (struct sockaddr *)&addr) ? errno : 0;
}

static struct rdma_cm_id *bound(const char *host, uint16_t port)
{
    struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
    cr_assert_eq(bind_to(id, host, port), 0);
    return id;
}

static struct rdma_cm_id *sharing(uint16_t port)
{
    struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
    cr_assert_eq(share(id, 1), 0);
    cr_assert_eq(bind_to(id, CM_HOST, port), 0);
    return id;
}

/* What binding a new one says, which goes again. */
static int binding(enum rdma_port_space space, bool shares, const char *host, uint16_t port)
{
    struct rdma_cm_id *id = new_id(space);
    cr_assert_eq(share(id, shares), 0);
    int err = bind_to(id, host, port);
    rdma_destroy_id(id);
    return err;
}

static struct rdma_cm_id *listening(uint16_t port)
{
    struct rdma_cm_id *id = bound(CM_HOST, port);
    cr_assert_eq(rdma_listen(id, 4), 0);
    return id;
}

/* --- connections --- */

/* The next event, which is this one; its id. */
static struct rdma_cm_id *next(enum rdma_cm_event_type type)
{
    struct rdma_cm_event *event = cm_expect(channel, type);
    struct rdma_cm_id *id = event->id;
    cr_assert_eq(rdma_ack_cm_event(event), 0);
    return id;
}

/* From `src_port`, or with 0 from what the id is bound to. */
static void resolve(struct rdma_cm_id *id, uint16_t src_port, uint16_t port)
{
    struct sockaddr_in source = cm_addr(src_port), peer = cm_addr(port);
    cr_assert_eq(rdma_resolve_addr(id, (struct sockaddr *)&source, (struct sockaddr *)&peer, 1000), 0);
    cr_assert_eq(next(RDMA_CM_EVENT_ADDR_RESOLVED), id);
    cr_assert_eq(rdma_resolve_route(id, 1000), 0);
    next(RDMA_CM_EVENT_ROUTE_RESOLVED);
    cm_make_qp(id);
}

static uint16_t port_of(struct sockaddr *addr)
{
    return ntohs(((struct sockaddr_in *)(void *)addr)->sin_port);
}

/* Connects `id`, which is resolved, to a listener; and ends it on the other side. Both tell MINE. */
static void connect_and_leave(struct rdma_cm_id *id)
{
    cr_expect_eq(ntohs(rdma_get_src_port(id)), MINE, "before it connects");
    cr_assert_eq(rdma_connect(id, NULL), 0);
    struct rdma_cm_id *request = next(RDMA_CM_EVENT_CONNECT_REQUEST);
    cr_expect_eq(ntohs(rdma_get_dst_port(request)), MINE);
    cr_expect_eq(port_of(rdma_get_peer_addr(request)), MINE);
    cm_make_qp(request);
    cr_assert_eq(rdma_accept(request, NULL), 0);
    next(RDMA_CM_EVENT_ESTABLISHED);
    next(RDMA_CM_EVENT_ESTABLISHED);
    cr_expect_eq(ntohs(rdma_get_src_port(id)), MINE);
    cr_expect_eq(port_of(rdma_get_local_addr(id)), MINE);
    cr_expect_eq(port_of(rdma_get_peer_addr(request)), MINE);
    rdma_destroy_qp(request);
    rdma_destroy_id(request);
    next(RDMA_CM_EVENT_DISCONNECTED);
}

static void end(struct rdma_cm_id *id)
{
    if (id->qp)
        rdma_destroy_qp(id);
    rdma_destroy_id(id);
}

/* libfabric makes of an id that is bound one that connects, and names the address again, without the port
 * (fi_msg_sockets). */
static void connect_from_what_it_is_bound_to(void)
{
    struct rdma_cm_id *listener = listening(PEER), *id = bound(CM_HOST, MINE);
    resolve(id, 0, PEER);
    connect_and_leave(id);
    end(id);
    rdma_destroy_id(listener);
}

static void connect_from_what_it_names(void)
{
    struct rdma_cm_id *listener = listening(PEER), *id = new_id(RDMA_PS_TCP);
    resolve(id, MINE, PEER);
    cr_expect_eq(binding(RDMA_PS_TCP, false, CM_HOST, MINE), EADDRINUSE, "it is bound now");
    connect_and_leave(id);
    end(id);
    rdma_destroy_id(listener);
}

/* Each to another peer. */
static void connect_two_from_one_port(void)
{
    struct rdma_cm_id *listeners[2] = {listening(PEER), listening(OTHER)}, *ids[2], *requests[2];
    for (unsigned i = 0; i < 2; i++)
        ids[i] = sharing(MINE);
    for (unsigned i = 0; i < 2; i++) {
        resolve(ids[i], 0, i ? OTHER : PEER);
        cr_assert_eq(rdma_connect(ids[i], NULL), 0);
        requests[i] = next(RDMA_CM_EVENT_CONNECT_REQUEST);
        cr_expect_eq(ntohs(rdma_get_dst_port(requests[i])), MINE);
        cr_expect_eq(ntohs(rdma_get_src_port(requests[i])), i ? OTHER : PEER);
    }
    for (unsigned i = 0; i < 2; i++) {
        rdma_destroy_id(requests[i]);
        next(RDMA_CM_EVENT_REJECTED);
        end(ids[i]);
        rdma_destroy_id(listeners[i]);
    }
}

/* covers: ROCE-CM-61 */
Test(cm_ports, ROCE_CM_61_who_is_bound_connects_from_there)
{
    connect_from_what_it_is_bound_to();
}

Test(cm_ports, who_names_a_port_connects_from_it)
{
    connect_from_what_it_names();
}

Test(cm_ports, two_that_share_connect_from_one_port)
{
    connect_two_from_one_port();
}

Test(cm_ports_iwarp, who_is_bound_connects_from_there)
{
    connect_from_what_it_is_bound_to();
}

Test(cm_ports_iwarp, who_names_a_port_connects_from_it)
{
    connect_from_what_it_names();
}

Test(cm_ports_iwarp, two_that_share_connect_from_one_port)
{
    connect_two_from_one_port();
}

/* Nobody listens there for longer than an id is patient: it has asked more than once, from one port. */
Test(cm_ports_iwarp, who_asks_again_does_so_from_its_port)
{
    struct rdma_cm_id *id = bound(CM_HOST, MINE);
    resolve(id, 0, PEER);
    cr_assert_eq(rdma_connect(id, NULL), 0);
    usleep(2 * NORNIC_CM_ASK_AGAIN_NS / NS_PER_US);
    struct rdma_cm_id *listener = listening(PEER);
    cr_expect_eq(ntohs(rdma_get_dst_port(next(RDMA_CM_EVENT_CONNECT_REQUEST))), MINE);
    end(id);
    rdma_destroy_id(listener);
}

/* It is a port of TCP. */
Test(cm_ports_iwarp, a_port_that_a_program_of_tcp_has_is_refused)
{
    struct rdma_cm_id *listener = listening(PEER), *id = bound(CM_HOST, MINE);
    struct sockaddr_in mine = cm_addr(MINE);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert(bind(fd, (struct sockaddr *)&mine, sizeof mine) == 0 && listen(fd, 1) == 0);
    resolve(id, 0, PEER);
    cr_expect_eq(rdma_connect(id, NULL), -1);
    cr_expect_eq(errno, EADDRINUSE);
    close(fd);
    cr_expect_eq(rdma_connect(id, NULL), 0, "now it is free");
    end(id);
    rdma_destroy_id(listener);
}

/* What tells TCP connections apart are both ends; over RoCE a port is no more than what the peer is told. */
Test(cm_ports_iwarp, to_one_peer_one_connection_of_a_port)
{
    struct rdma_cm_id *listener = listening(PEER), *first = sharing(MINE), *second = sharing(MINE);
    resolve(first, 0, PEER);
    resolve(second, 0, PEER);
    cr_assert_eq(rdma_connect(first, NULL), 0);
    next(RDMA_CM_EVENT_CONNECT_REQUEST);
    cr_expect_eq(rdma_connect(second, NULL), -1);
    cr_expect_eq(errno, EADDRNOTAVAIL);
    end(second);
    end(first);
    rdma_destroy_id(listener);
}

/* An endpoint, and so a synchronous id, whose source is named; its peer is asked in vain. */
Test(cm_ports, an_endpoint_connects_from_its_source)
{
    struct sockaddr_in source = cm_addr(MINE);
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP,
                                  .ai_src_addr = (struct sockaddr *)&source,
                                  .ai_src_len = sizeof source},
                         *found;
    struct rdma_cm_id *listener = listening(PEER), *id;
    cr_assert_eq(rdma_getaddrinfo(CM_HOST, "7491", &hints, &found), 0);
    cr_assert_eq(rdma_create_ep(&id, found, NULL, NULL), 0);
    cr_expect_eq(ntohs(rdma_get_src_port(id)), MINE);
    cr_assert_eq(rdma_migrate_id(id, channel), 0);
    cm_make_qp(id);
    connect_and_leave(id);
    end(id);
    rdma_destroy_id(listener);
    rdma_freeaddrinfo(found);
}

/* --- who has a port --- */

Test(cm_ports, a_port_of_an_address_is_one_ids)
{
    struct rdma_cm_id *id = bound(CM_HOST, MINE), *second = new_id(RDMA_PS_TCP);
    cr_expect_eq(binding(RDMA_PS_TCP, false, CM_HOST, MINE), EADDRINUSE);
    cr_expect_eq(binding(RDMA_PS_TCP, false, "0.0.0.0", MINE), EADDRNOTAVAIL, "as a kernel says it");
    cr_expect_eq(binding(RDMA_PS_TCP, true, CM_HOST, MINE), EADDRINUSE, "the first does not share");
    cr_expect_eq(binding(RDMA_PS_TCP, false, CM_HOST, OTHER), 0);
    cr_expect_eq(binding(RDMA_PS_UDP, false, CM_HOST, MINE), 0, "another port space");
    cr_expect_eq(bind_to(id, CM_HOST, OTHER), EINVAL, "it is bound");
    struct sockaddr_in source = cm_addr(MINE), peer = cm_addr(PEER);
    cr_expect_eq(rdma_resolve_addr(second, (struct sockaddr *)&source, (struct sockaddr *)&peer, 1000), -1);
    cr_expect_eq(errno, EADDRINUSE);
    rdma_destroy_id(id);
    cr_expect_eq(bind_to(second, CM_HOST, MINE), 0, "it was given back");
    rdma_destroy_id(second);
}

/* A kernel binds it to 0.0.0.0. */
Test(cm_ports, who_listens_without_being_bound_has_its_port_alone)
{
    struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
    cr_assert_eq(rdma_listen(id, 1), 0);
    uint16_t port = ntohs(rdma_get_src_port(id));
    cr_expect_neq(port, 0);
    cr_expect_eq(binding(RDMA_PS_TCP, false, CM_HOST, port), EADDRNOTAVAIL);
    cr_expect_eq(binding(RDMA_PS_TCP, true, "0.0.0.0", port), EADDRNOTAVAIL);
    rdma_destroy_id(id);
    cr_expect_eq(binding(RDMA_PS_TCP, false, CM_HOST, port), 0, "it was given back");
}

/* No device has the address: the port is not had, and the id may name another source. */
Test(cm_ports, a_source_that_is_refused_binds_nothing)
{
    struct rdma_cm_id *id = new_id(RDMA_PS_TCP);
    struct sockaddr_in foreign = addr_of("192.0.2.1", MINE), peer = cm_addr(PEER);
    cr_expect_eq(rdma_resolve_addr(id, (struct sockaddr *)&foreign, (struct sockaddr *)&peer, 1000), -1);
    cr_expect_eq(errno, EADDRNOTAVAIL);
    cr_expect_eq(rdma_get_src_port(id), 0);
    cr_expect_eq(binding(RDMA_PS_TCP, false, "0.0.0.0", MINE), 0);
    resolve(id, OTHER, PEER);
    cr_expect_eq(ntohs(rdma_get_src_port(id)), OTHER);
    end(id);
}

Test(cm_ports, a_port_of_all_addresses_is_of_one_family)
{
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(MINE)};
    struct rdma_cm_id *id = bound("0.0.0.0", MINE), *of_v6 = new_id(RDMA_PS_TCP);
    cr_expect_eq(binding(RDMA_PS_TCP, false, CM_HOST, MINE), EADDRNOTAVAIL);
    cr_expect_eq(binding(RDMA_PS_TCP, false, "0.0.0.0", MINE), EADDRNOTAVAIL);
    cr_expect_eq(rdma_bind_addr(of_v6, (struct sockaddr *)&v6), 0);
    rdma_destroy_id(of_v6);
    rdma_destroy_id(id);
}

Test(cm_ports, those_that_share_do_until_one_listens)
{
    struct rdma_cm_id *first = sharing(MINE), *second = sharing(MINE);
    cr_expect_eq(binding(RDMA_PS_TCP, false, CM_HOST, MINE), EADDRINUSE, "it does not share");
    cr_expect_eq(share(first, 0), EINVAL, "it is bound");
    cr_expect_eq(rdma_listen(first, 1), -1);
    cr_expect_eq(errno, EADDRINUSE);
    rdma_destroy_id(second);
    cr_expect_eq(rdma_listen(first, 1), 0);
    cr_expect_eq(share(first, 1), EINVAL, "it listens");
    cr_expect_eq(binding(RDMA_PS_TCP, true, CM_HOST, MINE), EADDRINUSE);
    rdma_destroy_id(first);
}

static int bound_rsocket(int shares)
{
    struct sockaddr_in addr = cm_addr(MINE);
    int fd = rsocket(AF_INET, SOCK_STREAM, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(rsetsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &shares, sizeof shares), 0);
    return rbind(fd, (struct sockaddr *)&addr, sizeof addr) ? -errno : fd;
}

Test(cm_ports, rsockets_share_by_SO_REUSEADDR)
{
    int first = bound_rsocket(1), second = bound_rsocket(1);
    cr_assert(first >= 0 && second >= 0);
    cr_expect_eq(bound_rsocket(0), -EADDRINUSE);
    rclose(first);
    rclose(second);
}

Test(cm_ports, ports_that_are_drawn_are_nobodys)
{
    enum { COUNT = 600 }; /* two of 28,000 would be the same in 998 runs of 1,000 */
    static struct rdma_cm_id *ids[COUNT];
    for (unsigned i = 0; i < COUNT; i++)
        ids[i] = bound(i % 2 ? CM_HOST : "0.0.0.0", 0);
    for (unsigned i = 0; i < COUNT; i++)
        for (unsigned other = 0; other < i; other++)
            cr_assert_neq(rdma_get_src_port(ids[i]), rdma_get_src_port(ids[other]));
    for (unsigned i = 0; i < COUNT; i++)
        rdma_destroy_id(ids[i]);
}

/* The child has its own ids by then; what it gives back of its parent's is the parent's still. */
Test(cm_ports, a_child_gives_back_what_it_has_inherited)
{
    tsan_skip_threads_of_a_child();
    struct rdma_cm_id *id = listening(MINE);
    int status;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        struct rdma_event_channel *own = rdma_create_event_channel();
        struct sockaddr_in addr = cm_addr(MINE);
        struct rdma_cm_id *second;
        bool good = own && rdma_create_id(own, &second, NULL, RDMA_PS_TCP) == 0 &&
                    rdma_bind_addr(second, (struct sockaddr *)&addr) == -1 && errno == EADDRINUSE &&
                    rdma_destroy_id(id) == 0 && rdma_bind_addr(second, (struct sockaddr *)&addr) == 0;
        _exit(good ? 0 : 1);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect_eq(status, 0);
    cr_expect_eq(binding(RDMA_PS_TCP, false, CM_HOST, MINE), EADDRINUSE);
    rdma_destroy_id(id);
}
