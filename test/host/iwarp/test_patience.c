/* SPDX-License-Identifier: BSD-2-Clause */
/* Over iWARP: who connects with patience goes on asking where nobody is (nornic_cm_id_set_patience()). */
#include <criterion/criterion.h>

#include "host/host.h"
#include "test/host/iw_pair.h"

static struct iw_end ends[2];
static uint16_t port; /* which ends[1] has given back */

static void begin(void)
{
    struct nornic_cm_id *listener;
    iw_open_both(ends, NULL, NULL);
    port = iw_listen(&ends[1], &listener, 1);
    nornic_cm_id_destroy(listener);
}

static void end(void)
{
    iw_close_both(ends);
}

TestSuite(iw_patience, .init = begin, .fini = end);

/* ends[0] asks for the first time, in vain. */
static void ask(uint64_t patience_ns)
{
    const uint8_t v4[4] = {127, 0, 0, 1};
    const struct nornic_addr to = nornic_addr_from_v4(v4);
    iw_resolve(&ends[0], NULL, &to, port);
    nornic_cm_id_set_patience(ends[0].id, patience_ns);
    cr_assert(nornic_cm_id_connect(ends[0].id, ends[0].qp, NULL) == 0);
}

Test(iw_patience, a_listener_that_comes_late_is_found)
{
    struct nornic_cm_id *listener;
    ask(IW_WAIT_NS);
    iw_post_recv(&ends[0], 0, 8);
    cr_assert(nornic_cm_id_create(ends[1].cm, NORNIC_PS_TCP, &ends[1], &listener) == 0);
    cr_assert(nornic_cm_id_listen(listener, NULL, port, 1) == 0);
    iw_take(&ends[1], NULL);
    cr_expect(iw_hears(&ends[0], NORNIC_CM_EVENT_ESTABLISHED) == 0);
    cr_expect(iw_hears(&ends[1], NORNIC_CM_EVENT_ESTABLISHED) == 0);
    struct nornic_sge sge; /* the receive was posted before, and is still there */
    struct nornic_send_wr wr = iw_wr(NORNIC_WR_SEND, &ends[1], &ends[0], &sge, 0, 0, 8);
    iw_post(&ends[1], &wr);
    cr_expect(iw_wait(&ends[0]).status == NORNIC_WC_SUCCESS);
    nornic_cm_id_destroy(listener);
}

Test(iw_patience, where_nobody_comes_the_connection_is_refused_when_it_is_over)
{
    const uint64_t patience_ns = 5 * NORNIC_CM_ASK_AGAIN_NS;
    uint64_t begun_ns = host_now_ns();
    ask(patience_ns);
    cr_expect(iw_hears(&ends[0], NORNIC_CM_EVENT_REJECTED) == 8);
    cr_expect(host_now_ns() - begun_ns >= patience_ns);
    cr_expect(nornic_qp_state(ends[0].qp) == NORNIC_QPS_ERR);
}

/* What is destroyed while it waits is asked for no more. */
Test(iw_patience, the_queue_pair_goes_first)
{
    ask(IW_WAIT_NS);
    cr_assert(nornic_qp_destroy(ends[0].qp) == 0);
    ends[0].qp = NULL;
    cr_expect(iw_hears(&ends[0], NORNIC_CM_EVENT_CONNECT_ERROR) < 0);
}

Test(iw_patience, the_id_goes_first)
{
    ask(IW_WAIT_NS);
    nornic_cm_id_destroy(ends[0].id);
    ends[0].id = NULL;
    cr_expect(nornic_qp_state(ends[0].qp) == NORNIC_QPS_INIT);
    cr_assert(nornic_qp_destroy(ends[0].qp) == 0);
    ask(3 * NORNIC_CM_ASK_AGAIN_NS);
    cr_expect(iw_hears(&ends[0], NORNIC_CM_EVENT_REJECTED) == 8);
}
