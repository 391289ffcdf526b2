/* SPDX-License-Identifier: BSD-2-Clause */
/* smcr/clc/read.c: messages out of a TCP stream, however it is cut, and what is none. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/base.h"
#include "net/bytes.h"
#include "smcr/clc/clc.h"
#include "test/support/alloc.h"
#include "test/support/random.h"
#include "test/support/smcr_examples.h"

static const char *const names[] = {"PROP4", "PROP6", "ACC_F", "ACC_S", "CONF", "DECL", "DECL_S"};
#define NAMES array_len(names)

static struct test_alloc alloc;
static struct smcr_clc_reader reader;

static void setup(void)
{
    test_alloc_init(&alloc);
    memset(&reader, 0, sizeof reader);
}

static void teardown(void)
{
    smcr_clc_reader_clear(&reader, &alloc.mem);
    cr_assert_eq(alloc.live, 0, "the reader keeps memory");
}

TestSuite(clc_read, .init = setup, .fini = teardown);

/* Feeds the bytes in pieces of `chunk`, from memory of just that size, as far as a message goes. */
static enum smcr_clc_read feed(const uint8_t *bytes, size_t len_bytes, size_t chunk, size_t *taken)
{
    enum smcr_clc_read read = SMCR_CLC_READ_MORE;
    *taken = 0;
    while (read == SMCR_CLC_READ_MORE && *taken < len_bytes) {
        size_t n = len_bytes - *taken < chunk ? len_bytes - *taken : chunk, now;
        uint8_t *piece = malloc(n);
        memcpy(piece, bytes + *taken, n);
        read = smcr_clc_read(&reader, &alloc.mem, piece, n, &now);
        free(piece);
        cr_assert_leq(now, n);
        cr_assert(read != SMCR_CLC_READ_MORE || now == n, "it left bytes although it wants more");
        *taken += now;
    }
    return read;
}

static enum smcr_clc_read feed_whole(const uint8_t *bytes, size_t len_bytes)
{
    size_t taken;
    smcr_clc_reader_clear(&reader, &alloc.mem);
    return feed(bytes, len_bytes, len_bytes, &taken);
}

/* covers: SMCR-CLC-05 */
Test(clc_read, SMCR_CLC_05_takes_exactly_one_message_in_segments_of_any_size)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES + 64];
    for (size_t i = 0; i < NAMES; i++) {
        unsigned n = smcr_example(names[i], bytes);
        memmove(bytes + n, bytes, 64); /* what follows looks like CLC too */
        for (size_t chunk = 1; chunk <= n + 64; chunk++) {
            size_t taken;
            cr_assert_eq(feed(bytes, n + 64, chunk, &taken), SMCR_CLC_READ_DONE, "%s by %zu", names[i],
                         chunk);
            cr_assert_eq(taken, n, "%s by %zu: took %zu", names[i], chunk, taken);
            cr_assert_eq(reader.len_bytes, n);
            cr_assert_arr_eq(smcr_clc_message(&reader), bytes, n);
            cr_assert_eq(smcr_clc_type(&reader), bytes[4]);
            smcr_clc_reader_clear(&reader, &alloc.mem);
        }
    }
}

/* covers: SMCR-CLC-05 */
Test(clc_read, SMCR_CLC_05_one_message_after_the_other)
{
    uint8_t stream[SMCR_EXAMPLE_MAX_BYTES * NAMES];
    size_t whole = 0, at = 0;
    for (size_t i = 0; i < NAMES; i++)
        whole += smcr_example(names[i], stream + whole);
    for (size_t i = 0; i < NAMES; i++) {
        size_t taken;
        cr_assert_eq(feed(stream + at, whole - at, 7, &taken), SMCR_CLC_READ_DONE, "%s", names[i]);
        at += taken;
        smcr_clc_reader_clear(&reader, &alloc.mem);
    }
    cr_assert_eq(at, whole);
}

/* covers: SMCR-CLC-02, SMCR-CLC-06 */
Test(clc_read, SMCR_CLC_02_every_byte_of_the_eye_catchers_counts)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    for (size_t i = 0; i < NAMES; i++) {
        unsigned n = smcr_example(names[i], bytes);
        for (unsigned k = 0; k < 8; k++) {
            unsigned at = k < 4 ? k : n - 8 + k;
            for (unsigned bit = 0; bit < 8; bit++) {
                bytes[at] ^= (uint8_t)(1 << bit);
                cr_assert_eq(feed_whole(bytes, n), SMCR_CLC_READ_BROKEN, "%s: byte %u", names[i], at);
                bytes[at] ^= (uint8_t)(1 << bit);
            }
        }
    }
}

/* A peer that speaks another protocol, and waits for an answer to less than a header, gets one.
 * covers: SMCR-CLC-06 */
