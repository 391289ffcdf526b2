/* SPDX-License-Identifier: BSD-2-Clause */
/* What a capture of SMC-R lacks is no violation of those who spoke. */
#include <criterion/criterion.h>

#include "test/explain/smc_film.h"

static struct film f;

/* TCP says that the client had something of the server in between: the capture lacks the Accept. */
Test(smc_missing, a_confirm_whose_accept_the_capture_lacks)
{
    film_begin(&f);
    film_clc(&f, 0, "PROP4");
    f.tcp_ack_seq = 68;
    film_clc(&f, 0, "CONF");
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

/* Its Confirm is not there yet, or missing: the tokens of both sides may be those of that connection. */
Test(smc_missing, a_token_may_be_that_of_an_open_handshake)
{
    film_begin(&f);
    film_first_contact(&f);
    f.tcp_ack_seq = 1;
    film_clc(&f, 0, "PROP4");
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 1, .alert_token = 77});
    film_end(&f);
    cr_assert_eq(f.counts[EXPLAIN_FIND_SMC_TOKEN], 0);
}

/* A request is missing before the response: the next packet of the server shows it. */
Test(smc_missing, a_response_whose_request_the_capture_lacks)
{
    film_begin(&f);
    film_first_contact(&f);
    f.psn[1][1]++;
    film_llc(&f, 1, 0, "TL_RSP");
    film_llc(&f, 1, 1, "TL_REQ");
    film_ack(&f, 1, 0, f.psn[1][1] - 1);
    film_llc(&f, 1, 1, "TL_REQ");
    film_end(&f);
    cr_assert_eq(f.counts[EXPLAIN_FIND_SMC_UNASKED], 0);
}

static void test_link(unsigned side, uint8_t data, bool is_response)
{
    const uint8_t message[44] = {7, 44, 0, is_response ? 0x80 : 0, data};
    film_send(&f, 1, side, message);
}

/* The capture lacks the response to the first request and the second request: what answers that bears other
 * user data than the first. The ACK of the second stands before the response, or behind it. */
Test(smc_missing, user_data_may_be_those_of_a_request_that_the_capture_lacks)
{
    for (unsigned is_acked_first = 0; is_acked_first < 2; is_acked_first++) {
        film_begin(&f);
        film_first_contact(&f);
        test_link(0, 1, false);
        film_ack(&f, 1, 1, f.psn[1][0] - 1);
        f.psn[1][1]++;
        film_ack(&f, 1, 0, f.psn[1][1] - 1);
        f.psn[1][0]++;
        if (is_acked_first)
            film_ack(&f, 1, 1, f.psn[1][0] - 1);
        test_link(1, 2, true);
        if (!is_acked_first)
            film_ack(&f, 1, 1, f.psn[1][0] - 1);
        film_next(&f, 1, 0);
        film_end(&f);
        cr_expect_eq(f.counts[EXPLAIN_FIND_SMC_LINK], 0, "%u", is_acked_first);
    }
}

/* --- a message of the other side that the capture lacks --- */

static void client_writes(uint16_t seq, uint32_t bytes)
{
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = seq, .producer_cursor = 4 + bytes});
}

/* The server has read what a message said that is missing; its ACK comes later, and what follows it. */
Test(smc_missing, what_is_read_may_have_been_written)
{
    film_begin(&f);
    film_first_contact(&f);
    client_writes(1, 100);
    f.psn[1][0]++; /* message 2, of 900 bytes */
    film_cdc(&f, 1, 1, (struct smcr_cdc){.seq = 1, .consumer_cursor = 1004});
    client_writes(3, 1100);
    film_ack(&f, 1, 1, f.psn[1][0] - 1);
    client_writes(4, 1200);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

/* The server's message that frees room is missing, and is acknowledged before the client writes there. */
Test(smc_missing, what_is_written_may_have_room)
{
    film_begin(&f);
    film_first_contact(&f);
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 1, .producer_cursor = 4, .producer_wrap = 1});
    f.psn[1][1]++;
    film_llc(&f, 1, 1, "TL_REQ");
    film_ack(&f, 1, 0, f.psn[1][1] - 1);
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 4, 10);
    film_next(&f, 1, 1);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

/* CONFIRM RKEY is missing; the server's next packet shows that something is. */
Test(smc_missing, a_key_may_have_been_announced)
{
    film_begin(&f);
    film_first_contact(&f);
    f.psn[1][1]++;
    film_write(&f, 1, 0, 0x999, 0x5000, 10);
    film_next(&f, 1, 1);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

/* The connection has ended, and the handshake of the next one at its element is not complete. */
Test(smc_missing, an_element_may_have_another_connection)
{
    film_begin(&f);
    film_first_contact(&f);
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 1, .producer_cursor = 4, .connection_closed = 1});
    f.tcp_ack_seq = 1;
    film_clc(&f, 0, "PROP4");
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 4, 10);
    cr_expect_eq(f.m.smc.conn, 0);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

/* --- links --- */

/* The failover validation is missing: what follows it on the new link shows that. */
Test(smc_missing, a_move_may_have_been_announced)
{
    film_begin(&f);
    film_two_links(&f);
    client_writes(1, 100);
    f.psn[2][0]++;
    film_cdc(&f, 2, 0, (struct smcr_cdc){.seq = 2, .producer_cursor = 204});
    film_ack(&f, 2, 1, f.psn[2][0] - 1);
    film_cdc(&f, 2, 0, (struct smcr_cdc){.seq = 3, .producer_cursor = 304});
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_MOVED, "SMCR-FOV-07"));
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

/* RC sends on the dead link again, when the connection has left it, what the capture lacks the first copy of.
 */
Test(smc_missing, the_link_that_was_left_may_send_again)
{
    film_begin(&f);
    film_two_links(&f);
    client_writes(1, 100);
    uint32_t psn = f.psn[1][0];
    film_cdc(&f, 2, 0, (struct smcr_cdc){.seq = 1, .failover_validation = 1});
    film_cdc(&f, 2, 0, (struct smcr_cdc){.seq = 2, .producer_cursor = 204});
    film_cdc(&f, 2, 0, (struct smcr_cdc){.seq = 3, .producer_cursor = 304});
    f.psn[1][0] = psn;
    client_writes(2, 200);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

/* A group that is older than the capture: where its PSNs stood is not known. */
Test(smc_missing, the_first_packet_of_a_link_may_not_be_its_first)
{
    film_begin(&f);
    film_clc(&f, 0, "PROP4");
    film_clc(&f, 1, "ACC_F");
    film_clc(&f, 0, "CONF");
    f.psn[1][0] += 10;
    client_writes(2, 100);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}
