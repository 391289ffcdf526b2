/* SPDX-License-Identifier: BSD-2-Clause */
/* NORNIC_TRACE: each call of the two libraries that fails says why. `failing` has a call that fails for every
 * name that programs can reach: those that the libraries export, and the entries of their tables; `never` has
 * those that cannot fail, or only for want of memory. A name that is in neither list fails the test. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <rdma/rsocket.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/verbs/pair.h"
#include "verbs/cm/newer.h"

#define PD_FAULT "allocation of the 3rd PD fails; allocation of the 3rd CHANNEL fails"

/* What the calls below are made on. */
static struct {
    struct verbs_context *table;
    struct ibv_cq *cq;
    struct ibv_qp *qp; /* RC, in RESET */
    struct ibv_mr *mr;
    struct ibv_comp_channel *channel; /* does not wait */
    struct rdma_event_channel *events;
    struct rdma_cm_id *id; /* new */
    int sock;
    char memory[64];
} f;

static void *none; /* memory, and no handle of anything */

static void begin(void)
{
    none = calloc(1, 8192);
    setenv("NORNIC_FAULTS", PD_FAULT, 1);
    setenv("NORNIC_TRACE", "1", 1);
    pair_open_device();
    f.table = verbs_get_ctx(pair_ctx);
    f.channel = ibv_create_comp_channel(pair_ctx);
    f.cq = ibv_create_cq(pair_ctx, 4, NULL, f.channel, 0);
    struct ibv_qp_init_attr init = {.send_cq = f.cq,
                                    .recv_cq = f.cq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1}};
    f.qp = ibv_create_qp(pair_pd, &init);
    f.mr = ibv_reg_mr_iova2(pair_pd, f.memory, sizeof f.memory, (uintptr_t)f.memory, 0);
    f.events = rdma_create_event_channel();
    cr_assert_eq(rdma_create_id(f.events, &f.id, NULL, RDMA_PS_TCP), 0);
    f.sock = rsocket(AF_INET, SOCK_STREAM, 0);
    cr_assert(f.cq && f.qp && f.mr && f.sock >= 0);
}

TestSuite(reasons, .init = begin, .timeout = 60);

/* --- a failing call for each name; true: it has failed --- */

static union ibv_gid zero_gid;
static struct sockaddr_in nowhere = {.sin_family = AF_INET};
static struct sockaddr no_family = {.sa_family = AF_UNIX};

#define FAILS(name, expression)    \
    static bool fails_##name(void) \
    {                              \
        return expression;         \
    }

