/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of what was seen: what is in it is found, what was pushed out of it is not. */
#include <criterion/criterion.h>

#include "base/hash.h"
#include "explain/flow/twice/seen.h"

#define OVERFULL 70000 /* more than fit */

static struct explain_identity nth(uint32_t n)
{
    return (struct explain_identity){.digest = hash_word(1, n), .place = n, .way = hash_word(2, n)};
}

/* The newest `most` of `count` are found, each with its number; older ones are not. */
static void expect_newest(const struct explain_seen_ring *ring, struct explain_identity (*is)(uint32_t n),
                          uint32_t count, uint32_t most)
{
    for (uint32_t n = 0; n < count; n++) {
        struct explain_identity id = is(n);
        uint32_t seq = UINT32_MAX;
        const struct explain_seen *s = explain_seen_find(ring, &id, &seq);
        if (count - n > most) {
            cr_assert_null(s, "%u of %u", n, count);
            continue;
        }
        cr_assert_not_null(s, "%u of %u", n, count);
        cr_assert_eq(seq, n);
        cr_assert_eq(s->number, n + 1);
        cr_assert_eq(s, explain_seen_at(ring, seq));
    }
}

static void add(struct explain_seen_ring *ring, const struct explain_identity *id)
{
    struct explain_seen *s = explain_seen_add(ring, id);
    cr_assert_not_null(s);
    cr_expect_eq(s->digest, id->digest);
    cr_expect_eq(s->way, id->way >> 32);
    cr_expect_eq(s->view_count, 0);
    s->number = ring->next;
}

static void fill(struct explain_seen_ring *ring, struct explain_identity (*is)(uint32_t n), uint32_t count)
{
    for (uint32_t n = 0; n < count; n++) {
        struct explain_identity id = is(n);
        add(ring, &id);
    }
}

Test(seen, an_empty_ring_holds_nothing)
{
    struct explain_seen_ring ring = {0};
    struct explain_identity id = nth(0);
    uint32_t seq;
    cr_expect_null(explain_seen_find(&ring, &id, &seq));
    explain_seen_free(&ring);
}

Test(seen, all_are_found_while_the_ring_grows)
{
    struct explain_seen_ring ring = {0};
    for (uint32_t count = 0; count < 5000; count++) {
        if (count % 61 == 0)
            expect_newest(&ring, nth, count, count);
        struct explain_identity id = nth(count);
        add(&ring, &id);
    }
    explain_seen_free(&ring);
}

Test(seen, the_oldest_leave_a_full_ring)
{
    struct explain_seen_ring ring = {0};
    fill(&ring, nth, OVERFULL);
    expect_newest(&ring, nth, OVERFULL, EXPLAIN_SEEN_MOST);
    explain_seen_free(&ring);
}

/* Hundreds in a chain, whatever the size of the ring. */
static struct explain_identity crowded(uint32_t n)
{
    struct explain_identity id = nth(n);
    id.place = n / 8 * EXPLAIN_SEEN_MOST / 16;
    return id;
}

Test(seen, those_at_one_place_are_told_apart)
{
    struct explain_seen_ring ring = {0};
    fill(&ring, crowded, 4000);
    expect_newest(&ring, crowded, 4000, 4000);
    explain_seen_free(&ring);
}

/* All bits of the digest count, also those that a reference does not have. */
Test(seen, digests_that_differ_in_a_bit_are_told_apart)
{
    struct explain_seen_ring ring = {0};
    struct explain_identity id = nth(7), other = id;
    uint32_t seq;
    add(&ring, &id);
    for (unsigned bit = 0; bit < 64; bit++) {
        other.digest = id.digest ^ UINT64_C(1) << bit;
        cr_expect_null(explain_seen_find(&ring, &other, &seq), "bit %u", bit);
    }
    explain_seen_free(&ring);
}

Test(seen, of_two_alike_the_newer_is_found)
{
    struct explain_seen_ring ring = {0};
    struct explain_identity id = nth(7);
    uint32_t seq;
    add(&ring, &id);
    add(&ring, &id);
    cr_assert_not_null(explain_seen_find(&ring, &id, &seq));
    cr_expect_eq(seq, 1);
    explain_seen_free(&ring);
}
