/* SPDX-License-Identifier: BSD-2-Clause */
/* An offer that cannot be kept: what goes over TCP, and what is left for the application. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/smc_mark.h"
#include "preload/decline.h"
#include "smcr/clc_wire.h"

#define PROPOSAL_BYTES 52

/* fd[0] is ours, fd[1] the peer's. */
static void connect_pair(int fd[2])
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof addr;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(bind(listener, (struct sockaddr *)&addr, sizeof addr), 0);
    cr_assert_eq(listen(listener, 1), 0);
    cr_assert_eq(getsockname(listener, (struct sockaddr *)&addr, &len), 0);
    fd[1] = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(connect(fd[1], (struct sockaddr *)&addr, sizeof addr), 0);
    fd[0] = accept(listener, NULL, NULL);
    cr_assert_geq(fd[0], 0);
    close(listener);
}

/* A message of that type, with nothing in it that is looked at. */
static void make(uint8_t *message, unsigned type, unsigned len_bytes)
{
    const struct smcr_clc head = {
        .eye_catcher = SMCR_EYE_CATCHER, .type = (uint8_t)type, .length = (uint16_t)len_bytes, .version = 1};
    memset(message, 0, len_bytes);
    smcr_clc_put(message, &head);
    net_bits_put(message + len_bytes - SMCR_CLC_TRAIL_BYTES, 0, 32, SMCR_EYE_CATCHER);
}

static void expect_decline(int fd)
{
    uint8_t bytes[SMCR_DECLINE_BYTES];
    struct smcr_decline decline;
    cr_assert_eq(recv(fd, bytes, sizeof bytes, MSG_WAITALL), SMCR_DECLINE_BYTES);
    smcr_decline_get(&decline, bytes);
    cr_assert_eq(decline.eye_catcher, SMCR_EYE_CATCHER);
    cr_assert_eq(decline.type, SMCR_CLC_DECLINE);
    cr_assert_eq(decline.length, SMCR_DECLINE_BYTES);
    cr_assert_eq(decline.diagnosis, SMCR_DIAG_NO_RESOURCES);
    cr_assert_eq(decline.trailer, SMCR_EYE_CATCHER);
    cr_assert_eq(decline.flag, 0, "no link group is out of sync");
}

Test(decline, the_client_declines_in_the_place_of_the_proposal, .timeout = 20)
{
    int fd[2];
    connect_pair(fd);
    cr_assert(decline_peer(fd[0], BORROW_CLIENT, false));
    expect_decline(fd[1]);
}

Test(decline, the_server_takes_the_proposal_and_nothing_behind_it, .timeout = 20)
{
    uint8_t bytes[PROPOSAL_BYTES + 5];
    char rest[8];
    int fd[2];
    connect_pair(fd);
    make(bytes, SMCR_CLC_PROPOSAL, PROPOSAL_BYTES);
    memcpy(bytes + PROPOSAL_BYTES, "hello", 5);
    cr_assert_eq(send(fd[1], bytes, sizeof bytes, 0), sizeof bytes);
    cr_assert(decline_peer(fd[0], BORROW_SERVER, false));
    expect_decline(fd[1]);
    cr_assert_eq(recv(fd[0], rest, sizeof rest, MSG_DONTWAIT), 5);
    cr_assert_eq(memcmp(rest, "hello", 5), 0);
}

Test(decline, a_decline_is_not_answered, .timeout = 20)
{
    uint8_t bytes[SMCR_DECLINE_BYTES];
    int fd[2];
    connect_pair(fd);
    make(bytes, SMCR_CLC_DECLINE, sizeof bytes);
    cr_assert_eq(send(fd[1], bytes, sizeof bytes, 0), sizeof bytes);
    cr_assert(decline_peer(fd[0], BORROW_SERVER, false));
    struct pollfd quiet = {.fd = fd[1], .events = POLLIN};
    cr_assert_eq(poll(&quiet, 1, 0), 0);
}

Test(decline, who_says_no_clc_or_nothing_is_of_no_use, .timeout = 20)
{
    static const char *const firsts[] = {"", "GET / HTTP/1.1\r\n\r\n", "\xe2\xd4\xc3\xd9\x01\xff\xff\x10"};
    uint8_t bytes[PROPOSAL_BYTES];
    int fd[2];
    for (unsigned i = 0; i < 3; i++) {
        connect_pair(fd);
        cr_assert_eq(send(fd[1], firsts[i], strlen(firsts[i]), 0), (ssize_t)strlen(firsts[i]));
        cr_assert_not(decline_peer(fd[0], BORROW_SERVER, false), "%s", firsts[i]);
    }
    connect_pair(fd);
    make(bytes, SMCR_CLC_PROPOSAL, sizeof bytes);
    bytes[PROPOSAL_BYTES - 1] ^= 1; /* no trailer */
    cr_assert_eq(send(fd[1], bytes, sizeof bytes, 0), sizeof bytes);
    cr_assert_not(decline_peer(fd[0], BORROW_SERVER, false));
}

/* Who is silent costs a program that does not block its patience once a second, however many come; whose
 * message is there is served without any. */
