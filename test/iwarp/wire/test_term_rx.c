/* SPDX-License-Identifier: BSD-2-Clause */
/* What a Terminate says of work that is not complete. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/iwarp/world.h"

static struct side s;
static struct peer p;

static void setup(void)
{
    side_make(&s, 1, NULL);
    peer_meet(&p, &s, true);
}

static void teardown(void)
{
    side_free(&s);
}

/* covers: IWARP-RDMAP-35, IWARP-VERB-15, IWARP-AMB-02 */
/* covers: IWARP-CM-37 */
Test(term_rx, a_terminate_that_names_a_request_fails_it)
{
    static const struct {
        uint8_t control[4];
        uint32_t msn;
        enum nornic_wc_status status;
        bool is_turned;
    } rows[] = {
        {{0x01, 0x01, 0xc0, 0}, 2, NORNIC_WC_REM_ACCESS_ERR, false},
        {{0x02, 0x07, 0xc0, 0}, 2, NORNIC_WC_REM_OP_ERR, false},
        {{0x10, 0x01, 0x03, 0}, 2, NORNIC_WC_REM_ACCESS_ERR, true}, /* as siw says 0/1/01 */
        {{0x01, 0x01, 0x80, 0}, 2, NORNIC_WC_WR_FLUSH_ERR, false},  /* no header */
        {{0x01, 0x01, 0xc0, 0}, 9, NORNIC_WC_WR_FLUSH_ERR, false},  /* of nothing that is outstanding */
        {{0x11, 0x01, 0xc0, 0}, 2, NORNIC_WC_WR_FLUSH_ERR, false},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        uint8_t body[IWARP_TERM_MAX_BYTES] = {0};
        struct iwarp_ulpdu u;
        setup();
        side_post(&s, NORNIC_WR_RDMA_READ, 1, 1000, 8, 0x5000, 7);
        side_post(&s, NORNIC_WR_RDMA_READ, 2, 1000, 8, 0x5000, 7);
        side_post(&s, NORNIC_WR_SEND, 3, 1000, 8, 0, 0);
        while (peer_hear(&p, &s, &u))
            ;
        memcpy(body, rows[i].control, 4);
        uint8_t *end = iwarp_put_untagged(body + 6, IWARP_OP_READ_REQUEST, true,
                                          &(struct iwarp_untagged){.qn = 1, .msn = rows[i].msn});
        peer_say_untagged(&p, &s, IWARP_OP_TERMINATE, true, &(struct iwarp_untagged){.qn = 2, .msn = 1}, body,
                          (uint32_t)(end - body));
        side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
        side_expect(&s, 2, rows[i].status);
        side_expect(&s, 3, NORNIC_WC_WR_FLUSH_ERR);
        cr_expect_eq(s.qp->end.is_turned, rows[i].is_turned);
        peer_expect_silence(&p, &s);
        teardown();
    }
}

/* covers: IWARP-RDMAP-35 */
Test(term_rx, a_terminate_of_any_length_ends_the_stream)
{
    for (uint32_t len = 0; len <= IWARP_TERM_MAX_BYTES + 8; len++) {
        uint8_t body[IWARP_TERM_MAX_BYTES + 8];
        struct iwarp_ulpdu u;
        memset(body, 0xff, sizeof body);
        setup();
        side_post(&s, NORNIC_WR_RDMA_READ, 1, 1000, 8, 0x5000, 7);
        cr_assert(peer_hear(&p, &s, &u));
        peer_say_untagged(&p, &s, IWARP_OP_TERMINATE, true, &(struct iwarp_untagged){.qn = 2, .msn = 1}, body,
                          len);
        cr_expect_eq(s.qp->state, IWARP_QP_ERROR);
        cr_expect(s.qp->end.has_received && s.qp->end.is_mute == (len < 4), "%u octets", len);
        side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
        teardown();
    }
}