/* libibverbs */
FAILS(ibv_alloc_pd, !ibv_alloc_pd(pair_ctx))
FAILS(ibv_attach_mcast, ibv_attach_mcast(f.qp, &zero_gid, 0))
FAILS(ibv_detach_mcast, ibv_detach_mcast(f.qp, &zero_gid, 0))
FAILS(ibv_close_device, ibv_close_device(&((struct verbs_context_own *)none)->abi.context))
FAILS(ibv_create_ah, !ibv_create_ah(pair_pd, &(struct ibv_ah_attr){.port_num = 1}))
FAILS(ibv_create_ah_from_wc, !ibv_create_ah_from_wc(pair_pd, &(struct ibv_wc){0}, NULL, 1))
FAILS(ibv_init_ah_from_wc, ibv_init_ah_from_wc(pair_ctx, 1, &(struct ibv_wc){0}, NULL, NULL))
FAILS(ibv_create_comp_channel, !ibv_create_comp_channel(pair_ctx) || !ibv_create_comp_channel(pair_ctx))
FAILS(ibv_create_cq, !ibv_create_cq(pair_ctx, 0, NULL, NULL, 0))
FAILS(ibv_create_qp, !ibv_create_qp(pair_pd, &(struct ibv_qp_init_attr){.qp_type = IBV_QPT_RAW_PACKET}))
FAILS(ibv_create_srq, !ibv_create_srq(pair_pd, &(struct ibv_srq_init_attr){.attr = {.max_wr = UINT32_MAX}}))
FAILS(ibv_dealloc_pd, ibv_dealloc_pd(pair_pd))
FAILS(ibv_dereg_mr, ibv_dereg_mr(none))
FAILS(ibv_destroy_ah, ibv_destroy_ah(none))
FAILS(ibv_destroy_comp_channel, ibv_destroy_comp_channel(f.channel))
FAILS(ibv_destroy_cq, ibv_destroy_cq(f.cq))
FAILS(ibv_destroy_qp, ibv_destroy_qp(none))
FAILS(ibv_destroy_srq, ibv_destroy_srq(none))
FAILS(ibv_get_pkey_index, ibv_get_pkey_index(pair_ctx, 1, 0x1234) < 0)
FAILS(ibv_import_device, !ibv_import_device(-1))
FAILS(ibv_import_dm, !ibv_import_dm(pair_ctx, 12345))
FAILS(ibv_import_mr, !ibv_import_mr(pair_pd, 12345))
FAILS(ibv_import_pd, !ibv_import_pd(pair_ctx, 12345))
FAILS(ibv_modify_qp, ibv_modify_qp(f.qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RTS}, IBV_QP_STATE))
FAILS(ibv_query_gid, ibv_query_gid(pair_ctx, 2, 0, &zero_gid))
FAILS(_ibv_query_gid_ex, ibv_query_gid_ex(pair_ctx, 1, 63, &(struct ibv_gid_entry){0}, 0))
FAILS(_ibv_query_gid_table, ibv_query_gid_table(pair_ctx, NULL, 0, 1) < 0)
FAILS(ibv_query_pkey, ibv_query_pkey(pair_ctx, 1, 99, &(__be16){0}))
FAILS(ibv_query_port, ___ibv_query_port(pair_ctx, 2, &(struct ibv_port_attr){0}))
FAILS(ibv_query_qp, ibv_query_qp(none, &(struct ibv_qp_attr){0}, 0, NULL))
FAILS(ibv_reg_mr, !ibv_reg_mr(pair_pd, f.memory, sizeof f.memory, IBV_ACCESS_REMOTE_WRITE))
FAILS(ibv_reg_mr_iova, !ibv_reg_mr_iova(pair_pd, f.memory, 8, 0, IBV_ACCESS_REMOTE_WRITE))
FAILS(ibv_reg_mr_iova2, !ibv_reg_mr_iova2(pair_pd, NULL, 4096, 0, IBV_ACCESS_LOCAL_WRITE))
FAILS(ibv_reg_dmabuf_mr, !ibv_reg_dmabuf_mr(pair_pd, 0, 1, 0, -1, 0))
FAILS(ibv_rereg_mr, ibv_rereg_mr(f.mr, 0, NULL, NULL, 0, 0))
FAILS(ibv_resize_cq, ibv_resize_cq(f.cq, 0))
FAILS(ibv_resolve_eth_l2_from_gid,
      ibv_resolve_eth_l2_from_gid(pair_ctx, &(struct ibv_ah_attr){0}, (uint8_t[ETHERNET_LL_SIZE]){0}, NULL))
FAILS(ibv_set_ece, ibv_set_ece(f.qp, &(struct ibv_ece){.vendor_id = 1}))

/* of rdma-core after 44 */
FAILS(ibv_alloc_dmah, !verbs_alloc_dmah(pair_ctx, NULL))
FAILS(ibv_dealloc_dmah, verbs_dealloc_dmah(none))
FAILS(ibv_reg_mr_ex, !verbs_reg_mr_ex(pair_pd, &(struct verbs_mr_init_attr){0}))
FAILS(ibv_dm_export_dmabuf_fd, verbs_dm_export_dmabuf_fd(none))
FAILS(ibv_query_port_speed, verbs_query_port_speed(pair_ctx, 2, &(uint64_t){0}))
FAILS(ibv_alloc_buf, !verbs_alloc_buf(pair_pd, 0, &(struct verbs_buf *){0}))
FAILS(ibv_reg_buf_mr, !verbs_reg_buf_mr(pair_pd, none, none, 1, 0))
FAILS(ibv_export_buf_dmabuf_fd, verbs_export_buf_dmabuf_fd(none))
FAILS(_ibv_query_comp_cntr_caps, verbs_query_comp_cntr_caps(pair_ctx, none, 16))
FAILS(ibv_create_comp_cntr, !verbs_create_comp_cntr(pair_ctx, NULL))
FAILS(ibv_destroy_comp_cntr, verbs_destroy_comp_cntr(none))
FAILS(ibv_set_comp_cntr, verbs_set_comp_cntr(none, 1))
FAILS(ibv_set_err_comp_cntr, verbs_set_err_comp_cntr(none, 1))
FAILS(ibv_inc_comp_cntr, verbs_inc_comp_cntr(none, 1))
FAILS(ibv_inc_err_comp_cntr, verbs_inc_err_comp_cntr(none, 1))
FAILS(ibv_read_comp_cntr, verbs_read_comp_cntr(none, none))
FAILS(ibv_read_err_comp_cntr, verbs_read_err_comp_cntr(none, none))
FAILS(ibv_qp_attach_comp_cntr, verbs_qp_attach_comp_cntr(f.qp, none, NULL))
FAILS(rdma_resolve_addrinfo, cma_resolve_addrinfo(f.id, NULL, NULL, NULL))
FAILS(rdma_query_addrinfo, cma_query_addrinfo(f.id, &(struct rdma_addrinfo *){0}))
FAILS(rdma_write_cm_event, cma_write_event(f.id, 18, 0, 0))
FAILS(repoll_create, rs_epoll_create(0) < 0)
FAILS(repoll_ctl, rs_epoll_ctl(0, 0, f.sock, NULL))
FAILS(repoll_wait, rs_epoll_wait(0, none, 1, 0) < 0)

