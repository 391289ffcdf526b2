/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a peer that a socket brings: the control lines of perf and of pingpong, the answer of a process
 * to `nornic stat`, and the first bytes of a connection whose peer waits for SMC-R (preload).
 * The input: a byte that says which reader, then the bytes of the peer, and its end. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/perf/perf.h"
#include "cli/pingpong/pingpong.h"
#include "cli/report/json.h"
#include "cli/stat/verbs.h"
#include "preload/decline.h"
#include "test/fuzz/input.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BYTES 65536u /* that a socket pair takes at once */
#define WAIT_NS    NS_PER_S

static void read_test(int fd, bool is_iwarp)
{
    static struct perf_peer peers[PERF_MAX_QPS];
    struct nornic_error why = {""};
    struct perf_test test = {0};
    struct nornic_addr gid;
    int err = perf_control_read_test(fd, WAIT_NS, is_iwarp, &test, &gid, peers, &why);
    FUZZ_REQUIRE(err ? why.text[0] != '\0' : test.qps >= 1 && test.qps <= PERF_MAX_QPS);
    FUZZ_REQUIRE(err || (test.depth >= 1 && test.depth <= PERF_MAX_DEPTH && test.op < PERF_OP_COUNT));
}

static void read_answer(int fd, bool is_iwarp)
{
    struct perf_qp qps[2] = {{0}};
    struct perf_side side = {.is_client = true, .is_iwarp = is_iwarp, .timeout_ns = WAIT_NS, .qps = qps};
    struct nornic_error why = {""};
    uint64_t ops[2], checked;
    side.test.qps = array_len(qps);
    if (perf_control_read_answer(fd, &side, &why) == 0 && perf_control_read_ops(fd, &side, ops, &why) == 0)
        (void)perf_control_read_checked(fd, WAIT_NS, &checked, &why);
}

static void read_line(const uint8_t *data, size_t size)
{
    char line[PINGPONG_LINE_BYTES] = {0};
    struct pingpong_dest dest;
    memcpy(line, data, size < sizeof line ? size : sizeof line);
    if (pingpong_dest_parse(line, &dest))
        FUZZ_REQUIRE(dest.qpn <= 0xffffff && dest.psn <= 0xffffff);
}

static void read_stat(int fd)
{
    struct json_object *o = cli_json_read(fd, MOST_BYTES, WAIT_NS);
    if (json_object_is_type(o, json_type_object))
        stat_verbs_print(o);
    json_object_put(o);
}

static void read_first(int fd, bool is_due)
{
    (void)decline_first(fd, is_due);
    (void)decline_peer(fd, BORROW_SERVER, true);
}

/* Output of readers is not looked at. Reports go to standard error. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return freopen("/dev/null", "w", stdout) ? 0 : 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int fds[2];
    if (size == 0 || size > MOST_BYTES || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        return 0;
    uint8_t which = data[0];
    bool is_written = write(fds[1], data + 1, size - 1) == (ssize_t)size - 1;
    shutdown(fds[1], SHUT_WR);
    FUZZ_REQUIRE(is_written);
    if (which % 5 == 0)
        read_test(fds[0], which & 0x80);
    else if (which % 5 == 1)
        read_answer(fds[0], which & 0x80);
    else if (which % 5 == 2)
        read_line(data + 1, size - 1);
    else if (which % 5 == 3)
        read_stat(fds[0]);
    else
        read_first(fds[0], which & 0x80);
    close(fds[0]);
    close(fds[1]);
    return 0;
}
