/* SPDX-License-Identifier: BSD-2-Clause */
/* Ordinary socket programs, one client and one server each, whose source is compiled twice: with the kernel's
 * calls and with nornic's. Both must say the same (issue: "runs the same source over kernel TCP and over
 * nornic's sockets"). */
#ifndef NORNIC_TEST_SOCK_SAME_H
#define NORNIC_TEST_SOCK_SAME_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One side of a program while it runs. */
struct same {
    FILE *out;                 /* what it says */
    int partner;               /* to the other side: for step() */
    struct sockaddr_in server; /* where the server listens */
    bool is_nornic;
};

struct same_program {
    const char *name;
    void (*client)(struct same *s);
    void (*server)(struct same *s);
};

/* Ends with a name of NULL. */
extern const struct same_program same_kernel[], same_nornic[];

/* Says something; the pair of the two texts is compared. */
void same_say(struct same *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Both sides come here before one goes on. */
void same_step(struct same *s);

/* Bytes whose place in a stream can be told. */
void same_fill(uint8_t *bytes, size_t n, uint64_t at);
uint64_t same_sum(uint64_t sum, const uint8_t *bytes, size_t n);
/* "EAGAIN" for -1 with errno, "ok" for 0. */
const char *same_result(long n);
/* "IN|OUT" */
const char *same_events(short events);

#endif