Test(clc_read, SMCR_CLC_06_what_is_not_clc_shows_at_its_first_byte)
{
    for (unsigned first = 0; first < 256; first++) {
        uint8_t byte = (uint8_t)first;
        size_t taken;
        enum smcr_clc_read read = smcr_clc_read(&reader, &alloc.mem, &byte, 1, &taken);
        cr_assert_eq(read, first == 0xe2 ? SMCR_CLC_READ_MORE : SMCR_CLC_READ_BROKEN, "%02x", first);
        smcr_clc_reader_clear(&reader, &alloc.mem);
    }
}

static void set_length(uint8_t *bytes, unsigned length)
{
    put_be16(bytes + 5, (uint16_t)length);
}

/* Nothing but the header is there: a wrong length is noticed before a byte is waited for.
 * covers: SMCR-CLC-06, SMCR-CLC-13, SMCR-SEC-07 */
Test(clc_read, SMCR_CLC_13_the_length_of_each_type)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    for (size_t i = 0; i < NAMES; i++) {
        unsigned n = smcr_example(names[i], bytes);
        for (unsigned length = 0; length <= 0xffff; length++) {
            set_length(bytes, length);
            bool fits =
                bytes[4] == SMCR_CLC_PROPOSAL ? length >= 44 && length <= SMCR_CLC_MAX_BYTES : length == n;
            enum smcr_clc_read read = feed_whole(bytes, SMCR_CLC_BYTES);
            cr_assert_eq(read, fits ? SMCR_CLC_READ_MORE : SMCR_CLC_READ_BROKEN, "%s: %u", names[i], length);
        }
    }
}

/* covers: SMCR-CLC-06, SMCR-CLC-08 */
Test(clc_read, SMCR_CLC_06_a_type_that_is_none)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    for (size_t i = 0; i < NAMES; i++) {
        unsigned n = smcr_example(names[i], bytes);
        uint8_t type = bytes[4];
        for (unsigned other = 0; other < 256; other++) {
            bytes[4] = (uint8_t)other;
            bool is_type = other >= 1 && other <= 4;
            if (!is_type)
                cr_assert_eq(feed_whole(bytes, n), SMCR_CLC_READ_BROKEN, "%s as %u", names[i], other);
        }
        bytes[4] = type;
        cr_assert_eq(feed_whole(bytes, n), SMCR_CLC_READ_DONE);
    }
}

/* A later version may be proposed, and answered in version 1; what answers our version 1 is of version 1.
 * covers: SMCR-CLC-04 */
Test(clc_read, SMCR_CLC_04_versions)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    for (size_t i = 0; i < NAMES; i++) {
        unsigned n = smcr_example(names[i], bytes);
        bool may_differ = bytes[4] == SMCR_CLC_PROPOSAL || bytes[4] == SMCR_CLC_DECLINE;
        for (unsigned version = 0; version < 16; version++) {
            bytes[7] = (uint8_t)(version << 4 | (bytes[7] & 0xf));
            bool fits = version == 1 || (may_differ && version > 1);
            cr_assert_eq(feed_whole(bytes, n), fits ? SMCR_CLC_READ_DONE : SMCR_CLC_READ_BROKEN,
                         "%s version %u", names[i], version);
        }
    }
}

/* covers: SMCR-CLC-03 */
Test(clc_read, SMCR_CLC_03_reserved_bits_of_the_header_say_nothing)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    for (size_t i = 0; i < NAMES; i++) {
        unsigned n = smcr_example(names[i], bytes);
        bytes[7] |= 0x0f;
        cr_assert_eq(feed_whole(bytes, n), SMCR_CLC_READ_DONE, "%s", names[i]);
    }
}

/* Memory is taken only for a Proposal, and no more than its header says, which is bounded.
 * covers: SMCR-CLC-13, SMCR-SEC-07 */
Test(clc_read, SMCR_SEC_07_memory_for_a_proposal_only)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    for (size_t i = 0; i < NAMES; i++) {
        unsigned n = smcr_example(names[i], bytes), before = alloc.calls;
        feed_whole(bytes, n);
        cr_assert_eq(alloc.calls - before, bytes[4] == SMCR_CLC_PROPOSAL, "%s", names[i]);
    }
    smcr_clc_reader_clear(&reader, &alloc.mem);
    unsigned n = smcr_example("PROP4", bytes);
    alloc.fail_at = alloc.calls + 1;
    cr_assert_eq(feed_whole(bytes, n), SMCR_CLC_READ_NO_MEMORY);
}

/* Whatever comes: it ends, takes no byte twice, and frees what it took.
 * covers: SMCR-SEC-07 */
Test(clc_read, SMCR_SEC_07_survives_any_bytes)
{
    struct test_random random = {.state = 1};
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    for (unsigned round = 0; round < 20000; round++) {
        unsigned n = smcr_example(names[test_random_below(&random, NAMES)], bytes);
        for (unsigned flips = (unsigned)test_random_below(&random, 4); flips > 0; flips--)
            bytes[test_random_below(&random, n)] ^= (uint8_t)(1 << test_random_below(&random, 8));
        size_t taken, chunk = 1 + test_random_below(&random, 80);
        feed(bytes, n, chunk, &taken);
        smcr_clc_reader_clear(&reader, &alloc.mem);
        cr_assert_eq(alloc.live, 0);
    }
}
