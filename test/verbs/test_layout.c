/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs were compiled with these: the offsets and sizes of the ABI, written down apart from the header
 * that the libraries are built with. A newer header may add members where no older program looks. */
#include <criterion/criterion.h>
#include <rdma/rdma_cma.h>

#include "verbs/verbs.h"

#define AT(type, member, offset) cr_assert_eq(offsetof(type, member), (size_t)(offset), #type "." #member)
#define IS(type, bytes)          cr_assert_eq(sizeof(type), (size_t)(bytes), #type)

Test(layout, device)
{
    IS(struct ibv_device, 664);
    AT(struct ibv_device, node_type, 16);
    AT(struct ibv_device, transport_type, 20);
    AT(struct ibv_device, name, 24);
    AT(struct ibv_device, dev_name, 88);
    AT(struct ibv_device, dev_path, 152);
    AT(struct ibv_device, ibdev_path, 408);
}

Test(layout, zeros_behind_the_device)
{
    cr_assert_geq(offsetof(struct verbs_device, port), sizeof(struct ibv_device) + 64,
                  "libraries of vendors read a pointer there");
}

Test(layout, context)
{
    /* it grows at its front: a member lies where it lay before the end */
    cr_assert_geq(sizeof(struct verbs_context), 648);
    AT(struct verbs_context, context, sizeof(struct verbs_context) - 328);
    AT(struct verbs_context, query_port, sizeof(struct verbs_context) - 648);
    AT(struct verbs_context, sz, sizeof(struct verbs_context) - 336);
    AT(struct ibv_context, device, 0);
    AT(struct ibv_context, ops, 8);
    AT(struct ibv_context, cmd_fd, 264);
    AT(struct ibv_context, async_fd, 268);
    AT(struct ibv_context, num_comp_vectors, 272);
    AT(struct ibv_context, mutex, 280);
    AT(struct ibv_context, abi_compat, 320);
}

Test(layout, extended_completion_queue)
{
    IS(struct ibv_cq, 128);
    IS(struct ibv_cq_ex, 288);
    AT(struct ibv_cq_ex, comp_mask, 128);
    AT(struct ibv_cq_ex, status, 132);
    AT(struct ibv_cq_ex, wr_id, 136);
    AT(struct ibv_cq_ex, start_poll, 144);
    AT(struct ibv_cq_ex, mutex, offsetof(struct ibv_cq, mutex));
}

Test(layout, extended_queue_pair)
{
    IS(struct ibv_qp, 160);
    cr_assert_geq(sizeof(struct ibv_qp_ex), 352); /* grows at its end */
    AT(struct ibv_qp_ex, wr_id, 168);
    AT(struct ibv_qp_ex, wr_flags, 176);
    AT(struct ibv_qp_ex, wr_atomic_cmp_swp, 184);
    AT(struct ibv_qp_ex, wr_atomic_write, 344);
}

Test(layout, id)
{
    IS(struct rdma_cm_id, 416);
    IS(struct rdma_event_channel, sizeof(int));
}

/* What the program holds is the beginning of what nornic has. */
Test(layout, the_abi_is_first)
{
    AT(struct verbs_device, base, 0);
    AT(struct verbs_pd, base, 0);
    AT(struct verbs_mr, base, 0);
    AT(struct verbs_mw, base, 0);
    AT(struct verbs_dm, base, 0);
    AT(struct verbs_ah, base, 0);
    AT(struct verbs_channel, base, 0);
    AT(struct verbs_cq, base, 0);
    AT(struct verbs_srq, base, 0);
    AT(struct verbs_xrcd, base, 0);
    AT(struct verbs_qp, base, 0);
}

/* Values are passed on as they are. */
Test(layout, values_are_those_of_nornic)
{
    cr_assert_eq((int)IBV_WC_RETRY_EXC_ERR, (int)NORNIC_WC_RETRY_EXC_ERR);
    cr_assert_eq((int)IBV_WC_GENERAL_ERR, (int)NORNIC_WC_GENERAL_ERR);
    cr_assert_eq((int)IBV_WC_RECV_RDMA_WITH_IMM, (int)NORNIC_WC_RECV_RDMA_WITH_IMM);
    cr_assert_eq((int)IBV_WR_SEND_WITH_INV, (int)NORNIC_WR_SEND_WITH_INV);
    cr_assert_eq((int)IBV_QPS_ERR, (int)NORNIC_QPS_ERR);
    cr_assert_eq((int)IBV_QP_DEST_QPN, (int)NORNIC_QP_DEST_QPN);
    cr_assert_eq((int)IBV_EVENT_GID_CHANGE, (int)NORNIC_EVENT_GID_CHANGE);
    cr_assert_eq((int)IBV_SEND_INLINE, (int)NORNIC_SEND_INLINE);
    cr_assert_eq((int)IBV_ACCESS_ZERO_BASED, (int)NORNIC_ACCESS_ZERO_BASED);
    cr_assert_eq((int)IBV_QPT_XRC_RECV, (int)NORNIC_QPT_XRC_TGT);
    cr_assert_eq((int)IBV_WC_WITH_INV, (int)NORNIC_WC_WITH_INV);
}
