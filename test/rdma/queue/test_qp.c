/* SPDX-License-Identifier: BSD-2-Clause */
/* The neutral half of a queue pair without any transport: the one here has no wire. It takes what is to be
 * sent from one QP's send queue and puts it into the other's receive. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "rdma/event.h"
#include "rdma/queue/local_ops.h"
#include "rdma/mr.h"
#include "rdma/mw.h"
#include "rdma/queue/qp.h"
#include "rdma/srq.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

#define SENDS                                                                                         \
    (RDMA_SENDS(NORNIC_WR_SEND) | RDMA_SENDS(NORNIC_WR_RDMA_READ) | RDMA_SENDS(NORNIC_WR_LOCAL_INV) | \
     RDMA_SENDS(NORNIC_WR_BIND_MW) | RDMA_SENDS(NORNIC_WR_REG_MR) |                                   \
     RDMA_SENDS(NORNIC_WR_ATOMIC_FETCH_AND_ADD))

struct fake {
    struct rdma_qp base;
    unsigned posted; /* how often the transport was told */
};

static struct test_random rnd = {.state = 1};
static struct test_alloc alloc;
static struct rdma_domain *domain;
static struct rdma_pd *pd;
static struct rdma_cq *cq;
static struct rdma_mr *mr;
static struct fake a, b;
static uint8_t memory[256];
static struct rdma_event events[8];
static unsigned event_count;

static void on_event(void *ctx, const struct rdma_event *event)
{
    (void)ctx;
    events[event_count++] = *event;
}

static void fake_posted(struct rdma_qp *qp)
{
    ((struct fake *)qp)->posted++;
}

static int fake_check_send(const struct rdma_qp *qp, const struct nornic_send_wr *wr, uint32_t len_bytes)
{
    (void)qp;
    (void)len_bytes;
    return wr->opcode == NORNIC_WR_SEND && wr->rkey ? -EINVAL : 0;
}

static const struct rdma_qp_ops fake_ops = {.posted = fake_posted, .check_send = fake_check_send};

static void set_state(struct fake *f, enum nornic_qp_state state)
{
    atomic_store(&f->base.state, state);
}

static struct rdma_qp_parts parts_of(struct rdma_cq *of)
{
    return (struct rdma_qp_parts){
        .ops = &fake_ops,
        .domain = domain,
        .sends = SENDS,
        .pd = pd,
        .send_cq = of,
        .recv_cq = of,
        .caps = {.max_send_wr = 4,
                 .max_recv_wr = 4,
                 .max_send_sge = 2,
                 .max_recv_sge = 2,
                 .max_inline_bytes = 16},
    };
}

static void make(struct fake *f, uint32_t qpn)
{
    struct rdma_qp_parts parts = parts_of(cq);
    *f = (struct fake){.posted = 0};
    cr_assert_eq(rdma_qp_init(&f->base, &parts), 0);
    f->base.qpn = qpn;
    set_state(f, NORNIC_QPS_RTS);
}

/* The whole transport: one WQE from `from` to `to`. False: there is none. */
static bool carry(struct fake *from, struct fake *to)
{
    enum nornic_wc_status failed;
    uint8_t bytes[sizeof memory];
    struct rdma_sq *sq = &from->base.sq;
    if (!rdma_local_execute(&from->base, 0, &failed)) {
        if (failed)
            rdma_sq_complete(&from->base, failed);
        return false;
    }
    const struct rdma_send_wqe *w = rdma_sq_next(sq);
    if (!w)
        return false;
    rdma_sq_start_next(sq, 0, 1);
    cr_assert(rdma_sq_gather(&from->base, sq->cur, 0, bytes, w->len_bytes));
    cr_assert(rdma_recv_take(&to->base));
    cr_assert(rdma_recv_scatter(&to->base, 0, bytes, w->len_bytes));
    struct nornic_wc wc = {.opcode = NORNIC_WC_RECV, .byte_len = w->len_bytes};
    rdma_recv_complete(&to->base, &wc, false);
    rdma_sq_go_past(sq);
    rdma_sq_complete(&from->base, NORNIC_WC_SUCCESS);
    return true;
}

