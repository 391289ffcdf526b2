/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "test/sock/clc_hand.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint8_t peer_id[SMCR_PEER_ID_BYTES] = {0x77, 0x01, 0x02, 0, 0, 0, 0, 0x77};
static const uint8_t peer_mac[6] = {0x02, 0, 0, 0, 0, 0x77};

void hand_open(struct hand *h, struct lab *lab)
{
    struct nornic_error why = {""};
    h->lab = lab;
    cr_assert_eq(smcr_rendezvous_open(&h->ctl, false, &why), 0, "%s", why.text);
}

void hand_close(struct hand *h)
{
    smcr_rendezvous_close(h->ctl);
}

static int hand_socket(struct hand *h, int side)
{
    int on = 1;
    netns_enter(&h->lab->veth, side);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    netns_enter(&h->lab->veth, -1);
    cr_assert_geq(fd, 0);
    cr_assert_eq(smcr_rendezvous_want(h->ctl, fd, true), 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    return fd;
}

int hand_connect(struct hand *h, uint16_t port)
{
    struct sockaddr_in addr = lab_address(1, port);
    for (int i = 0; i < 500; i++) {
        int fd = hand_socket(h, 0);
        if (connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0) {
            cr_assert(smcr_rendezvous_seen(h->ctl, fd), "nornic did not offer SMC-R");
            return fd;
        }
        close(fd);
        usleep(10000); /* it has not begun to listen */
    }
    cr_assert_fail("nobody listens");
    return -1;
}

int hand_listen(struct hand *h, uint16_t port)
{
    struct sockaddr_in addr = lab_address(1, port);
    int fd = hand_socket(h, 1);
    cr_assert_eq(bind(fd, (struct sockaddr *)&addr, sizeof addr), 0);
    cr_assert_eq(listen(fd, 8), 0);
    return fd;
}

int hand_accept(int listen_fd)
{
    struct pollfd p = {.fd = listen_fd, .events = POLLIN};
    cr_assert_eq(poll(&p, 1, 10000), 1, "nobody connects");
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC), on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

void hand_send(int fd, const void *bytes, size_t n)
{
    cr_assert_eq(send(fd, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

ssize_t hand_recv(int fd, void *bytes, size_t n)
{
    size_t got = 0;
    while (got < n) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 5000) != 1)
            return -ETIMEDOUT;
        ssize_t part = recv(fd, (char *)bytes + got, n - got, 0);
        if (part < 0)
            return -errno;
        if (part == 0)
            break;
        got += (size_t)part;
    }
    return (ssize_t)got;
}

bool hand_is_reset(int fd, int ms)
{
    char away[512];
    for (struct pollfd p = {.fd = fd, .events = POLLIN}; poll(&p, 1, ms) == 1;) {
        ssize_t n = recv(fd, away, sizeof away, 0);
        if (n <= 0)
            return n < 0 && errno == ECONNRESET;
    }
    return false;
}

static void put_gid(uint8_t gid[16], int side)
{
    struct sockaddr_in addr = lab_address(side, 0);
    struct nornic_addr v4 = nornic_addr_from_v4((const uint8_t *)&addr.sin_addr);
    memcpy(gid, v4.b, 16);
}

struct smcr_proposal hand_proposal(void)
{
    struct smcr_proposal p = {
        .eye_catcher = SMCR_EYE_CATCHER, .type = SMCR_CLC_PROPOSAL, .length = 52, .version = 1};
    memcpy(p.peer_id, peer_id, sizeof peer_id);
    memcpy(p.mac, peer_mac, sizeof peer_mac);
    put_gid(p.gid, 0);
    return p;
}

struct smcr_subnet hand_subnet(void)
{
    struct smcr_subnet s = {.subnet = {10, 77, 0, 0}, .mask_len = 24};
    return s;
}

static uint8_t *put_trailer(uint8_t *to)
{
    static const uint8_t trailer[4] = {0xe2, 0xd4, 0xc3, 0xd9};
    memcpy(to, trailer, sizeof trailer);
    return to + sizeof trailer;
}

size_t hand_put_proposal(uint8_t *to, const struct smcr_proposal *p, const struct smcr_subnet *s)
{
    uint8_t *end = smcr_subnet_put(smcr_proposal_put(to, p), s);
    return (size_t)(put_trailer(end) - to);
}

struct smcr_accept hand_accept_msg(int side, bool first)
{
    struct smcr_accept a = {.eye_catcher = SMCR_EYE_CATCHER,
                            .type = side ? SMCR_CLC_ACCEPT : SMCR_CLC_CONFIRM,
                            .length = SMCR_ACCEPT_BYTES,
                            .version = 1,
                            .flag = first,
                            .qpn = 0x777,
                            .rkey = 0x1234,
                            .rmbe_index = 1,
                            .alert_token = 0xa1b2c3d4,
                            .bsize = 1,
                            .mtu = 3,
                            .va = 0x7f0000000000,
                            .psn = 0x1234,
                            .trailer = SMCR_EYE_CATCHER};
    memcpy(a.peer_id, peer_id, sizeof peer_id);
    memcpy(a.mac, peer_mac, sizeof peer_mac);
    put_gid(a.gid, side);
    return a;
}

size_t hand_put_accept(uint8_t *to, const struct smcr_accept *a)
{
    return (size_t)(smcr_accept_put(to, a) - to);
}

size_t hand_put_decline(uint8_t *to, uint32_t diagnosis)
{
    struct smcr_decline d = {.eye_catcher = SMCR_EYE_CATCHER,
                             .type = SMCR_CLC_DECLINE,
                             .length = SMCR_DECLINE_BYTES,
                             .version = 1,
                             .diagnosis = diagnosis,
                             .trailer = SMCR_EYE_CATCHER};
    memcpy(d.peer_id, peer_id, sizeof peer_id);
    return (size_t)(smcr_decline_put(to, &d) - to);
}
