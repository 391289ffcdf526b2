/* SPDX-License-Identifier: BSD-2-Clause */
/* What calls of libibverbs answer, on a device of this machine's own address: the results that programs and
 * their test suites expect of a provider. */
#define _GNU_SOURCE /* memfd_create() */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/verbs/pair.h"

TestSuite(calls, .init = pair_open_device, .fini = pair_close_device, .timeout = 60);

/* --- what is asked --- */

Test(calls, names_and_guid)
{
    cr_assert_str_eq(ibv_get_device_name(pair_ctx->device), "nornic0");
    cr_assert_neq(ibv_get_device_guid(pair_ctx->device), 0);
    cr_assert_str_eq(ibv_wc_status_str(IBV_WC_RNR_RETRY_EXC_ERR), "RNR retry counter exceeded");
    cr_assert_eq(ibv_rate_to_mbps(mbps_to_ibv_rate(25781)), 25781);
}

/* By which programs tell an RNIC before they open it. */
Test(calls_kinds, the_list_says_what_each_port_is)
{
    int count;
    setenv("NORNIC_PORT", "udp:127.0.0.1,iwarp:127.0.0.1", 1);
    struct ibv_device **list = ibv_get_device_list(&count);
    cr_assert_eq(count, 2);
    cr_expect(list[0]->node_type == IBV_NODE_CA && list[0]->transport_type == IBV_TRANSPORT_IB);
    cr_expect(list[1]->node_type == IBV_NODE_RNIC && list[1]->transport_type == IBV_TRANSPORT_IWARP);
    ibv_free_device_list(list);
}

Test(calls, attributes_of_the_device)
{
    struct ibv_device_attr_ex attr;
    cr_assert_eq(ibv_query_device_ex(pair_ctx, NULL, &attr), 0);
    cr_assert_eq(attr.phys_port_cnt_ex, attr.orig_attr.phys_port_cnt);
    cr_assert_neq(attr.orig_attr.vendor_id, 0);
    cr_assert_neq(attr.orig_attr.node_guid, 0);
    cr_assert_neq(attr.orig_attr.sys_image_guid, 0);
    cr_assert_geq(attr.orig_attr.max_cqe, 131072, "libfabric asks for so many");
    cr_assert_gt(attr.orig_attr.max_sge, 1);
    cr_assert(attr.orig_attr.page_size_cap & 4096);
}

Test(calls, attributes_of_the_port)
{
    struct ibv_port_attr attr;
    cr_assert_eq(___ibv_query_port(pair_ctx, 1, &attr), 0);
    cr_assert_eq(attr.state, IBV_PORT_ACTIVE);
    cr_assert_eq(attr.link_layer, IBV_LINK_LAYER_ETHERNET);
    cr_assert_gt(attr.max_msg_sz, 4096);
    cr_assert_eq(___ibv_query_port(pair_ctx, 2, &attr), EINVAL);
}

Test(calls, no_more_is_written_than_there_is_room_for)
{
    struct ibv_port_attr attr;
    memset(&attr, 0xa5, sizeof attr);
    const struct verbs_context *table = verbs_get_ctx(pair_ctx);
    cr_assert_eq(table->query_port(pair_ctx, 1, &attr, offsetof(struct ibv_port_attr, max_msg_sz)), 0);
    cr_assert_eq(attr.state, IBV_PORT_ACTIVE);
    cr_assert_eq(attr.max_msg_sz, 0xa5a5a5a5);
}

Test(calls, gids)
{
    union ibv_gid gid;
    struct ibv_gid_entry entry;
    cr_assert_eq(ibv_query_gid(pair_ctx, 1, 0, &gid), 0);
    cr_assert_eq(gid.raw[12], 127);
    cr_assert_eq(ibv_query_gid_ex(pair_ctx, 1, 0, &entry, 0), 0);
    cr_assert_eq(entry.gid_type, IBV_GID_TYPE_ROCE_V2);
    cr_assert_eq(ibv_query_gid_ex(pair_ctx, 1, 63, &entry, 0), ENODATA);
    cr_assert_eq(ibv_query_gid_table(pair_ctx, &entry, 0, 0), -EINVAL, "no room for what there is");
    __be16 pkey;
    cr_assert_eq(ibv_query_pkey(pair_ctx, 1, 0, &pkey), 0);
    cr_assert_eq(pkey, 0xffff);
    cr_assert_eq(ibv_query_pkey(pair_ctx, 1, 1, &pkey), -1);
}