int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned index, unsigned *type);
int execute_ioctl(void);
int ibv_cmd_alloc_pd(void);
void *verbs_open_device(void);
FAILS(ibv_read_sysfs_file, ibv_read_sysfs_file("/nowhere", "at_all", f.memory, 8) < 0)
FAILS(ibv_query_gid_type, ibv_query_gid_type(pair_ctx, 2, 0, &(unsigned){0}))
FAILS(execute_ioctl, execute_ioctl())
FAILS(ibv_cmd_alloc_pd, ibv_cmd_alloc_pd()) /* as all of these: verbs/abi/private.c */
FAILS(verbs_open_device, !verbs_open_device())

static bool fails_ibv_open_device(void)
{
    setenv("NORNIC_PORT", "udp:203.0.113.77", 1);
    struct ibv_device **list = ibv_get_device_list(NULL);
    bool has_failed = !ibv_open_device(list[0]);
    ibv_free_device_list(list);
    setenv("NORNIC_PORT", "udp:127.0.0.1", 1);
    return has_failed;
}

static bool fails_ibv_modify_srq(void)
{
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 1}};
    return ibv_modify_srq(ibv_create_srq(pair_pd, &init), &(struct ibv_srq_attr){0}, 1 << 20);
}

/* A signal ends the wait. */
static void on_alarm(int number)
{
    (void)number;
}

static bool is_interrupted(bool (*call)(void))
{
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = on_alarm}, NULL);
    ualarm(20000, 20000);
    bool has_failed = call() && errno == EINTR;
    ualarm(0, 0);
    return has_failed;
}

static bool get_cq_event(void)
{
    struct ibv_cq *cq;
    void *context;
    return ibv_get_cq_event(f.channel, &cq, &context);
}
FAILS(ibv_get_cq_event, is_interrupted(get_cq_event))

static bool get_async_event(void)
{
    return ibv_get_async_event(pair_ctx, &(struct ibv_async_event){0});
}
FAILS(ibv_get_async_event, is_interrupted(get_async_event))

/* its tables: what the header's inline functions call */
FAILS(alloc_mw, !ibv_alloc_mw(pair_pd, (enum ibv_mw_type)9))
FAILS(dealloc_mw, pair_ctx->ops.dealloc_mw(none))
FAILS(post_send, ibv_post_send(f.qp, &(struct ibv_send_wr){0}, &(struct ibv_send_wr *){0}))
FAILS(post_recv, ibv_post_recv(f.qp, &(struct ibv_recv_wr){0}, &(struct ibv_recv_wr *){0}))
FAILS(advise_mr, ibv_advise_mr(pair_pd, (enum ibv_advise_mr_advice)9, 0, NULL, 0))
FAILS(reg_dm_mr,
      !ibv_reg_dm_mr(pair_pd, ibv_alloc_dm(pair_ctx, &(struct ibv_alloc_dm_attr){.length = 8}), 9, 9, 0))
