/* SPDX-License-Identifier: BSD-2-Clause */
/* FPDUs in and out: iwarp/wire/fpdu_tx.c makes them, iwarp/wire/fpdu_rx.c reads them, and neither believes the other
 * alone: the layouts of markers and the CRCs are those of a script that knows nothing of this project. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "iwarp/wire/crc.h"
#include "iwarp/wire/fpdu_tx.h"
#include "iwarp/wire/size.h"
#include "test/support/iwarp_frames.h"
#include "test/support/random.h"

#define STREAM_BYTES 400000

static uint8_t bounce[IWARP_BOUNCE_BYTES], scratch[IWARP_BATCH_BYTES], rest[IWARP_BATCH_BYTES];
static uint8_t stream[STREAM_BYTES];
static struct iwarp_fpdu_tx tx;
static struct iwarp_fpdu_rx rx;

static const struct iwarp_fpdu_rules plain = {.has_crc = true},
                                     marked = {.has_crc = true, .has_markers = true};

/* Takes all that tx has, as a TCP that has room. */
static uint32_t drain(uint8_t *to)
{
    uint32_t count, len = 0;
    const struct iwarp_piece *pieces = iwarp_fpdu_tx_pieces(&tx, &count);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(to + len, pieces[i].bytes, pieces[i].len_bytes);
        len += pieces[i].len_bytes;
    }
    iwarp_fpdu_tx_sent(&tx, len);
    return len;
}

static void make_fpdu(const uint8_t *ulpdu, uint32_t len)
{
    cr_assert(iwarp_fpdu_tx_has_room(&tx, len, 1));
    iwarp_fpdu_tx_begin(&tx, len);
    iwarp_fpdu_tx_refer(&tx, ulpdu, len);
    iwarp_fpdu_tx_end(&tx);
}

/* Feeds octets `step` at a time, up to the first verdict that is not MORE; how many were taken. */
static size_t feed(const uint8_t *bytes, size_t len, size_t step, enum iwarp_fpdu_verdict *verdict,
                   struct iwarp_ulpdu *ulpdu)
{
    size_t at = 0, taken;
    for (*verdict = IWARP_FPDU_MORE; at < len && *verdict == IWARP_FPDU_MORE; at += taken) {
        size_t n = len - at < step ? len - at : step;
        *verdict = iwarp_fpdu_rx_take(&rx, bytes + at, n, &taken, ulpdu);
        cr_assert(taken == n || *verdict != IWARP_FPDU_MORE);
    }
    return at;
}

static uint16_t be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

/* covers: IWARP-FPDU-01, IWARP-FPDU-09 */
Test(fpdu, the_examples_are_read_in_pieces_of_any_size)
{
    for (int name = IWARP_EX_FIRST_FPDU; name < IWARP_EX_COUNT; name++) {
        uint8_t bytes[2 * IWARP_EXAMPLE_MAX_BYTES];
        size_t len = iwarp_example_bytes((enum iwarp_example_name)name, bytes);
        size_t lead = name == IWARP_EX_MARKED ? 4 : 0;
        memcpy(bytes + len, bytes + lead, len - lead); /* twice, without a gap */
        for (size_t step = 1; step <= len + 1; step++) {
            enum iwarp_fpdu_verdict verdict;
            struct iwarp_ulpdu ulpdu;
            iwarp_fpdu_rx_init(&rx, lead ? &marked : &plain, bounce);
            cr_assert(iwarp_fpdu_rx_is_between(&rx));
            cr_assert_eq(feed(bytes, len - 1, step, &verdict, &ulpdu), len - 1);
            cr_assert_eq(verdict, IWARP_FPDU_MORE, "%s", iwarp_examples[name].title);
            cr_assert(!iwarp_fpdu_rx_is_between(&rx));
            cr_assert_eq(feed(bytes + len - 1, len, step, &verdict, &ulpdu), 1, "not an octet further");
            cr_assert_eq(verdict, IWARP_FPDU_WHOLE, "%s, %zu at a time", iwarp_examples[name].title, step);
            cr_assert_eq(ulpdu.len_bytes, be16(bytes + lead));
            cr_assert_arr_eq(ulpdu.bytes, bytes + lead + 2, ulpdu.len_bytes);
            cr_assert(iwarp_fpdu_rx_is_between(&rx));
            if (lead)
                continue; /* the copy's CRC lacks the marker */
            feed(bytes + len, len, step, &verdict, &ulpdu);
            cr_assert_eq(verdict, IWARP_FPDU_WHOLE, "%s again", iwarp_examples[name].title);
        }
    }
}

