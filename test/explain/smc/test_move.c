/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that go on over another link, followed in a capture. */
#include <criterion/criterion.h>

#include "test/explain/smc_film.h"

static struct film f;

Test(smc_move, failover)
{
    film_begin(&f);
    film_two_links(&f);
    const struct explain_smc_group *g = explain_analysis_smc_group(f.analysis, 1);
    cr_assert_eq(g->links_active, 2);
    film_client_sends(&f, 1, 0, 1000, 1);
    film_client_sends(&f, 1, 1000, 1000, 2); /* is lost with the link */
    film_llc(&f, 2, 1, "DL_REQ");
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_LINK_GONE, "SMCR-DLK-03"));
    film_cdc(&f, 2, 0, (struct smcr_cdc){.seq = 1, .failover_validation = 1});
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_MOVED, "SMCR-FOV-07"));
    film_expect_words(&f, "failover validation, token 0xa1b20001, sequence number 1: connection 1");
    film_write(&f, 2, 0, 0x644, FILM_SERVER_VA + 1004, 1000); /* the R_Key of link 2 */
    film_expect_words(&f, "bytes 1000..1999 of connection 1, written again after the move");
    film_cdc(&f, 2, 0, (struct smcr_cdc){.seq = 2, .producer_cursor = 2004});
    film_expect_words(&f, "sent again after the failover");
    film_client_sends(&f, 2, 2000, 500, 3);
    film_expect_words(&f, "bytes 2000..2499");
    film_llc(&f, 2, 0, "DL_RSP");
    cr_assert_eq(g->links_gone, 1);
    cr_assert_eq(g->links_active, 1);
    const struct explain_smc_conn *c = explain_analysis_smc_conn(f.analysis, 1);
    cr_assert_eq(c->moves[0], 1);
    cr_assert_eq(c->replayed_bytes[0], 1000);
    film_end(&f);
    cr_assert_eq(film_violations(&f), 0);
}

Test(smc_move, failover_that_lost_data)
{
    film_begin(&f);
    film_two_links(&f);
    film_client_sends(&f, 1, 0, 1000, 1);
    film_cdc(&f, 2, 0, (struct smcr_cdc){.seq = 2, .failover_validation = 1});
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_LOST, "SMCR-FOV-08"));
    film_end(&f);
}

Test(smc_move, move_without_validation)
{
    film_begin(&f);
    film_two_links(&f);
    film_client_sends(&f, 1, 0, 1000, 1);
    film_client_sends(&f, 2, 1000, 1000, 2);
    cr_assert(film_remarks(&f, EXPLAIN_FIND_SMC_LINK, "SMCR-FOV-07"));
    film_end(&f);
}

/* What the sums at the end tell of a move. */
Test(smc_move, a_move_is_from_one_link_to_another)
{
    film_begin(&f);
    film_two_links(&f);
    film_client_sends(&f, 1, 0, 1000, 1);
    film_cdc(&f, 2, 0, (struct smcr_cdc){.seq = 1, .failover_validation = 1});
    const struct explain_smc_conn *c = explain_analysis_smc_conn(f.analysis, 1);
    cr_expect_eq(c->moves[0], 1);
    cr_expect_eq(c->moved_from[0], 1);
    cr_expect_eq(c->moved_to[0], 2);
    film_end(&f);
}
