/* SPDX-License-Identifier: BSD-2-Clause */
#include "ends.h"

#include <criterion/criterion.h>
#include <stdlib.h>

void ends_open_devices(struct end ends[2], const struct nornic_dev_config *config)
{
    const struct nornic_dev_config defaults = {NORNIC_INIT(defaults)};
    struct nornic_dev *devices[2];
    struct nornic_error why;
    cr_assert_eq(nornic_dev_open_pair(config ? config : &defaults, devices, &why), 0, "%s", why.text);
    for (int i = 0; i < 2; i++)
        ends[i] = (struct end){.dev = devices[i]};
}

static void make_objects(struct end *e)
{
    e->memory = calloc(1, ENDS_BYTES);
    cr_assert_eq(nornic_pd_create(e->dev, &e->pd), 0);
    cr_assert_eq(nornic_mr_reg(e->pd, e->memory, ENDS_BYTES, ENDS_RIGHTS, &e->mr), 0);
    struct nornic_cq_config cq = {NORNIC_INIT(cq), .capacity = 256};
    cr_assert_eq(nornic_cq_create(e->dev, &cq, &e->cq), 0);
    struct nornic_qp_config qp = {
        NORNIC_INIT(qp),
        .type = NORNIC_QPT_RC,
        .pd = e->pd,
        .send_cq = e->cq,
        .recv_cq = e->cq,
        .caps = {.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1}};
    cr_assert_eq(nornic_qp_create(e->dev, &qp, &e->qp), 0);
    cr_assert_eq(nornic_qp_endpoint(e->qp, 0, &e->address), 0);
}

void ends_open(struct end ends[2], const struct nornic_dev_config *config)
{
    struct nornic_error why;
    ends_open_devices(ends, config);
    make_objects(&ends[0]);
    make_objects(&ends[1]);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(nornic_qp_connect(ends[i].qp, &ends[i].address, &ends[1 - i].address, ENDS_RIGHTS,
                                       ENDS_SECOND_NS, &why),
                     0, "%s", why.text);
}

void ends_close(struct end ends[2])
{
    struct nornic_error why;
    for (struct end *e = ends; e < ends + 2; e++) {
        if (e->qp)
            cr_assert_eq(nornic_qp_destroy(e->qp), 0);
        if (e->cq)
            cr_assert_eq(nornic_cq_destroy(e->cq), 0);
        if (e->mr)
            cr_assert_eq(nornic_mr_dereg(e->mr), 0);
        if (e->pd)
            cr_assert_eq(nornic_pd_destroy(e->pd), 0);
        cr_assert_eq(nornic_dev_close(e->dev, &why), 0, "%s", why.text);
        free(e->memory);
    }
}

int ends_post_write(struct end *from, const struct end *to, uint64_t wr_id, uint32_t len_bytes)
{
    const struct nornic_sge sge = {(uintptr_t)from->memory, len_bytes, nornic_mr_lkey(from->mr)};
    const struct nornic_send_wr wr = {.wr_id = wr_id,
                                      .sg_list = &sge,
                                      .num_sge = 1,
                                      .opcode = NORNIC_WR_RDMA_WRITE,
                                      .send_flags = NORNIC_SEND_SIGNALED,
                                      .remote_addr = nornic_mr_remote_addr(to->mr),
                                      .rkey = nornic_mr_rkey(to->mr)};
    return nornic_qp_post_send(from->qp, &wr, NULL);
}

int ends_post_recv(struct end *e, uint64_t wr_id, uint64_t offset, uint32_t len_bytes)
{
    const struct nornic_sge sge = {(uintptr_t)e->memory + offset, len_bytes, nornic_mr_lkey(e->mr)};
    const struct nornic_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
    return nornic_qp_post_recv(e->qp, &wr, NULL);
}

int ends_post_send(struct end *e, uint64_t wr_id, uint64_t offset, uint32_t len_bytes)
{
    const struct nornic_sge sge = {(uintptr_t)e->memory + offset, len_bytes, nornic_mr_lkey(e->mr)};
    const struct nornic_send_wr wr = {.wr_id = wr_id,
                                      .sg_list = &sge,
                                      .num_sge = 1,
                                      .opcode = NORNIC_WR_SEND,
                                      .send_flags = NORNIC_SEND_SIGNALED};
    return nornic_qp_post_send(e->qp, &wr, NULL);
}

struct nornic_wc ends_wait(struct end *e)
{
    struct nornic_wc wc = {0};
    cr_assert_eq(nornic_cq_wait(e->cq, &wc, 1, 5 * ENDS_SECOND_NS), 1, "no completion");
    return wc;
}