/* covers: IWARP-FPDU-07, IWARP-FPDU-09, IWARP-FPDU-10 */
Test(fpdu, a_flipped_bit_anywhere_behind_the_length_is_a_crc_error_and_nothing_is_told)
{
    for (int name = IWARP_EX_FIRST_FPDU; name < IWARP_EX_MARKED; name++) {
        uint8_t bytes[IWARP_EXAMPLE_MAX_BYTES];
        size_t len = iwarp_example_bytes((enum iwarp_example_name)name, bytes);
        for (size_t bit = 16; bit < 8 * len; bit++) {
            for (size_t step = len; step; step /= 2) {
                enum iwarp_fpdu_verdict verdict;
                struct iwarp_ulpdu ulpdu;
                bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
                iwarp_fpdu_rx_init(&rx, &plain, bounce);
                feed(bytes, len, step, &verdict, &ulpdu);
                cr_assert_eq(verdict, IWARP_FPDU_BAD_CRC, "%s, bit %zu", iwarp_examples[name].title, bit);
                bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
            }
        }
    }
}

/* covers: IWARP-FPDU-07, IWARP-FPDU-09 */
Test(fpdu, a_damaged_length_never_gives_a_ulpdu)
{
    for (int name = IWARP_EX_FIRST_FPDU; name < IWARP_EX_MARKED; name++) {
        size_t len = iwarp_example_bytes((enum iwarp_example_name)name, stream);
        memset(stream + len, 0x5a, 70000);
        for (size_t bit = 0; bit < 16; bit++) {
            enum iwarp_fpdu_verdict verdict;
            struct iwarp_ulpdu ulpdu;
            stream[bit / 8] ^= (uint8_t)(1 << bit % 8);
            iwarp_fpdu_rx_init(&rx, &plain, bounce);
            feed(stream, len + 70000, 1460, &verdict, &ulpdu);
            cr_assert_eq(verdict, IWARP_FPDU_BAD_CRC, "%s, bit %zu", iwarp_examples[name].title, bit);
            stream[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
    }
}

/* covers: IWARP-MPA-06 */
/* covers: IWARP-CM-03 */
Test(fpdu, without_crc_the_field_is_there_and_any_value_will_do)
{
    const struct iwarp_fpdu_rules no_crc = {0};
    uint8_t ulpdu[20] = {0x41, 0x43};
    enum iwarp_fpdu_verdict verdict;
    struct iwarp_ulpdu out;
    iwarp_fpdu_tx_init(&tx, &no_crc, scratch, rest);
    make_fpdu(ulpdu, sizeof ulpdu);
    uint32_t len = drain(stream);
    cr_expect_eq(len, iwarp_fpdu_bytes(sizeof ulpdu));
    memset(stream + len - 4, 0x77, 4);
    iwarp_fpdu_rx_init(&rx, &no_crc, bounce);
    feed(stream, len, len, &verdict, &out);
    cr_expect_eq(verdict, IWARP_FPDU_WHOLE);
    iwarp_fpdu_rx_init(&rx, &plain, bounce);
    feed(stream, len, len, &verdict, &out);
    cr_expect_eq(verdict, IWARP_FPDU_BAD_CRC, "with CRC the same octets are damaged");
}

/* covers: IWARP-FPDU-02 */
Test(fpdu, a_ulpdu_shorter_than_its_own_header_breaks_the_framing)
{
    for (uint32_t len = 0; len < 20; len++) {
        for (int is_tagged = 0; is_tagged < 2; is_tagged++) {
            uint8_t ulpdu[20] = {is_tagged ? 0xc1 : 0x41, 0x43};
            enum iwarp_fpdu_verdict verdict;
            struct iwarp_ulpdu out;
            iwarp_fpdu_tx_init(&tx, &plain, scratch, rest);
            make_fpdu(ulpdu, len);
            uint32_t n = drain(stream);
            iwarp_fpdu_rx_init(&rx, &plain, bounce);
            feed(stream, n, n, &verdict, &out);
            cr_expect_eq(verdict, len < (is_tagged ? 14 : 18) ? IWARP_FPDU_BAD_LEN : IWARP_FPDU_WHOLE,
                         "T = %d, %u octets", is_tagged, len);
        }
    }
}

/* covers: IWARP-FPDU-03 */
/* covers: IWARP-CM-12 */
Test(fpdu, the_longest_ulpdu_that_a_length_field_can_say_is_received)
{
    for (size_t step = 70000; step; step /= 17) {
        enum iwarp_fpdu_verdict verdict;
        struct iwarp_ulpdu ulpdu;
        memset(stream, 0x11, 70000);
        memcpy(stream, "\xff\xff\xc1\x40", 4);
        iwarp_crc_put(stream + 65540, iwarp_crc(0, stream, 65540));
        iwarp_fpdu_rx_init(&rx, &plain, bounce);
        cr_expect_eq(feed(stream, 70000, step, &verdict, &ulpdu), 65544);
        cr_expect_eq(verdict, IWARP_FPDU_WHOLE, "%zu at a time", step);
        cr_expect_eq(ulpdu.len_bytes, 65535);
    }
}

/* --- markers: streams m1 and m2 of the worked examples --- */

enum fill { ZEROS, COUNT, SEVENS };

struct vector {
    uint32_t position, ulpdu_bytes, fpdu_bytes;
    struct {
        uint16_t at, ptr;
    } markers[3];
    uint8_t marker_count;
    uint32_t crc; /* as its octets stand */
    const char *head_hex;
    const char *text;
    enum fill fill;
};

static const struct vector m1[] = {
    {0, 23, 36, {{0, 0}}, 1, 0x7a61e971, "414300000000000000000000000100000000", "hello", ZEROS},
    {36, 614, 624, {{476, 476}}, 1, 0x53872074, "c14000abcd010000000000004000", "", ZEROS},
    {660, 22, 28, {{0, 0}}, 0, 0xc429471e, "414300000000000000000000000200000000", "tail", ZEROS},
    {688, 318, 324, {{0, 0}}, 0, 0x92706474, "c14000abcd010000000000005000", "", ZEROS},
    {1012, 17, 28, {{12, 12}}, 1, 0xec5c4cbc, "c14000abcd010000000000006000", "xyz", ZEROS},
};
static const struct vector m2[] = {
    {0,
     1414,
     1432,
     {{0, 0}, {512, 508}, {1024, 1020}},
     3,
     0x07e066d5,
     "c14000abcd010000000000004000",
     "",
     SEVENS},
    {1432, 101, 112, {{104, 104}}, 1, 0x8f207713, "c14000abcd010000000000005000", "", COUNT},
    {1544, 498, 504, {{0, 0}}, 0, 0x2cbbd63b, "c14000abcd010000000000006000", "", ZEROS},
    {2048, 22, 32, {{0, 0}}, 1, 0xdce3e9e2, "414300000000000000000000000100000000", "lead", ZEROS},
};

static void fill_ulpdu(uint8_t *ulpdu, const struct vector *v)
{
    size_t n = strlen(v->head_hex) / 2;
    for (size_t i = 0; i < n; i++) {
        char two[3] = {v->head_hex[2 * i], v->head_hex[2 * i + 1]};
        ulpdu[i] = (uint8_t)strtoul(two, NULL, 16);
    }
    for (size_t i = n; i < v->ulpdu_bytes; i++)
        ulpdu[i] = (uint8_t)(v->fill == ZEROS ? 0 : v->fill == COUNT ? i - n : 7 * (i - n) + 1);
    memcpy(ulpdu + n, v->text, strlen(v->text));
}

static void check_vectors(const struct vector *v, size_t count)
{
    uint8_t ulpdu[1500];
    uint32_t at = 0;
    iwarp_fpdu_tx_init(&tx, &marked, scratch, rest);
    for (size_t i = 0; i < count; i++, v++) {
        fill_ulpdu(ulpdu, v);
        make_fpdu(ulpdu, v->ulpdu_bytes);
        uint32_t n = drain(stream + at);
        cr_assert_eq(at, v->position, "FPDU %zu", i);
        cr_assert_eq(n, v->fpdu_bytes, "FPDU %zu", i);
        for (unsigned m = 0; m < v->marker_count; m++) {
            cr_expect_eq((at + v->markers[m].at) % 512, 0);
            cr_expect_eq(be16(stream + at + v->markers[m].at), 0, "reserved");
            cr_expect_eq(be16(stream + at + v->markers[m].at + 2), v->markers[m].ptr, "FPDU %zu", i);
        }
        cr_expect_eq(__builtin_bswap32(iwarp_crc_get(stream + at + n - 4)), v->crc, "FPDU %zu", i);
        at += n;
    }
    for (size_t step = 1; step <= at; step = step * 3 + 1) {
        enum iwarp_fpdu_verdict verdict;
        struct iwarp_ulpdu out;
        const uint8_t *p = stream;
        iwarp_fpdu_rx_init(&rx, &marked, bounce);
        for (v -= count; p < stream + at; v++) {
            p += feed(p, (size_t)(stream + at - p), step, &verdict, &out);
            fill_ulpdu(ulpdu, v);
            cr_assert_eq(verdict, IWARP_FPDU_WHOLE, "%zu at a time", step);
            cr_assert_eq(out.len_bytes, v->ulpdu_bytes);
            cr_assert_arr_eq(out.bytes, ulpdu, out.len_bytes);
        }
    }
}

/* covers: IWARP-MARK-01, IWARP-MARK-02, IWARP-MARK-03, IWARP-MARK-04, IWARP-MPA-05, IWARP-FPDU-07 */
/* covers: IWARP-CM-14 */
Test(fpdu, markers_stand_where_the_first_worked_stream_has_them)
{
    check_vectors(m1, sizeof m1 / sizeof *m1);
}

/* covers: IWARP-MARK-01, IWARP-MARK-03, IWARP-MARK-04, IWARP-MPA-05 */
Test(fpdu, markers_stand_where_the_second_worked_stream_has_them)
{
    check_vectors(m2, sizeof m2 / sizeof *m2);
}

/* Writes `ptr` into the marker at stream position `at` of the FPDU from `from` to `to`, and makes its CRC
 * good again. */
static void set_pointer(uint32_t from, uint32_t to, uint32_t at, uint16_t ptr)
{
    stream[at + 2] = (uint8_t)(ptr >> 8);
    stream[at + 3] = (uint8_t)ptr;
    iwarp_crc_put(stream + to - 4, iwarp_crc(0, stream + from, to - 4 - from));
}

static enum iwarp_fpdu_verdict read_marked(uint32_t len)
{
    enum iwarp_fpdu_verdict verdict;
    struct iwarp_ulpdu ulpdu;
    iwarp_fpdu_rx_init(&rx, &marked, bounce);
    feed(stream, len, len, &verdict, &ulpdu);
    return verdict;
}

/* covers: IWARP-MARK-05, IWARP-AMB-03 */
/* covers: IWARP-CM-14 */
Test(fpdu, a_marker_that_points_elsewhere_breaks_the_framing)
{
    static const struct {
        uint32_t at;
        uint16_t ptr;
        enum iwarp_fpdu_verdict verdict;
    } rows
        [] =
            {
                {512, 508, IWARP_FPDU_WHOLE},
                {512, 508 | 3, IWARP_FPDU_WHOLE}, /* the low two bits are taken as 0 */
                {512, 512, IWARP_FPDU_WHOLE},     /* counted from the leading marker */
                {512, 504, IWARP_FPDU_BAD_LEN},
                {512, 516, IWARP_FPDU_BAD_LEN},
                {512, 0, IWARP_FPDU_BAD_LEN},
                {1024, 508, IWARP_FPDU_BAD_LEN},
                {1024, 1024, IWARP_FPDU_WHOLE},
                {0, 4, IWARP_FPDU_BAD_LEN},
            };
    uint8_t ulpdu[1414];
    iwarp_fpdu_tx_init(&tx, &marked, scratch, rest);
    fill_ulpdu(ulpdu, m2);
    make_fpdu(ulpdu, sizeof ulpdu);
    uint32_t len = drain(stream);
    for (size_t i = 0; i < array_len(rows); i++) {
        uint16_t right = be16(stream + rows[i].at + 2);
        set_pointer(0, len, rows[i].at, rows[i].ptr);
        cr_expect_eq(read_marked(len), rows[i].verdict, "%u at %u", rows[i].ptr, rows[i].at);
        stream[len - 1] ^= 1;
        cr_expect_eq(read_marked(len), IWARP_FPDU_BAD_CRC, "a bad CRC is told first");
        set_pointer(0, len, rows[i].at, right);
    }
}

/* covers: IWARP-MARK-05 */
Test(fpdu, what_a_marker_has_reserved_is_ignored)
{
    uint8_t ulpdu[1414];
    iwarp_fpdu_tx_init(&tx, &marked, scratch, rest);
    fill_ulpdu(ulpdu, m2);
    make_fpdu(ulpdu, sizeof ulpdu);
    uint32_t len = drain(stream);
    stream[512] = stream[513] = 0xff;
    set_pointer(0, len, 512, 508);
    cr_expect_eq(read_marked(len), IWARP_FPDU_WHOLE);
}

/* --- anything --- */

struct message {
    uint32_t len;
    uint8_t seed;
};

static void fill_message(uint8_t *to, const struct message *m)
{
    for (uint32_t i = 0; i < m->len; i++)
        to[i] = (uint8_t)(m->seed + 31 * i);
    to[0] |= 0x80; /* tagged: 14 octets will do */
}

/* Makes FPDUs of random sizes, copied and referred to, and takes them as a TCP with little room does. The
 * memory that was referred to is overwritten each time. */
static uint32_t make_stream(struct test_random *rnd, struct message *messages, uint32_t count)
{
    static uint8_t memory[16][9000];
    uint32_t at = 0, made = 0;
    while (made < count || iwarp_fpdu_tx_left(&tx)) {
        for (uint32_t slot = 0; slot < 16 && made < count; slot++) {
            struct message *m = &messages[made];
            *m = (struct message){test_random_below(rnd, 10) ? 14 + test_random_below(rnd, 1440)
                                                             : 14 + test_random_below(rnd, 8900),
                                  (uint8_t)test_random_next(rnd)};
            if (!iwarp_fpdu_tx_has_room(&tx, m->len, 2))
                break;
            fill_message(memory[slot], m);
            uint32_t head = 1 + test_random_below(rnd, m->len), more = (m->len - head) / 2;
            iwarp_fpdu_tx_begin(&tx, m->len);
            iwarp_fpdu_tx_copy(&tx, memory[slot], head);
            iwarp_fpdu_tx_refer(&tx, memory[slot] + head, more);
            iwarp_fpdu_tx_refer(&tx, memory[slot] + head + more, m->len - head - more);
            iwarp_fpdu_tx_end(&tx);
            made++;
        }
        uint32_t piece_count, room = test_random_below(rnd, 12000), took = 0;
        const struct iwarp_piece *pieces = iwarp_fpdu_tx_pieces(&tx, &piece_count);
        for (uint32_t i = 0; i < piece_count && room; i++) {
            uint32_t n = min_u32(pieces[i].len_bytes, room);
            memcpy(stream + at + took, pieces[i].bytes, n);
            took += n;
            room -= n;
        }
        iwarp_fpdu_tx_sent(&tx, took);
        memset(memory, 0xee, sizeof memory);
        at += took;
    }
    return at;
}

static void expect_messages(struct test_random *rnd, const struct message *m, uint32_t count, uint32_t len,
                            uint64_t seed)
{
    static uint8_t wanted[9000];
    enum iwarp_fpdu_verdict verdict;
    struct iwarp_ulpdu ulpdu;
    for (const uint8_t *p = stream; count--; m++) {
        size_t step = 1 + test_random_below(rnd, test_random_below(rnd, 3) ? 3000 : 7);
        p += feed(p, (size_t)(stream + len - p), step, &verdict, &ulpdu);
        fill_message(wanted, m);
        cr_assert_eq(verdict, IWARP_FPDU_WHOLE, "seed %lu", seed);
        cr_assert_eq(ulpdu.len_bytes, m->len, "seed %lu", seed);
        cr_assert_arr_eq(ulpdu.bytes, wanted, m->len, "seed %lu", seed);
    }
    cr_assert(iwarp_fpdu_rx_is_between(&rx), "seed %lu", seed);
}

/* Every fourth octet that is a marker's place holds one, by arithmetic on the stream alone. */
static void expect_marker_places(uint32_t len, uint64_t seed)
{
    for (uint32_t at = 0; at + 4 <= len; at += 512)
        cr_assert_eq(be16(stream + at), 0, "seed %lu: no marker at %u", seed, at);
}

/* covers: IWARP-FPDU-01, IWARP-FPDU-05, IWARP-FPDU-06, IWARP-MARK-01, IWARP-MARK-05, IWARP-GEN-03 */
Test(fpdu, whatever_tcp_takes_and_however_it_cuts_the_ulpdus_arrive)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct test_random rnd = {.state = seed};
        struct message messages[40];
        const struct iwarp_fpdu_rules rules = {.has_markers = seed & 1, .has_crc = !(seed & 2)};
        iwarp_fpdu_tx_init(&tx, &rules, scratch, rest);
        iwarp_fpdu_rx_init(&rx, &rules, bounce);
        uint32_t len = make_stream(&rnd, messages, array_len(messages));
        if (rules.has_markers)
            expect_marker_places(len, seed);
        expect_messages(&rnd, messages, array_len(messages), len, seed);
    }
}