static void setup(void)
{
    struct rdma_random source = test_random_source(&rnd);
    struct rdma_cq_config config = {.capacity = 16};
    test_alloc_init(&alloc);
    cr_assert_eq(rdma_domain_create(&alloc.mem, &source, 16, &domain), 0);
    rdma_domain_on_event(domain, on_event, NULL);
    cr_assert_eq(rdma_pd_create(domain, &pd), 0);
    cr_assert_eq(rdma_cq_create(&alloc.mem, &config, &cq), 0);
    uint32_t access = NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_MW_BIND | NORNIC_ACCESS_REMOTE_WRITE;
    cr_assert_eq(rdma_mr_reg(pd, memory, sizeof memory, access, &mr), 0);
    for (unsigned i = 0; i < sizeof memory; i++)
        memory[i] = (uint8_t)i;
    make(&a, 1);
    make(&b, 2);
}

static void teardown(void)
{
    rdma_qp_deinit(&a.base);
    rdma_qp_deinit(&b.base);
    cr_assert_eq(rdma_mr_dereg(mr), 0);
    cr_assert_eq(rdma_cq_destroy(cq), 0);
    cr_assert_eq(rdma_pd_destroy(pd), 0);
    cr_assert_eq(rdma_domain_destroy(domain), 0);
    cr_assert_eq(alloc.live, 0);
}

TestSuite(rdma_qp, .init = setup, .fini = teardown);

static struct nornic_sge sge(unsigned offset, uint32_t len_bytes)
{
    return (struct nornic_sge){.addr = (uintptr_t)&memory[offset], .len_bytes = len_bytes, .lkey = mr->lkey};
}

static int post(struct fake *f, enum nornic_wr_opcode opcode, const struct nornic_sge *sges, uint32_t num_sge,
                uint32_t flags)
{
    struct nornic_send_wr wr = {
        .wr_id = 7, .opcode = opcode, .sg_list = sges, .num_sge = num_sge, .send_flags = flags};
    return rdma_qp_post_send(&f->base, &wr, NULL);
}

static void post_recv(struct fake *f, unsigned offset)
{
    struct nornic_sge to = sge(offset, 32);
    struct nornic_recv_wr wr = {.wr_id = 9, .sg_list = &to, .num_sge = 1};
    cr_assert_eq(rdma_qp_post_recv(&f->base, &wr, NULL), 0);
}

static struct nornic_wc poll_one(void)
{
    struct nornic_wc wc;
    cr_assert_eq(rdma_cq_poll(cq, &wc, 1), 1);
    return wc;
}

static void expect_empty(void)
{
    struct nornic_wc wc;
    cr_assert_eq(rdma_cq_poll(cq, &wc, 1), 0);
}

Test(rdma_qp, what_is_posted_to_one_arrives_at_the_other)
{
    struct nornic_sge from[] = {sge(1, 3), sge(10, 2)};
    post_recv(&b, 128);
    cr_assert_eq(post(&a, NORNIC_WR_SEND, from, 2, NORNIC_SEND_SIGNALED), 0);
    cr_assert_eq(a.posted, 1);
    cr_assert(carry(&a, &b));
    cr_assert_arr_eq(memory + 128, ((uint8_t[]){1, 2, 3, 10, 11}), 5);
    struct nornic_wc received = poll_one(), sent = poll_one();
    cr_assert_eq(received.wr_id, 9);
    cr_assert_eq(received.qp_num, 2);
    cr_assert_eq(received.byte_len, 5);
    cr_assert_eq(sent.wr_id, 7);
    cr_assert_eq(sent.qp_num, 1);
    cr_assert_eq(sent.opcode, NORNIC_WC_SEND);
    cr_assert_not(carry(&a, &b));
}

