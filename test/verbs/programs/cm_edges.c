/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of librdmacm beside the trodden path, at the address argv[1]: in a state that forbids them, with
 * arguments that are often forgotten, many at once. A line for each: "ok NAME" or "not ok NAME: RESULT".
 * `cm_edges scope ADDRESS INTERFACE`: finds the device of a link-local address.
 * `cm_edges again SILENT ADDRESS`: resolves ADDRESS after SILENT, at which there is no neighbour. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MANY 600

static struct sockaddr_in here;
static struct rdma_event_channel *servers, *clients;
static int failures;

static void row(const char *name, int is_right)
{
    if (is_right)
        printf("ok %s\n", name);
    else
        printf("not ok %s: errno %d, %s\n", name, errno, strerror(errno));
    fflush(stdout);
    failures += !is_right;
    errno = 0;
}

/* Whether a call has failed with that errno value. */
static int is_refused(int result, int want)
{
    return result == -1 && errno == want;
}

static int is_readable(const struct rdma_event_channel *channel, int wait_ms)
{
    struct pollfd p = {channel->fd, POLLIN, 0};
    return poll(&p, 1, wait_ms) == 1;
}

/* Takes the next event of a channel within 5 s: its id, or NULL if it is another one. */
static struct rdma_cm_id *take(struct rdma_event_channel *channel, enum rdma_cm_event_type wanted)
{
    struct rdma_cm_event *event;
    if (!is_readable(channel, 5000) || rdma_get_cm_event(channel, &event))
        return NULL;
    struct rdma_cm_id *id = event->event == wanted ? event->id : NULL;
    rdma_ack_cm_event(event);
    return id;
}

static void add_qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC, .cap = {2, 2, 1, 1, 0}};
    if (rdma_create_qp(id, NULL, &attr))
        perror("rdma_create_qp");
}

static struct rdma_cm_id *listen_here(struct sockaddr_in *at)
{
    struct rdma_cm_id *id;
    *at = here;
    if (rdma_create_id(servers, &id, NULL, RDMA_PS_TCP) || rdma_bind_addr(id, (void *)at) ||
        rdma_listen(id, 1024))
        perror("rdma_listen");
    at->sin_port = rdma_get_src_port(id);
    return id;
}

/* An id with a route and a queue pair. */
static struct rdma_cm_id *routed(struct sockaddr_in *to)
{
    struct rdma_cm_id *id;
    rdma_create_id(clients, &id, NULL, RDMA_PS_TCP);
    rdma_resolve_addr(id, NULL, (void *)to, 2000);
    take(clients, RDMA_CM_EVENT_ADDR_RESOLVED);
    rdma_resolve_route(id, 2000);
    take(clients, RDMA_CM_EVENT_ROUTE_RESOLVED);
    add_qp(id);
    return id;
}

static void drop(struct rdma_cm_id *id)
{
    if (id && id->qp)
        rdma_destroy_qp(id);
    if (id)
        rdma_destroy_id(id);
}

/* --- attributes of queue pairs --- */

static void test_attributes(void)
{
    struct rdma_cm_id *id;
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
    struct sockaddr_in at = here;
    int mask = 0;
    rdma_create_id(clients, &id, NULL, RDMA_PS_TCP);
    rdma_bind_addr(id, (void *)&at);
    row("init_attr_of_a_bound_id", !rdma_init_qp_attr(id, &attr, &mask) && (mask & IBV_QP_ACCESS_FLAGS));
    rdma_resolve_addr(id, NULL, (void *)&at, 2000);
    take(clients, RDMA_CM_EVENT_ADDR_RESOLVED);
    attr.qp_state = IBV_QPS_INIT;
    row("init_attr_of_an_address", !rdma_init_qp_attr(id, &attr, &mask) && attr.port_num == 1);
    struct ibv_qp_init_attr of_ud = {.qp_type = IBV_QPT_UD, .cap = {2, 2, 1, 1, 0}};
    row("queue_pair_of_another_type", is_refused(rdma_create_qp(id, NULL, &of_ud), EINVAL));
    drop(id);
}

/* --- calls in a state that forbids them --- */

