/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls and values that rdma-core has since 44 (verbs/abi/newer.h), and values that no release has. */
#include <criterion/criterion.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/verbs/pair.h"
#include "verbs/cm/newer.h"
#include "verbs/abi/newer.h"

#define RIGHTS     (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)
#define UNKNOWN    30 /* a value of no enumeration */
#define BUF_BYTES  5000
#define OTHER_PAGE 4096

TestSuite(newer, .init = pair_open_device, .fini = pair_close_device, .timeout = 60);

/* --- values --- */

/* Exported for programs; only newer headers declare it. */
const char *name_opcode(enum ibv_wr_opcode opcode) VERBS_NAMED(ibv_wr_opcode_str);

Test(newer, names_of_values)
{
    cr_expect_str_eq(name_opcode(IBV_WR_SEND_WITH_INV), "send-with-inv");
    cr_expect_str_eq(name_opcode((enum ibv_wr_opcode)VERBS_WR_FLUSH), "flush");
    cr_expect_str_eq(name_opcode((enum ibv_wr_opcode)UNKNOWN), "unknown");
    cr_expect_str_eq(name_opcode((enum ibv_wr_opcode)12), "unknown"); /* no opcode has this number */
    cr_expect_str_eq(ibv_event_type_str((enum ibv_event_type)VERBS_EVENT_DEVICE_SPEED_CHANGE),
                     "device speed change");
    cr_expect_str_eq(rdma_event_str((enum rdma_cm_event_type)VERBS_CM_EVENT_ADDRINFO_ERROR),
                     "RDMA_CM_EVENT_ADDRINFO_ERROR");
    cr_expect_str_eq(rdma_event_str((enum rdma_cm_event_type)UNKNOWN), "UNKNOWN EVENT");
}

/* Opcodes that a header may have, and nornic has not. 12 and 13 are nornic's masked atomics. */
Test(newer, unknown_opcodes_are_refused)
{
    static const int opcodes[] = {IBV_WR_TSO, IBV_WR_DRIVER1, IBV_WR_ATOMIC_WRITE, VERBS_WR_FLUSH, 12,
                                  13,         UNKNOWN};
    static uint64_t word;
    struct pair pair = pair_make();
    struct ibv_mr *mr = ibv_reg_mr_iova2(pair_pd, &word, sizeof word, (uintptr_t)&word, RIGHTS);
    struct ibv_sge sge = {.addr = (uintptr_t)&word, .length = sizeof word, .lkey = mr->lkey};
    for (size_t i = 0; i < array_len(opcodes); i++) {
        struct ibv_send_wr *bad = NULL, wr = {.opcode = (enum ibv_wr_opcode)opcodes[i],
                                              .sg_list = &sge,
                                              .num_sge = 1,
                                              .wr.atomic = {(uintptr_t)&word, 0, 0, mr->rkey}};
        cr_expect_eq(ibv_post_send(pair.qp[0], &wr, &bad), EINVAL, "opcode %d", opcodes[i]);
        cr_expect_eq(bad, &wr);
    }
    pair_free(&pair);
    cr_expect_eq(ibv_dereg_mr(mr), 0);
}

/* Its acknowledgement reads no object of it. */
Test(newer, unknown_events_are_acknowledged)
{
    struct ibv_async_event event = {.event_type = (enum ibv_event_type)VERBS_EVENT_DEVICE_SPEED_CHANGE};
    ibv_ack_async_event(&event);
    event.event_type = (enum ibv_event_type)UNKNOWN;
    ibv_ack_async_event(&event);
}

