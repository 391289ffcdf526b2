/* SPDX-License-Identifier: BSD-2-Clause */
/* A program of a distribution with rdma-core 65. It declares what those headers have and older ones lack.
 * test/e2e/verbs_abi.sh links it with libraries that have these names in their nodes. Calls each new
 * function, and prints "N answers are right"; or what is wrong, with exit status 1. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct ibv_context;
struct ibv_pd;
struct ibv_device;
struct ibv_buf;
struct ibv_mr { /* its beginning */
    struct ibv_context *context;
    struct ibv_pd *pd;
    void *addr;
    size_t length;
};
struct ibv_mr_init_attr {
    size_t length;
    int access;
    uint64_t comp_mask;
    uint64_t iova;
    void *addr;
    int fd;
    uint64_t fd_offset;
    void *dmah;
    struct ibv_buf *buf;
};

struct ibv_device **ibv_get_device_list(int *count);
struct ibv_context *ibv_open_device(struct ibv_device *device);
int ibv_close_device(struct ibv_context *context);
struct ibv_pd *ibv_alloc_pd(struct ibv_context *context);
int ibv_dealloc_pd(struct ibv_pd *pd);
int ibv_dereg_mr(struct ibv_mr *mr);
int ibv_query_gid_type(struct ibv_context *context, uint8_t port, unsigned index, unsigned *type);
const char *ibv_wr_opcode_str(int opcode);
int ibv_query_port_speed(struct ibv_context *context, uint32_t port, uint64_t *speed);
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access);
struct ibv_mr *ibv_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr);
int ibv_export_buf_dmabuf_fd(struct ibv_buf *buf);
void *ibv_alloc_dmah(struct ibv_context *context, void *attr);
int ibv_dealloc_dmah(void *dmah);
int ibv_dm_export_dmabuf_fd(void *dm);
int _ibv_query_comp_cntr_caps(struct ibv_context *context, void *caps, size_t caps_size);
void *ibv_create_comp_cntr(struct ibv_context *context, void *attr);
int ibv_destroy_comp_cntr(void *counter);
int ibv_set_comp_cntr(void *counter, uint64_t value);
int ibv_set_err_comp_cntr(void *counter, uint64_t value);
int ibv_inc_comp_cntr(void *counter, uint64_t amount);
int ibv_inc_err_comp_cntr(void *counter, uint64_t amount);
int ibv_read_comp_cntr(void *counter, uint64_t *value);
int ibv_read_err_comp_cntr(void *counter, uint64_t *value);
int ibv_qp_attach_comp_cntr(void *qp, void *counter, void *attr);
int rdma_resolve_addrinfo(void *id, const char *node, const char *service, const void *hints);
int rdma_query_addrinfo(void *id, void **info);
int rdma_write_cm_event(void *id, int event, int status, uint64_t arg);
int repoll_create(int flags);
int repoll_ctl(int set, int op, int fd, void *event);
int repoll_wait(int set, void *events, int max_events, int timeout_ms);

static int right, wrong;

static void expect(int is_right, const char *what)
{
    right += is_right;
    wrong += !is_right;
    if (!is_right)
        printf("wrong: %s (errno %d)\n", what, errno);
    errno = 0;
}
#define EXPECT(expression) expect(expression, #expression)
#define FAILS(call, err)   EXPECT((call) == -1 && errno == (err))

static void work(struct ibv_context *context, struct ibv_pd *pd)
{
    struct ibv_buf *buf = NULL;
    unsigned type = 9;
    uint64_t speed = 0;
    EXPECT(ibv_query_gid_type(context, 1, 0, &type) == 0 && type == 1);
    EXPECT(strcmp(ibv_wr_opcode_str(2), "send") == 0);
    EXPECT(ibv_query_port_speed(context, 1, &speed) == 0 && speed == 1000);
    char *memory = ibv_alloc_buf(pd, 8192, &buf);
    EXPECT(memory && buf);
    struct ibv_mr *mr = ibv_reg_buf_mr(pd, buf, memory, 8192, 1);
    EXPECT(mr && mr->addr == memory && mr->length == 8192);
    EXPECT(mr && ibv_dereg_mr(mr) == 0);
    struct ibv_mr_init_attr attr = {.length = 4096, .access = 1, .comp_mask = 2, .addr = memory};
    mr = ibv_reg_mr_ex(pd, &attr);
    EXPECT(mr && mr->length == 4096 && ibv_dereg_mr(mr) == 0);
    attr.comp_mask |= 1 << 4; /* a DMA handle */
    EXPECT(!ibv_reg_mr_ex(pd, &attr) && errno == EOPNOTSUPP);
    FAILS(ibv_export_buf_dmabuf_fd(buf), ENODATA);
    ibv_free_buf(buf);
}

static void refused(struct ibv_context *context)
{
    uint64_t value, caps[2] = {1, 1};
    EXPECT(!ibv_alloc_dmah(context, NULL) && errno == EOPNOTSUPP);
    EXPECT(ibv_dealloc_dmah(NULL) == EOPNOTSUPP);
    FAILS(ibv_dm_export_dmabuf_fd(NULL), EOPNOTSUPP);
    EXPECT(_ibv_query_comp_cntr_caps(context, caps, sizeof caps) == EOPNOTSUPP && !caps[0] && !caps[1]);
    EXPECT(!ibv_create_comp_cntr(context, NULL) && errno == EOPNOTSUPP);
    EXPECT(ibv_destroy_comp_cntr(NULL) == EOPNOTSUPP);
    EXPECT(ibv_set_comp_cntr(NULL, 1) == EOPNOTSUPP);
    EXPECT(ibv_set_err_comp_cntr(NULL, 1) == EOPNOTSUPP);
    EXPECT(ibv_inc_comp_cntr(NULL, 1) == EOPNOTSUPP);
    EXPECT(ibv_inc_err_comp_cntr(NULL, 1) == EOPNOTSUPP);
    EXPECT(ibv_read_comp_cntr(NULL, &value) == EOPNOTSUPP);
    EXPECT(ibv_read_err_comp_cntr(NULL, &value) == EOPNOTSUPP);
    EXPECT(ibv_qp_attach_comp_cntr(NULL, NULL, NULL) == EOPNOTSUPP);
    FAILS(rdma_resolve_addrinfo(NULL, NULL, NULL, NULL), EOPNOTSUPP);
    FAILS(rdma_query_addrinfo(NULL, NULL), EOPNOTSUPP);
    FAILS(rdma_write_cm_event(NULL, 18, 0, 0), EOPNOTSUPP);
    FAILS(repoll_create(0), EOPNOTSUPP);
    FAILS(repoll_ctl(0, 0, 0, NULL), EOPNOTSUPP);
    FAILS(repoll_wait(0, NULL, 0, 0), EOPNOTSUPP);
}

int main(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    struct ibv_pd *pd = context ? ibv_alloc_pd(context) : NULL;
    if (!pd) {
        puts("wrong: there is no device, or no protection domain");
        return 1;
    }
    work(context, pd);
    refused(context);
    EXPECT(ibv_dealloc_pd(pd) == 0);
    EXPECT(ibv_close_device(context) == 0);
    printf("%d answers are right\n", right);
    return wrong > 0;
}
