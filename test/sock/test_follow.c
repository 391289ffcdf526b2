/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports follow their interfaces: what happens to a connection while these lose addresses and the carrier,
 * change their MTU, go and come back. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "test/sock/lab.h"

#define PORT 5000

/* What the two processes and the test share. */
struct board {
    struct lab lab;
    bool is_v6;
    volatile int ready, stop;
    /* the client's ACTIVE links: all, by an IPv4 GID, with packets of at most 512 bytes; and how many
     * failed */
    volatile int links, links_v4, links_small, failed;
    volatile int server_small;
    volatile int is_smcr, echoed;
};

static struct board *board_new(unsigned links)
{
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lab_open(&b->lab, links);
    return b;
}

/* Waits at most `ms` for `*value` to become at least `wanted`. */
static bool becomes(volatile int *value, int wanted, int ms)
{
    for (int i = 0; i < ms / 5 && *value < wanted; i++)
        usleep(5000);
    return *value >= wanted;
}

static socklen_t name_server(const struct board *b, struct sockaddr_storage *out)
{
    struct sockaddr_in v4 = lab_address(1, PORT);
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
    inet_pton(AF_INET6, NETNS_VETH_V6(1), &v6.sin6_addr);
    memcpy(out, b->is_v6 ? (void *)&v6 : (void *)&v4, b->is_v6 ? sizeof v6 : sizeof v4);
    return b->is_v6 ? sizeof v6 : sizeof v4;
}

static const struct smcr_times quick = {.redundancy_ns = 200000000, .redundancy_max_ns = 200000000};

struct seen {
    int links, v4, small;
};

static void note_link(void *ctx, const struct smcr_group_stat *group, const struct smcr_link_stat *link)
{
    struct seen *seen = ctx;
    (void)group;
    if (strcmp(link->state, "ACTIVE") != 0)
        return;
    seen->links++;
    seen->v4 += nornic_addr_is_v4(&link->gid);
    seen->small += link->path_mtu_bytes <= 512;
}

static struct seen links_now(void)
{
    struct seen seen = {0};
    struct smcr_stat_visitor visitor = {.link = note_link, .ctx = &seen};
    smcr_sock_stat_visit(&visitor);
    return seen;
}

static int echo(void *ctx)
{
    struct board *b = ctx;
    struct sockaddr_storage addr;
    socklen_t len = name_server(b, &addr);
    char bytes[3000];
    ssize_t n;
    int on = 1;
    lab_start(&b->lab, 1, &quick);
    int l = nornic_socket(b->is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    nornic_setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (nornic_bind(l, (struct sockaddr *)&addr, len) != 0 || nornic_listen(l, 4) != 0)
        return 5;
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    nornic_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_usec = 5000},
                      sizeof(struct timeval));
    while ((n = nornic_recv(fd, bytes, sizeof bytes, 0)) > 0 || (n < 0 && errno == EAGAIN)) {
        if (n > 0)
            nornic_send(fd, bytes, (size_t)n, MSG_NOSIGNAL);
        b->server_small = links_now().small;
    }
    nornic_close(fd);
    nornic_close(l);
    return 0;
}

static void look(struct board *b)
{
    struct seen seen = links_now();
    struct smcr_counters counters;
    smcr_sock_counters(&counters);
    b->links = seen.links;
    b->links_v4 = seen.v4;
    b->links_small = seen.small;
    b->failed = (int)counters.links_failed;
}

/* More than one packet of any size. */
static bool is_echoed(int fd)
{
    char out[3000], in[3000];
    size_t got = 0;
    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (char)(i / 7);
    if (nornic_send(fd, out, sizeof out, MSG_NOSIGNAL) != sizeof out)
        return false;
    for (ssize_t n = 1; n > 0 && got<sizeof in; got += n> 0 ? (size_t)n : 0)
        n = nornic_recv(fd, in + got, sizeof in - got, 0);
    return got == sizeof in && memcmp(in, out, sizeof in) == 0;
}

