/* SPDX-License-Identifier: BSD-2-Clause */
/* Faults on demand: what the rules say, and what a program sees of them. Criterion runs each test in a
 * process of its own, so each has rules of its own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test/verbs/pair.h"
#include "verbs/faults/faults.h"

/* --- the rules --- */

static struct verbs_faults parsed;
static struct nornic_error why;

static void good(const char *text)
{
    cr_assert_eq(verbs_faults_parse(text, &parsed, &why), 0, "%s", why.text);
}

/* The sentence has `place` and names `wanted`. */
static void bad(const char *text, const char *place, const char *wanted)
{
    cr_assert_eq(verbs_faults_parse(text, &parsed, &why), -EINVAL, "%s", text);
    cr_assert_not_null(strstr(why.text, place), "%s: %s", text, why.text);
    cr_assert_not_null(strstr(why.text, wanted), "%s: %s", text, why.text);
}

Test(fault_rules, requests)
{
    good("the 1000th SEND of QP 0x12 ends with RETRY_EXC_ERR");
    cr_assert_eq(parsed.count, 1);
    const struct verbs_fault_rule *rule = &parsed.rules[0];
    cr_assert_eq(rule->kind, VERBS_FAULT_REQUEST);
    cr_assert_eq(rule->nth, 1000);
    cr_assert(!rule->is_every && rule->has_qp_num);
    cr_assert_eq(rule->operation, VERBS_FAULT_OP_SEND);
    cr_assert_eq(rule->qp_num, 0x12);
    cr_assert_eq(rule->status, NORNIC_WC_RETRY_EXC_ERR);
    good(
        "every 10th write of the 2nd qp ends with ibv_wc_rem_access_err\n# a comment\n\n5% of RECV ends with "
        "LOC_LEN_ERR ; seed 7");
    cr_assert_eq(parsed.count, 2);
    cr_assert(rule->is_every && rule->nth == 10 && rule->qp_nth == 2);
    cr_assert_eq(rule->status, NORNIC_WC_REM_ACCESS_ERR);
    cr_assert_eq(parsed.rules[1].ppm, 50000);
    cr_assert_eq(parsed.rules[1].line, 4);
    cr_assert_eq(parsed.seed, 7);
}

Test(fault_rules, others)
{
    good("allocation of the 3rd MR fails; allocation of every qp fails with EAGAIN;"
         "delay completions by 3 ms; port down after 5 s for 2s; port down after 500us");
    cr_assert_eq(parsed.count, 5);
    cr_assert_eq(parsed.rules[0].object, VERBS_FAULT_OF_MR);
    cr_assert_eq(parsed.rules[0].err, ENOMEM);
    cr_assert_eq(parsed.rules[1].err, EAGAIN);
    cr_assert_eq(parsed.rules[2].delay_ns, 3 * NS_PER_MS);
    cr_assert_eq(parsed.rules[3].after_ns, 5 * NS_PER_S);
    cr_assert_eq(parsed.rules[3].for_ns, 2 * NS_PER_S);
    cr_assert_eq(parsed.rules[4].after_ns, 500000);
    good("");
    good(" ;\n;# nothing");
    cr_assert_eq(parsed.count, 0);
}

Test(fault_rules, what_is_wrong_and_where)
{
    bad("1000th SENT ends with RETRY_EXC_ERR", "line 1, column 8:", "SEND");
    bad("\n  every SEND ends with OOPS", "line 2, column 24:", "status");
    bad("every SEND ends with SUCCESS", "column 22:", "status");
    bad("every SEND of qp", "the end of the rule", "number");
    bad("port down after 5", "column 18:", "'ms'");
    bad("port down after 5 weeks", "'weeks'", "'ms'");
    bad("allocation of MR fails", "column 15:", "which");
    bad("allocation of 0th MR fails", "column 15:", "from 1");
    bad("101% of SEND ends with FATAL_ERR", "column 1:", "100");
    bad("delay completions by 3ms twice", "'twice'", "end of the rule");
    bad("every SEND of qp 0x1000000 ends with FATAL_ERR", "column 18:", "queue pair");
    char many[VERBS_FAULT_RULES_MAX * 32 + 64] = "";
    for (unsigned i = 0; i <= VERBS_FAULT_RULES_MAX; i++)
        strcat(many, "port down after 1s\n");
    bad(many, "line 65", "more than 64");
}

/* --- what a program sees --- */

static void open_with(const char *rules)
{
    setenv("NORNIC_FAULTS", rules, 1);
    pair_open_device();
}