/* --- what is refused --- */

Test(calls, completion_queues_beyond_the_limits)
{
    struct ibv_device_attr attr;
    ibv_query_device(pair_ctx, &attr);
    errno = 0;
    cr_assert_null(ibv_create_cq(pair_ctx, attr.max_cqe + 1, NULL, NULL, 0));
    cr_assert_eq(errno, EINVAL);
    cr_assert_null(ibv_create_cq(pair_ctx, 16, NULL, NULL, pair_ctx->num_comp_vectors));
    cr_assert_eq(errno, EINVAL);
}

Test(calls, regions_need_rights_and_memory)
{
    char memory[64];
    errno = 0;
    cr_assert_null(ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, 0, IBV_ACCESS_REMOTE_WRITE));
    cr_assert_eq(errno, EINVAL);
    void *gone = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert_null(ibv_reg_mr_iova2(pair_pd, gone, 4096, (uintptr_t)gone, IBV_ACCESS_LOCAL_WRITE));
    cr_assert_eq(errno, EFAULT, "it may only be read");
    struct ibv_mr *mr = ibv_reg_mr_iova2(pair_pd, gone, 4096, (uintptr_t)gone, 0);
    cr_assert_not_null(mr);
    ibv_dereg_mr(mr);
    munmap(gone, 4096);
    cr_assert_null(ibv_reg_mr_iova2(pair_pd, gone, 4096, (uintptr_t)gone, 0));
    cr_assert_eq(errno, EFAULT);
}

Test(calls, hints_are_never_refused)
{
    char memory[64];
    struct ibv_mr *mr = ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, (uintptr_t)memory,
                                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_OPTIONAL_RANGE);
    cr_assert_not_null(mr);
    ibv_dereg_mr(mr);
}

Test(calls, an_address_needs_a_grh)
{
    struct ibv_ah_attr attr = {.port_num = 1};
    errno = 0;
    cr_assert_null(ibv_create_ah(pair_pd, &attr));
    cr_assert_eq(errno, EINVAL);
}

Test(calls, what_is_in_use_stays)
{
    char memory[64];
    struct ibv_mr *mr = ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, (uintptr_t)memory, 0);
    cr_assert_eq(ibv_dealloc_pd(pair_pd), EBUSY);
    struct ibv_comp_channel *channel = ibv_create_comp_channel(pair_ctx);
    struct ibv_cq *cq = ibv_create_cq(pair_ctx, 4, NULL, channel, 0);
    cr_assert_eq(ibv_destroy_comp_channel(channel), EBUSY);
    cr_assert_eq(ibv_destroy_cq(cq), 0);
    cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
    ibv_dereg_mr(mr);
}

Test(calls, what_is_not_there_says_so)
{
    struct ibv_srq_init_attr_ex tm = {.attr = {.max_wr = 1},
                                      .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
                                      .srq_type = IBV_SRQT_TM,
                                      .pd = pair_pd};
    struct ibv_qp_init_attr raw = {.qp_type = IBV_QPT_RAW_PACKET};
    errno = 0;
    cr_assert_null(ibv_create_qp(pair_pd, &raw));
    cr_assert_eq(errno, EOPNOTSUPP);
    errno = 0;
    cr_assert_null(ibv_create_srq_ex(pair_ctx, &tm));
    cr_assert_eq(errno, EOPNOTSUPP);
    errno = 0;
    cr_assert_null(ibv_reg_dmabuf_mr(pair_pd, 0, 4096, 0, 0, 0));
    cr_assert_eq(errno, EOPNOTSUPP);
}

