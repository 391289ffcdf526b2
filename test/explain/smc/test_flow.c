/* SPDX-License-Identifier: BSD-2-Clause */
/* What is followed of SMC-R: groups, links, connections, and each kind of finding, shown by one film and not
 * by those in which nothing is broken. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "smcr/wire/llc2.h"
#include "test/explain/smc_film.h"
#include "test/support/smcr_examples.h"

#define CAP_SERVER (65536u - 4) /* what the client may write */
#define CAP_CLIENT (32768u - 4)

static struct film f;

Test(smc_flow, first_contact)
{
    film_begin(&f);
    film_clc(&f, 0, "PROP4");
    film_clc(&f, 1, "ACC_F");
    film_clc(&f, 0, "CONF");
    film_expect_words(&f, "connection 1 of the new group 1");
    cr_assert_eq(f.m.answers, 2);
    film_llc(&f, 1, 1, "CL_REQ");
    film_expect_words(&f, "SMC LLC CONFIRM LINK request: link 1, QP 0x000012");
    film_llc(&f, 1, 0, "CL_RSP");
    cr_assert_eq(f.m.answers, 4);
    film_llc(&f, 1, 1, "AL_REQ");
    film_expect_words(&f, "link 2, QP 0x000013 at 192.0.2.3, MTU 1024");
    film_llc(&f, 1, 0, "AL_REJ");
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_REFUSED, ""));
    const struct explain_smc_group *g = explain_analysis_smc_group(f.analysis, 1);
    cr_assert_eq(g->links_active, 1);
    cr_assert_eq(g->version, 1);
    cr_assert_eq(g->max_links, 2);
    cr_assert_eq(g->conns, 1);
    const struct explain_smc_conn *c = explain_analysis_smc_conn(f.analysis, 1);
    cr_assert_eq(c->buffer_bytes[0], 32768);
    cr_assert_eq(c->buffer_bytes[1], 65536);
    cr_assert_eq(c->port[1], 5001);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
    cr_assert_eq(f.counts[EXPLAIN_FIND_SMC_UNANSWERED], 0);
}

/* A handshake over a link of a group that was there before: Accept and Confirm name its ends. */
static void subsequent_contact(bool over_link_2)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    unsigned n = smcr_example(over_link_2 ? "ACC_S" : "ACC_F", bytes);
    bytes[7] = 0x10; /* no first contact */
    film_clc(&f, 0, "PROP4");
    film_clc_bytes(&f, 1, bytes, n);
    n = smcr_example("CONF", bytes);
    if (over_link_2) {
        bytes[31] = 4;
        bytes[40] = 0x41;
    }
    film_clc_bytes(&f, 0, bytes, n);
}

/* The second link's connections come first: what names the first link is of the same group. */
Test(smc_flow, SMCR_FC_05_a_group_that_is_older_than_the_capture_is_one_group)
{
    film_begin(&f);
    subsequent_contact(true);
    film_expect_words(&f, "connection 1 of group 1, which is older than this capture");
    subsequent_contact(false);
    film_expect_words(&f, "connection 2 of group 1");
    subsequent_contact(true);
    subsequent_contact(false);
    film_expect_words(&f, "connection 4 of group 1");
    cr_expect_eq(explain_analysis_smc_group_count(f.analysis), 1);
    const struct explain_smc_group *g = explain_analysis_smc_group(f.analysis, 1);
    cr_expect_eq(g->links, 2);
    cr_expect_eq(g->links_active, 2);
    film_end(&f);
    cr_expect_eq(film_violations(&f), 0);
}

/* A first contact is never one of an older group. */
Test(smc_flow, SMCR_FC_05_a_first_contact_behind_an_older_group_is_a_new_group)
{
    film_begin(&f);
    subsequent_contact(true);
    film_first_contact(&f);
    cr_expect_eq(explain_analysis_smc_group_count(f.analysis), 2);
    subsequent_contact(false);
    film_expect_words(&f, "of group 2");
    subsequent_contact(true);
    film_expect_words(&f, "of group 1");
    film_end(&f);
}

