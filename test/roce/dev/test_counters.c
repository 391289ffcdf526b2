/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/counters.h"

#include <criterion/criterion.h>

#include "roce/trace.h"

/* covers: ROCE-LIM-6 */
Test(counters, ROCE_LIM_6_every_counter_is_named_in_order)
{
    cr_expect_str_eq(roce_counter_name(0), "tx_pkts");
    unsigned n = 0;
    while (roce_counter_name(n))
        n++;
    cr_expect_eq(n, sizeof(struct roce_counters) / sizeof(uint64_t));
    cr_expect_str_eq(roce_counter_name(n - 1), "rx_ip_id_foreign");
    cr_expect_str_eq(roce_counter_name(offsetof(struct roce_counters, rnr_nak_sent) / sizeof(uint64_t)),
                     "rnr_nak_sent");
}

/* covers: ROCE-LIM-6 */
Test(counters, ROCE_LIM_6_drops_have_the_names_of_section_6)
{
    cr_expect_str_eq(roce_verdict_counter_name(ROCE_RX_DROP_ICRC), "rx_icrc_error");
    cr_expect_str_eq(roce_verdict_counter_name(ROCE_RX_DROP_PKEY), "bad_pkey");
    cr_expect_str_eq(roce_verdict_counter_name(ROCE_RX_DROP_QKEY), "qkey_viol");
}

Test(counters, every_cause_has_words)
{
    for (int cause = 0; cause < ROCE_CAUSE_COUNT; cause++)
        cr_expect_not_null(roce_cause_words((enum roce_cause)cause));
}