/* covers: ROCE-QP-40 */
Test(rdma_qp, a_post_is_refused_for_what_no_transport_could_do)
{
    struct nornic_sge s[] = {sge(0, 8), sge(0, 8), sge(0, 8)};
    struct nornic_send_wr own = {.opcode = NORNIC_WR_SEND, .rkey = 1};
    const struct nornic_send_wr *bad = NULL;
    cr_assert_eq(post(&a, NORNIC_WR_SEND, s, 3, 0), -EINVAL);            /* SGEs */
    cr_assert_eq(post(&a, NORNIC_WR_RDMA_WRITE, s, 1, 0), -EINVAL);      /* not its opcode */
    cr_assert_eq(post(&a, (enum nornic_wr_opcode)11, s, 1, 0), -EINVAL); /* nobody's */
    cr_assert_eq(post(&a, (enum nornic_wr_opcode)4711, s, 1, 0), -EINVAL);
    cr_assert_eq(post(&a, NORNIC_WR_ATOMIC_FETCH_AND_ADD, s, 2, 0), -EINVAL);       /* 16 bytes */
    cr_assert_eq(post(&a, NORNIC_WR_REG_MR, s, 1, 0), -EINVAL);                     /* it has no data */
    cr_assert_eq(post(&a, NORNIC_WR_RDMA_READ, s, 1, NORNIC_SEND_INLINE), -EINVAL); /* data comes back */
    s[0].len_bytes = 17;
    cr_assert_eq(post(&a, NORNIC_WR_SEND, s, 1, NORNIC_SEND_INLINE), -EINVAL); /* more than fits */
    cr_assert_eq(rdma_qp_post_send(&a.base, &own, &bad), -EINVAL);             /* the transport's no */
    cr_assert_eq(bad, &own);
    set_state(&a, NORNIC_QPS_RTR);
    cr_assert_eq(post(&a, NORNIC_WR_SEND, s, 1, 0), -EINVAL);
    cr_assert_eq(a.posted, 0);
}

/* covers: ROCE-RC-60 */
Test(rdma_qp, a_signalled_completion_frees_the_slots_before_it)
{
    for (int i = 0; i < 3; i++)
        cr_assert_eq(post(&a, NORNIC_WR_SEND, NULL, 0, 0), 0);
    cr_assert_eq(post(&a, NORNIC_WR_SEND, NULL, 0, NORNIC_SEND_SIGNALED), 0);
    cr_assert_eq(post(&a, NORNIC_WR_SEND, NULL, 0, 0), -ENOMEM);
    for (int i = 0; i < 3; i++) {
        post_recv(&b, 128);
        cr_assert(carry(&a, &b));
        cr_assert_eq(post(&a, NORNIC_WR_SEND, NULL, 0, 0), -ENOMEM);
    }
    post_recv(&b, 128);
    cr_assert(carry(&a, &b));
    for (int i = 0; i < 4; i++)
        cr_assert_eq(post(&a, NORNIC_WR_SEND, NULL, 0, 0), 0);
}

/* covers: ROCE-RC-16 */
Test(rdma_qp, inline_data_is_that_of_the_post)
{
    struct nornic_sge from = {.addr = (uintptr_t)&memory[5], .len_bytes = 2, .lkey = 0};
    cr_assert_eq(post(&a, NORNIC_WR_SEND, &from, 1, NORNIC_SEND_INLINE), 0);
    memory[5] = memory[6] = 0xff;
    post_recv(&b, 128);
    cr_assert(carry(&a, &b));
    cr_assert_eq(memory[128], 5);
    cr_assert_eq(memory[129], 6);
}

/* covers: ROCE-RC-17 */
Test(rdma_qp, data_under_a_wrong_key_is_not_gathered)
{
    uint8_t bytes[8];
    struct nornic_sge from = sge(0, 8);
    from.lkey++;
    cr_assert_eq(post(&a, NORNIC_WR_SEND, &from, 1, 0), 0);
    cr_assert_not(rdma_sq_gather(&a.base, 0, 0, bytes, 8));
}