Test(smc_flow, bytes_of_writes_and_how_full_the_buffers_are)
{
    film_begin(&f);
    film_first_contact(&f);
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 4, 1000);
    film_expect_words(&f, "bytes 0..999 of connection 1");
    cr_assert(f.m.smc.is_data && f.m.smc.from == 0 && f.m.smc.to == 1000 && f.m.smc.side == 0);
    film_llc(&f, 1, 0, "CDC_DATA");
    film_expect_words(&f, "connection 1; bytes 0..999; 1000 of 65532 bytes filled");
    film_write(&f, 1, 1, FILM_CLIENT_RKEY, FILM_CLIENT_VA + 4, 500);
    film_expect_words(&f, "bytes 0..499 of connection 1");
    film_llc(&f, 1, 1, "CDC_CONS");
    film_expect_words(&f, "bytes 0..499; 500 of 32764 bytes filled");
    cr_assert(f.m.smc.is_cdc && f.m.smc.to == 500 && f.m.smc.from == 1000 && f.m.smc.side == 1);
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 1004, 4000);
    film_expect_words(&f, "bytes 1000..4999 of connection 1");
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

Test(smc_flow, cursors_wrap)
{
    film_begin(&f);
    film_first_contact(&f);
    for (uint32_t i = 0; i < 16; i++) { /* 64000 bytes, read at once */
        film_client_sends(&f, 1, 4000 * i, 4000, (uint16_t)(i + 1));
        film_cdc(&f, 1, 1,
                 (struct smcr_cdc){.seq = (uint16_t)(i + 1), .consumer_cursor = 4 + 4000 * (i + 1)});
    }
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 64004, 65536 - 64004);
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 4, 1000); /* SMCR-DAT-02 */
    film_expect_words(&f, "bytes 65532..66531");
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 17, .producer_wrap = 1, .producer_cursor = 1004});
    film_expect_words(&f, "bytes 64000..66531; 2532 of 65532");
    const struct explain_smc_conn *c = explain_analysis_smc_conn(f.analysis, 1);
    cr_assert_eq(c->bytes[0], 66532);
    cr_assert_eq(c->wraps[0], 1);
    cr_assert_eq(c->writes[0], 18);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

Test(smc_flow, a_message_of_two_packets_is_placed)
{
    film_begin(&f);
    film_first_contact(&f);
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 4, 100);
    film_again(&f); /* the network doubled it */
    cr_assert_eq(f.counts[EXPLAIN_FIND_DUPLICATE], 1);
    const struct explain_smc_conn *c = explain_analysis_smc_conn(f.analysis, 1);
    cr_assert_eq(c->writes[0], 1);
    film_llc(&f, 1, 0, "CDC_DATA");
    film_again(&f);
    cr_assert_eq(c->messages[0], 1);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

Test(smc_flow, subsequent_contact_uses_the_group)
{
    uint8_t bytes[256] = {0};
    struct smcr_accept a;
    film_begin(&f);
    film_first_contact(&f);
    film_clc(&f, 0, "PROP4");
    smcr_example("ACC_F", bytes);
    smcr_accept_get(&a, bytes);
    a.flag = 0;
    a.rmbe_index = 2;
    a.alert_token = 0xa1b20002;
    smcr_accept_put(bytes, &a);
    film_clc_bytes(&f, 1, bytes, SMCR_ACCEPT_BYTES);
    smcr_example("CONF", bytes);
    smcr_accept_get(&a, bytes);
    a.rmbe_index = 3;
    a.alert_token = 0xc3d40003;
    smcr_accept_put(bytes, &a);
    film_clc_bytes(&f, 0, bytes, SMCR_ACCEPT_BYTES);
    film_expect_words(&f, "connection 2 of group 1");
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 65536 + 4, 100);
    film_expect_words(&f, "bytes 0..99 of connection 2");
    film_write(&f, 1, 1, FILM_CLIENT_RKEY, FILM_CLIENT_VA + 2 * 32768 + 4, 100);
    film_expect_words(&f, "bytes 0..99 of connection 2");
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 1, .alert_token = 0xa1b20002, .producer_cursor = 104});
    film_expect_words(&f, "connection 2; bytes 0..99");
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