static void test_unresolved(void)
{
    struct rdma_cm_id *id;
    struct sockaddr other = {.sa_family = AF_UNIX};
    struct sockaddr_in6 local = {.sin6_family = AF_INET6};
    inet_pton(AF_INET6, "fe80::1", &local.sin6_addr);
    rdma_create_id(clients, &id, NULL, RDMA_PS_TCP);
    row("bind_to_another_family", is_refused(rdma_bind_addr(id, &other), EINVAL));
    row("bind_without_a_scope", is_refused(rdma_bind_addr(id, (void *)&local), EINVAL));
    local.sin6_scope_id = 9999;
    row("resolve_with_no_such_scope", is_refused(rdma_resolve_addr(id, NULL, (void *)&local, 1000), ENODEV));
    row("notify_of_a_new_id", is_refused(rdma_notify(id, IBV_EVENT_COMM_EST), EINVAL));
    struct ibv_ece ece = {0};
    row("ece_of_no_vendor", rdma_set_local_ece(id, &ece) == 0);
    ece.vendor_id = 1;
    row("ece_of_a_vendor", is_refused(rdma_set_local_ece(id, &ece), EINVAL));
    rdma_destroy_id(id);
    row("unknown_port_space",
        is_refused(rdma_create_id(clients, &id, NULL, (enum rdma_port_space)7), EINVAL));
}

static void test_states(int is_iwarp)
{
    struct sockaddr_in at;
    struct rdma_cm_id *listener = listen_here(&at), *id = routed(&at), *in;
    struct rdma_conn_param greedy = {.responder_resources = 200};
    row("connect_with_too_many_reads", is_refused(rdma_connect(id, &greedy), EINVAL));
    row("resolve_again", is_refused(rdma_resolve_addr(id, NULL, (void *)&at, 500), EINVAL));
    rdma_connect(id, NULL);
    in = take(servers, RDMA_CM_EVENT_CONNECT_REQUEST);
    add_qp(in);
    rdma_accept(in, NULL);
    take(clients, RDMA_CM_EVENT_ESTABLISHED);
    take(servers, RDMA_CM_EVENT_ESTABLISHED);
    int is_same = 1;
    for (int side = 0; side < 2; side++) {
        struct rdma_cm_id *one = side ? in : id;
        is_same &= is_refused(rdma_resolve_addr(one, NULL, (void *)&at, 500), EINVAL) &&
                   is_refused(rdma_resolve_route(one, 500), EINVAL) &&
                   is_refused(rdma_bind_addr(one, (void *)&at), EINVAL) &&
                   is_refused(rdma_listen(one, 1), EINVAL) && is_refused(rdma_connect(one, NULL), EINVAL) &&
                   is_refused(rdma_accept(one, NULL), EINVAL) &&
                   is_refused(rdma_reject(one, NULL, 0), EINVAL);
    }
    row("calls_of_a_connected_id", is_same && !is_readable(servers, 100) && !is_readable(clients, 0));
    int notified = rdma_notify(id, IBV_EVENT_COMM_EST);
    if (!is_iwarp)
        row("notify_of_a_connected_id", is_refused(notified, EISCONN));
    rdma_disconnect(id);
    drop(id);
    drop(in);
    rdma_destroy_id(listener);
}

/* --- requests --- */

/* The listener changes, and moves, while a request waits. */
static void test_late(void)
{
    struct sockaddr_in at;
    struct rdma_event_channel *other = rdma_create_event_channel();
    struct rdma_cm_id *listener = listen_here(&at), *id = routed(&at);
    rdma_connect(id, NULL);
    is_readable(servers, 5000);
    listener->context = &at;
    rdma_migrate_id(listener, other);
    struct rdma_cm_id *in = take(other, RDMA_CM_EVENT_CONNECT_REQUEST);
    row("context_of_a_request_that_waited", in && in->context == &at);
    row("channel_of_a_request_that_waited", in && in->channel == other);
    row("reject_with_a_length_alone",
        in && !rdma_reject(in, NULL, 20) && take(clients, RDMA_CM_EVENT_REJECTED));
    drop(id);
    drop(in);
    rdma_destroy_id(listener);
    rdma_destroy_event_channel(other);
}

/* A listener of IPv6 alone is not told of IPv4. */
static void test_family(void)
{
    struct rdma_cm_id *listener, *id;
    struct sockaddr_in6 any = {.sin6_family = AF_INET6};
    struct sockaddr_in at = here;
    int one = 1;
    rdma_create_id(servers, &listener, NULL, RDMA_PS_TCP);
    rdma_set_option(listener, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &one, sizeof one);
    rdma_bind_addr(listener, (void *)&any);
    rdma_listen(listener, 4);
    at.sin_port = rdma_get_src_port(listener);
    id = routed(&at);
    rdma_connect(id, NULL);
    row("listener_of_one_family", take(clients, RDMA_CM_EVENT_REJECTED) == id && !is_readable(servers, 0));
    drop(id);
    rdma_destroy_id(listener);
}

/* --- private data --- */

static const char data[256] = "private";

