/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a process: what its peer hears. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "smcr/stat.h"
#include "sock/sock.h"
#include "test/sock/lab.h"

#define PORT  5000
#define BYTES (1u << 20) /* more than a peer that reads nothing takes */

struct board {
    struct lab lab;
    volatile int ready, groups, failed_links, error;
};

static void count_group(void *ctx, const struct smcr_group_stat *group)
{
    (void)group;
    ++*(int *)ctx;
}

static int count_groups(void)
{
    int groups = 0;
    struct smcr_stat_visitor visitor = {.group = count_group, .ctx = &groups};
    smcr_sock_stat_visit(&visitor);
    return groups;
}

/* Accepts, takes nothing, and waits for the end of the link group: 15 seconds at most. */
static int take_nothing(void *ctx)
{
    struct board *b = ctx;
    struct smcr_counters counters;
    char c;
    lab_start(&b->lab, 1, NULL);
    int l = lab_listen(PORT, 8);
    b->ready = 1;
    int fd = nornic_accept(l, NULL, NULL);
    for (unsigned i = 0; i < 3000 && count_groups() > 0; i++)
        usleep(5000);
    b->groups = count_groups();
    smcr_sock_counters(&counters);
    b->failed_links = (int)counters.links_failed;
    b->error = nornic_recv(fd, &c, 1, MSG_DONTWAIT) < 0 ? errno : 0;
    nornic_close(fd);
    nornic_close(l);
    return 0;
}

static int leave_bytes(void *ctx)
{
    struct board *b = ctx;
    static char bytes[BYTES];
    struct sockaddr_in addr = lab_address(1, PORT);
    lab_start(&b->lab, 0, NULL);
    int fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
    if (nornic_connect(fd, (struct sockaddr *)&addr, sizeof addr) != 0)
        return 10;
    while (nornic_send(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
    return errno == EAGAIN ? 0 : 11; /* the process ends with the socket open */
}

/* covers: SMCR-ABT-09, SMCR-LGT-04 */
Test(retire, SMCR_ABT_09_a_peer_that_takes_nothing_hears_the_end_of_the_group, .timeout = 60)
{
    struct board *b = mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    lab_open(&b->lab, 1);
    pid_t server = lab_fork(&b->lab, 1, take_nothing, b);
    cr_assert(lab_await(&b->ready));
    pid_t client = lab_fork(&b->lab, 0, leave_bytes, b);
    int client_status = lab_wait(client, 20), server_status = lab_wait(server, 20);
    lab_close(&b->lab);
    cr_expect_eq(client_status, 0, "the client ended with %d", client_status);
    cr_expect_eq(server_status, 0, "the server ended with %d", server_status);
    cr_expect_eq(b->groups, 0);
    cr_expect_eq(b->failed_links, 0, "the client went without a word");
    cr_expect(b->error == ECONNRESET || b->error == EPIPE /* it heard the end, too */, "%d", b->error);
}