Test(decline, who_does_not_block_waits_briefly, .timeout = 60)
{
    uint8_t bytes[PROPOSAL_BYTES];
    struct timespec began, ended;
    int fd[2];
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (unsigned i = 0; i < 10; i++) {
        connect_pair(fd);
        cr_assert_not(decline_peer(fd[0], BORROW_SERVER, true));
    }
    connect_pair(fd);
    make(bytes, SMCR_CLC_PROPOSAL, sizeof bytes);
    cr_assert_eq(send(fd[1], bytes, sizeof bytes, 0), sizeof bytes);
    cr_assert(decline_peer(fd[0], BORROW_SERVER, true));
    expect_decline(fd[1]);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    cr_assert_lt(ended.tv_sec - began.tv_sec, 5, "ten silent peers, %ld s", ended.tv_sec - began.tv_sec);
}

Test(decline, a_reset_is_seen_at_both_ends, .timeout = 20)
{
    char byte;
    int fd[2], error = 0;
    socklen_t len = sizeof error;
    connect_pair(fd);
    decline_reset(fd[0]);
    cr_assert_eq(getsockopt(fd[0], SOL_SOCKET, SO_ERROR, &error, &len), 0);
    cr_assert_eq(error, ECONNRESET);
    cr_assert_lt(recv(fd[1], &byte, 1, 0), 0);
    cr_assert_eq(errno, ECONNRESET);
}

Test(decline, what_an_earlier_connection_agreed_on_is_forgotten, .timeout = 20)
{
    const int marks[][2] = {{0, 0}, {SMC_MARK_ASKED, SMC_MARK_ASKED}, {SMC_MARK_SEEN, 0}};
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        cr_assert(smc_mark_set(fd, marks[i][0]));
        decline_forget(fd);
        cr_expect_eq(smc_mark(fd), marks[i][1], "%d", marks[i][0]);
        close(fd);
    }
}

/* --- a client that may send a Proposal, or may not --- */

static void send_bytes(int fd, const void *bytes, size_t n)
{
    cr_assert_eq(send(fd, bytes, n, 0), (ssize_t)n);
}

/* Waits, for 10 seconds at most, until `n` bytes are there. */
static void arrive(int fd, size_t n)
{
    char bytes[256];
    struct timespec a_moment = {.tv_nsec = 1000000};
    for (int i = 0; i < 10000 && recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT) < (ssize_t)n; i++)
        nanosleep(&a_moment, NULL);
}

Test(decline, a_proposal_is_declined_once_all_of_it_is_there, .timeout = 20)
{
    uint8_t bytes[PROPOSAL_BYTES + 5];
    char rest[8];
    int fd[2];
    connect_pair(fd);
    make(bytes, SMCR_CLC_PROPOSAL, PROPOSAL_BYTES);
    memcpy(bytes + PROPOSAL_BYTES, "hello", 5);
    cr_assert_eq(decline_first(fd[0], false), DECLINE_NOTHING_YET);
    for (unsigned at = 0; at < PROPOSAL_BYTES; at++) {
        cr_assert_eq(decline_first(fd[0], at % 2), DECLINE_NOTHING_YET, "%u", at);
        send_bytes(fd[1], bytes + at, 1);
        arrive(fd[0], at + 1);
    }
    send_bytes(fd[1], bytes + PROPOSAL_BYTES, 5);
    cr_assert_eq(decline_first(fd[0], false), DECLINE_TCP);
    expect_decline(fd[1]);
    cr_assert_eq(recv(fd[0], rest, 5, MSG_WAITALL), 5);
    cr_assert_eq(memcmp(rest, "hello", 5), 0);
}

/* Bytes that are no message belong to the application and stay. Where a message is due, such bytes make the
 * connection useless. */
Test(decline, what_is_no_message_stays, .timeout = 20)
{
    const char *const texts[] = {"G", "GET / HTTP/1.0", "\xe2\xd4\xc3X", "\xe2\xd4\xc3\xd9\x09\x00\x34\x10",
                                 "\xe2\xd4\xc3\xd9\x01\xff\xff\x10"};
    const size_t lengths[] = {1, 14, 4, 8, 8};
    char back[16];
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        int fd[2];
        connect_pair(fd);
        send_bytes(fd[1], texts[i], lengths[i]);
        arrive(fd[0], lengths[i]);
        cr_expect_eq(decline_first(fd[0], false), DECLINE_TCP, "%u", i);
        cr_expect_eq(decline_first(fd[0], true), DECLINE_BROKEN, "%u", i);
        cr_expect_eq(recv(fd[0], back, sizeof back, MSG_DONTWAIT), (ssize_t)lengths[i], "%u", i);
        cr_expect_eq(memcmp(back, texts[i], lengths[i]), 0, "%u", i);
        cr_expect_eq(recv(fd[1], back, sizeof back, MSG_DONTWAIT), -1, "nothing was said");
        close(fd[0]);
        close(fd[1]);
    }
}

Test(decline, a_client_that_ends_at_once_has_said_nothing, .timeout = 20)
{
    char byte;
    int fd[2];
    connect_pair(fd);
    shutdown(fd[1], SHUT_WR);
    struct pollfd ended = {.fd = fd[0], .events = POLLIN};
    cr_assert_eq(poll(&ended, 1, 10000), 1);
    cr_assert_eq(decline_first(fd[0], false), DECLINE_TCP);
    cr_assert_eq(recv(fd[0], &byte, 1, 0), 0);
}