/* Takes a kind of event, and checks its private data: at least `len` bytes. */
static struct rdma_cm_id *take_data(struct rdma_event_channel *channel, enum rdma_cm_event_type wanted,
                                    int len)
{
    struct rdma_cm_event *event;
    if (!is_readable(channel, 5000) || rdma_get_cm_event(channel, &event))
        return NULL;
    const struct rdma_conn_param *param = &event->param.conn;
    const int is_right = event->event == wanted && param->private_data_len >= len &&
                         memcmp(param->private_data, data, (size_t)len) == 0;
    struct rdma_cm_id *id = is_right ? event->id : NULL;
    rdma_ack_cm_event(event);
    return id;
}

static int is_init(struct rdma_cm_id *id)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    return ibv_query_qp(id->qp, &attr, IBV_QP_STATE, &init) == 0 && attr.qp_state == IBV_QPS_INIT;
}

/* Longer data than the message has room for is refused, and nothing happens. The longest arrives. */
static void test_private_data(int is_iwarp)
{
    struct sockaddr_in at;
    const uint8_t connect = is_iwarp ? 255 : 56, accept = is_iwarp ? 255 : 196, reject = is_iwarp ? 255 : 148;
    struct rdma_cm_id *listener = listen_here(&at);
    for (int is_accepted = 0; is_accepted < 2; is_accepted++) {
        struct rdma_cm_id *id = routed(&at), *in;
        struct rdma_conn_param param = {.private_data = data, .private_data_len = (uint8_t)(connect + 1)};
        if (!is_iwarp)
            row("connect_with_too_much_data", is_refused(rdma_connect(id, &param), EINVAL) && is_init(id) &&
                                                  !is_readable(servers, 50) && !is_readable(clients, 0));
        param.private_data_len = connect;
        row("connect_with_the_most_data", !rdma_connect(id, &param));
        in = take_data(servers, RDMA_CM_EVENT_CONNECT_REQUEST, connect);
        row("most_data_of_a_request", in != NULL);
        add_qp(in);
        param.private_data_len = (uint8_t)(accept + 1);
        if (!is_iwarp) {
            row("accept_with_too_much_data",
                is_refused(rdma_accept(in, &param), EINVAL) && is_init(in) && !is_readable(clients, 50));
            row("reject_with_too_much_data",
                is_refused(rdma_reject(in, data, (uint8_t)(reject + 1)), EINVAL) &&
                    !is_readable(clients, 50));
        }
        param.private_data_len = accept;
        if (is_accepted)
            row("most_data_of_an_answer",
                !rdma_accept(in, &param) && take_data(clients, RDMA_CM_EVENT_ESTABLISHED, accept));
        else
            row("most_data_of_a_refusal",
                !rdma_reject(in, data, reject) && take_data(clients, RDMA_CM_EVENT_REJECTED, reject));
        if (is_accepted)
            take(servers, RDMA_CM_EVENT_ESTABLISHED);
        drop(in);
        drop(id);
    }
    rdma_destroy_id(listener);
}

/* --- an address without a neighbour --- */

static int test_again(const char *silent, const char *address)
{
    struct rdma_cm_id *id;
    struct rdma_cm_event *event;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(7471)};
    rdma_create_id(clients, &id, NULL, RDMA_PS_TCP);
    for (int is_taken = 1; is_taken >= 0; is_taken--) {
        inet_pton(AF_INET, silent, &to.sin_addr);
        row("resolve_a_silent_address", !rdma_resolve_addr(id, NULL, (void *)&to, 200));
        row("resolve_while_resolving", is_refused(rdma_resolve_addr(id, NULL, (void *)&to, 200), EINVAL));
        row("the_error_is_an_event", is_readable(clients, 5000));
        if (is_taken && !rdma_get_cm_event(clients, &event))
            row("address_error", event->event == RDMA_CM_EVENT_ADDR_ERROR && event->status < 0);
        inet_pton(AF_INET, address, &to.sin_addr);
        row(is_taken ? "resolve_before_the_error_is_acknowledged" : "resolve_before_the_error_is_taken",
            !rdma_resolve_addr(id, NULL, (void *)&to, 2000));
        if (is_taken)
            rdma_ack_cm_event(event);
        else
            row("address_error_that_waited", take(clients, RDMA_CM_EVENT_ADDR_ERROR) == id);
        row("address_resolved_after_it", take(clients, RDMA_CM_EVENT_ADDR_RESOLVED) == id);
        rdma_destroy_id(id);
        rdma_create_id(clients, &id, NULL, RDMA_PS_TCP);
    }
    rdma_destroy_id(id);
    return failures != 0;
}