Test(smc_flow, decline)
{
    film_begin(&f);
    film_clc(&f, 0, "PROP4");
    film_clc(&f, 1, "DECL");
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_DECLINE, "SMCR-CLC-42"));
    film_expect_words(&f, "no common subnet or prefix");
    film_clc(&f, 0, "PROP4"); /* the next connection begins anew */
    film_clc(&f, 1, "ACC_F");
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

Test(smc_flow, handshake_out_of_order)
{
    film_begin(&f);
    film_clc(&f, 0, "PROP4");
    film_clc(&f, 0, "CONF");
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_HANDSHAKE, "SMCR-CLC-08"));
    film_end(&f);
}

Test(smc_flow, handshake_with_wrong_values)
{
    static const struct {
        unsigned at;
        uint8_t value;
        const char *rule;
    } wrong[] = {{45, 0, "SMCR-CLC-34"},
                 {40, 1, "SMCR-QP-05"},
                 {50, 0x93, "SMCR-CLC-31"},
                 {50, 0x26, "SMCR-CLC-33"},
                 {67, 0, "SMCR-CLC-02"}};
    for (unsigned i = 0; i < array_len(wrong); i++) {
        uint8_t bytes[256];
        film_begin(&f);
        film_clc(&f, 0, "PROP4");
        unsigned n = smcr_example("ACC_F", bytes);
        bytes[wrong[i].at] = wrong[i].value;
        film_clc_bytes(&f, 1, bytes, n);
        cr_expect(film_remarks(&f, EXPLAIN_FIND_SMC_HANDSHAKE, wrong[i].rule), "%s", wrong[i].rule);
        film_end(&f);
        cr_expect_eq(film_violations(&f), 1);
    }
}

/* A CONFIRM LINK whose byte `at` is another than it should be. */
static void confirm_link_with(unsigned at, uint8_t value)
{
    uint8_t bytes[256] = {0};
    film_begin(&f);
    film_clc(&f, 0, "PROP4");
    film_clc(&f, 1, "ACC_F");
    film_clc(&f, 0, "CONF");
    smcr_example("CL_REQ", bytes);
    bytes[at] = value;
    film_send(&f, 1, 1, bytes);
}

Test(smc_flow, confirm_link_has_other_values_than_the_accept)
{
    static const struct {
        unsigned at;
        const char *rule;
    } wrong[] = {{9, "SMCR-LLC-21"}, {25, "SMCR-LLC-21"}, {28, "SMCR-LLC-21"}, {34, "SMCR-LLC-22"}};
    for (unsigned i = 0; i < array_len(wrong); i++) {
        confirm_link_with(wrong[i].at, 0);
        cr_expect(film_remarks(&f, EXPLAIN_FIND_SMC_LINK, wrong[i].rule), "%u", wrong[i].at);
        film_end(&f);
        cr_expect_eq(film_violations(&f), 1);
    }
}

Test(smc_flow, llc_responses_without_requests_and_requests_without_responses)
{
    film_begin(&f);
    film_first_contact(&f);
    film_llc(&f, 1, 0, "TL_RSP");
    film_llc(&f, 1, 1, "TL_REQ"); /* no packet of the server is missing before this */
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_UNASKED, "SMCR-SER-06"));
    f.time_ns += 1000000000;
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 1});
    film_end(&f);
    cr_assert_eq(f.counts[EXPLAIN_FIND_SMC_UNANSWERED], 1);
}

