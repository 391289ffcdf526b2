/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP peers that ask and are no iWARP, or bad ones: what they do costs nobody else anything, and leaves
 * nothing. */
#include <criterion/criterion.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/api/api.h"
#include "host/iwarp/iwarp.h"
#include "host/host.h"
#include "test/host/iw_pair.h"
#include "iwarp/wire/crc.h"
#include "iwarp/wire/setup.h"
#include "test/support/fds.h"

static struct iw_end server;
static struct nornic_cm_id *listener;
static uint16_t port;

static void setup(void)
{
    iw_open(&server, "iwarp:127.0.0.1", NULL);
    port = iw_listen(&server, &listener, 4);
}

static void teardown(void)
{
    nornic_cm_id_destroy(listener);
    iw_close(&server);
}

TestSuite(iw_hostile, .init = setup, .fini = teardown, .timeout = 60);

static const char request[] = "MPA ID Req Frame\x40\x01\x00\x00"; /* C, revision 1, no private data */
#define REQUEST_BYTES (sizeof request - 1)

static void expect_no_event(void)
{
    struct nornic_cm_event *event;
    cr_expect_eq(nornic_cm_get_event(server.cm, &event, 0), -EAGAIN);
}

static uint64_t counter_value;

static void look(void *ctx, const char *name, uint64_t value)
{
    if (strcmp(ctx, name) == 0)
        counter_value = value;
}

static uint64_t counter(const char *name)
{
    nornic_dev_counters(server.dev, look, (void *)(uintptr_t)name);
    return counter_value;
}

/* The server lives: a good peer is served. */
static void expect_service(void)
{
    struct iw_end client;
    struct nornic_sge sge;
    iw_open(&client, "iwarp:127.0.0.1", NULL);
    iw_start(&client, port, NULL);
    iw_take(&server, NULL);
    cr_expect_eq(iw_hears(&client, NORNIC_CM_EVENT_ESTABLISHED), 0);
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_ESTABLISHED), 0);
    iw_post_recv(&server, 0, 100);
    struct nornic_send_wr wr = iw_wr(NORNIC_WR_SEND, &client, &server, &sge, 0, 0, 100);
    iw_post(&client, &wr);
    cr_expect_eq(iw_wait(&server).status, NORNIC_WC_SUCCESS);
    iw_close(&client);
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_DISCONNECTED), 0);
}

/* covers: IWARP-MPA-10 */
/* covers: IWARP-CM-05 */
Test(iw_hostile, what_is_no_request_is_turned_away)
{
    static const char *const words[] = {"GET / HTTP/1.1\r\n\r\n-----", "MPA ID Rep Frame\x40\x01\x00\x00",
                                        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"};
    for (size_t i = 0; i < array_len(words); i++) {
        int fd = iw_tcp(port);
        iw_tcp_say(fd, words[i], 20);
        cr_expect(iw_tcp_ended(fd));
        close(fd);
    }
    expect_no_event();
    expect_service();
}

/* covers: IWARP-MPA-12 */
Test(iw_hostile, a_revision_that_is_none_is_turned_away)
{
    char bytes[REQUEST_BYTES];
    memcpy(bytes, request, sizeof bytes);
    bytes[17] = 3;
    int fd = iw_tcp(port);
    iw_tcp_say(fd, bytes, sizeof bytes);
    cr_expect(iw_tcp_ended(fd));
    close(fd);
    expect_no_event();
    expect_service();
}

/* Revision 2 without S: accepted without a word, it is served as many READs as this side can. */
Test(iw_hostile, a_request_of_revision_2_may_tell_no_depths)
{
    char bytes[REQUEST_BYTES];
    memcpy(bytes, request, sizeof bytes);
    bytes[17] = 2;
    int fd = iw_tcp(port);
    iw_tcp_say(fd, bytes, sizeof bytes);
    iw_take(&server, NULL);
    struct nornic_cm_event *event = iw_event(&server, NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect(event->responder_resources == 128 && event->initiator_depth == 128, "%u, %u",
              event->responder_resources, event->initiator_depth);
    nornic_cm_ack_event(event);
    close(fd);
}

/* covers: IWARP-MPA-14 */
/* covers: IWARP-CM-08 */
Test(iw_hostile, who_says_half_a_request_or_nothing_is_not_waited_for_long)
{
    int half = iw_tcp(port), silent = iw_tcp(port);
    uint64_t start_ns = host_now_ns();
    iw_tcp_say(half, request, 10);
    expect_service(); /* nobody waits for them */
    cr_expect(iw_tcp_ended(half));
    cr_expect(iw_tcp_ended(silent));
    uint64_t took_ns = host_now_ns() - start_ns;
    cr_expect_geq(took_ns, IWARP_REQUEST_TIMEOUT_NS * 9 / 10);
    cr_expect_lt(took_ns, 3 * IWARP_REQUEST_TIMEOUT_NS);
    close(half);
    close(silent);
    expect_no_event();
}

/* covers: IWARP-CM-06 */
Test(iw_hostile, a_request_octet_by_octet_is_as_good)
{
    int fd = iw_tcp(port);
    for (size_t i = 0; i < REQUEST_BYTES; i++)
        iw_tcp_say(fd, request + i, 1);
    iw_take(&server, NULL);
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_ESTABLISHED), 0);
    close(fd);
    iw_hears(&server, NORNIC_CM_EVENT_DISCONNECTED);
}