/* --- many at once --- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void test_many(void)
{
    static struct rdma_cm_id *ids[MANY];
    struct sockaddr_in at;
    struct rdma_cm_id *listener = listen_here(&at);
    int count = 0;
    for (int i = 0; i < MANY; i++)
        ids[i] = routed(&at);
    const double begin = now();
    for (int i = 0; i < MANY; i++)
        rdma_connect(ids[i], NULL);
    while (count < MANY && take(servers, RDMA_CM_EVENT_CONNECT_REQUEST))
        count++;
    /* a request that was lost comes again after 4.3 s */
    row("many_requests_at_once", count == MANY && now() - begin < 4);
    rdma_destroy_id(listener);
    for (int i = 0; i < MANY; i++)
        drop(ids[i]);
}

/* --- multicast --- */

/* Returns whether an interface of this namespace is a member of 239.7.7.7. */
static int is_member(void)
{
    char line[200];
    int found = 0;
    FILE *f = fopen("/proc/net/igmp", "r");
    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, "070707EF") != NULL;
    if (f)
        fclose(f);
    return found;
}

static void test_groups(void)
{
    struct rdma_cm_id *id;
    struct sockaddr_in at = here, group = {.sin_family = AF_INET, .sin_port = htons(7)};
    struct rdma_cm_join_mc_attr_ex attr = {.comp_mask =
                                               RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
                                           .join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
                                           .addr = (struct sockaddr *)&group};
    union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 7, [14] = 7, [15] = 7}};
    inet_pton(AF_INET, "239.7.7.7", &group.sin_addr);
    rdma_create_id(clients, &id, NULL, RDMA_PS_TCP);
    rdma_bind_addr(id, (void *)&at);
    row("join_of_a_connected_type", is_refused(rdma_join_multicast(id, (void *)&group, NULL), EINVAL));
    rdma_destroy_id(id);
    rdma_create_id(clients, &id, NULL, RDMA_PS_UDP);
    rdma_bind_addr(id, (void *)&at);
    struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_UD, .cap = {2, 2, 1, 1, 0}};
    rdma_create_qp(id, NULL, &init);
    attr.comp_mask |= 1u << 20;
    row("join_unknown_mask", is_refused(rdma_join_multicast_ex(id, &attr, NULL), EOPNOTSUPP));
    attr.comp_mask &= ~(1u << 20);
    int err = rdma_join_multicast_ex(id, &attr, NULL);
    take(clients, RDMA_CM_EVENT_MULTICAST_JOIN);
    row("join_to_send_alone", !err && id->qp && ibv_detach_mcast(id->qp, &gid, 0) != 0);
    row("join_to_send_alone_is_no_membership", !is_member());
    err = rdma_leave_multicast(id, (void *)&group) || rdma_join_multicast(id, (void *)&group, NULL);
    take(clients, RDMA_CM_EVENT_MULTICAST_JOIN);
    row("join_is_a_membership", !err && is_member());
    row("leave_ends_the_membership", !rdma_leave_multicast(id, (void *)&group) && !is_member());
    drop(id);
}

static int show_scope(const char *address, const char *interface)
{
    struct rdma_cm_id *id;
    struct sockaddr_in6 to = {
        .sin6_family = AF_INET6, .sin6_port = htons(7), .sin6_scope_id = if_nametoindex(interface)};
    inet_pton(AF_INET6, address, &to.sin6_addr);
    rdma_create_id(clients, &id, NULL, RDMA_PS_TCP);
    if (rdma_resolve_addr(id, NULL, (void *)&to, 2000))
        printf("%s\n", strerror(errno));
    else if (!take(clients, RDMA_CM_EVENT_ADDR_RESOLVED))
        printf("no way\n");
    else
        printf("%s scope %s\n", ibv_get_device_name(id->verbs->device),
               id->route.addr.src_sin6.sin6_scope_id == to.sin6_scope_id ? interface : "lost");
    rdma_destroy_id(id);
    return 0;
}

int main(int argc, char **argv)
{
    servers = rdma_create_event_channel();
    clients = rdma_create_event_channel();
    alarm(60);
    if (argc == 4 && strcmp(argv[1], "again") == 0)
        return test_again(argv[2], argv[3]);
    if (argc == 4)
        return show_scope(argv[2], argv[3]);
    here.sin_family = AF_INET;
    inet_pton(AF_INET, argv[1], &here.sin_addr);
    const int is_iwarp = argc > 2;
    test_attributes();
    test_unresolved();
    test_states(is_iwarp);
    test_late();
    test_family();
    test_private_data(is_iwarp);
    if (!is_iwarp) {
        test_many();
        test_groups();
    }
    return failures != 0;
}
