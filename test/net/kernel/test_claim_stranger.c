/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/kernel/claim.h"

#define NOWHERE 0xfffffff0u /* no interface */

/* Binds, as another user, the names that the caller would take. */
static int squat_as_nobody(unsigned ifindex)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    int len = snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "nornic/xdp/%u/0/0", ifindex);
    cr_assert_eq(bind(fd, (struct sockaddr *)&name,
                      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)),
                 0);
    cr_assert_eq(fchown(fd, 65534, 65534), 0);
    return fd;
}

Test(claim_stranger, of_another_user_needs_evidence)
{
    unsigned ifindex = NOWHERE - (unsigned)getpid() % 10000;
    if (geteuid() != 0)
        cr_skip("a socket of another user needs root");
    int asker = net_claim_asker();
    int stranger = squat_as_nobody(ifindex);
    cr_expect_not(net_claim_is_taken(asker, "xdp", ifindex, 0));
    int fd = net_claim_take("xdp", ifindex, 0);
    cr_assert_geq(fd, 0, "%d", fd);
    cr_expect(net_claim_is_taken(asker, "xdp", ifindex, 0));
    cr_expect_eq(net_claim_take("xdp", ifindex, 0), -EADDRINUSE, "the random name counts");
    cr_expect_eq(net_claim_count(asker, "xdp", ifindex, 1), 1);
    close(fd);
    close(stranger);
    close(asker);
}