Test(iw_hostile, a_reset_in_the_middle_of_a_request_leaves_nothing)
{
    for (size_t n = 0; n <= REQUEST_BYTES - 1; n++) {
        int fd = iw_tcp(port);
        if (n)
            iw_tcp_say(fd, request, n);
        iw_tcp_reset(fd);
    }
    expect_service();
    expect_no_event();
}

/* The program learns by its answer that the peer has gone. */
Test(iw_hostile, who_asks_and_goes_is_told_of_and_over)
{
    int fd = iw_tcp(port);
    iw_tcp_say(fd, request, REQUEST_BYTES);
    struct nornic_cm_event *event = iw_event(&server, NORNIC_CM_EVENT_CONNECT_REQUEST);
    server.id = event->id;
    nornic_cm_ack_event(event);
    uint64_t resets = counter("resets");
    iw_tcp_reset(fd);
    for (int i = 0; i < 20000 && counter("resets") == resets; i++)
        usleep(1000);
    iw_make_qp(&server);
    cr_expect_eq(nornic_cm_id_accept(server.id, server.qp, NULL), 0);
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_CONNECT_ERROR), -ECONNRESET);
    cr_expect_eq(nornic_qp_state(server.qp), NORNIC_QPS_ERR);
}

/* covers: IWARP-FPDU-10 */
Test(iw_hostile, noise_behind_the_setup_ends_that_stream_alone)
{
    uint8_t noise[4096];
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (uint8_t)(i * 31 + 7);
    int fd = iw_tcp(port);
    iw_tcp_say(fd, request, REQUEST_BYTES);
    iw_take(&server, NULL);
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_ESTABLISHED), 0);
    iw_tcp_say(fd, noise, sizeof noise);
    close(fd);
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_DISCONNECTED), -ECONNRESET);
    nornic_cm_id_destroy(server.id);
    cr_assert_eq(nornic_qp_destroy(server.qp), 0);
    server.id = NULL;
    server.qp = NULL;
    expect_service();
}

#define WAKERS 3 /* what else is in the set: the device's doorbell, timer and sources */

/* How many sockets the server's device has epoll look at. */
static unsigned watched(void)
{
    char path[64], line[256];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", server.dev->host->iw->set.fd);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file))
        count += strncmp(line, "tfd:", 4) == 0;
    fclose(file);
    return count - WAKERS;
}

/* A child of the program has copies of all descriptors. What the program has closed is not told of any more:
 * its memory is gone. */
Test(iw_hostile, a_child_with_its_descriptors_changes_nothing)
{
    struct nornic_cm_id *second;
    int ends[2], fd = iw_tcp(port);
    iw_tcp_say(fd, request, REQUEST_BYTES);
    iw_take(&server, NULL);
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_ESTABLISHED), 0);
    iw_listen(&server, &second, 1);
    cr_expect_eq(watched(), 3, "two that listen and a connection");
    cr_assert_eq(pipe(ends), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        char end;
        close(ends[1]);
        _exit(read(ends[0], &end, 1) == 0 ? 0 : 1); /* until the test has ended, however it does */
    }
    close(ends[0]);
    nornic_cm_id_destroy(second);
    nornic_cm_id_destroy(server.id);
    cr_assert_eq(nornic_qp_destroy(server.qp), 0);
    server.id = NULL;
    server.qp = NULL;
    for (int i = 0; i < 500 && watched() != 1; i++)
        usleep(10000); /* the peer has not ended: a little is waited for that */
    cr_expect_eq(watched(), 1);
    iw_tcp_say(fd, request, REQUEST_BYTES); /* which comes to the child's copy */
    expect_service();
    close(ends[1]);
    cr_expect_eq(waitpid(child, NULL, 0), child);
    close(fd);
}

