/* SPDX-License-Identifier: BSD-2-Clause */
/* A caller who moves the bytes itself: smcr_conn_rings(), smcr_conn_put(), smcr_conn_took(). */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "test/smcr_data/rig.h"

#define ELEM   16384
#define CAP    (ELEM - 4)
#define SNDBUF 65536

static struct smcr_rings rings_of(const struct rig *rig)
{
    struct smcr_rings r;
    cr_assert(smcr_conn_rings(rig->conn, &r));
    return r;
}

/* What lies at a position of the peer's stream, as its program finds it. */
static uint8_t received(const struct rig *rig, uint64_t position)
{
    struct smcr_rings r = rings_of(rig);
    return r.rx_bytes[position % r.rx_size_bytes];
}

static int put(struct rig *rig, const char *text, unsigned flags)
{
    struct smcr_rings r = rings_of(rig);
    for (size_t i = 0; i < strlen(text); i++)
        r.tx_bytes[(r.tx_head + i) % r.tx_size_bytes] = (uint8_t)text[i];
    return smcr_conn_put(rig->conn, r.tx_head + strlen(text), flags, rig->now_ns);
}

static void peer_urgent(struct rig *rig, const char *text)
{
    rig_peer_writes(rig, text, (uint32_t)strlen(text));
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.urgent_pending = cdc.urgent_present = 1;
    rig_take(rig, &cdc);
}

Test(in_place, what_was_put_is_written_and_told)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    cr_assert_eq(rings_of(rig).tx_size_bytes, SNDBUF);
    cr_assert_eq(rings_of(rig).rx_size_bytes, CAP);
    cr_assert_eq(put(rig, "hello", 0), 0);
    const struct smcr_cdc *cdc = rig_next_cdc(rig);
    cr_assert_eq(cdc->producer_cursor, 4 + 5);
    cr_assert_arr_eq(rig->peer_elem + 4, "hello", 5);
    cr_assert_eq(rings_of(rig).tx_acked, 0);
    rig_complete_all(rig);
    cr_assert_eq(rings_of(rig).tx_acked, 5);
    rig_free(rig);
}

Test(in_place, positions_come_round_with_the_rings)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_at(rig, 3 * (uint64_t)SNDBUF - 2, 5 * (uint64_t)CAP - 2, 7);
    cr_assert_eq(put(rig, "around", 0), 0);
    rig_complete_all(rig);
    cr_assert_eq(rings_of(rig).tx_acked, 3 * (uint64_t)SNDBUF + 4);
    rig_peer_sends(rig, "there", 5);
    struct smcr_rings r = rings_of(rig);
    cr_assert_eq(r.rx_produced, 5 * (uint64_t)CAP + 3);
    for (unsigned i = 0; i < 5; i++)
        cr_assert_eq(received(rig, r.rx_consumed + i), "there"[i]);
    rig_free(rig);
}

Test(in_place, impossible_positions_are_refused)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig_peer_sends(rig, "abc", 3);
    cr_assert_eq(smcr_conn_put(rig->conn, SNDBUF + 1, 0, rig->now_ns), -EINVAL);
    cr_assert_eq(smcr_conn_put(rig->conn, UINT64_MAX, 0, rig->now_ns), -EINVAL);
    cr_assert_eq(smcr_conn_took(rig->conn, 4, rig->now_ns), -EINVAL);
    cr_assert_eq(smcr_conn_took(rig->conn, UINT64_MAX, rig->now_ns), -EINVAL);
    cr_assert_eq(rings_of(rig).tx_head, 0);
    cr_assert_eq(rings_of(rig).rx_consumed, 0);
    cr_assert_eq(smcr_conn_took(rig->conn, 3, rig->now_ns), 0);
    cr_assert_eq(rings_of(rig).rx_consumed, 3);
    cr_assert_eq(put(rig, "ab", 0), 0);
    cr_assert_eq(smcr_conn_put(rig->conn, 1, 0, rig->now_ns), -EINVAL, "not back, either");
    rig_free(rig);
}

