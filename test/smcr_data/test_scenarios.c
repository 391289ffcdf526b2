/* SPDX-License-Identifier: BSD-2-Clause */
/* The flows that RFC 7609 4.7 walks through, with RMBEs of 10,000 bytes and the numbers of A18. One end is
 * the code, the other is the text. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "test/smcr_data/rig.h"
#include "test/support/smcr_examples.h"

#define ELEM   10000
#define FULL   9996
#define SNDBUF 65536

static uint8_t data[40000];

static struct rig *start(void)
{
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    struct rig *rig = rig_new(ELEM, ELEM, SNDBUF);
    rig->conn->data->tx.chunk_bytes = FULL; /* the RFC writes as much as it can at once */
    return rig;
}

/* The next post is a write of [from, to) of the peer's element. */
static void expect_write(struct rig *rig, uint32_t from, uint32_t to)
{
    const struct rig_post *post = rig_next(rig);
    cr_assert_not_null(post);
    cr_assert(!post->is_cdc);
    cr_assert_eq(post->offset_bytes, from);
    cr_assert_eq(post->offset_bytes + post->len_bytes, to);
}

/* The next post is a CDC, these bytes of SMCR section 22. */
static void expect_example(struct rig *rig, const char *name)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    unsigned len = smcr_example(name, bytes);
    const struct rig_post *post = rig_next(rig);
    cr_assert_eq(len, SMCR_MSG_BYTES);
    cr_assert_not_null(post, "%s", name);
    cr_assert(post->is_cdc, "%s", name);
    for (unsigned i = 0; i < len; i++)
        cr_assert_eq(post->message[i], bytes[i], "%s: byte %u is %02x", name, i, post->message[i]);
}

static const struct smcr_cdc *expect_cdc(struct rig *rig, uint32_t producer, uint16_t wrap)
{
    const struct rig_post *post = rig_next(rig);
    cr_assert_not_null(post);
    cr_assert(post->is_cdc);
    cr_assert_eq(post->cdc.producer_cursor, producer);
    cr_assert_eq(post->cdc.producer_wrap, wrap);
    return &post->cdc;
}

static void expect_nothing(struct rig *rig)
{
    cr_assert_null(rig_next(rig));
}

static void read_all(struct rig *rig, uint32_t n)
{
    static uint8_t out[ELEM];
    cr_assert_eq(rig_recv(rig, out, sizeof out, 0), n);
}

/* covers: SMCR-DAT-01, SMCR-DAT-04, SMCR-CDC-01, SMCR-CDC-03 */
Test(scenarios, SMCR_DAT_01_scenario_4_7_1_a_send_with_an_open_window)
{
    struct rig *rig = start();
    cr_assert_eq(rig_send(rig, data, 1000, 0), 1000);
    expect_write(rig, 4, 1004);
    expect_example(rig, "CDC_DATA");
    expect_nothing(rig);
    cr_assert_arr_eq(rig->peer_elem + 4, data, 1000);
    rig_free(rig);
}

/* The reader's side, then its answer of 500 bytes. */
/* covers: SMCR-DAT-06, SMCR-DAT-08, SMCR-WIN-03 */
Test(scenarios, SMCR_DAT_08_scenario_4_7_2_the_consumer_cursor_rides_on_data)
{
    struct rig *rig = start();
    rig->conn->peer_token = 0xc3d40001; /* host B of the text: its CDC goes to the other token */
    rig->peer_token = 0xc3d40001;
    rig_peer_sends(rig, data, 1000);
    cr_assert(rig_events(rig) & SMCR_EVENT_READABLE);
    read_all(rig, 1000);
    expect_nothing(rig);
    cr_assert_eq(rig_send(rig, data, 500, 0), 500);
    expect_write(rig, 4, 504);
    expect_example(rig, "CDC_CONS");
    rig_complete_all(rig);
    expect_nothing(rig);
    rig_free(rig);
}

/* covers: SMCR-WIN-01, SMCR-WIN-02 */
Test(scenarios, SMCR_WIN_02_scenario_4_7_3_an_update_when_the_window_is_below_half)
{
    struct rig *rig = start();
    rig_peer_sends(rig, data, 3000);
    read_all(rig, 3000);
    expect_nothing(rig); /* 3000 outstanding, all read: none */
    rig_peer_sends(rig, data, 4000);
    expect_nothing(rig);
    read_all(rig, 4000);
    const struct smcr_cdc *cdc = expect_cdc(rig, 4, 0);
    cr_assert_eq(cdc->consumer_cursor, 7004);
    cr_assert_eq(cdc->consumer_wrap, 0);
    expect_nothing(rig);
    cr_assert_eq(rig->smcr.counters.tx_window_updates, 1);
    rig_free(rig);
}