/* covers: ROCE-MW-4, ROCE-RC-14 */
Test(rdma_qp, local_operations_take_their_turn)
{
    struct rdma_mw *mw;
    enum nornic_wc_status failed;
    cr_assert_eq(rdma_mw_alloc(pd, NORNIC_MW_TYPE_2, &mw), 0);
    uint32_t key = mw->rkey + 1;
    struct nornic_send_wr inv = {.wr_id = 2, .opcode = NORNIC_WR_LOCAL_INV, .invalidate_rkey = key};
    struct nornic_send_wr send = {.wr_id = 1, .next = &inv, .opcode = NORNIC_WR_SEND};
    struct nornic_send_wr bind = {.next = &send, .opcode = NORNIC_WR_BIND_MW, .rkey = key};
    bind.bind = (struct nornic_bind){
        .lkey = mr->lkey, .addr = (uintptr_t)memory, .len_bytes = 8, .access = NORNIC_ACCESS_REMOTE_WRITE};
    a.base.sq_sig_all = true;
    cr_assert_eq(rdma_qp_post_send(&a.base, &bind, NULL), 0);

    cr_assert(rdma_local_execute(&a.base, 5, &failed)); /* the SEND is next */
    cr_assert_not_null(rdma_mr_remote(domain, pd, 1, key, (uintptr_t)memory, 8, NORNIC_ACCESS_REMOTE_WRITE));
    cr_assert_eq(poll_one().opcode, NORNIC_WC_BIND_MW);
    rdma_sq_start_next(&a.base.sq, 5, 1);
    rdma_sq_go_past(&a.base.sq);
    cr_assert_not(rdma_local_execute(&a.base, 6, &failed)); /* the SEND is not complete */
    cr_assert_eq(failed, NORNIC_WC_SUCCESS);
    cr_assert_not_null(rdma_mr_remote(domain, pd, 1, key, (uintptr_t)memory, 8, NORNIC_ACCESS_REMOTE_WRITE));
    rdma_sq_complete(&a.base, NORNIC_WC_SUCCESS);
    cr_assert_eq(poll_one().wr_id, 1);
    cr_assert(rdma_local_execute(&a.base, 6, &failed));
    cr_assert_eq(poll_one().wr_id, 2);
    cr_assert_null(rdma_mr_remote(domain, pd, 1, key, (uintptr_t)memory, 8, NORNIC_ACCESS_REMOTE_WRITE));

    cr_assert_eq(rdma_qp_post_send(&a.base, &inv, NULL), 0); /* there is nothing any more */
    cr_assert_not(rdma_local_execute(&a.base, 6, &failed));
    cr_assert_eq(failed, NORNIC_WC_LOC_QP_OP_ERR);
    rdma_mw_dealloc(mw);
}

/* covers: ROCE-RC-63 */
Test(rdma_qp, a_flush_completes_both_queues)
{
    post_recv(&a, 128);
    cr_assert_eq(post(&a, NORNIC_WR_SEND, NULL, 0, 0), 0);
    set_state(&a, NORNIC_QPS_ERR);
    rdma_sq_flush(&a.base);
    rdma_recv_flush(&a.base);
    cr_assert_eq(poll_one().status, NORNIC_WC_WR_FLUSH_ERR);
    cr_assert_eq(poll_one().status, NORNIC_WC_WR_FLUSH_ERR);
    expect_empty();
    post_recv(&a, 128); /* the transport is told, so that it flushes again */
    cr_assert_eq(a.posted, 2);
}

/* covers: ROCE-QP-8 */
Test(rdma_qp, a_reset_forgets_both_queues)
{
    post_recv(&a, 128);
    cr_assert_eq(post(&a, NORNIC_WR_SEND, NULL, 0, 0), 0);
    cr_assert(rdma_recv_take(&a.base));
    rdma_qp_reset(&a.base);
    cr_assert_null(rdma_sq_next(&a.base.sq));
    cr_assert_not(rdma_recv_take(&a.base));
    expect_empty();
}