Test(smc_flow, test_link_is_answered_with_its_data)
{
    uint8_t bytes[256] = {0};
    film_begin(&f);
    film_first_contact(&f);
    film_llc(&f, 1, 1, "TL_REQ");
    film_llc(&f, 1, 0, "TL_RSP");
    cr_assert_eq(f.m.answers, 8);
    film_llc(&f, 1, 1, "TL_REQ");
    smcr_example("TL_RSP", bytes);
    bytes[10] ^= 1;
    film_send(&f, 1, 0, bytes);
    film_next(&f, 1, 1); /* no request is missing */
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_LINK, "SMCR-REC-28"));
    film_end(&f);
    cr_assert_eq(film_violations(&f), 1);
    cr_assert_eq(f.counts[EXPLAIN_FIND_SMC_UNANSWERED], 0);
}

Test(smc_flow, token_of_no_connection)
{
    film_begin(&f);
    film_first_contact(&f);
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 1, .alert_token = 77});
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_TOKEN, "SMCR-CDC-06"));
    film_end(&f);
}

Test(smc_flow, sequence)
{
    film_begin(&f);
    film_first_contact(&f);
    film_client_sends(&f, 1, 0, 100, 1);
    film_client_sends(&f, 1, 100, 100, 3);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_SEQUENCE, "SMCR-CDC-03"));
    film_client_sends(&f, 1, 200, 100, 2);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_SEQUENCE, "SMCR-CDC-04"));
    film_end(&f);
    cr_assert_eq(film_violations(&f), 2);
}

Test(smc_flow, cursors_that_cannot_be)
{
    film_begin(&f);
    film_first_contact(&f);
    film_client_sends(&f, 1, 0, 1000, 1);
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 2, .producer_cursor = 65536});
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_CURSOR, "SMCR-CDC-08"));
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 3, .producer_cursor = 3});
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_CURSOR, "SMCR-CDC-08"));
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 4, .producer_cursor = 1003});
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_CURSOR, "SMCR-CDC-05"));
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 5, .producer_cursor = 5, .producer_wrap = 1});
    film_next(&f, 1, 1);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_CURSOR, "SMCR-CDC-12"), "one byte more than the window");
    film_cdc(&f, 1, 1, (struct smcr_cdc){.seq = 1, .consumer_cursor = 6, .consumer_wrap = 1});
    film_next(&f, 1, 0);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_CURSOR, "SMCR-CDC-12"), "one byte more than was written");
    film_end(&f);
    cr_assert_eq(film_violations(&f), 5);
}

Test(smc_flow, a_full_window_is_allowed)
{
    film_begin(&f);
    film_first_contact(&f);
    for (uint32_t at = 0; at < CAP_SERVER; at += 4000)
        film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 4 + at,
                   CAP_SERVER - at < 4000 ? CAP_SERVER - at : 4000);
    film_cdc(&f, 1, 0,
             (struct smcr_cdc){.seq = 1, .producer_cursor = 4, .producer_wrap = 1, .writer_blocked = 1});
    film_expect_words(&f, "65532 of 65532 bytes filled");
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_BLOCKED, "SMCR-DAT-09"));
    cr_assert_eq(film_violations(&f), 0);
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 4, 1);
    film_next(&f, 1, 1);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_WRITE, "SMCR-DAT-03"));
    film_end(&f);
    cr_assert_eq(f.counts[EXPLAIN_FIND_SMC_BLOCKED], 1);
}

Test(smc_flow, writes_where_none_is_allowed)
{
    film_begin(&f);
    film_first_contact(&f);
    film_write(&f, 1, 0, 0x999, FILM_SERVER_VA + 4, 10);
    film_next(&f, 1, 1);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_WRITE, "SMCR-DAT-04"), "an unknown key");
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 65536, 10);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_WRITE, "SMCR-DAT-04"), "an element without a connection");
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 3, 10);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_WRITE, "SMCR-RMB-08"), "the eye catcher");
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 65530, 10);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_WRITE, "SMCR-DAT-02"), "beyond the element");
    film_end(&f);
    cr_assert_eq(film_violations(&f), 4);
}