/* A newer header calls these bits known: a right to flush, a further change, further members. */
Test(newer, unknown_bits_are_refused)
{
    static char memory[64];
    struct rdma_cm_join_mc_attr_ex join = {.comp_mask =
                                               RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
                                           .join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER + 1};
    struct ibv_srq_init_attr_ex srq = {
        .attr = {.max_wr = 1, .max_sge = 1}, .comp_mask = IBV_SRQ_INIT_ATTR_PD | 1 << 5, .pd = pair_pd};
    struct ibv_mr *mr = ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, (uintptr_t)memory, 0);
    cr_expect_null(ibv_reg_mr_iova2(pair_pd, memory, sizeof memory, (uintptr_t)memory, 1 << 8));
    cr_expect_eq(errno, EINVAL);
    cr_expect_eq(ibv_rereg_mr(mr, 1 << 3, pair_pd, memory, sizeof memory, 0), IBV_REREG_MR_ERR_INPUT);
    cr_expect_null(ibv_create_srq_ex(pair_ctx, &srq));
    cr_expect_eq(errno, EINVAL);
    cr_expect_eq(rdma_join_multicast_ex(NULL, &join, NULL), -1);
    cr_expect_eq(errno, EINVAL);
    cr_expect_eq(ibv_dereg_mr(mr), 0);
}

/* --- the port's speed: that of its width and lanes --- */

Test(newer, speed_of_the_port)
{
    struct ibv_port_attr attr;
    uint64_t speed = 0;
    cr_assert_eq(___ibv_query_port(pair_ctx, 1, &attr), 0);
    cr_expect_eq(attr.active_width, 2, "four lanes");
    cr_expect_eq(attr.active_speed, 32, "25 Gbit/s each");
    cr_expect_eq(verbs_query_port_speed(pair_ctx, 1, &speed), 0);
    cr_expect_eq(speed, 1000, "in units of 100 Mbit/s");
    cr_expect_eq(verbs_query_port_speed(pair_ctx, 2, &speed), EINVAL);
    cr_expect_eq(verbs_query_port_speed(pair_ctx, 257, &speed), EINVAL, "its low octet is 1");
}

/* --- buffers --- */

