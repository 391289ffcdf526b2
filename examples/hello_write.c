/* SPDX-License-Identifier: BSD-2-Clause */
/* The smallest RDMA WRITE: two devices joined by a cable in memory, so that it runs anywhere. One puts a
 * sentence into the other's memory, whose program does nothing.
 *     cc hello_write.c $(pkg-config --cflags --libs nornic) && ./a.out */
#include <nornic/nornic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS UINT64_C(1000000000)
#define RIGHTS    (NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE)

struct end { /* of the connection, and what it has */
    struct nornic_dev *dev;
    struct nornic_pd *pd;
    struct nornic_cq *cq;
    struct nornic_mr *mr;
    struct nornic_qp *qp;
    struct nornic_endpoint address; /* what the other end must know of this one */
    char memory[64];
};
static struct nornic_error why;

static void check(int err, const char *what)
{
    if (err) {
        fprintf(stderr, "%s: %s\n", what, why.text[0] ? why.text : strerror(-err));
        exit(1);
    }
}

static void create(struct end *e, struct nornic_dev *dev)
{
    e->dev = dev;
    check(nornic_pd_create(dev, &e->pd), "protection domain");
    check(nornic_mr_reg(e->pd, e->memory, sizeof e->memory, RIGHTS, &e->mr), "memory region");
    struct nornic_cq_config cq = {NORNIC_INIT(cq), .capacity = 16};
    check(nornic_cq_create(dev, &cq, &e->cq), "completion queue");
    struct nornic_qp_config qp = {NORNIC_INIT(qp),  .type = NORNIC_QPT_RC,
                                  .pd = e->pd,      .send_cq = e->cq,
                                  .recv_cq = e->cq, .caps = {.max_send_wr = 16, .max_send_sge = 1}};
    check(nornic_qp_create(dev, &qp, &e->qp), "queue pair");
    check(nornic_qp_endpoint(e->qp, 0, &e->address), "address");
}

static void destroy(struct end *e)
{
    check(nornic_qp_destroy(e->qp), "queue pair");
    check(nornic_cq_destroy(e->cq), "completion queue");
    check(nornic_mr_dereg(e->mr), "memory region");
    check(nornic_pd_destroy(e->pd), "protection domain");
    check(nornic_dev_close(e->dev, &why), "device");
}

int main(void)
{
    struct end a = {.memory = "RDMA without an adapter"}, b = {.memory = ""};
    struct nornic_dev_config config = {NORNIC_INIT(config)};
    struct nornic_dev *devices[2];
    check(nornic_dev_open_pair(&config, devices, &why), "devices");
    create(&a, devices[0]);
    create(&b, devices[1]);
    check(nornic_qp_connect(a.qp, &a.address, &b.address, 0, SECOND_NS, &why), "connect");
    check(nornic_qp_connect(b.qp, &b.address, &a.address, RIGHTS, SECOND_NS, &why), "connect");

    struct nornic_sge piece = {(uintptr_t)a.memory, sizeof a.memory, nornic_mr_lkey(a.mr)};
    struct nornic_send_wr write = {.sg_list = &piece,
                                   .num_sge = 1,
                                   .opcode = NORNIC_WR_RDMA_WRITE,
                                   .send_flags = NORNIC_SEND_SIGNALED,
                                   .remote_addr = nornic_mr_remote_addr(b.mr),
                                   .rkey = nornic_mr_rkey(b.mr)};
    struct nornic_wc done = {.status = NORNIC_WC_GENERAL_ERR};
    check(nornic_qp_post_send(a.qp, &write, NULL), "post");
    check(nornic_cq_wait(a.cq, &done, 1, 5 * SECOND_NS) == 1 && !done.status ? 0 : -5, "RDMA WRITE");
    printf("b has: %s\n", b.memory);
    destroy(&a), destroy(&b);
    return strcmp(a.memory, b.memory) != 0;
}
