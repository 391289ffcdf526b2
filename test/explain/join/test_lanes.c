/* SPDX-License-Identifier: BSD-2-Clause */
/* Two captures with packets between many addresses: at which end each of them is. */
#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"
#include "roce/icrc.h"
#include "roce/wire.h"
#include "test/explain/join_ends.h"
#include "test/explain/story.h"

#define WAY_NS   (30 * NS_PER_US)
#define EVERY_NS (100 * NS_PER_US)
#define IP_AT    14

/* A SEND of 8 bytes that leaves from the end of capture `from`. */
static void say(struct ends *e, struct story *s, uint32_t src, uint32_t dst, unsigned from)
{
    struct explain_packet packet;
    story_send(s, 7);
    put_be32(s->frame + IP_AT + 12, src);
    put_be32(s->frame + IP_AT + 16, dst);
    uint32_t end = s->len_bytes - ROCE_ICRC_BYTES;
    put_le32(s->frame + end, roce_icrc(s->frame + IP_AT, ROCE_L3_IPV4, end - IP_AT));
    for (unsigned side = 0; side < 2; side++) {
        struct net_capture_record r = {.data = s->frame,
                                       .len_bytes = s->len_bytes,
                                       .wire_bytes = s->len_bytes,
                                       .time_ns = s->number * EVERY_NS + (side == from ? 0 : WAY_NS),
                                       .link = NET_LINK_ETHERNET};
        explain_dissect(&packet, &r, ++e->count[side]);
        cr_assert_eq(explain_join_take(e->join, side, &packet), 0);
    }
}

#define A(n) (0x0a000000 + (n)) /* addresses at the end of capture 0, */
#define B(n) (0x0b000000 + (n)) /* and of capture 1 */

/* From the two that most is between to the others, step by step. */
Test(join_lanes, lanes_that_share_an_address_tell_each_other)
{
    struct story s;
    struct ends *e = calloc(1, sizeof *e);
    e->join = explain_join_create(0);
    story_begin(&s);
    for (unsigned i = 0; i < 10; i++)
        say(e, &s, i % 2 ? B(0) : A(0), i % 2 ? A(0) : B(0), i % 2);
    for (unsigned i = 10; i > 0; i--) {
        say(e, &s, B(i), A(i), 1);
        say(e, &s, B(i), A(i - 1), 1);
    }
    ends_finish(e);
    cr_expect_eq(e->place_count, e->count[0]);
    for (unsigned i = 0; i < e->place_count; i++) {
        const struct explain_join_place *p = &e->places[i];
        cr_expect_eq(p->fate, EXPLAIN_FATE_ARRIVED);
        cr_expect_eq(p->from, p->record[0] <= 10 && p->record[0] % 2 == 1 ? 0 : 1, "%u",
                     (unsigned)p->record[0]);
    }
    story_end(&s);
    ends_free(e);
}

#define MANY 20000 /* pairs of addresses, none of which is in two */

Test(join_lanes, many_lanes_take_no_longer_each, .timeout = 60)
{
    struct story s;
    struct nornic_error why;
    struct ends *e = calloc(1, sizeof *e);
    e->join = explain_join_create(0);
    story_begin(&s);
    for (unsigned i = 0; i < 10; i++)
        say(e, &s, i % 2 ? B(0) : A(0), i % 2 ? A(0) : B(0), i % 2);
    for (unsigned i = 1; i <= MANY; i++)
        say(e, &s, A(i), B(i), 0);
    cr_assert_eq(explain_join_finish(e->join, &why), 0, "%s", why.text);
    cr_expect_eq(explain_join_summary(e->join)->packets[0], e->count[0]);
    story_end(&s);
    ends_free(e);
}
