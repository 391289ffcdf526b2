/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of libibverbs beside the trodden path: each is obeyed, or refused with the errno value of
 * rdma-core. A line for each: "ok NAME" or "not ok NAME: RESULT". */
#define _GNU_SOURCE /* strerrorname_np() */
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static int failures;

static void row(const char *name, int is_right, const char *what)
{
    if (is_right)
        printf("ok %s\n", name);
    else
        printf("not ok %s: %s, %s\n", name, what, strerrorname_np(errno));
    failures += !is_right;
}

/* Reports a call that has to fail with errno `want`; `made` is its result. */
static void refused(const char *name, const void *made, int want)
{
    row(name, !made && errno == want, made ? "it was taken" : "another error");
    errno = 0;
}

static void test_gids(void)
{
    struct ibv_gid_entry all[64], one;
    char interface[IF_NAMESIZE];
    ssize_t count = ibv_query_gid_table(ctx, all, 64, 0);
    int are_right = count > 0;
    for (ssize_t i = 0; i < count; i++)
        are_right &= if_indextoname(all[i].ndev_ifindex, interface) &&
                     !ibv_query_gid_ex(ctx, 1, all[i].gid_index, &one, 0) &&
                     one.ndev_ifindex == all[i].ndev_ifindex;
    row("ndev_ifindex", are_right, "no interface has that index");
}

static void test_cqs(struct ibv_pd *parent)
{
    struct ibv_cq_init_attr_ex attr = {.cqe = 4, .wc_flags = IBV_WC_STANDARD_FLAGS};
    attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
    attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    refused("cq_ignore_overrun", ibv_create_cq_ex(ctx, &attr), EOPNOTSUPP);
    attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD;
    attr.parent_domain = pd;
    struct ibv_cq_ex *none = ibv_create_cq_ex(ctx, &attr);
    int err = errno;
    attr.parent_domain = parent;
    struct ibv_cq_ex *cq = ibv_create_cq_ex(ctx, &attr);
    row("cq_of_a_parent_domain", !none && err == EINVAL && cq, "any domain will do, or none");
    if (none)
        ibv_destroy_cq(ibv_cq_ex_to_cq(none));
    if (cq)
        ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
}

static void test_srqs(void)
{
    struct ibv_srq_init_attr_ex attr = {.attr = {.max_wr = 4, .max_sge = 1},
                                        .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
                                        .srq_type = (enum ibv_srq_type)77,
                                        .pd = pd};
    refused("srq_unknown_type", ibv_create_srq_ex(ctx, &attr), EINVAL);
}

/* Opens the domain of a file, or with -1 one of its own. */
static struct ibv_xrcd *open_xrcd(int fd, int oflags)
{
    struct ibv_xrcd_init_attr attr = {
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = fd, .oflags = oflags};
    return ibv_open_xrcd(ctx, &attr);
}

static void test_xrc(void)
{
    int fd = fileno(tmpfile());
    refused("xrcd_of_no_descriptor", open_xrcd(999, O_CREAT), EBADF);
    refused("xrcd_that_is_not_there", open_xrcd(fd, 0), EAGAIN);
    struct ibv_xrcd *first = open_xrcd(fd, O_CREAT), *other = open_xrcd(-1, O_CREAT);
    refused("xrcd_that_is_there", open_xrcd(fd, O_CREAT | O_EXCL), EINVAL);
    struct ibv_xrcd *same = open_xrcd(fd, 0);
    struct ibv_qp_init_attr_ex init = {
        .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = first};
    struct ibv_qp *target = ibv_create_qp_ex(ctx, &init);
    struct ibv_qp_open_attr attr = {.comp_mask =
                                        IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE,
                                    .qp_num = target->qp_num,
                                    .xrcd = other,
                                    .qp_type = IBV_QPT_XRC_RECV};
    struct ibv_qp *wrong = ibv_open_qp(ctx, &attr);
    attr.xrcd = same;
    struct ibv_qp *opened = ibv_open_qp(ctx, &attr);
    row("open_qp_of_its_domain", !wrong && opened && !ibv_destroy_qp(opened), "any domain will do, or none");
    attr.comp_mask |= 1u << 30;
    refused("open_qp_unknown_mask", ibv_open_qp(ctx, &attr), EINVAL);
    ibv_destroy_qp(target);
    row("xrcd_closed", !ibv_close_xrcd(same) && !ibv_close_xrcd(first) && !ibv_close_xrcd(other),
        "one stays open");
}

/* Connects a queue pair with itself. */
static void connect_to_itself(struct ibv_qp *qp)
{
    struct ibv_ah_attr way = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}};
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    ibv_query_gid(ctx, 1, 0, &way.grh.dgid);
    ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
                                .path_mtu = IBV_MTU_256,
                                .dest_qp_num = qp->qp_num,
                                .ah_attr = way,
                                .max_dest_rd_atomic = 1};
    ibv_modify_qp(qp, &attr,
                  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .max_rd_atomic = 1};
    ibv_modify_qp(qp, &attr,
                  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                      IBV_QP_MAX_QP_RD_ATOMIC);
}

static void test_queue_pairs(void)
{
    static char memory[4096];
    struct ibv_mr *mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    struct ibv_cq *cq = ibv_create_cq(ctx, 8, NULL, NULL, 0);
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .cap = {4, 4, 1, 1, 0}};
    struct ibv_qp *qp = ibv_create_qp(pd, &init);
    struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
    struct ibv_mw_bind bind = {.bind_info = {mr, (uintptr_t)memory, 64, 1u << 27}};
    connect_to_itself(qp);
    row("bind_unknown_right", ibv_bind_mw(qp, mw, &bind) == EINVAL, "it was taken");
    ibv_dealloc_mw(mw);
    ibv_destroy_qp(qp);
    ibv_destroy_cq(cq);
    ibv_dereg_mr(mr);
}

int main(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
    pd = ctx ? ibv_alloc_pd(ctx) : NULL;
    if (!pd)
        return 3;
    struct ibv_parent_domain_init_attr of = {.pd = pd};
    struct ibv_pd *parent = ibv_alloc_parent_domain(ctx, &of);
    test_gids();
    test_cqs(parent);
    test_srqs();
    if (ctx->device->transport_type == IBV_TRANSPORT_IB) {
        test_xrc();
        test_queue_pairs();
    }
    row("all_is_given_back", !ibv_dealloc_pd(parent) && !ibv_dealloc_pd(pd) && !ibv_close_device(ctx),
        "something is left");
    ibv_free_device_list(list);
    return failures != 0;
}
