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