Test(smc_flow, data_after_the_end)
{
    film_begin(&f);
    film_first_contact(&f);
    film_client_sends(&f, 1, 0, 100, 1);
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 2, .producer_cursor = 104, .sending_done = 1});
    cr_assert_eq(film_violations(&f), 0);
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 104, 10);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_AFTER_CLOSE, "SMCR-CLS-03"));
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 3, .producer_cursor = 114, .sending_done = 1});
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_AFTER_CLOSE, "SMCR-CLS-03"));
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 4, .producer_cursor = 114, .connection_closed = 1});
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 5, .producer_cursor = 114, .connection_closed = 1});
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_AFTER_CLOSE, "SMCR-CDC-15"));
    film_cdc(&f, 1, 1, (struct smcr_cdc){.seq = 1, .consumer_cursor = 114, .abnormal_close = 1});
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_ABORT, "SMCR-ABT-01"));
    const struct explain_smc_conn *c = explain_analysis_smc_conn(f.analysis, 1);
    cr_assert(c->is_closed[0] && !c->is_aborted[0] && c->is_aborted[1]);
    film_end(&f);
}

Test(smc_flow, urgent)
{
    film_begin(&f);
    film_first_contact(&f);
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 4, 10);
    film_cdc(&f, 1, 0,
             (struct smcr_cdc){.seq = 1, .producer_cursor = 14, .urgent_pending = 1, .urgent_present = 1});
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_URGENT, "SMCR-URG-01"));
    cr_assert_str_eq(f.m.remarks[f.m.remark_count - 1].words, "byte 9 is urgent");
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

Test(smc_flow, confirm_rkey_makes_an_rmb)
{
    film_begin(&f);
    film_two_links(&f);
    film_llc(&f, 1, 1, "CR_REQ");
    film_expect_words(&f, "R_Key 0x000004f1");
    cr_assert_eq(explain_analysis_smc_group(f.analysis, 1)->rmbs[1], 2);
    film_llc(&f, 1, 0, "CR_NEG");
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_REFUSED, ""));
    film_llc(&f, 1, 1, "DR_REQ");
    film_llc(&f, 1, 0, "DR_NEG");
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_REFUSED, ""));
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 4, 10); /* that one was deleted */
    film_next(&f, 1, 1);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_WRITE, "SMCR-DAT-04"));
    film_end(&f);
}

Test(smc_flow, the_group_ends)
{
    film_begin(&f);
    film_first_contact(&f);
    film_llc(&f, 1, 1, "DL_ALL");
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_LINK_GONE, "SMCR-LGT-02"));
    cr_assert(explain_analysis_smc_group(f.analysis, 1)->has_ended);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

Test(smc_flow, what_rc_did_not_take_is_not_followed)
{
    film_begin(&f);
    film_first_contact(&f);
    film_client_sends(&f, 1, 0, 100, 1);
    uint32_t lost = f.psn[1][0];
    f.psn[1][0]++; /* one packet is lost: what comes behind it is sent again */
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 3, .producer_cursor = 304});
    const struct explain_smc_conn *c = explain_analysis_smc_conn(f.analysis, 1);
    cr_assert_eq(c->messages[0], 1);
    f.psn[1][0] = lost;
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 2, .producer_cursor = 204});
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 3, .producer_cursor = 304});
    cr_assert_eq(c->messages[0], 3);
    cr_assert_eq(c->bytes[0], 300);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