static int watch(void *ctx)
{
    struct board *b = ctx;
    struct sockaddr_storage addr;
    socklen_t len = name_server(b, &addr);
    struct nornic_socket_info info = {0};
    struct timeval limit = {.tv_sec = 10};
    lab_start(&b->lab, 0, &quick);
    int fd = nornic_socket(b->is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    if (nornic_connect(fd, (struct sockaddr *)&addr, len) != 0 || !is_echoed(fd))
        return 10;
    nornic_setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    nornic_socket_info(fd, &info);
    b->is_smcr = info.smcr;
    for (int i = 0; i < 8000 && !b->stop; i++) {
        look(b);
        usleep(5000);
    }
    b->echoed = is_echoed(fd);
    nornic_close(fd);
    return 0;
}

struct sides {
    pid_t server, client;
};

/* A connection over `links` links. */
static struct sides begin(struct board *b, int links)
{
    struct sides sides = {.server = lab_fork(&b->lab, 1, echo, b)};
    cr_assert(becomes(&b->ready, 1, 10000));
    sides.client = lab_fork(&b->lab, 0, watch, b);
    cr_expect(becomes(&b->links, links, 10000), "%d links at first", b->links);
    cr_expect_eq(b->is_smcr, 1);
    return sides;
}

static void end(struct board *b, struct sides sides)
{
    b->stop = 1;
    int client_status = lab_wait(sides.client, 30), server_status = lab_wait(sides.server, 30);
    lab_close(&b->lab);
    cr_expect_eq(client_status, 0, "the client ended with %d", client_status);
    cr_expect_eq(server_status, 0, "the server ended with %d", server_status);
    cr_expect_eq(b->echoed, 1, "the connection did not live on");
}

/* The far end of the wire goes down while nobody there can say so: the carrier does, at once. RC would need
 * 1.8 seconds, if there was something to send. covers: SMCR-ENG-08 */
Test(follow, SMCR_ENG_08_the_carrier_is_lost, .timeout = 60)
{
    struct board *b = board_new(2);
    struct sides sides = begin(b, 2);
    kill(sides.server, SIGSTOP);
    cr_expect_eq(netns_run(&b->lab.veth, 1, "ip link set nn3 down"), 0);
    cr_expect(becomes(&b->failed, 1, 1000), "nobody noticed");
    kill(sides.server, SIGCONT);
    end(b, sides);
}

/* An address that goes takes its links along, and one that comes back brings them back, though the interface
 * has others meanwhile. covers: SMCR-ENG-08, SMCR-FC-03 */
Test(follow, SMCR_ENG_08_an_address_goes_and_comes_back, .timeout = 60)
{
    struct board *b = board_new(2);
    struct sides sides = begin(b, 2);
    cr_expect_eq(b->links_v4, 2);
    cr_expect_eq(netns_run(&b->lab.veth, 0, "ip addr del 10.78.0.1/24 dev nn2"), 0);
    cr_expect(becomes(&b->failed, 1, 1500), "nobody noticed");
    cr_expect_eq(netns_run(&b->lab.veth, 0, "ip addr add 2001:db8:78::1/64 dev nn2 nodad"), 0);
    cr_expect_eq(netns_run(&b->lab.veth, 0, "ip addr add 10.78.0.1/24 dev nn2"), 0);
    cr_expect(becomes(&b->links_v4, 2, 15000), "%d links by IPv4, %d in all", b->links_v4, b->links);
    end(b, sides);
}

/* Packets of the old size do not pass any more: the connection goes on over the other link, and the new one
 * has smaller packets. covers: SMCR-QP-02 */
Test(follow, SMCR_QP_02_the_MTU_gets_smaller, .timeout = 60)
{
    struct board *b = board_new(2);
    struct sides sides = begin(b, 2);
    cr_expect_eq(b->links_small, 0);
    for (int side = 0; side < 2; side++)
        cr_expect_eq(netns_run(&b->lab.veth, side, "ip link set nn%d mtu 600", side), 0);
    cr_expect(becomes(&b->links_small, 1, 15000), "%d links, none is smaller", b->links);
    cr_expect(becomes(&b->links, 2, 15000), "%d links", b->links);
    end(b, sides);
}

/* There is no other link: the connection goes on with packets that fit. covers: SMCR-QP-02 */
Test(follow, SMCR_QP_02_the_MTU_of_the_only_link_gets_smaller, .timeout = 60)
{
    struct board *b = board_new(1);
    struct sides sides = begin(b, 1);
    for (int side = 0; side < 2; side++)
        cr_expect_eq(netns_run(&b->lab.veth, side, "ip link set nn%d mtu 600", side), 0);
    cr_expect(becomes(&b->links_small, 1, 15000), "the client has not heard of it");
    cr_expect(becomes(&b->server_small, 1, 15000), "the server has not heard of it");
    end(b, sides);
    cr_expect_eq(b->failed, 0);
}

/* It is the same interface, and nothing has happened to the connections on it. */
Test(follow, an_interface_gets_another_name, .timeout = 60)
{
    struct board *b = board_new(2);
    struct sides sides = begin(b, 2);
    /* the carrier of the other pair tells when the news has been read */
    bool is_renamed = netns_run(&b->lab.veth, 0, "ip link set nn0 name nn0other") == 0;
    cr_expect_eq(netns_run(&b->lab.veth, 1, "ip link set nn3 down"), 0);
    cr_expect(becomes(&b->failed, 1, 5000), "nobody noticed");
    cr_expect_eq(b->failed, 1, "the new name has cost a link");
    if (is_renamed)
        cr_expect_eq(netns_run(&b->lab.veth, 0, "ip link set nn0other name nn0"), 0);
    end(b, sides);
    if (!is_renamed)
        cr_skip("a kernel before 6.2 does not rename an interface that is up");
}

Test(follow, an_interface_is_deleted_and_made_again, .timeout = 60)
{
    struct board *b = board_new(2);
    struct sides sides = begin(b, 2);
    cr_expect_eq(netns_run(&b->lab.veth, 0, "ip link del nn2"), 0);
    cr_expect(becomes(&b->failed, 1, 5000), "nobody noticed");
    lab_add_second_pair(&b->lab);
    usleep(100000); /* what is counted may be of before */
    cr_expect(becomes(&b->links, 2, 20000), "%d links", b->links);
    end(b, sides);
}

/* A client with addresses of both families, a server that has IPv6 alone. covers: SMCR-FC-03 */
Test(follow, SMCR_FC_03_an_IPv6_connection_has_IPv6_GIDs, .timeout = 60)
{
    struct board *b = board_new(1);
    b->is_v6 = true;
    cr_assert_eq(netns_run(&b->lab.veth, 1, "ip addr del 10.77.0.2/24 dev nn1"), 0);
    struct sides sides = begin(b, 1);
    cr_expect_eq(b->links_v4, 0);
    end(b, sides);
}