/* perftest gives both halves of XRC what an RC queue pair needs; kernels pass over what a half has not. */
Test(calls, halves_of_xrc_are_given_what_both_need)
{
    struct ibv_xrcd_init_attr domain = {
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
    struct ibv_xrcd *xrcd = ibv_open_xrcd(pair_ctx, &domain);
    struct ibv_cq *cq = ibv_create_cq(pair_ctx, 4, NULL, NULL, 0);
    struct ibv_qp_init_attr_ex from = {.qp_type = IBV_QPT_XRC_SEND,
                                       .send_cq = cq,
                                       .cap = {.max_send_wr = 1, .max_send_sge = 1},
                                       .comp_mask = IBV_QP_INIT_ATTR_PD,
                                       .pd = pair_pd};
    struct ibv_qp_init_attr_ex to = {
        .qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD, .xrcd = xrcd};
    struct ibv_qp *initiator = ibv_create_qp_ex(pair_ctx, &from), *target = ibv_create_qp_ex(pair_ctx, &to);
    cr_assert(initiator && target);
    pair_connect(initiator, target->qp_num);
    pair_connect(target, initiator->qp_num);
    cr_assert_eq(target->state, IBV_QPS_RTS);
    cr_assert_eq(ibv_destroy_qp(initiator), 0);
    cr_assert_eq(ibv_destroy_qp(target), 0);
    cr_assert_eq(ibv_destroy_cq(cq), 0);
    cr_assert_eq(ibv_close_xrcd(xrcd), 0);
}

/* --- descriptors --- */

Test(calls, a_channel_that_does_not_wait)
{
    struct ibv_comp_channel *channel = ibv_create_comp_channel(pair_ctx);
    struct ibv_cq *cq;
    void *context;
    int flags = fcntl(channel->fd, F_GETFL);
    cr_assert(!(flags & O_NONBLOCK), "it waits unless the program says otherwise");
    fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK);
    cr_assert_eq(ibv_get_cq_event(channel, &cq, &context), -1);
    cr_assert_eq(errno, EAGAIN);
    ibv_destroy_comp_channel(channel);
}

Test(calls, nothing_has_happened_when_a_device_was_opened)
{
    struct pollfd async = {.fd = pair_ctx->async_fd, .events = POLLIN};
    cr_assert_eq(poll(&async, 1, 0), 0, "an event of before the program had the device");
}

Test(calls, more_acknowledgements_than_events)
{
    struct ibv_comp_channel *channel = ibv_create_comp_channel(pair_ctx);
    struct ibv_cq *cq = ibv_create_cq(pair_ctx, 4, NULL, channel, 0);
    ibv_ack_cq_events(cq, 3);
    cr_assert_eq(ibv_destroy_cq(cq), 0);
    cr_assert_eq(ibv_destroy_comp_channel(channel), 0);
}

Test(calls, a_device_is_found_by_a_copy_of_its_descriptor)
{
    int copy = dup(pair_ctx->cmd_fd);
    struct ibv_context *again = ibv_import_device(copy);
    cr_assert_eq(again, pair_ctx);
    struct ibv_pd *name = ibv_import_pd(again, pair_pd->handle);
    cr_assert_not_null(name);
    ibv_unimport_pd(name);
    cr_assert_eq(ibv_close_device(again), 0);
    close(copy);
    cr_assert_null(ibv_import_device(STDIN_FILENO));
}

/* --- traffic: two queue pairs of this device --- */