/* covers: SMCR-DAT-02, SMCR-DAT-03, SMCR-DAT-09, SMCR-DAT-10, SMCR-CDC-11, SMCR-WIN-07 */
Test(scenarios, SMCR_DAT_09_scenario_4_7_4_a_send_of_twice_the_window)
{
    struct rig *rig = start();
    rig_at(rig, FULL + 1000, FULL + 1000, 2);
    cr_assert_eq(rig_send(rig, data, 20000, 0), 20000);
    expect_write(rig, 1004, 10000);
    expect_write(rig, 4, 1004);
    expect_example(rig, "CDC_FULL");
    expect_nothing(rig);
    cr_assert_arr_eq(rig->peer_elem + 1004, data, 8996);
    cr_assert_arr_eq(rig->peer_elem + 4, data + 8996, 1000);
    rig_complete_all(rig);
    expect_nothing(rig);

    rig_peer_reads(rig, FULL); /* same cursor, new wrap */
    cr_assert_eq(rig->peer_consumer.wrap, 2);
    expect_write(rig, 1004, 10000);
    expect_write(rig, 4, 1004);
    cr_assert(expect_cdc(rig, 1004, 3)->writer_blocked, "8 bytes wait");
    rig_complete_all(rig);
    rig_peer_reads(rig, FULL);
    expect_write(rig, 1004, 1012);
    cr_assert_not(expect_cdc(rig, 1012, 3)->writer_blocked);
    expect_nothing(rig);
    rig_free(rig);
}

/* covers: SMCR-CDC-09, SMCR-WIN-04, SMCR-WIN-07 */
Test(scenarios, SMCR_WIN_07_scenario_4_7_4_at_the_reader)
{
    struct rig *rig = start();
    rig_at(rig, 0, FULL + 1000, 0);
    rig_peer_writes(rig, data, FULL);
    struct smcr_cdc cdc = rig_peer_cdc(rig);
    cdc.writer_blocked = 1;
    rig_take(rig, &cdc);
    rig->conn->data->tx.seq = 0;
    uint8_t out[ELEM];
    cr_assert_eq(rig_recv(rig, out, sizeof out, 0), FULL);
    cr_assert_arr_eq(out, data, FULL);
    rig_complete_all(rig);
    const struct smcr_cdc *last = NULL;
    for (const struct smcr_cdc *c; (c = rig_next_cdc(rig));)
        last = c;
    cr_assert_not_null(last);
    cr_assert_eq(last->consumer_cursor, 1004);
    cr_assert_eq(last->consumer_wrap, 2);
    rig_free(rig);
}

/* covers: SMCR-URG-01, SMCR-URG-04, SMCR-URG-06 */
Test(scenarios, SMCR_URG_01_scenario_4_7_5_urgent_data_with_an_open_window)
{
    struct rig *rig = start();
    rig_at(rig, 2 * FULL + 996, 2 * FULL + 996, 9);
    cr_assert_eq(rig_send(rig, data, 500, SMCR_SEND_URGENT), 500);
    expect_write(rig, 1000, 1500);
    expect_example(rig, "CDC_URG");
    cr_assert_eq(rig_send(rig, data + 500, 1000, 0), 1000);
    rig_complete_all(rig);
    expect_nothing(rig); /* until the urgent byte is consumed */
    rig_peer_reads(rig, 499);
    expect_nothing(rig);
    rig_peer_reads(rig, 1);
    expect_write(rig, 1500, 2500);
    const struct smcr_cdc *cdc = expect_cdc(rig, 2500, 2);
    cr_assert_eq(cdc->urgent_pending, 0);
    cr_assert_eq(cdc->urgent_present, 0);
    rig_free(rig);
}

/* covers: SMCR-URG-02, SMCR-DAT-09, SMCR-DAT-10 */
Test(scenarios, SMCR_URG_02_scenario_4_7_6_urgent_data_with_a_closed_window)
{
    struct rig *rig = start();
    rig_at(rig, FULL + 996, 2 * FULL + 996, 7);
    cr_assert_eq(rig_send(rig, data, FULL, 0), FULL);
    rig_complete_all(rig);
    while (rig_next(rig))
        ;
    cr_assert_eq(rig_send(rig, data, 500, SMCR_SEND_URGENT), 500);
    expect_example(rig, "CDC_URGP");
    rig_complete_all(rig);
    expect_nothing(rig);
    rig_peer_reads(rig, FULL);
    expect_write(rig, 1000, 1500);
    expect_example(rig, "CDC_URG");
    cr_assert_eq(rig_send(rig, data, 1000, 0), 1000);
    rig_complete_all(rig);
    expect_nothing(rig);
    rig_peer_reads(rig, 500);
    expect_write(rig, 1500, 2500);
    cr_assert_eq(expect_cdc(rig, 2500, 2)->urgent_pending, 0);
    rig_free(rig);
}
