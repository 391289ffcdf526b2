/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of libibverbs, librdmacm and rsockets in one process, on an address of the loopback interface
 * that no other process uses. The choices of test/verbs/random are the bytes of the input.
 * The input: a byte that says which kind of calls, then the choices. The end of all choices closes all. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/fuzz/input.h"
#include "test/verbs/random/random.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 100

static struct in_addr addr; /* of this process */

void random_count_call(struct random_player *p, long result)
{
    (void)p;
    (void)result;
}

void random_fork(struct random_player *p, void (*body)(struct random_player *p))
{
    body(p);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    char text[INET_ADDRSTRLEN], port[INET_ADDRSTRLEN + 8];
    unsigned number = (unsigned)getpid() & 0x3fffff;
    addr.s_addr = htonl(0x7f400000 | number);
    inet_ntop(AF_INET, &addr, text, sizeof text);
    snprintf(port, sizeof port, "udp:%s", text);
    setenv("NORNIC_PORT", port, 1);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct random_kind *const kinds[] = {&random_verbs, &random_cm, &random_rsockets};
    static struct random_shared shared;
    struct fuzz_input in = {.p = data, .left = size};
    const struct random_kind *kind = kinds[fuzz_u8(&in) % 3];
    struct random_player player = {.shared = &shared, .input = &in, .addr = addr};
    memset(&shared, 0, sizeof shared);
    kind->begin(&player);
    for (unsigned i = 0; i < STEPS_MAX && in.left; i++)
        kind->step(&player);
    in.left = 0;
    kind->end(&player);
    return 0;
}