/* An element of a reserved size, in an RMB where a later connection has a size that is known. */
Test(smc_flow, an_element_without_a_size)
{
    uint8_t bytes[256] = {0};
    film_begin(&f);
    for (unsigned i = 0; i < 2; i++) {
        film_clc(&f, 0, "PROP4");
        smcr_example("ACC_F", bytes);
        bytes[7] = i ? 0x10 : 0x18;
        bytes[45] = (uint8_t)(i + 1);
        bytes[50] = i ? 0x23 : 0x93;
        film_clc_bytes(&f, 1, bytes, SMCR_ACCEPT_BYTES);
        film_clc(&f, 0, "CONF");
        smcr_example("CL_REQ", bytes);
        bytes[3] = 3; /* no eye catchers: cursors begin at 0 */
        film_send(&f, 1, 1, bytes);
    }
    cr_assert_eq(explain_analysis_smc_conn_count(f.analysis), 2);
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA, 10);
    cr_assert(!f.m.smc.is_data);
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 65536, 10);
    cr_assert(f.m.smc.is_data && f.m.smc.conn == 2);
    film_end(&f);
}

/* A sender's own host may not see what it sends (AF_XDP): what was acknowledged there is not missed. */
Test(smc_flow, one_direction_of_the_link_is_not_in_the_capture)
{
    film_begin(&f);
    film_clc(&f, 0, "PROP4");
    film_clc(&f, 1, "ACC_F");
    film_clc(&f, 0, "CONF");
    film_llc(&f, 1, 1, "CL_REQ");
    film_ack(&f, 1, 1, f.psn[1][0] + 3);
    film_cdc(&f, 1, 1, (struct smcr_cdc){.seq = 1, .consumer_cursor = 1004});
    film_ack(&f, 1, 1, f.psn[1][0] + 5);
    film_cdc(&f, 1, 1, (struct smcr_cdc){.seq = 2, .consumer_cursor = 2004});
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

/* All kinds of findings of SMC-R together; first contact and data, as above, show none but the refusal. */
Test(smc_flow, each_kind_is_shown)
{
    film_begin(&f);
    film_clc(&f, 0, "PROP4");
    film_clc(&f, 1, "DECL");
    film_clc(&f, 0, "PROP4");
    film_clc(&f, 0, "CONF");
    uint64_t counts[EXPLAIN_FINDING_COUNT];
    memcpy(counts, f.counts, sizeof counts);
    film_end(&f);
    film_begin(&f);
    memcpy(f.counts, counts, sizeof counts);
    film_two_links(&f);
    film_llc(&f, 1, 0, "TL_RSP");
    film_llc(&f, 1, 1, "CR_REQ");
    film_llc(&f, 1, 0, "CR_NEG");
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 1, .alert_token = 77});
    film_client_sends(&f, 1, 0, 1000, 2);
    film_cdc(&f, 1, 0,
             (struct smcr_cdc){.seq = 3, .producer_cursor = 1004, .urgent_present = 1, .writer_blocked = 1});
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 4, .producer_cursor = 70000});
    film_write(&f, 1, 0, 0x999, 0, 10);
    film_cdc(&f, 2, 0, (struct smcr_cdc){.seq = 9, .failover_validation = 1});
    film_client_sends(&f, 2, 500, 1000, 5);
    film_client_sends(&f, 1, 1500, 1000, 6);
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 7, .producer_cursor = 2504, .abnormal_close = 1});
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 2504, 10);
    film_llc(&f, 1, 1, "TL_REQ");
    film_llc(&f, 1, 1, "DL_REQ");
    film_send_of(&f, 2, 0, (const uint8_t[60]){SMCR_LLC2_TEST_LINK, 60}, 60);
    f.time_ns += 1000000000;
    film_cdc(&f, 2, 1, (struct smcr_cdc){.seq = 1});
    film_end(&f);
    for (unsigned kind = EXPLAIN_FIND_SMC_DECLINE; kind < EXPLAIN_FIND_IWARP_SETUP; kind++)
        cr_expect_gt(f.counts[kind], 0, "nothing shows %s",
                     explain_finding_key((enum explain_finding_kind)kind));
}