/* A Terminate in an FPDU with a CRC; what it says goes into the sentence. `len_bytes`: of its control. */
static void hear_terminate(uint8_t layer_and_type, uint8_t code, uint8_t flags, uint8_t len_bytes,
                           const char *wanted)
{
    uint8_t fpdu[2 + 18 + 4 + 4] = {0, (uint8_t)(18 + len_bytes), 0x41, 0x47};
    size_t crc_at = len_bytes == 4 ? 24 : 20;
    fpdu[11] = 2;
    fpdu[15] = 1;
    fpdu[20] = layer_and_type;
    fpdu[21] = code;
    fpdu[22] = flags;
    iwarp_crc_put(fpdu + crc_at, iwarp_crc(0, fpdu, (uint32_t)crc_at));
    int fd = iw_tcp(port);
    iw_tcp_say(fd, request, REQUEST_BYTES);
    iw_take(&server, NULL);
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_ESTABLISHED), 0);
    iw_tcp_say(fd, fpdu, crc_at + 4);
    struct nornic_cm_event *event = iw_event(&server, NORNIC_CM_EVENT_DISCONNECTED);
    cr_expect_not_null(strstr(event->why.text, wanted), "%s", event->why.text);
    nornic_cm_ack_event(event);
    close(fd);
    nornic_cm_id_destroy(server.id);
    cr_assert_eq(nornic_qp_destroy(server.qp), 0);
    server.id = NULL;
    server.qp = NULL;
}

/* As the RFC has it, as siw turns it, one that nobody has defined, and one without a control.
 * covers: IWARP-AMB-01, IWARP-AMB-02 */
Test(iw_hostile, a_terminate_of_any_kind_is_put_in_words)
{
    hear_terminate(0x12, 0x02, 0, 4,
                   "the peer ended the stream by a Terminate: invalid MSN: no buffer available (1/2/02)");
    hear_terminate(0x21, 0x02, 0x03, 4,
                   "the peer ended the stream by a Terminate: invalid MSN: no buffer available (2/1/02)");
    hear_terminate(0x55, 0x66, 0, 4,
                   "the peer ended the stream by a Terminate: an error that is not defined (5/5/66)");
    hear_terminate(0, 0, 0, 0, "the peer ended the stream by a Terminate that says no more");
}

/* Descriptors run out: who connects waits, and is served when there are some again. */
Test(iw_hostile, without_descriptors_connections_wait)
{
    struct rlimit old, none;
    struct nornic_cm_event *event;
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    /* The lowest that was free, so none is below. */
    none = (struct rlimit){.rlim_cur = (rlim_t)fd + 1, .rlim_max = old.rlim_max};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    cr_assert_eq(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    iw_tcp_say(fd, request, REQUEST_BYTES);
    cr_expect_eq(nornic_cm_get_event(server.cm, &event, 150 * NS_PER_MS), -EAGAIN);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    iw_take(&server, NULL);
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_ESTABLISHED), 0);
    close(fd);
    iw_hears(&server, NORNIC_CM_EVENT_DISCONNECTED);
}

static uint16_t port_of(int fd)
{
    struct sockaddr_in at = {0};
    socklen_t at_bytes = sizeof at;
    return getsockname(fd, (struct sockaddr *)&at, &at_bytes) == 0 && at.sin_family == AF_INET
               ? ntohs(at.sin_port)
               : 0;
}

/* What the kernel would say of the server's sockets if they took nothing now. The library is in this program:
 * its calls come here. */
static atomic_bool takes_nothing;

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (atomic_load(&takes_nothing) && port_of(fd) == port) {
        errno = EAGAIN;
        return -1;
    }
    return syscall(SYS_sendmsg, fd, message, flags);
}

static struct nornic_cm_id *id_of_request(void)
{
    struct nornic_cm_event *event = iw_event(&server, NORNIC_CM_EVENT_CONNECT_REQUEST);
    struct nornic_cm_id *id = event->id;
    nornic_cm_ack_event(event);
    return id;
}

/* The program says no, or forgets the request; the peer's TCP has no room for that word. */
/* covers: IWARP-MPA-14 */
Test(iw_hostile, a_refusal_that_tcp_does_not_take_is_given_up)
{
    for (int forgets = 0; forgets < 2; forgets++) {
        int fd = iw_tcp(port);
        iw_tcp_say(fd, request, REQUEST_BYTES);
        struct nornic_cm_id *id = id_of_request();
        uint64_t resets = counter("resets"), start_ns = host_now_ns();
        atomic_store(&takes_nothing, true);
        if (forgets)
            nornic_cm_id_destroy(id);
        else
            cr_expect_eq(nornic_cm_id_reject(id, "no", 2), 0);
        cr_expect(iw_tcp_ended(fd));
        cr_expect_geq(host_now_ns() - start_ns, IWARP_CLOSE_WAIT_NS * 9 / 10);
        cr_expect_eq(counter("resets"), resets + 1);
        atomic_store(&takes_nothing, false);
        close(fd);
        if (!forgets)
            nornic_cm_id_destroy(id);
    }
    expect_service();
}