FAILS(alloc_dm, !ibv_alloc_dm(pair_ctx, &(struct ibv_alloc_dm_attr){.comp_mask = 1}))
FAILS(free_dm, f.table->free_dm(none))
FAILS(alloc_parent_domain, !ibv_alloc_parent_domain(pair_ctx, &(struct ibv_parent_domain_init_attr){0}))
FAILS(alloc_td, !ibv_alloc_td(pair_ctx, &(struct ibv_td_init_attr){.comp_mask = 1}))
FAILS(dealloc_td, f.table->dealloc_td(none))
FAILS(modify_cq, ibv_modify_cq(f.cq, &(struct ibv_modify_cq_attr){0}))
FAILS(query_rt_values, ibv_query_rt_values_ex(pair_ctx, &(struct ibv_values_ex){.comp_mask = 1 << 20}))
FAILS(query_port, ___ibv_query_port(pair_ctx, 2, &(struct ibv_port_attr){0}))
FAILS(create_cq_ex, !ibv_create_cq_ex(pair_ctx, &(struct ibv_cq_init_attr_ex){0}))
FAILS(query_device_ex,
      f.table->query_device_ex(pair_ctx, &(struct ibv_query_device_ex_input){.comp_mask = 1},
                               &(struct ibv_device_attr_ex){0}, sizeof(struct ibv_device_attr_ex)))
FAILS(open_qp, !ibv_open_qp(pair_ctx, &(struct ibv_qp_open_attr){0}))
FAILS(create_qp_ex, !ibv_create_qp_ex(pair_ctx, &(struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_RC}))
FAILS(get_srq_num,
      ibv_get_srq_num(ibv_create_srq(pair_pd, &(struct ibv_srq_init_attr){.attr = {.max_wr = 1}}),
                      &(uint32_t){0}))
FAILS(create_srq_ex, !ibv_create_srq_ex(pair_ctx, &(struct ibv_srq_init_attr_ex){.comp_mask = 1 << 20}))
FAILS(open_xrcd, !ibv_open_xrcd(pair_ctx, &(struct ibv_xrcd_init_attr){0}))
FAILS(close_xrcd, f.table->close_xrcd(none))
FAILS(create_flow, !ibv_create_flow(f.qp, &(struct ibv_flow_attr){0}))
FAILS(create_counters, !ibv_create_counters(pair_ctx, &(struct ibv_counters_init_attr){0}))
FAILS(create_wq, !ibv_create_wq(pair_ctx, &(struct ibv_wq_init_attr){0}))
FAILS(create_rwq_ind_table, !ibv_create_rwq_ind_table(pair_ctx, &(struct ibv_rwq_ind_table_init_attr){0}))
FAILS(create_flow_action_esp, !ibv_create_flow_action_esp(pair_ctx, &(struct ibv_flow_action_esp_attr){0}))
FAILS(modify_qp_rate_limit, ibv_modify_qp_rate_limit(f.qp, &(struct ibv_qp_rate_limit_attr){0}))
FAILS(post_srq_ops, ibv_post_srq_ops(&(struct ibv_srq){.context = pair_ctx}, &(struct ibv_ops_wr){0},
                                     &(struct ibv_ops_wr *){0}))

static bool fails_bind_mw(void)
{
    struct ibv_mw *mw = ibv_alloc_mw(pair_pd, IBV_MW_TYPE_1);
    return ibv_bind_mw(f.qp, mw, &(struct ibv_mw_bind){0});
}

static bool fails_post_srq_recv(void)
{
    struct ibv_srq *srq =
        ibv_create_srq(pair_pd, &(struct ibv_srq_init_attr){.attr = {.max_wr = 1, .max_sge = 1}});
    struct ibv_sge sges[2] = {{0}};
    return ibv_post_srq_recv(srq, &(struct ibv_recv_wr){.num_sge = 2, .sg_list = sges},
                             &(struct ibv_recv_wr *){0});
}