/* covers: ROCE-MW-2 */
Test(rdma_qp, a_reset_ends_its_windows)
{
    struct rdma_mw *mw;
    cr_assert_eq(rdma_mw_alloc(pd, NORNIC_MW_TYPE_2, &mw), 0);
    struct rdma_mw_bind bind = {.type = NORNIC_MW_TYPE_2,
                                .key = mw->rkey,
                                .lkey = mr->lkey,
                                .addr = (uintptr_t)memory,
                                .len_bytes = 8};
    cr_assert_eq(rdma_mw_bind(domain, pd, 1, &a.base.windows, &bind), 0);
    cr_assert_eq(rdma_mr_dereg(mr), -EBUSY);
    rdma_qp_reset(&a.base);
    cr_assert_eq(mr->windows, 0);
    rdma_mw_dealloc(mw);
}

/* covers: ROCE-CQ-2 */
Test(rdma_qp, an_overflow_names_every_qp_of_the_cq_once)
{
    struct rdma_cq_config config = {.capacity = 1};
    struct rdma_cq *small;
    struct fake c = {.posted = 0};
    cr_assert_eq(rdma_cq_create(&alloc.mem, &config, &small), 0);
    struct rdma_qp_parts parts = parts_of(small);
    cr_assert_eq(rdma_qp_init(&c.base, &parts), 0);
    set_state(&c, NORNIC_QPS_RTS);
    cr_assert_null(rdma_domain_take_failing(domain));
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(post(&c, NORNIC_WR_SEND, NULL, 0, NORNIC_SEND_SIGNALED), 0);
        rdma_sq_complete(&c.base, NORNIC_WC_SUCCESS);
    }
    cr_assert_eq(event_count, 1);
    cr_assert_eq(events[0].type, NORNIC_EVENT_CQ_ERR);
    cr_assert_eq(events[0].cq, small);
    cr_assert_eq(rdma_domain_take_failing(domain), &c.base);
    cr_assert_null(rdma_domain_take_failing(domain));
    rdma_qp_deinit(&c.base);
    cr_assert_eq(rdma_cq_destroy(small), 0);
}

Test(rdma_qp, receives_come_from_an_srq_where_there_is_one)
{
    struct rdma_srq_config config = {.max_wr = 4, .max_sge = 1};
    struct rdma_qp_parts parts = parts_of(cq);
    struct fake c = {.posted = 0};
    struct nornic_sge to = sge(64, 8);
    struct nornic_recv_wr wr = {.wr_id = 3, .sg_list = &to, .num_sge = 1};
    cr_assert_eq(rdma_srq_create(pd, &config, &parts.srq), 0);
    parts.recv_source = RDMA_RECV_SRQ;
    cr_assert_eq(rdma_qp_init(&c.base, &parts), 0);
    set_state(&c, NORNIC_QPS_RTS);
    cr_assert_eq(rdma_qp_post_recv(&c.base, &wr, NULL), -EINVAL);
    cr_assert_eq(rdma_srq_post(parts.srq, &wr, NULL), 0);
    cr_assert_eq(rdma_srq_destroy(parts.srq), -EBUSY);
    cr_assert(rdma_recv_take(&c.base));
    rdma_recv_give_back(&c.base, NORNIC_WC_LOC_LEN_ERR); /* an SRQ takes none back */
    cr_assert_eq(poll_one().status, NORNIC_WC_LOC_LEN_ERR);
    rdma_qp_deinit(&c.base);
    cr_assert_eq(rdma_srq_destroy(parts.srq), 0);
}

Test(rdma_qp, without_memory_nothing_is_kept)
{
    struct rdma_qp_parts parts = parts_of(cq);
    unsigned live = alloc.live;
    int err = -ENOMEM;
    for (unsigned n = 1; err; n++) {
        struct fake c = {.posted = 0};
        alloc.fail_at = alloc.calls + n;
        err = rdma_qp_init(&c.base, &parts);
        cr_assert(!err || err == -ENOMEM);
        if (!err)
            rdma_qp_deinit(&c.base);
        cr_assert_eq(alloc.live, live);
    }
}