/* More than are taken without a Request: the others wait in the kernel, and so does a good peer, until the
 * last of those have been waited for; not until the first have. */
/* covers: IWARP-MPA-14 */
Test(iw_hostile, a_crowd_that_says_nothing_does_not_keep_others_out)
{
    enum { TAKEN = 1024, CROWD = TAKEN + 200, OTHERS = 40 };
    static int fds[CROWD];
    const struct rlimit enough = {.rlim_cur = 4 * CROWD, .rlim_max = 4 * CROWD};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &enough), 0);
    unsigned before = fds_count();
    for (int i = 0; i < CROWD; i++)
        fds[i] = iw_tcp(port);
    expect_service();
    cr_expect_leq(fds_count(), before + CROWD + TAKEN + OTHERS);
    char octet;
    cr_expect_lt(recv(fds[0], &octet, 1, MSG_DONTWAIT), 0, "the first has had all of its time");
    cr_expect_eq(errno, EAGAIN);
    for (int i = 0; i < CROWD; i++) {
        cr_expect(iw_tcp_ended(fds[i]), "%d", i);
        close(fds[i]);
    }
    cr_expect_leq(fds_count(), before + OTHERS);
    expect_no_event();
}

/* Another id that listens has its own room: a good peer of its is served while the first of those that have a
 * second for their Request still has some of it. On a machine that does not connect such a crowd within that
 * second, it is tried again. */
Test(iw_hostile, a_crowd_at_one_listener_is_none_of_another)
{
    enum { HURRIED = 512, CROWD = 1024 + 200, TRIES = 20 };
    static int fds[CROWD];
    struct nornic_cm_id *other;
    const struct rlimit enough = {.rlim_cur = 4 * CROWD, .rlim_max = 4 * CROWD};
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &enough), 0);
    uint16_t other_port = iw_listen(&server, &other, 4);
    bool is_at_once = false;
    for (int tries = 0; tries < TRIES && !is_at_once; tries++) {
        char octet;
        for (int i = 0; i < CROWD; i++)
            fds[i] = iw_tcp(port);
        int good = iw_tcp(other_port);
        iw_tcp_say(good, request, REQUEST_BYTES);
        iw_take(&server, NULL);
        cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_ESTABLISHED), 0);
        is_at_once = recv(fds[HURRIED], &octet, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
        close(good);
        for (int i = 0; i < CROWD; i++)
            close(fds[i]);
        nornic_cm_id_destroy(server.id);
        cr_assert_eq(nornic_qp_destroy(server.qp), 0);
        server.id = NULL;
        server.qp = NULL;
    }
    cr_expect(is_at_once, "it waited for a place");
    nornic_cm_id_destroy(other);
}

/* Half of an FPDU is in the kernel, and nobody will say the other half: the peer may not take that for an
 * end. */
Test(iw_hostile, a_queue_pair_that_goes_in_the_middle_of_an_fpdu_resets_its_stream)
{
    static const char empty_write[] =
        "\x00\x0e\xc1\x40\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xa3\x05\x72\xab";
    const int little = 65536;
    int fd = iw_tcp(port); /* it does not read */
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
    iw_tcp_say(fd, request, REQUEST_BYTES);
    iw_take(&server, NULL);
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_ESTABLISHED), 0);
    iw_tcp_say(fd, empty_write, sizeof empty_write - 1);
    struct nornic_sge sge;
    for (int i = 0; i < 64; i++) { /* 16 MiB: more than the two sockets hold */
        const struct nornic_send_wr wr = iw_wr(NORNIC_WR_RDMA_WRITE, &server, &server, &sge, 0, 0, IW_BYTES);
        iw_post(&server, &wr);
    }
    uint64_t sent = 0;
    for (int i = 0; i < 200 && (sent < IW_BYTES || counter("tx_bytes") != sent); i++) {
        sent = counter("tx_bytes");
        usleep(50000); /* it has not grown meanwhile: TCP takes no more */
    }
    cr_assert_geq(sent, IW_BYTES);
    cr_assert_eq(nornic_qp_destroy(server.qp), 0);
    server.qp = NULL;
    cr_expect_eq(iw_hears(&server, NORNIC_CM_EVENT_DISCONNECTED), -ECONNRESET);
    ssize_t n;
    char bytes[4096];
    while ((n = recv(fd, bytes, sizeof bytes, 0)) > 0)
        ;
    cr_expect_eq(n, -1, "no FIN");
    cr_expect_eq(errno, ECONNRESET);
    close(fd);
    nornic_cm_id_destroy(server.id);
    server.id = NULL;
    expect_service();
}