Test(newer, a_buffer_is_written_to_by_a_peer)
{
    struct pair pair = pair_make();
    struct verbs_buf *buf;
    char *memory = verbs_alloc_buf(pair_pd, BUF_BYTES, &buf);
    cr_assert_not_null(memory);
    cr_expect_eq((uintptr_t)memory % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
    cr_expect_eq(memory[BUF_BYTES - 1], 0);
    struct ibv_mr *mr = verbs_reg_buf_mr(pair_pd, buf, memory, BUF_BYTES, RIGHTS);
    cr_assert_not_null(mr);
    cr_expect_eq(mr->addr, memory);
    cr_expect_eq(mr->length, BUF_BYTES);
    memset(memory, 'n', 100);
    struct ibv_sge sge = {.addr = (uintptr_t)memory, .length = 100, .lkey = mr->lkey};
    struct ibv_send_wr *bad, wr = {.wr_id = 7,
                                   .sg_list = &sge,
                                   .num_sge = 1,
                                   .opcode = IBV_WR_RDMA_WRITE,
                                   .wr.rdma = {(uintptr_t)memory + OTHER_PAGE, mr->rkey}};
    cr_assert_eq(ibv_post_send(pair.qp[0], &wr, &bad), 0);
    cr_expect_eq(pair_complete(&pair, 1), 7);
    cr_expect_eq(memcmp(memory, memory + OTHER_PAGE, 100), 0);
    cr_expect_eq(ibv_dereg_mr(mr), 0);
    verbs_free_buf(buf);
    pair_free(&pair);
}

/* Whether a page is mapped. */
static bool is_mapped(void *page)
{
    unsigned char resident;
    return mincore(page, 1, &resident) == 0;
}

Test(newer, a_buffer_stays_for_its_regions)
{
    struct verbs_buf *buf;
    char *memory = verbs_alloc_buf(pair_pd, BUF_BYTES, &buf);
    struct ibv_mr *first = verbs_reg_buf_mr(pair_pd, buf, memory, BUF_BYTES, RIGHTS);
    struct ibv_mr *second = verbs_reg_buf_mr(pair_pd, buf, memory + OTHER_PAGE, 8, RIGHTS);
    cr_assert(first && second);
    verbs_free_buf(buf);
    cr_expect_null(verbs_reg_buf_mr(pair_pd, buf, memory, 8, RIGHTS), "the program has no handle of it");
    cr_expect_eq(ibv_dereg_mr(first), 0);
    cr_expect(is_mapped(memory));
    cr_expect_eq(ibv_dereg_mr(second), 0);
    cr_expect_not(is_mapped(memory));
}

Test(newer, a_buffer_without_regions_goes_at_once)
{
    struct verbs_buf *buf;
    char *memory = verbs_alloc_buf(pair_pd, 1, &buf);
    cr_expect(is_mapped(memory));
    verbs_free_buf(buf);
    cr_expect_not(is_mapped(memory));
    verbs_free_buf(buf); /* is noticed */
}

Test(newer, only_ranges_of_the_buffer_are_registered)
{
    struct verbs_buf *buf, *none = NULL;
    struct ibv_pd *other_pd = ibv_alloc_pd(pair_ctx);
    char *memory = verbs_alloc_buf(pair_pd, BUF_BYTES, &buf);
    const struct {
        struct ibv_pd *pd;
        char *addr;
        size_t bytes;
    } wrong[] = {{pair_pd, memory, BUF_BYTES + 1}, {pair_pd, memory + 1, BUF_BYTES},
                 {pair_pd, memory - 1, 1},         {pair_pd, memory + BUF_BYTES + 1, 0},
                 {pair_pd, memory, SIZE_MAX},      {other_pd, memory, BUF_BYTES}};
    for (size_t i = 0; i < array_len(wrong); i++) {
        cr_expect_null(verbs_reg_buf_mr(wrong[i].pd, buf, wrong[i].addr, wrong[i].bytes, RIGHTS), "case %zu",
                       i);
        cr_expect_eq(errno, EINVAL);
    }
    cr_expect_null(verbs_reg_buf_mr(pair_pd, buf, memory, BUF_BYTES, IBV_ACCESS_REMOTE_WRITE));
    verbs_free_buf(buf);
    cr_expect_not(is_mapped(memory), "a failed registration is no use of it");
    cr_expect_null(verbs_alloc_buf(pair_pd, 0, &none));
    cr_expect_eq(errno, EINVAL);
    cr_expect_null(verbs_alloc_buf(pair_pd, SIZE_MAX, &none));
    cr_expect_eq(errno, EINVAL);
    cr_expect_null(verbs_alloc_buf(pair_pd, SIZE_MAX / 4, &none));
    cr_expect_eq(errno, ENOMEM);
    cr_expect_eq(ibv_dealloc_pd(other_pd), 0);
}

/* --- regions by their members --- */

Test(newer, a_region_by_its_members)
{
    static char memory[64];
    struct verbs_mr_init_attr attr = {.length = sizeof memory,
                                      .access = RIGHTS | IBV_ACCESS_RELAXED_ORDERING,
                                      .comp_mask = VERBS_REG_MR_ADDR | VERBS_REG_MR_IOVA,
                                      .addr = memory,
                                      .iova = 0x1000};
    struct ibv_mr *mr = verbs_reg_mr_ex(pair_pd, &attr);
    cr_assert_not_null(mr);
    cr_expect_eq(((struct verbs_mr *)(void *)mr)->iova, 0x1000);
    cr_expect_eq(mr->addr, memory);
    cr_expect_eq(ibv_dereg_mr(mr), 0);
    attr.comp_mask = VERBS_REG_MR_ADDR; /* then `iova` is not read */
    mr = verbs_reg_mr_ex(pair_pd, &attr);
    cr_assert_not_null(mr);
    cr_expect_eq(((struct verbs_mr *)(void *)mr)->iova, (uintptr_t)memory);
    cr_expect_eq(ibv_dereg_mr(mr), 0);
}

Test(newer, members_that_contradict_each_other)
{
    static char memory[64];
    static const struct {
        uint64_t comp_mask;
        int err;
    } wrong[] = {
        {0, EINVAL},
        {VERBS_REG_MR_IOVA, EINVAL},
        {VERBS_REG_MR_BUF, EINVAL},
        {VERBS_REG_MR_ADDR | VERBS_REG_MR_FD, EINVAL},
        {VERBS_REG_MR_ADDR | VERBS_REG_MR_FD_OFFSET, EINVAL},
        {VERBS_REG_MR_FD | VERBS_REG_MR_FD_OFFSET, EINVAL},
        {VERBS_REG_MR_BUF | VERBS_REG_MR_FD | VERBS_REG_MR_FD_OFFSET | VERBS_REG_MR_IOVA, EINVAL},
        {VERBS_REG_MR_BUF | VERBS_REG_MR_ADDR, EINVAL}, /* of no buffer */
        {VERBS_REG_MR_FD | VERBS_REG_MR_FD_OFFSET | VERBS_REG_MR_IOVA, EOPNOTSUPP},
        {VERBS_REG_MR_ADDR | VERBS_REG_MR_DMAH, EOPNOTSUPP},
        {VERBS_REG_MR_ADDR | 1 << 6, EOPNOTSUPP},
    };
    for (size_t i = 0; i < array_len(wrong); i++) {
        const struct verbs_mr_init_attr attr = {
            .length = sizeof memory, .comp_mask = wrong[i].comp_mask, .addr = memory};
        errno = 0;
        cr_expect_null(verbs_reg_mr_ex(pair_pd, &attr), "case %zu", i);
        cr_expect_eq(errno, wrong[i].err, "case %zu: errno %d", i, errno);
    }
}

/* --- what is not there --- */

Test(newer, what_there_is_none_of)
{
    uint64_t value = 0;
    uint8_t caps[24];
    memset(caps, 0xff, sizeof caps);
    cr_expect_null(verbs_alloc_dmah(pair_ctx, NULL));
    cr_expect_eq(errno, EOPNOTSUPP);
    cr_expect_eq(verbs_dealloc_dmah(NULL), EOPNOTSUPP);
    cr_expect_eq(verbs_query_comp_cntr_caps(pair_ctx, caps, 16), EOPNOTSUPP);
    cr_expect(caps[0] == 0 && caps[15] == 0 && caps[16] == 0xff, "what the caller has room for is zeroed");
    cr_expect_null(verbs_create_comp_cntr(pair_ctx, NULL));
    cr_expect_eq(errno, EOPNOTSUPP);
    cr_expect_eq(verbs_destroy_comp_cntr(NULL), EOPNOTSUPP);
    cr_expect_eq(verbs_set_comp_cntr(NULL, 1), EOPNOTSUPP);
    cr_expect_eq(verbs_set_err_comp_cntr(NULL, 1), EOPNOTSUPP);
    cr_expect_eq(verbs_inc_comp_cntr(NULL, 1), EOPNOTSUPP);
    cr_expect_eq(verbs_inc_err_comp_cntr(NULL, 1), EOPNOTSUPP);
    cr_expect_eq(verbs_read_comp_cntr(NULL, &value), EOPNOTSUPP);
    cr_expect_eq(verbs_read_err_comp_cntr(NULL, &value), EOPNOTSUPP);
    cr_expect_eq(verbs_qp_attach_comp_cntr(NULL, NULL, NULL), EOPNOTSUPP);
}

/* Calls whose result is a descriptor, or of librdmacm: -1 and errno. */
Test(newer, what_fails_by_errno)
{
    struct verbs_buf *buf;
    struct rdma_addrinfo *info;
    verbs_alloc_buf(pair_pd, 1, &buf);
#define FAILS_BY(call, err)   \
    errno = 0;                \
    cr_expect_eq((call), -1); \
    cr_expect_eq(errno, err, #call)
    FAILS_BY(verbs_export_buf_dmabuf_fd(buf), ENODATA);
    FAILS_BY(verbs_dm_export_dmabuf_fd(NULL), EOPNOTSUPP);
    FAILS_BY(cma_resolve_addrinfo(NULL, NULL, NULL, NULL), EOPNOTSUPP);
    FAILS_BY(cma_query_addrinfo(NULL, &info), EOPNOTSUPP);
    FAILS_BY(cma_write_event(NULL, 18, 0, 0), EOPNOTSUPP);
    FAILS_BY(rs_epoll_create(0), EOPNOTSUPP);
    FAILS_BY(rs_epoll_ctl(0, 0, 0, NULL), EOPNOTSUPP);
    FAILS_BY(rs_epoll_wait(0, NULL, 1, 0), EOPNOTSUPP);
#undef FAILS_BY
    verbs_free_buf(buf);
}
