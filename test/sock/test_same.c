/* SPDX-License-Identifier: BSD-2-Clause */
/* The programs of test/sock/same_*.h: what they say over kernel TCP, and what they say over SMC-R, over plain
 * TCP in nornic's sockets, and with one end of each kind. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/sock/lab.h"
#include "test/sock/same.h"

#define TIMEOUT_S 100
#define PORT      5000

enum kind { KERNEL, SMCR };

struct side_run {
    const struct lab *lab;
    enum kind kind;
    int side; /* 0: the client */
    int partner, out_fd;
};

static void say_how(struct same *s, enum kind kind)
{
    struct smcr_counters c;
    smcr_sock_counters(&c);
    if (kind == SMCR)
        same_say(s, "#smc %llu, fallback %llu, reset %llu", (unsigned long long)c.conns_smc,
                 (unsigned long long)c.conns_fallback, (unsigned long long)c.conns_reset);
}

static int run_side(void *ctx)
{
    struct side_run *r = ctx;
    struct same s = {.partner = r->partner, .is_nornic = r->kind != KERNEL, .out = fdopen(r->out_fd, "w")};
    const struct same_program *programs = s.is_nornic ? same_nornic : same_kernel;
    const char *only = getenv("SAME_ONLY");
    signal(SIGPIPE, SIG_IGN);
    if (s.is_nornic)
        lab_start(r->lab, r->side, NULL);
    for (int i = 0; programs[i].name; i++) {
        if (only && strcmp(only, programs[i].name) != 0)
            continue;
        s.server = lab_address(1, (uint16_t)(PORT + i));
        same_say(&s, "[%s]", programs[i].name);
        (r->side == 0 ? programs[i].client : programs[i].server)(&s);
    }
    say_how(&s, r->kind);
    return 0;
}

static char *text_of(int fd)
{
    off_t len = lseek(fd, 0, SEEK_END);
    char *text = calloc(1, (size_t)len + 1);
    cr_assert_eq(pread(fd, text, (size_t)len, 0), len);
    close(fd);
    return text;
}

/* Runs all programs, the client as `kinds[0]`, the server as `kinds[1]`; what they say into `texts`. */
static void run_both(const struct lab *lab, const enum kind kinds[2], char *texts[2])
{
    struct side_run runs[2];
    pid_t pids[2];
    int partners[2], status[2];
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, partners), 0);
    for (int side = 0; side < 2; side++) {
        runs[side] = (struct side_run){.lab = lab,
                                       .kind = kinds[side],
                                       .side = side,
                                       .partner = partners[side],
                                       .out_fd = memfd_create("same", 0)};
        pids[side] = lab_fork(lab, side, run_side, &runs[side]);
    }
    close(partners[0]);
    close(partners[1]);
    for (int side = 0; side < 2; side++)
        status[side] = lab_wait(pids[side], getenv("SAME_S") ? (unsigned)atoi(getenv("SAME_S")) : TIMEOUT_S);
    for (int side = 0; side < 2; side++)
        texts[side] = text_of(runs[side].out_fd);
    if (status[0] != 0 || status[1] != 0 || getenv("SAME_SHOW"))
        fprintf(stderr, "--- client (%d):\n%s\n--- server (%d):\n%s\n", status[0], texts[0], status[1],
                texts[1]);
    cr_expect_eq(status[0], 0, "the client ended with %d", status[0]);
    cr_expect_eq(status[1], 0, "the server ended with %d", status[1]);
}

/* Line by line; those that begin with # are not compared. */
static void compare(const char *who, char *expected, char *got)
{
    char program[64] = "", *save[2], *line[2];
    line[0] = strtok_r(expected, "\n", &save[0]);
    line[1] = strtok_r(got, "\n", &save[1]);
    while (line[0] || line[1]) {
        for (int i = 0; i < 2; i++)
            while (line[i] && line[i][0] == '#')
                line[i] = strtok_r(NULL, "\n", &save[i]);
        if (line[0] && line[0][0] == '[')
            snprintf(program, sizeof program, "%s", line[0]);
        if (!line[0] && !line[1])
            break;
        cr_expect_str_eq(line[1] ? line[1] : "(nothing)", line[0] ? line[0] : "(nothing)",
                         "%s %s: TCP says \"%s\", nornic \"%s\"", who, program,
                         line[0] ? line[0] : "(nothing)", line[1] ? line[1] : "(nothing)");
        for (int i = 0; i < 2; i++)
            line[i] = line[i] ? strtok_r(NULL, "\n", &save[i]) : NULL;
    }
}

static void compare_with_kernel(unsigned links, enum kind client, enum kind server)
{
    struct lab lab;
    char *kernel[2], *nornic[2];
    lab_open(&lab, links);
    run_both(&lab, (enum kind[]){KERNEL, KERNEL}, kernel);
    run_both(&lab, (enum kind[]){client, server}, nornic);
    lab_close(&lab);
    compare("client", kernel[0], nornic[0]);
    compare("server", kernel[1], nornic[1]);
    for (int side = 0; side < 2; side++) {
        free(kernel[side]);
        free(nornic[side]);
    }
}

/* covers: SMCR-ARC-01, SMCR-ARC-02, SMCR-SOC-01, SMCR-SOC-02, SMCR-SOC-03, SMCR-SOC-04, SMCR-SOC-05 */
Test(same, SMCR_SOC_05_over_one_link_as_over_TCP, .timeout = 240)
{
    compare_with_kernel(1, SMCR, SMCR);
}

/* covers: SMCR-ARC-01, SMCR-SOC-04, SMCR-SOC-05 */
Test(same, SMCR_SOC_05_over_two_links_as_over_TCP, .timeout = 240)
{
    compare_with_kernel(2, SMCR, SMCR);
}

/* covers: SMCR-REN-05 */
Test(same, SMCR_REN_05_a_client_of_a_plain_TCP_server, .timeout = 240)
{
    compare_with_kernel(1, SMCR, KERNEL);
}

/* covers: SMCR-REN-05 */
Test(same, SMCR_REN_05_a_server_of_a_plain_TCP_client, .timeout = 240)
{
    compare_with_kernel(1, KERNEL, SMCR);
}