/* The queue has room for four. */
static bool fails_poll_cq(void)
{
    struct ibv_qp_attr to_err = {.qp_state = IBV_QPS_ERR};
    struct ibv_qp_init_attr init = {.send_cq = f.cq,
                                    .recv_cq = f.cq,
                                    .qp_type = IBV_QPT_RC,
                                    .cap = {.max_send_wr = 1, .max_recv_wr = 8, .max_recv_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(pair_pd, &init);
    struct ibv_qp_attr to_init = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    if (ibv_modify_qp(qp, &to_init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
        return false;
    for (int i = 0; i < 8; i++)
        if (ibv_post_recv(qp, &(struct ibv_recv_wr){0}, &(struct ibv_recv_wr *){0}))
            return false;
    struct ibv_wc wc;
    int got = ibv_modify_qp(qp, &to_err, IBV_QP_STATE) ? 0 : 1;
    while (got > 0)
        got = ibv_poll_cq(f.cq, 1, &wc);
    return got < 0;
}

/* librdmacm */
static struct rdma_conn_param no_param;
static struct rdma_addrinfo no_info = {.ai_port_space = RDMA_PS_TCP, .ai_qp_type = IBV_QPT_RC};
FAILS(rdma_accept, rdma_accept(f.id, &no_param))
FAILS(rdma_bind_addr, rdma_bind_addr(f.id, &no_family))
FAILS(rdma_connect, rdma_connect(f.id, &no_param))
FAILS(rdma_create_ep, rdma_create_ep(&(struct rdma_cm_id *){0}, &no_info, NULL, NULL))
FAILS(rdma_create_id, rdma_create_id(f.events, &(struct rdma_cm_id *){0}, NULL, (enum rdma_port_space)1))
FAILS(rdma_create_qp, rdma_create_qp(f.id, NULL, &(struct ibv_qp_init_attr){0}))
FAILS(rdma_create_qp_ex, rdma_create_qp_ex(f.id, &(struct ibv_qp_init_attr_ex){0}))
FAILS(rdma_create_srq, rdma_create_srq(f.id, NULL, &(struct ibv_srq_init_attr){0}))
FAILS(rdma_create_srq_ex, rdma_create_srq_ex(f.id, &(struct ibv_srq_init_attr_ex){0}))
FAILS(rdma_disconnect, rdma_disconnect(f.id))
FAILS(rdma_establish, rdma_establish(f.id))
FAILS(rdma_get_remote_ece, rdma_get_remote_ece(f.id, NULL))
FAILS(rdma_set_local_ece, rdma_set_local_ece(f.id, NULL))
FAILS(rdma_get_request, rdma_get_request(f.id, &(struct rdma_cm_id *){0}))
FAILS(rdma_getaddrinfo, rdma_getaddrinfo("no.such.host.invalid", NULL, NULL, &(struct rdma_addrinfo *){0}))
FAILS(rdma_init_qp_attr, rdma_init_qp_attr(f.id, &(struct ibv_qp_attr){0}, &(int){0}))
FAILS(rdma_join_multicast, rdma_join_multicast(f.id, &no_family, NULL))
FAILS(rdma_join_multicast_ex, rdma_join_multicast_ex(f.id, &(struct rdma_cm_join_mc_attr_ex){0}, NULL))
FAILS(rdma_leave_multicast, rdma_leave_multicast(f.id, (struct sockaddr *)&nowhere))
FAILS(rdma_notify, rdma_notify(f.id, IBV_EVENT_QP_FATAL))
FAILS(rdma_reject, rdma_reject(f.id, NULL, 0))
FAILS(rdma_reject_ece, rdma_reject_ece(f.id, NULL, 0))
FAILS(rdma_resolve_addr, rdma_resolve_addr(f.id, NULL, &no_family, 1))
FAILS(rdma_resolve_route, rdma_resolve_route(f.id, 1))
FAILS(rdma_set_option, rdma_set_option(f.id, 99, 0, NULL, 0))

static bool fails_rdma_migrate_id(void)
{
    struct rdma_cm_id *synchronous;
    if (rdma_create_id(NULL, &synchronous, NULL, RDMA_PS_TCP))
        return false;
    bool has_failed = rdma_migrate_id(synchronous, NULL);
    rdma_destroy_id(synchronous);
    return has_failed;
}

static bool fails_rdma_listen(void)
{
    rdma_bind_addr(f.id, (struct sockaddr *)&nowhere);
    return rdma_listen(f.id, 1) == 0 && rdma_listen(f.id, 1);
}

static bool get_cm_event(void)
{
    return rdma_get_cm_event(f.events, &(struct rdma_cm_event *){0});
}
FAILS(rdma_get_cm_event, is_interrupted(get_cm_event))

/* rsockets */
FAILS(raccept, raccept(f.sock, NULL, NULL) < 0)
FAILS(rbind, rbind(-1, (struct sockaddr *)&nowhere, sizeof nowhere))
FAILS(rclose, rclose(-1))
FAILS(rconnect, rconnect(f.sock, &no_family, sizeof no_family))
FAILS(rfcntl, rfcntl(f.sock, F_GETOWN) < 0)
FAILS(rgetpeername, rgetpeername(-1, NULL, NULL))
FAILS(rgetsockname, rgetsockname(-1, NULL, NULL))
FAILS(rgetsockopt, rgetsockopt(f.sock, 99, 99, f.memory, &(socklen_t){4}))
FAILS(rsetsockopt, rsetsockopt(f.sock, 99, 99, f.memory, 4))
FAILS(riomap, riomap(f.sock, f.memory, 8, PROT_READ, 0, 0) < 0)
FAILS(riounmap, riounmap(f.sock, f.memory, 8))
FAILS(riowrite, riowrite(f.sock, f.memory, 8, 0, 0) == (size_t)-1)
FAILS(rlisten, rlisten(-1, 1))
FAILS(rread, rread(f.sock, f.memory, 1) < 0)
FAILS(rreadv, rreadv(-1, NULL, 0) < 0)
FAILS(rrecv, rrecv(f.sock, f.memory, 1, 0) < 0)
FAILS(rrecvfrom, rrecvfrom(f.sock, f.memory, 1, 0, NULL, NULL) < 0)
FAILS(rrecvmsg, rrecvmsg(-1, &(struct msghdr){0}, 0) < 0)
FAILS(rsend, rsend(f.sock, f.memory, 1, 0) < 0)
FAILS(rsendmsg, rsendmsg(f.sock, &(struct msghdr){0}, 0) < 0)
FAILS(rsendto, rsendto(f.sock, f.memory, 1, 0, NULL, 0) < 0)
FAILS(rwrite, rwrite(f.sock, f.memory, 1) < 0)
FAILS(rwritev, rwritev(f.sock, NULL, 0) < 0)
FAILS(rshutdown, rshutdown(f.sock, 99))
FAILS(rsocket, rsocket(AF_UNIX, SOCK_STREAM, 0) < 0)

static bool poll_for_ever(void)
{
    struct pollfd fds = {.fd = f.events->fd, .events = POLLPRI};
    return rpoll(&fds, 1, -1) < 0;
}
FAILS(rpoll, is_interrupted(poll_for_ever))

static bool fails_rselect(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(900, &set);
    return rselect(901, &set, NULL, NULL, NULL) < 0;
}

/* --- the lists --- */

/* clang-format off */
#define OF_LIBIBVERBS(N) \
    N(ibv_alloc_pd) N(ibv_attach_mcast) N(ibv_detach_mcast) N(ibv_close_device) N(ibv_create_ah) \
    N(ibv_create_ah_from_wc) N(ibv_init_ah_from_wc) N(ibv_create_comp_channel) N(ibv_create_cq) \
    N(ibv_create_qp) N(ibv_create_srq) N(ibv_dealloc_pd) N(ibv_dereg_mr) N(ibv_destroy_ah) \
    N(ibv_destroy_comp_channel) N(ibv_destroy_cq) N(ibv_destroy_qp) N(ibv_destroy_srq) \
    N(ibv_get_pkey_index) N(ibv_import_device) N(ibv_import_dm) N(ibv_import_mr) N(ibv_import_pd) \
    N(ibv_modify_qp) N(ibv_modify_srq) N(ibv_query_gid) N(_ibv_query_gid_ex) N(_ibv_query_gid_table) \
    N(ibv_query_pkey) N(ibv_query_port) N(ibv_query_qp) N(ibv_reg_mr) N(ibv_reg_mr_iova) \
    N(ibv_reg_mr_iova2) N(ibv_reg_dmabuf_mr) N(ibv_rereg_mr) N(ibv_resize_cq) \
    N(ibv_resolve_eth_l2_from_gid) N(ibv_set_ece) N(ibv_read_sysfs_file) N(ibv_query_gid_type) \
    N(execute_ioctl) N(ibv_cmd_alloc_pd) N(verbs_open_device) N(ibv_open_device) N(ibv_get_cq_event) \
    N(ibv_get_async_event) N(ibv_alloc_dmah) N(ibv_dealloc_dmah) N(ibv_reg_mr_ex) \
    N(ibv_dm_export_dmabuf_fd) N(ibv_query_port_speed) N(ibv_alloc_buf) N(ibv_reg_buf_mr) \
    N(ibv_export_buf_dmabuf_fd) N(_ibv_query_comp_cntr_caps) N(ibv_create_comp_cntr) \
    N(ibv_destroy_comp_cntr) N(ibv_set_comp_cntr) N(ibv_set_err_comp_cntr) N(ibv_inc_comp_cntr) \
    N(ibv_inc_err_comp_cntr) N(ibv_read_comp_cntr) N(ibv_read_err_comp_cntr) N(ibv_qp_attach_comp_cntr)
#define OF_TABLES(N) \
    N(alloc_mw) N(bind_mw) N(dealloc_mw) N(poll_cq) N(post_srq_recv) N(post_send) N(post_recv) \
    N(query_port) N(advise_mr) N(reg_dm_mr) N(alloc_dm) N(free_dm) N(alloc_parent_domain) N(dealloc_td) \
    N(alloc_td) N(modify_cq) N(query_rt_values) N(create_cq_ex) N(query_device_ex) N(open_qp) \
    N(create_qp_ex) N(get_srq_num) N(create_srq_ex) N(open_xrcd) N(close_xrcd) N(create_flow) \
    N(create_counters) N(create_wq) N(create_rwq_ind_table) N(create_flow_action_esp) \
    N(modify_qp_rate_limit) N(post_srq_ops)
#define OF_LIBRDMACM(N) \
    N(rdma_accept) N(rdma_bind_addr) N(rdma_connect) N(rdma_create_ep) N(rdma_create_id) \
    N(rdma_create_qp) N(rdma_create_qp_ex) N(rdma_create_srq) N(rdma_create_srq_ex) N(rdma_disconnect) \
    N(rdma_establish) N(rdma_get_remote_ece) N(rdma_set_local_ece) N(rdma_get_request) \
    N(rdma_getaddrinfo) N(rdma_init_qp_attr) N(rdma_join_multicast) N(rdma_join_multicast_ex) \
    N(rdma_leave_multicast) N(rdma_migrate_id) N(rdma_notify) N(rdma_reject) N(rdma_reject_ece) \
    N(rdma_resolve_addr) N(rdma_resolve_route) N(rdma_set_option) N(rdma_listen) N(rdma_get_cm_event) \
    N(raccept) N(rbind) N(rclose) N(rconnect) N(rfcntl) N(rgetpeername) N(rgetsockname) N(rgetsockopt) \
    N(rsetsockopt) N(riomap) N(riounmap) N(riowrite) N(rlisten) N(rread) N(rreadv) N(rrecv) N(rrecvfrom) \
    N(rrecvmsg) N(rsend) N(rsendmsg) N(rsendto) N(rwrite) N(rwritev) N(rshutdown) N(rsocket) N(rpoll) \
    N(rselect) N(rdma_resolve_addrinfo) N(rdma_query_addrinfo) N(rdma_write_cm_event) N(repoll_create) \
    N(repoll_ctl) N(repoll_wait)
/* clang-format on */

struct failing {
    const char *name;
    bool (*call)(void);
};

static const struct failing failing[] = {
#define ROW_(name) {#name, fails_##name},
    OF_LIBIBVERBS(ROW_) OF_TABLES(ROW_) OF_LIBRDMACM(ROW_)
#undef ROW_
};

static const char *const never[] = {
    /* conversions and copies */
    "ibv_copy_path_rec_from_kern", "ibv_copy_path_rec_to_kern", "ibv_copy_qp_attr_from_kern",
    "ibv_copy_ah_attr_from_kern", "ibv_rate_to_mult", "mult_to_ibv_rate", "ibv_rate_to_mbps",
    "mbps_to_ibv_rate", "ibv_qp_to_qp_ex",
    /* names and numbers of what is there */
    "ibv_get_sysfs_path", "ibv_event_type_str", "ibv_node_type_str", "ibv_port_state_str",
    "ibv_wc_status_str", "ibv_get_device_name", "ibv_get_device_guid", "ibv_get_device_index",
    "ibv_query_device", "ibv_query_srq", "ibv_query_ece", "ibv_query_qp_data_in_order",
    "ibv_is_fork_initialized", "ibv_wr_opcode_str", "rdma_event_str", "rdma_get_src_port",
    "rdma_get_dst_port", "verbs_allow_disassociate_destroy",
    /* nothing has to be done */
    "ibv_fork_init", "ibv_dofork_range", "ibv_dontfork_range", "__verbs_log", "verbs_register_driver_34",
    "verbs_register_driver_57", "verbs_register_driver_59", "verbs_register_driver_64",
    "verbs_register_driver_65", "ibv_dmabuf_heap_destroy", "ibv_dmabuf_heap_free", "verbs_set_ops",
    "verbs_uninit_context",
    /* without a result */
    "ibv_ack_async_event", "ibv_ack_cq_events", "ibv_free_device_list", "ibv_unimport_mr", "ibv_unimport_pd",
    "ibv_unimport_dm", "ibv_free_buf", "rdma_destroy_ep", "rdma_destroy_event_channel", "rdma_destroy_qp",
    "rdma_destroy_srq", "rdma_free_devices", "rdma_freeaddrinfo",
    /* the handle is all they need */
    "rdma_ack_cm_event", "rdma_destroy_id",
    /* only for want of memory, descriptors or devices */
    "ibv_get_device_list", "rdma_create_event_channel", "rdma_get_devices", "alloc_null_mr",
    /* of the tables: what has no way to fail, and no call */
    "req_notify_cq", "sz"};

/* --- the tests --- */

/* The sentence, and the name of the errno value that it came with. */
static bool is_reason(const char *text)
{
    const char *open = strrchr(text, '(');
    return strncmp(text, "nornic: ", 8) == 0 && open && open[1] == 'E' && strlen(text) > 24;
}

Test(reasons, each_failing_call_says_why)
{
    for (size_t i = 0; i < array_len(failing); i++) {
        bool has_failed = false;
        char *text = pair_said_by(failing[i].call, &has_failed);
        cr_expect(has_failed, "%s did not fail", failing[i].name);
        cr_expect(is_reason(text), "%s said: %s", failing[i].name, text);
        free(text);
    }
}

/* What would be said of a call that waits no longer than it was asked to, nobody wants to read. */
Test(reasons, what_is_not_there_yet_is_no_failure)
{
    bool has_failed;
    fcntl(f.channel->fd, F_SETFL, O_NONBLOCK);
    char *text = pair_said_by(get_cq_event, &has_failed);
    cr_expect(has_failed);
    cr_expect_eq(errno, EAGAIN);
    cr_expect_str_empty(text);
    free(text);
}

static bool is_listed(const char *name)
{
    if (strncmp(name, "ibv_cmd_", 8) == 0) /* all are made by one macro */
        name = "ibv_cmd_alloc_pd";
    for (size_t i = 0; i < array_len(failing); i++)
        if (strcmp(failing[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < array_len(never); i++)
        if (strcmp(never[i], name) == 0)
            return true;
    /* these, too: verbs/abi/private.c */
    return strcmp(name, "verbs_init_cq") == 0 || strcmp(name, "__ioctl_final_num_attrs") == 0 ||
           strcmp(name, "_verbs_init_and_alloc_context") == 0 ||
           strcmp(name, "ibv_read_ibdev_sysfs_file") == 0 || strncmp(name, "ibv_dmabuf_heap_", 16) == 0;
}

static unsigned look_up(const char *map)
{
    char line[256], name[128];
    unsigned count = 0;
    FILE *from = fopen(map, "re");
    cr_assert_not_null(from, "%s", map);
    while (fgets(line, sizeof line, from) && !strstr(line, "NORNIC_PRIVATE"))
        if (sscanf(line, " %127[a-zA-Z0-9_];", name) == 1 && strchr(line, ';')) {
            cr_expect(is_listed(name), "%s of %s is in no list", name, map);
            count++;
        }
    fclose(from);
    return count;
}

/* The tables of verbs/device/context.c, one entry a line. */
Test(reasons, every_entry_of_the_tables_is_listed)
{
    char line[256], name[128];
    unsigned count = 0;
    FILE *from = fopen("verbs/device/context.c", "re");
    cr_assert_not_null(from);
    while (fgets(line, sizeof line, from) && !strstr(line, "fill_tables")) {
        if (sscanf(line, "    .%127[a-z_] = ", name) != 1)
            continue;
        const char *entry = strncmp(name, "ibv_", 4) == 0 ? name + 4 : name;
        cr_expect(is_listed(entry), "%s is in no list", entry);
        count++;
    }
    fclose(from);
    cr_expect_gt(count, 30);
}

Test(reasons, every_exported_name_is_listed)
{
    cr_expect_gt(look_up("verbs/libibverbs.map"), 130);
    cr_expect_gt(look_up("verbs/cm/librdmacm.map"), 60);
}