static void post_send(struct ibv_qp *qp, uint64_t wr_id, struct ibv_mr *mr)
{
    struct ibv_sge piece = {.addr = (uintptr_t)mr->addr, .length = 8, .lkey = mr->lkey};
    struct ibv_send_wr wr = {.wr_id = wr_id, .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND},
                       *refused;
    cr_assert_eq(ibv_post_send(qp, &wr, &refused), 0);
}

static void post_recv(struct ibv_qp *qp, uint64_t wr_id, struct ibv_mr *mr)
{
    struct ibv_sge piece = {.addr = (uintptr_t)mr->addr, .length = 8, .lkey = mr->lkey};
    struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &piece, .num_sge = 1}, *refused;
    cr_assert_eq(ibv_post_recv(qp, &wr, &refused), 0);
}

static char memory[64];

static struct ibv_mr *reg(void)
{
    return ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, (uintptr_t)memory,
                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

static enum ibv_wc_status status_of(struct pair *pair, uint64_t wr_id)
{
    struct ibv_wc wc = pair_next(pair);
    while (wc.wr_id != wr_id)
        wc = pair_next(pair);
    return wc.status;
}

TestSuite(faults, .timeout = 60);

Test(faults, a_send_ends_as_asked)
{
    open_with("2nd SEND of the 1st qp ends with RETRY_EXC_ERR");
    struct pair pair = pair_make();
    struct ibv_mr *mr = reg();
    for (uint64_t i = 1; i <= 3; i++)
        post_recv(pair.qp[1], 10 + i, mr);
    for (uint64_t i = 1; i <= 3; i++)
        post_send(pair.qp[0], i, mr);
    cr_assert_eq(status_of(&pair, 1), IBV_WC_SUCCESS);
    cr_assert_eq(status_of(&pair, 2), IBV_WC_RETRY_EXC_ERR);
    cr_assert_eq(status_of(&pair, 3), IBV_WC_WR_FLUSH_ERR, "the queue pair is in ERR");
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    cr_assert_eq(ibv_query_qp(pair.qp[0], &attr, IBV_QP_STATE, &init), 0);
    cr_assert_eq(attr.qp_state, IBV_QPS_ERR);
    pair_free(&pair);
    ibv_dereg_mr(mr);
    pair_close_device();
}

Test(faults, a_receive_ends_as_asked)
{
    open_with("1st RECV ends with LOC_LEN_ERR");
    struct pair pair = pair_make();
    struct ibv_mr *mr = reg();
    post_recv(pair.qp[1], 11, mr);
    post_send(pair.qp[0], 1, mr);
    struct ibv_wc first = pair_next(&pair), second = pair_next(&pair);
    const struct ibv_wc *of_recv = first.wr_id == 11 ? &first : &second;
    const struct ibv_wc *of_send = first.wr_id == 11 ? &second : &first;
    cr_assert_eq(of_recv->status, IBV_WC_LOC_LEN_ERR);
    cr_assert_eq(of_send->status, IBV_WC_REM_OP_ERR, "the peer hears of it");
    pair_free(&pair);
    ibv_dereg_mr(mr);
    pair_close_device();
}

Test(faults, a_request_built_call_by_call_ends_as_asked)
{
    open_with("every WRITE ends with REM_ACCESS_ERR");
    struct pair pair = pair_make();
    struct ibv_mr *mr = reg();
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(pair.qp[0]);
    char data[8] = "inline";
    ibv_wr_start(qp);
    qp->wr_id = 5;
    ibv_wr_rdma_write(qp, mr->rkey, (uintptr_t)memory);
    ibv_wr_set_inline_data(qp, data, sizeof data);
    cr_assert_eq(ibv_wr_complete(qp), 0);
    cr_assert_eq(status_of(&pair, 5), IBV_WC_REM_ACCESS_ERR);
    cr_assert_eq(memory[0], '\0', "it was not carried out");
    pair_free(&pair);
    ibv_dereg_mr(mr);
    pair_close_device();
}

Test(faults, an_allocation_fails)
{
    open_with("allocation of the 2nd MR fails with EAGAIN; allocation of every CQ fails");
    struct ibv_mr *first = reg();
    cr_assert_not_null(first);
    errno = 0;
    cr_assert_null(reg());
    cr_assert_eq(errno, EAGAIN);
    struct ibv_mr *third = reg();
    cr_assert_not_null(third);
    cr_assert_null(ibv_create_cq(pair_ctx, 1, NULL, NULL, 0));
    cr_assert_eq(errno, ENOMEM);
    ibv_dereg_mr(first);
    ibv_dereg_mr(third);
    pair_close_device();
}

/* The share that a percentage says, and the same ones for the same seed. */
Test(faults, some_by_a_seed)
{
    struct verbs_faults again;
    unsigned failed = 0, differ = 0;
    good("allocation of 20% of PD fails; seed 5");
    cr_assert_eq(verbs_faults_parse("allocation of 20% of PD fails; seed 5", &again, &why), 0);
    for (unsigned i = 0; i < 1000; i++) {
        int err = verbs_fault_alloc(&parsed, VERBS_FAULT_OF_PD);
        failed += err != 0;
        differ += err != verbs_fault_alloc(&again, VERBS_FAULT_OF_PD);
    }
    cr_assert(failed > 150 && failed < 250, "%u of 1000", failed);
    cr_assert_eq(differ, 0);
}

/* Of the port: a new device may have some about its GIDs before. */
static enum ibv_event_type next_event(void)
{
    struct ibv_async_event event;
    do {
        cr_assert_eq(ibv_get_async_event(pair_ctx, &event), 0);
        ibv_ack_async_event(&event);
    } while (event.event_type != IBV_EVENT_PORT_ERR && event.event_type != IBV_EVENT_PORT_ACTIVE);
    return event.event_type;
}

Test(faults, the_port_goes_down_and_comes_up)
{
    struct ibv_port_attr port;
    open_with("port down after 100ms for 300ms");
    cr_assert_eq(___ibv_query_port(pair_ctx, 1, &port), 0);
    cr_assert_eq(port.state, IBV_PORT_ACTIVE);
    cr_assert_eq(next_event(), IBV_EVENT_PORT_ERR);
    cr_assert_eq(___ibv_query_port(pair_ctx, 1, &port), 0);
    cr_assert_eq(port.state, IBV_PORT_DOWN);
    cr_assert_eq(next_event(), IBV_EVENT_PORT_ACTIVE);
    cr_assert_eq(___ibv_query_port(pair_ctx, 1, &port), 0);
    cr_assert_eq(port.state, IBV_PORT_ACTIVE);
    pair_close_device();
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

Test(faults, completions_come_late)
{
    open_with("delay completions by 80ms");
    struct pair pair = pair_make();
    struct ibv_mr *mr = reg();
    uint64_t began_ns = now_ns();
    post_recv(pair.qp[1], 10, mr);
    post_send(pair.qp[0], 1, mr);
    cr_assert_eq(pair_complete(&pair, 2), 11);
    cr_assert_geq(now_ns() - began_ns, 80 * NS_PER_MS);
    pair_free(&pair);
    ibv_dereg_mr(mr);
    pair_close_device();
}

/* Who sleeps on a channel finds, after arming, what came before: nothing is forgotten. */
Test(faults, late_completions_and_events)
{
    open_with("delay completions by 30ms");
    struct ibv_comp_channel *channel = ibv_create_comp_channel(pair_ctx);
    struct pair pair = pair_make_on(channel);
    struct ibv_cq *cq = ibv_cq_ex_to_cq(pair.cq), *fired;
    struct ibv_mr *mr = reg();
    struct ibv_wc wc;
    void *context;
    cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
    for (unsigned done = 0, round = 0; round < 5; round++) {
        post_recv(pair.qp[1], 1, mr);
        post_send(pair.qp[0], 2, mr);
        for (done = 0; done < 2;) {
            struct pollfd readable = {.fd = channel->fd, .events = POLLIN};
            cr_assert_eq(poll(&readable, 1, PAIR_WAIT_MS), 1, "round %u: no event", round);
            cr_assert_eq(ibv_get_cq_event(channel, &fired, &context), 0);
            ibv_ack_cq_events(fired, 1);
            cr_assert_eq(ibv_req_notify_cq(cq, 0), 0);
            for (int got; (got = ibv_poll_cq(cq, 1, &wc)) != 0; done += (unsigned)got)
                cr_assert_eq(wc.status, IBV_WC_SUCCESS);
        }
    }
    pair_free(&pair);
    cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
    ibv_dereg_mr(mr);
    pair_close_device();
}

Test(faults, rules_that_are_wrong_open_no_device)
{
    int count;
    setenv("NORNIC_PORT", "udp:127.0.0.1", 1);
    setenv("NORNIC_FAULTS", "every SEND fails", 1);
    struct ibv_device **list = ibv_get_device_list(&count);
    errno = 0;
    cr_assert_null(ibv_open_device(list[0]));
    cr_assert_eq(errno, EINVAL);
    ibv_free_device_list(list);
}