Test(calls, requests_built_call_by_call)
{
    struct pair pair = pair_make();
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(pair.qp[0]);
    char memory[128] = "", sent[32] = "copied when it is posted";
    struct ibv_mr *mr = ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, 0x1000,
                                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    /* by the address that was chosen for the region, also for what is local */
    struct ibv_sge room = {.addr = 0x1000, .length = 64, .lkey = mr->lkey};
    struct ibv_recv_wr recv = {.wr_id = 1, .sg_list = &room, .num_sge = 1}, *bad;
    cr_assert_eq(ibv_post_recv(pair.qp[1], &recv, &bad), 0);
    ibv_wr_start(qp);
    qp->wr_id = 10;
    ibv_wr_send(qp);
    ibv_wr_set_inline_data(qp, sent, sizeof sent);
    qp->wr_id = 100;
    ibv_wr_rdma_write(qp, mr->rkey, 0x1000 + 64);
    ibv_wr_set_inline_data(qp, sent, sizeof sent);
    memset(sent, 0, sizeof sent);
    cr_assert_eq(ibv_wr_complete(qp), 0);
    cr_assert_eq(pair_complete(&pair, 3), 111);
    cr_assert_str_eq(memory, "copied when it is posted");
    cr_assert_str_eq(memory + 64, "copied when it is posted");
    cr_assert_null(qp->wr_send_imm, "it was not asked for");
    pair_free(&pair);
    ibv_dereg_mr(mr);
}

/* A list longer than a batch that is translated at once; where it does not fit, the first that was not
 * taken. */
Test(calls, a_list_of_receives)
{
    struct pair pair = pair_make();
    struct ibv_recv_wr list[20], *bad = NULL;
    for (unsigned i = 0; i < array_len(list); i++)
        list[i] = (struct ibv_recv_wr){.wr_id = i, .next = i + 1 < array_len(list) ? &list[i + 1] : NULL};
    cr_assert_eq(ibv_post_recv(pair.qp[1], list, &bad), ENOMEM);
    cr_assert_eq(bad, &list[8], "the queue holds eight");
    pair_free(&pair);
}

Test(calls, a_region_registered_anew_keeps_its_keys)
{
    char first[64], second[64];
    struct ibv_mr *mr =
        ibv_reg_mr_iova2(pair_pd, first, sizeof first, (uintptr_t)first, IBV_ACCESS_LOCAL_WRITE);
    uint32_t lkey = mr->lkey;
    cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, second, sizeof second, 0), 0);
    cr_assert_eq(mr->addr, (void *)second);
    cr_assert_eq(mr->lkey, lkey);
    cr_assert_eq(ibv_rereg_mr(mr, 1 << 5, NULL, NULL, 0, 0), IBV_REREG_MR_ERR_INPUT);
    ibv_dereg_mr(mr);
}

Test(calls, a_region_registered_anew_with_rights_that_cannot_be)
{
    char memory[64];
    struct ibv_mr *mr =
        ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, (uintptr_t)memory, IBV_ACCESS_LOCAL_WRITE);
    cr_assert_eq(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, IBV_ACCESS_REMOTE_WRITE),
                 IBV_REREG_MR_ERR_CMD, "as rdma-core has it: the kernel would refuse");
    cr_assert_eq(ibv_dereg_mr(mr), 0);
}

static struct ibv_wc bind_window(struct pair *pair, struct ibv_mw *mw, struct ibv_mr *mr, uint32_t key)
{
    struct ibv_send_wr bind = {.opcode = IBV_WR_BIND_MW}, *bad;
    bind.bind_mw.mw = mw;
    bind.bind_mw.rkey = key;
    bind.bind_mw.bind_info = (struct ibv_mw_bind_info){.mr = mr,
                                                       .addr = (uintptr_t)mr->addr,
                                                       .length = mr->length,
                                                       .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    cr_assert_eq(ibv_post_send(pair->qp[1], &bind, &bad), 0);
    return pair_next(pair);
}

static struct ibv_wc write_by_key(struct pair *pair, struct ibv_mr *mr, uint32_t rkey)
{
    struct ibv_sge piece = {.addr = (uintptr_t)mr->addr, .length = 8, .lkey = mr->lkey};
    struct ibv_send_wr write = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE}, *bad;
    write.wr.rdma.remote_addr = (uintptr_t)mr->addr + 32;
    write.wr.rdma.rkey = rkey;
    cr_assert_eq(ibv_post_send(pair->qp[0], &write, &bad), 0);
    return pair_next(pair);
}