/* covers: IWARP-FPDU-03 */
Test(fpdu, the_longest_fpdu_that_is_sent_fits_an_empty_batch)
{
    static uint8_t ulpdu[IWARP_MULPDU_MAX] = {0xc1};
    enum iwarp_fpdu_verdict verdict;
    struct iwarp_ulpdu out;
    iwarp_fpdu_tx_init(&tx, &marked, scratch, rest);
    iwarp_fpdu_rx_init(&rx, &marked, bounce);
    for (int i = 0; i < 5; i++) {
        cr_assert(iwarp_fpdu_tx_has_room(&tx, sizeof ulpdu, 16));
        iwarp_fpdu_tx_begin(&tx, sizeof ulpdu);
        if (i & 1)
            iwarp_fpdu_tx_copy(&tx, ulpdu, sizeof ulpdu);
        else
            for (unsigned piece = 0; piece < 16; piece++)
                iwarp_fpdu_tx_refer(&tx, ulpdu + piece * 4000, piece < 15 ? 4000 : sizeof ulpdu - 60000);
        iwarp_fpdu_tx_end(&tx);
        if (!(i & 1))
            cr_expect_not(iwarp_fpdu_tx_has_room(&tx, sizeof ulpdu, 16), "pieces and markers fill the batch");
        iwarp_fpdu_tx_sent(&tx, 0);
        cr_expect_not(iwarp_fpdu_tx_has_room(&tx, 14, 0), "what was begun goes first");
        uint32_t len = drain(stream);
        cr_expect_leq(len, 65288 + 4);
        feed(stream, len, len, &verdict, &out);
        cr_expect(verdict == IWARP_FPDU_WHOLE && out.len_bytes == sizeof ulpdu);
    }
}
