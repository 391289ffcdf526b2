/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations that rdma-core's headers have since version 44, for builds with older and newer headers alike.
 *
 * A newer header declares these functions itself, with types that an older one lacks. So each has a name of
 * nornic in C, types of nornic, and rdma-core's name in the object file alone. Values and layouts are the
 * ABI's. Internal to verbs/. */
#ifndef NORNIC_VERBS_NEWER_H
#define NORNIC_VERBS_NEWER_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

/* Gives the function that is being declared rdma-core's name in the object file. */
#define VERBS_NAMED(name) __asm__(#name)

/* --- values --- */

enum verbs_newer {
    VERBS_EVENT_DEVICE_SPEED_CHANGE = 20,  /* enum ibv_event_type; rdma-core 62 */
    VERBS_WR_FLUSH = 14,                   /* enum ibv_wr_opcode; rdma-core 45 */
    VERBS_CM_EVENT_ADDRINFO_RESOLVED = 16, /* enum rdma_cm_event_type; rdma-core 60 */
    VERBS_CM_EVENT_ADDRINFO_ERROR = 17,
};

/* --- since rdma-core 59: IBVERBS_1.15 --- */

struct verbs_buf;

/* Which members of struct verbs_mr_init_attr the caller has set. */
enum {
    VERBS_REG_MR_IOVA = 1 << 0,
    VERBS_REG_MR_ADDR = 1 << 1,
    VERBS_REG_MR_FD = 1 << 2,
    VERBS_REG_MR_FD_OFFSET = 1 << 3,
    VERBS_REG_MR_DMAH = 1 << 4,
    VERBS_REG_MR_BUF = 1 << 5, /* rdma-core 64 */
};

/* struct ibv_mr_init_attr. A member is read only where its bit is in `comp_mask`. */
struct verbs_mr_init_attr {
    size_t length;
    int access;
    uint64_t comp_mask;
    uint64_t iova;
    void *addr;
    int fd;
    uint64_t fd_offset;
    void *dmah;
    struct verbs_buf *buf;
};

/* Registers a region of `pd` as `attr` says. The caller owns the region and deregisters it. Returns NULL with
 * errno: EINVAL (contradictory members, or a range outside the buffer), EOPNOTSUPP (dma-buf, or a DMA
 * handle), or an error of ibv_reg_mr(). */
struct ibv_mr *verbs_reg_mr_ex(struct ibv_pd *pd, const struct verbs_mr_init_attr *attr)
    VERBS_NAMED(ibv_reg_mr_ex);

/* Fail with EOPNOTSUPP: no device here takes hints for DMA. */
void *verbs_alloc_dmah(struct ibv_context *context, void *attr) VERBS_NAMED(ibv_alloc_dmah);
int verbs_dealloc_dmah(void *dmah) VERBS_NAMED(ibv_dealloc_dmah);

/* --- since rdma-core 62: IBVERBS_1.16 --- */

/* Writes the port's speed, in units of 100 Mbit/s, to `speed`. Returns 0 or EINVAL (no such port). */
int verbs_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *speed)
    VERBS_NAMED(ibv_query_port_speed);

/* Returns -1 with errno EOPNOTSUPP: device memory has no dma-buf here. */
int verbs_dm_export_dmabuf_fd(struct ibv_dm *dm) VERBS_NAMED(ibv_dm_export_dmabuf_fd);

/* --- since rdma-core 64: IBVERBS_1.17 --- */

/* Allocates `bytes` of zeroed memory at the beginning of a page. Returns its address, and the handle in
 * `buf`; the caller gives the handle to verbs_free_buf(). Returns NULL with errno: EINVAL (no bytes, or no
 * such domain) or ENOMEM. */
void *verbs_alloc_buf(struct ibv_pd *pd, size_t bytes, struct verbs_buf **buf) VERBS_NAMED(ibv_alloc_buf);

/* Frees the handle. The memory stays until the last of its regions is deregistered. */
void verbs_free_buf(struct verbs_buf *buf) VERBS_NAMED(ibv_free_buf);

/* Registers `bytes` at `addr`, which have to lie within `buf`. `pd` is the domain of verbs_alloc_buf().
 * Returns the region; or NULL with errno as verbs_reg_mr_ex() does. */
struct ibv_mr *verbs_reg_buf_mr(struct ibv_pd *pd, struct verbs_buf *buf, void *addr, size_t bytes,
                                int access) VERBS_NAMED(ibv_reg_buf_mr);

/* --- since rdma-core 65: IBVERBS_1.18 --- */

/* Returns -1 with errno ENODATA: memory of verbs_alloc_buf() has no dma-buf. */
int verbs_export_buf_dmabuf_fd(struct verbs_buf *buf) VERBS_NAMED(ibv_export_buf_dmabuf_fd);

/* Completion counters. All fail with EOPNOTSUPP. The query zeroes `caps_bytes` of `caps` first. */
int verbs_query_comp_cntr_caps(struct ibv_context *context, void *caps, size_t caps_bytes)
    VERBS_NAMED(_ibv_query_comp_cntr_caps);
void *verbs_create_comp_cntr(struct ibv_context *context, void *attr) VERBS_NAMED(ibv_create_comp_cntr);
int verbs_destroy_comp_cntr(void *counter) VERBS_NAMED(ibv_destroy_comp_cntr);
int verbs_set_comp_cntr(void *counter, uint64_t value) VERBS_NAMED(ibv_set_comp_cntr);
int verbs_set_err_comp_cntr(void *counter, uint64_t value) VERBS_NAMED(ibv_set_err_comp_cntr);
int verbs_inc_comp_cntr(void *counter, uint64_t amount) VERBS_NAMED(ibv_inc_comp_cntr);
int verbs_inc_err_comp_cntr(void *counter, uint64_t amount) VERBS_NAMED(ibv_inc_err_comp_cntr);
int verbs_read_comp_cntr(void *counter, uint64_t *value) VERBS_NAMED(ibv_read_comp_cntr);
int verbs_read_err_comp_cntr(void *counter, uint64_t *value) VERBS_NAMED(ibv_read_err_comp_cntr);
int verbs_qp_attach_comp_cntr(struct ibv_qp *qp, void *counter, void *attr)
    VERBS_NAMED(ibv_qp_attach_comp_cntr);

#endif
