/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer that sends what comes to its mind: no CDC takes the connection out of its memory or its states. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/base.h"
#include "test/smcr_data/rig.h"
#include "test/support/random.h"

#define ELEM   16384
#define SNDBUF 16384

TestSuite(hostile, .timeout = 60);

static struct test_random dice;

static uint32_t draw(uint32_t below)
{
    return test_random_below(&dice, below);
}

/* A value near the right one, or anything. */
static uint32_t twist(uint32_t right)
{
    static const uint32_t edges[] = {0, 3, 4, 5, ELEM - 1, ELEM, ELEM + 1, UINT32_MAX, 0x80000000};
    switch (draw(6)) {
    case 0:
        return edges[draw(array_len(edges))];
    case 1:
        return (uint32_t)test_random_next(&dice);
    case 2:
        return right + draw(5) - 2;
    default:
        return right;
    }
}

static void send_anything(struct rig *rig)
{
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    const struct smcr_conn_data *data = rig->conn->data;
    uint32_t advance = draw(2) ? draw(2000) : 0;
    struct smcr_cursor producer = data ? data->rx.producer : (struct smcr_cursor){4, 0};
    struct smcr_cursor consumer = data ? data->tx.cursor : (struct smcr_cursor){4, 0};
    producer = smcr_cursor_advance(SMCR_CURSOR_START, producer, advance, ELEM);
    bool wild = draw(100) == 0;
    cdc.producer_cursor = wild ? twist(producer.offset_bytes) : producer.offset_bytes;
    cdc.producer_wrap = (uint16_t)(wild ? twist(producer.wrap) : producer.wrap);
    cdc.consumer_cursor = wild ? twist(consumer.offset_bytes) : consumer.offset_bytes;
    cdc.consumer_wrap = (uint16_t)(wild ? twist(consumer.wrap) : consumer.wrap);
    cdc.seq = (uint16_t)(draw(30) ? cdc.seq : twist(cdc.seq));
    cdc.writer_blocked = draw(3) == 0;
    cdc.urgent_pending = draw(3) == 0;
    cdc.urgent_present = draw(3) == 0;
    cdc.update_requested = draw(5) == 0;
    cdc.failover_validation = draw(30) == 0;
    cdc.sending_done = draw(300) == 0;
    cdc.connection_closed = draw(500) == 0;
    cdc.abnormal_close = draw(500) == 0;
    rig_take(rig, &cdc);
}

static void use(struct rig *rig)
{
    static uint8_t bytes[2 * ELEM];
    switch (draw(10)) {
    case 0:
        rig_send(rig, bytes, draw(5000), draw(8));
        break;
    case 1:
        rig_recv(rig, bytes, draw(sizeof bytes), draw(4));
        break;
    case 2:
        rig_complete(rig, draw(5));
        break;
    case 3:
        smcr_conn_set_urgent_inline(rig->conn, draw(2));
        break;
    case 4:
        smcr_conn_at_mark(rig->conn);
        break;
    case 5:
        if (draw(50) == 0)
            smcr_conn_shutdown_write(rig->conn, rig->now_ns);
        break;
    case 6:
        if (draw(100) == 0)
            smcr_conn_tcp_end(rig->conn, draw(2) ? SMCR_TCP_FIN : SMCR_TCP_RST, rig->now_ns);
        break;
    case 7:
        rig_wait(rig, draw(20) * RIG_MS);
        break;
    case 8: {
        struct smcr_conn_status status;
        smcr_conn_status(rig->conn, &status);
        cr_assert_leq(status.readable_bytes, ELEM - 4 + 1);
        cr_assert_leq(status.unsent_bytes, SNDBUF);
        break;
    }
    case 9:
        rig_events(rig);
        break;
    }
}

static void check(const struct rig *rig)
{
    const struct smcr_conn_data *data = rig->conn->data;
    if (!data)
        return;
    cr_assert(data->rx.told <= data->rx.consumed && data->rx.consumed <= data->rx.produced);
    cr_assert_leq(data->rx.produced - data->rx.told, ELEM - 4);
    cr_assert(data->tx.acked <= data->tx.sent && data->tx.sent <= data->tx.head);
    cr_assert(data->tx.peer_consumed <= data->tx.sent);
    cr_assert_leq(data->tx.sent - data->tx.peer_consumed, ELEM - 4);
    cr_assert_leq(rig->conn->posts, SMCR_FLIGHT);
}

/* rig.c checks that each write stays in the peer's element; the sanitizer, where we read. */
/* covers: SMCR-CDC-12, SMCR-SEC-07 */
Test(hostile, SMCR_CDC_12_random_messages)
{
    unsigned survived = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        dice.state = seed;
        struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
        for (int i = 0; i < 300; i++) {
            if (draw(2))
                send_anything(rig);
            else
                use(rig);
            check(rig);
            if (rig->completed == rig->num_log)
                rig_forget(rig);
        }
        survived += rig->conn->error == 0;
        if (draw(2))
            rig_close(rig);
        rig_complete_all(rig);
        rig_wait(rig, 100000 * RIG_MS);
        rig_complete_all(rig);
        rig_free(rig);
    }
    cr_assert(survived > 10 && survived < 1990, "%u", survived);
}
