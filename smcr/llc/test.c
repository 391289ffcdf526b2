/* SPDX-License-Identifier: BSD-2-Clause */
/* TEST LINK: SMCR-KAL-02, KAL-03, KAL-06, LLC-62, REC-28, REC-04 row 18. */
#include <string.h>

#include "net/bytes.h"
#include "smcr/llc/flow.h"

void smcr_llc_test_link(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr *smcr = link->group->smcr;
    if (link->state != SMCR_LINK_ACTIVE || link->is_tested)
        return;
    put_be64(link->test_data, smcr->config.random.next(smcr->config.random.ctx));
    put_be64(link->test_data + 8, smcr->config.random.next(smcr->config.random.ctx));
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_build_test_link(message, link->test_data);
    link->is_tested = true;
    smcr_arm(smcr, &link->test_timer, now_ns + smcr->config.times.test_answer_ns);
    smcr_llc_send(link, message, SMCR_POST_LLC, now_ns);
}

/* Whatever was heard on the link meanwhile has proved it: the timer finds out here. */
void smcr_llc_test_due(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr *smcr = link->group->smcr;
    uint64_t due_ns = link->last_heard_ns + smcr->config.times.test_link_ns;
    if (link->state != SMCR_LINK_ACTIVE) /* it went down, or began to be drained, in the same moment */
        return;
    if (link->is_tested) {
        smcr->counters.llc_timeouts++;
        smcr_link_fail(link, "a TEST LINK was not answered", now_ns);
    } else if (now_ns < due_ns) {
        smcr_arm(smcr, &link->test_timer, due_ns);
    } else {
        smcr_llc_test_link(link, now_ns);
    }
}

void smcr_llc_test_link_req(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    uint8_t answer[SMCR_MSG_BYTES];
    smcr_llc_build_echo(answer, m, false, false);
    /* A peer that asks faster than it takes answers gets no more of them. */
    if (link->sends_left > 0)
        smcr_llc_send(link, answer, SMCR_POST_LLC, now_ns);
}

void smcr_llc_test_link_rsp(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr *smcr = link->group->smcr;
    if (!link->is_tested) {
        smcr_llc_unmatched(link, m, now_ns);
    } else if (memcmp(m->test_link.user_data, link->test_data, sizeof link->test_data) != 0) {
        smcr_llc_wrong(link, m, "a TEST LINK response to something else", now_ns);
    } else {
        link->is_tested = false;
        smcr_arm(smcr, &link->test_timer, now_ns + smcr->config.times.test_link_ns);
    }
}
