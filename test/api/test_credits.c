/* SPDX-License-Identifier: BSD-2-Clause */
/* End-to-end credits between two queue pairs. With NORNIC_CREDITS_CAPTURE=FILE the run is kept there; so
 * pcaps/nornic_credits.pcap was made. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/api/ends.h"

#define MESSAGES     8
#define POSTED_FIRST 4
#define SEND_BYTES   100

static struct end ends[2];

/* Counters of the sender that the test looks at. */
struct seen {
    uint64_t sent_pkts, rnr_naks;
};

static void look(void *ctx, const char *name, uint64_t value)
{
    struct seen *seen = ctx;
    if (strcmp(name, "tx_pkts") == 0)
        seen->sent_pkts = value;
    if (strcmp(name, "rnr_nak_received") == 0)
        seen->rnr_naks = value;
}

/* The queue pair of ends_open(), replaced by one that tells credits. */
static void with_credits(struct end *e)
{
    struct nornic_qp_config qp = {
        NORNIC_INIT(qp),
        .type = NORNIC_QPT_RC,
        .pd = e->pd,
        .send_cq = e->cq,
        .recv_cq = e->cq,
        .caps = {.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1},
        .e2e_credits = true};
    cr_assert_eq(nornic_qp_destroy(e->qp), 0);
    cr_assert_eq(nornic_qp_create(e->dev, &qp, &e->qp), 0);
    cr_assert_eq(nornic_qp_endpoint(e->qp, 0, &e->address), 0);
}

/* Eight SENDs meet four receives: four go through, the fifth goes alone, as a probe, until the rest is
 * posted.
 * covers: ROCE-RC-21, ROCE-RC-22, ROCE-RS-53 */
Test(credits, a_sender_sends_no_more_than_a_probe_without_them)
{
    struct nornic_dev_config config = {NORNIC_INIT(config), .capture_path = getenv("NORNIC_CREDITS_CAPTURE")};
    struct nornic_error why;
    struct seen seen = {0};
    ends_open(ends, &config);
    for (int i = 0; i < 2; i++)
        with_credits(&ends[i]);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(nornic_qp_connect(ends[i].qp, &ends[i].address, &ends[1 - i].address, ENDS_RIGHTS,
                                       ENDS_SECOND_NS, &why),
                     0, "%s", why.text);
    for (unsigned i = 0; i < POSTED_FIRST; i++)
        cr_assert_eq(ends_post_recv(&ends[1], i, i * SEND_BYTES, SEND_BYTES), 0);
    for (unsigned i = 0; i < MESSAGES; i++)
        cr_assert_eq(ends_post_send(&ends[0], i, 0, SEND_BYTES), 0);
    for (unsigned i = 0; i < POSTED_FIRST; i++)
        cr_assert_eq(ends_wait(&ends[0]).status, NORNIC_WC_SUCCESS);
    /* the probe meets an RNR NAK; nothing else follows it */
    for (unsigned i = 0; i < 1000 && !seen.rnr_naks; i++) {
        usleep(1000);
        nornic_qp_counters(ends[0].qp, look, &seen);
    }
    cr_expect_gt(seen.rnr_naks, 0);
    cr_expect_leq(seen.sent_pkts, POSTED_FIRST + seen.rnr_naks + 1, "%lu", (unsigned long)seen.sent_pkts);
    for (unsigned i = POSTED_FIRST; i < MESSAGES; i++)
        cr_assert_eq(ends_post_recv(&ends[1], i, i * SEND_BYTES, SEND_BYTES), 0);
    for (unsigned i = POSTED_FIRST; i < MESSAGES; i++)
        cr_assert_eq(ends_wait(&ends[0]).status, NORNIC_WC_SUCCESS);
    ends_close(ends);
}