/* Adapters look at the low octet of the key that a bind names, whatever the rest is, and the window shows its
 * new key. */
/* covers: ROCE-MW-2 */
Test(calls, a_window_is_bound_by_the_octet_of_its_key)
{
    struct pair pair = pair_make();
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(pair.qp[1]);
    char memory[64] = "bound";
    struct ibv_mr *mr = ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, (uintptr_t)memory,
                                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
    struct ibv_mw *mw = ibv_alloc_mw(pair_pd, IBV_MW_TYPE_2);
    uint32_t index = mw->rkey & ~UINT32_C(0xff);
    cr_assert_eq(bind_window(&pair, mw, mr, 0x55).status, IBV_WC_SUCCESS);
    cr_assert_eq(mw->rkey, index | 0x55);
    cr_assert_eq(write_by_key(&pair, mr, mw->rkey).status, IBV_WC_SUCCESS);
    cr_assert_str_eq(memory + 32, "bound");
    struct ibv_send_wr invalidate = {.opcode = IBV_WR_LOCAL_INV}, *bad;
    invalidate.invalidate_rkey = mw->rkey;
    cr_assert_eq(ibv_post_send(pair.qp[1], &invalidate, &bad), 0);
    cr_assert_eq(pair_next(&pair).status, IBV_WC_SUCCESS);
    const struct ibv_mw_bind_info info = {.mr = mr,
                                          .addr = (uintptr_t)memory,
                                          .length = sizeof memory,
                                          .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    ibv_wr_start(qp);
    ibv_wr_bind_mw(qp, mw, 0x77, &info);
    cr_assert_eq(mw->rkey, index | 0x55, "not posted yet");
    cr_assert_eq(ibv_wr_complete(qp), 0);
    cr_assert_eq(pair_next(&pair).status, IBV_WC_SUCCESS);
    cr_assert_eq(mw->rkey, index | 0x77);
    cr_assert_eq(write_by_key(&pair, mr, index | 0x55).status, IBV_WC_REM_ACCESS_ERR, "the key before");
    pair_free(&pair);
    cr_assert_eq(ibv_dealloc_mw(mw), 0);
    ibv_dereg_mr(mr);
}

Test(calls, a_window_of_another_domain)
{
    struct pair pair = pair_make();
    char memory[64];
    struct ibv_pd *pd = ibv_alloc_pd(pair_ctx);
    struct ibv_mr *mr = ibv_reg_mr_iova2(pd, memory, sizeof memory, 0, IBV_ACCESS_MW_BIND);
    struct ibv_mw *mw = ibv_alloc_mw(pd, IBV_MW_TYPE_1);
    struct ibv_mw_bind bind = {.bind_info = {.mr = mr, .length = sizeof memory}};
    cr_assert_eq(ibv_bind_mw(pair.qp[0], mw, &bind), EPERM);
    cr_assert_eq(ibv_dealloc_mw(mw), 0);
    cr_assert_eq(ibv_dereg_mr(mr), 0);
    cr_assert_eq(ibv_dealloc_pd(pd), 0);
    pair_free(&pair);
}

/* A datagram's QPN is 24 bits, and what stands above them in the request is not looked at. */
Test(calls, a_datagram_to_a_number_of_more_bits)
{
    struct pair pair = pair_make();
    struct ibv_cq *cq = ibv_cq_ex_to_cq(pair.cq);
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = cq, .cap = {.max_send_wr = 1, .max_send_sge = 1}, .qp_type = IBV_QPT_UD};
    struct ibv_qp *qp = ibv_create_qp(pair_pd, &init);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    struct ibv_ah_attr ah_attr = {.is_global = 1, .port_num = 1};
    struct ibv_send_wr send = {.wr_id = 3, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
    cr_assert_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
    attr.qp_state = IBV_QPS_RTR;
    cr_assert_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
    attr.qp_state = IBV_QPS_RTS;
    cr_assert_eq(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
    ibv_query_gid(pair_ctx, 1, 0, &ah_attr.grh.dgid);
    send.wr.ud.ah = ibv_create_ah(pair_pd, &ah_attr);
    send.wr.ud.remote_qpn = 0xdeadbeef;
    cr_assert_eq(ibv_post_send(qp, &send, &bad), 0);
    cr_assert_eq(pair_next(&pair).wr_id, 3);
    cr_assert_eq(ibv_destroy_ah(send.wr.ud.ah), 0);
    cr_assert_eq(ibv_destroy_qp(qp), 0);
    pair_free(&pair);
}

/* What implicit on-demand paging is: memory that is mapped after its registration is reached by both
 * ends, and who names what is not mapped, or may only be read, gets an error, as with an adapter.
 * Nobody crashes. */
static enum ibv_wc_status write_to(const struct ibv_mr *all, uint64_t from, uint64_t to)
{
    struct pair pair = pair_make();
    struct ibv_sge piece = {.addr = from, .length = 4096, .lkey = all->lkey};
    struct ibv_send_wr write = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE}, *bad;
    write.wr.rdma.remote_addr = to;
    write.wr.rdma.rkey = all->rkey;
    cr_assert_eq(ibv_post_send(pair.qp[0], &write, &bad), 0);
    enum ibv_wc_status status = pair_next(&pair).status;
    pair_free(&pair);
    return status;
}

Test(calls, a_region_of_all_memory)
{
    struct ibv_device_attr_ex attr;
    int rights = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    cr_assert_eq(ibv_query_device_ex(pair_ctx, NULL, &attr), 0);
    cr_assert(attr.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT, "Linux 5.14 and later can");
    struct ibv_mr *all = ibv_reg_mr_iova2(pair_pd, NULL, SIZE_MAX, 0, (unsigned)rights);
    cr_assert_not_null(all);
    char *pages = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t at = (uintptr_t)pages;
    memset(pages, 'a', 4096);
    cr_assert_eq(write_to(all, at, at + 4096), IBV_WC_SUCCESS);
    cr_assert_eq(memcmp(pages, pages + 4096, 4096), 0);

    mprotect(pages + (size_t)2 * 4096, 4096, PROT_READ);
    munmap(pages + (size_t)3 * 4096, 4096);
    cr_assert_eq(write_to(all, at, at + 2UL * 4096), IBV_WC_REM_ACCESS_ERR, "it may only be read");
    cr_assert_eq(write_to(all, at + 2UL * 4096, at), IBV_WC_SUCCESS, "which is enough for what is sent");
    cr_assert_eq(write_to(all, at, at + 3UL * 4096), IBV_WC_REM_ACCESS_ERR, "nothing is there");
    cr_assert_eq(write_to(all, at, at + 2UL * 4096 + 1), IBV_WC_REM_ACCESS_ERR, "its end is not there");
    cr_assert_eq(write_to(all, at + 3UL * 4096, at), IBV_WC_LOC_PROT_ERR);
    cr_assert_eq(write_to(all, 0, at), IBV_WC_LOC_PROT_ERR);
    struct ibv_sge piece = {.addr = at, .length = 4096, .lkey = all->lkey};
    cr_assert_eq(ibv_advise_mr(pair_pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &piece, 1), 0);
    piece.addr = at + 2UL * 4096;
    cr_assert_eq(ibv_advise_mr(pair_pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &piece, 1), EFAULT);

    errno = 0;
    cr_assert_null(ibv_reg_mr_iova2(pair_pd, NULL, SIZE_MAX, 0, (unsigned)rights | IBV_ACCESS_MW_BIND));
    cr_assert_eq(errno, EINVAL, "windows cannot be bound to it");
    cr_assert_null(ibv_reg_mr_iova2(pair_pd, NULL, SIZE_MAX, 0, IBV_ACCESS_LOCAL_WRITE));
    munmap(pages, (size_t)3 * 4096);
    ibv_dereg_mr(all);
}

/* What completed before a RESET is not there after it: a completion knows its queue pair by the number, which
 * is that of the next requests too. What is another's stays. */
Test(calls, a_reset_takes_completions_along)
{
    struct pair pair = pair_make();
    struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
    char memory[8];
    struct ibv_mr *mr =
        ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, (uintptr_t)memory, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_sge piece = {.addr = (uintptr_t)memory, .length = sizeof memory, .lkey = mr->lkey};
    struct ibv_send_wr send = {.wr_id = 1, .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad_send;
    struct ibv_recv_wr recv = {.wr_id = 10, .sg_list = &piece, .num_sge = 1}, *bad_recv;
    struct ibv_cq *cq = ibv_cq_ex_to_cq(pair.cq);
    struct ibv_wc wc[8];
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(ibv_post_recv(pair.qp[1], &recv, &bad_recv), 0);
        cr_assert_eq(ibv_post_send(pair.qp[0], &send, &bad_send), 0);
    }
    /* All four are there when the queue cannot be made smaller than that. */
    for (int waited = 0; ibv_resize_cq(cq, 3) == 0; waited += poll(NULL, 0, 1) == 0)
        cr_assert_lt(waited, PAIR_WAIT_MS);
    cr_assert_eq(ibv_modify_qp(pair.qp[0], &reset, IBV_QP_STATE), 0);
    cr_assert_eq(ibv_poll_cq(cq, 8, wc), 2);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(wc[i].qp_num, pair.qp[1]->qp_num);
    pair_free(&pair);
    ibv_dereg_mr(mr);
}

/* A list that is built call by call enters the queue whole or not at all. */
Test(calls, a_list_that_does_not_fit_is_not_begun)
{
    struct pair pair = pair_make();
    struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(pair.qp[0]);
    char memory[8];
    struct ibv_mr *mr = ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, (uintptr_t)memory,
                                         IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    ibv_wr_start(qp);
    for (qp->wr_id = 1; qp->wr_id <= 1000; qp->wr_id++) /* the queue was asked for eight */
        ibv_wr_rdma_write(qp, mr->rkey, (uintptr_t)memory);
    cr_assert_eq(ibv_wr_complete(qp), ENOMEM);
    ibv_wr_start(qp);
    qp->wr_id = 6000;
    ibv_wr_rdma_write(qp, mr->rkey, (uintptr_t)memory);
    cr_assert_eq(ibv_wr_complete(qp), 0);
    cr_assert_eq(pair_next(&pair).wr_id, 6000);
    pair_free(&pair);
    ibv_dereg_mr(mr);
}

/* Runs with stderr in a file; how often what was said there has these words. */
static unsigned count_told(struct pair *pair, unsigned completions, const char *words)
{
    char text[4096] = "";
    unsigned count = 0;
    int before = dup(2), file = memfd_create("told", MFD_CLOEXEC);
    cr_assert_geq(before, 0);
    cr_assert_geq(dup2(file, 2), 0);
    while (completions--)
        cr_assert_eq(pair_next(pair).status, IBV_WC_WR_FLUSH_ERR);
    dup2(before, 2);
    cr_assert_geq(pread(file, text, sizeof text - 1, 0), 0);
    close(before);
    close(file);
    for (const char *at = text; (at = strstr(at, words)); at++)
        count++;
    return count;
}

Test(calls, of_what_is_flushed_the_first_is_told)
{
    struct pair pair = pair_make();
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_ERR};
    struct ibv_recv_wr recv = {.wr_id = 10}, *bad;
    setenv("NORNIC_TRACE", "1", 1);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned n = 0; n < 8; n++)
            cr_assert_eq(ibv_post_recv(pair.qp[i], &recv, &bad), 0);
        cr_assert_eq(ibv_modify_qp(pair.qp[i], &attr, IBV_QP_STATE), 0);
    }
    cr_assert_eq(count_told(&pair, 16, "WR_FLUSH_ERR"), 2, "once of each queue pair");
    unsetenv("NORNIC_TRACE");
    pair_free(&pair);
}