/* Each confirmation is told while there is something to free, since the program looks at its own copy. */
Test(in_place, room_is_told_of_with_each_confirmation)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig->conn->config.in_place = true;
    rig_events(rig);
    cr_assert_eq(put(rig, "one", SMCR_SEND_NODELAY), 0);
    cr_assert_eq(put(rig, "two", SMCR_SEND_NODELAY), 0);
    rig_complete(rig, 1);
    cr_assert(rig_events(rig) & SMCR_EVENT_WRITABLE);
    rig_complete(rig, 1);
    cr_assert(rig_events(rig) & SMCR_EVENT_WRITABLE);
    rig_free(rig);
}

Test(in_place, a_blocked_peer_asks_how_far_was_read)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig->conn->config.in_place = true;
    rig_peer_sends(rig, "some", 4);
    cr_assert_eq(rings_of(rig).rx_tell_at, UINT64_MAX, "the window is wide open");
    rig_events(rig);
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.writer_blocked = 1;
    rig_take(rig, &cdc);
    cr_assert(rig_events(rig) & SMCR_EVENT_ASKED);
    cr_assert_eq(rings_of(rig).rx_tell_at, 1);
    rig_forget(rig);
    cr_assert_eq(smcr_conn_took(rig->conn, 4, rig->now_ns), 0);
    cr_assert_eq(rig_next_cdc(rig)->consumer_cursor, 4 + 4);
    rig_free(rig);
}

Test(in_place, the_urgent_byte_is_passed_when_all_before_it_was_read)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    peer_urgent(rig, "ab!");
    struct smcr_rings r = rings_of(rig);
    cr_assert_eq(r.mark, 2);
    cr_assert_eq(r.mark_byte, '!');
    cr_assert_eq(r.rx_tell_at, 2);
    cr_assert_eq(smcr_conn_took(rig->conn, 2, rig->now_ns), 0);
    r = rings_of(rig);
    cr_assert_eq(r.rx_consumed, 3, "one ahead of the program");
    cr_assert_eq(r.mark_byte, '!', "kept, whatever the ring holds by now");
    rig_peer_sends(rig, "cd", 2);
    cr_assert_eq(smcr_conn_took(rig->conn, 5, rig->now_ns), 0);
    cr_assert_eq(rings_of(rig).rx_consumed, 5);
    rig_free(rig);
}

Test(in_place, in_line_the_urgent_byte_is_read_as_any)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    smcr_conn_set_urgent_inline(rig->conn, true);
    peer_urgent(rig, "ab!");
    cr_assert_eq(smcr_conn_took(rig->conn, 2, rig->now_ns), 0);
    cr_assert_eq(rings_of(rig).rx_consumed, 2);
    cr_assert_eq(rings_of(rig).rx_tell_at, 3);
    cr_assert_eq(smcr_conn_took(rig->conn, 3, rig->now_ns), 0);
    cr_assert_eq(rings_of(rig).rx_consumed, 3);
    rig_free(rig);
}

Test(in_place, an_urgent_byte_is_put)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    cr_assert_eq(put(rig, "ab!", SMCR_SEND_URGENT), 0);
    const struct smcr_cdc *cdc = rig_next_cdc(rig);
    cr_assert(cdc->urgent_pending);
    cr_assert(cdc->urgent_present);
    rig_free(rig);
}

Test(in_place, there_are_no_rings_once_it_has_failed)
{
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    struct smcr_rings r;
    rig_kill(rig, "the link is gone");
    cr_assert_not(smcr_conn_rings(rig->conn, &r));
    cr_assert_eq(smcr_conn_put(rig->conn, 1, 0, rig->now_ns), -ECONNRESET);
    cr_assert_eq(smcr_conn_took(rig->conn, 1, rig->now_ns), -ECONNRESET);
    rig_free(rig);
}
