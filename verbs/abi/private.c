/* SPDX-License-Identifier: BSD-2-Clause */
/* The private names of libibverbs, by which rdma-core's providers call it. Programs link some providers for
 * their vendor's calls, and the loader binds all names of a provider when the program starts. A missing name
 * keeps the program from starting. No provider has a device here, so no call has to work. */
#include "verbs/abi/private.h"

#include <errno.h>
#include <stddef.h>

#include "verbs/verbs.h"

/* Calls that return an errno value. */
/* clang-format off */
#define REFUSED(F) \
    F(execute_ioctl) F(ibv_cmd_advise_mr) F(ibv_cmd_alloc_dm) F(ibv_cmd_alloc_dmah) \
    F(ibv_cmd_alloc_mw) F(ibv_cmd_alloc_pd) F(ibv_cmd_attach_mcast) F(ibv_cmd_close_xrcd) \
    F(ibv_cmd_create_ah) F(ibv_cmd_create_comp_cntr) F(ibv_cmd_create_counters) F(ibv_cmd_create_cq) \
    F(ibv_cmd_create_cq_ex) F(ibv_cmd_create_cq_ex2) F(ibv_cmd_create_flow) \
    F(ibv_cmd_create_flow_action_esp) F(ibv_cmd_create_qp) F(ibv_cmd_create_qp_ex) \
    F(ibv_cmd_create_qp_ex2) F(ibv_cmd_create_rwq_ind_table) F(ibv_cmd_create_srq) \
    F(ibv_cmd_create_srq_ex) F(ibv_cmd_create_wq) F(ibv_cmd_dealloc_mw) F(ibv_cmd_dealloc_pd) \
    F(ibv_cmd_dereg_mr) F(ibv_cmd_destroy_ah) F(ibv_cmd_destroy_comp_cntr) F(ibv_cmd_destroy_counters) \
    F(ibv_cmd_destroy_cq) F(ibv_cmd_destroy_flow) F(ibv_cmd_destroy_flow_action) F(ibv_cmd_destroy_qp) \
    F(ibv_cmd_destroy_rwq_ind_table) F(ibv_cmd_destroy_srq) F(ibv_cmd_destroy_wq) \
    F(ibv_cmd_detach_mcast) F(ibv_cmd_free_dm) F(ibv_cmd_free_dmah) F(ibv_cmd_get_context) \
    F(ibv_cmd_inc_comp_cntr) F(ibv_cmd_inc_err_comp_cntr) F(ibv_cmd_modify_cq) \
    F(ibv_cmd_modify_flow_action_esp) F(ibv_cmd_modify_qp) F(ibv_cmd_modify_qp_ex) \
    F(ibv_cmd_modify_srq) F(ibv_cmd_modify_wq) F(ibv_cmd_open_qp) F(ibv_cmd_open_xrcd) \
    F(ibv_cmd_poll_cq) F(ibv_cmd_post_recv) F(ibv_cmd_post_send) F(ibv_cmd_post_srq_recv) \
    F(ibv_cmd_qp_attach_comp_cntr) F(ibv_cmd_query_comp_cntr_caps) F(ibv_cmd_query_context) \
    F(ibv_cmd_query_device_any) F(ibv_cmd_query_mr) F(ibv_cmd_query_port) F(ibv_cmd_query_port_speed) \
    F(ibv_cmd_query_qp) F(ibv_cmd_query_srq) F(ibv_cmd_read_comp_cntr) F(ibv_cmd_read_counters) \
    F(ibv_cmd_read_err_comp_cntr) F(ibv_cmd_reg_dm_mr) F(ibv_cmd_reg_dmabuf_mr) F(ibv_cmd_reg_mr) \
    F(ibv_cmd_reg_mr_ex) F(ibv_cmd_req_notify_cq) F(ibv_cmd_rereg_mr) F(ibv_cmd_resize_cq) \
    F(ibv_cmd_set_comp_cntr) F(ibv_cmd_set_err_comp_cntr) F(verbs_init_cq)
/* clang-format on */

#define WHY(name) #name "() is for providers, of which there are none"

#define REFUSE(name)                                               \
    VERBS_PRIVATE(int refused_##name(void), refused_##name, name); \
    int refused_##name(void)                                       \
    {                                                              \
        return verbs_fail(EOPNOTSUPP, WHY(name));                  \
    }
REFUSED(REFUSE)

/* Calls that return a length or a descriptor, or -1 with errno. */
#define REFUSED_MINUS(F) F(ibv_cmd_export_dmabuf_fd) F(ibv_read_ibdev_sysfs_file)

#define REFUSE_MINUS(name)                                         \
    VERBS_PRIVATE(int refused_##name(void), refused_##name, name); \
    int refused_##name(void)                                       \
    {                                                              \
        verbs_fail(EOPNOTSUPP, WHY(name));                         \
        return -1;                                                 \
    }
REFUSED_MINUS(REFUSE_MINUS)

/* Calls that return a pointer, or NULL with errno. */
#define REFUSED_NULL(F)              \
    F(__ioctl_final_num_attrs)       \
    F(_verbs_init_and_alloc_context) \
    F(ibv_dmabuf_heap_alloc) F(ibv_dmabuf_heap_cc_shared_init) F(verbs_open_device)

#define REFUSE_NULL(name)                                            \
    VERBS_PRIVATE(void *refused_##name(void), refused_##name, name); \
    void *refused_##name(void)                                       \
    {                                                                \
        return verbs_fail_null(EOPNOTSUPP, WHY(name));               \
    }
REFUSED_NULL(REFUSE_NULL)

/* Calls without a result. */
#define IGNORED(F) F(ibv_dmabuf_heap_destroy) F(ibv_dmabuf_heap_free) F(verbs_set_ops) F(verbs_uninit_context)

#define IGNORE(name)                                                \
    VERBS_PRIVATE(void ignored_##name(void), ignored_##name, name); \
    void ignored_##name(void)                                       \
    {                                                               \
    }
IGNORED(IGNORE)

/* A provider's constructor registers its devices. The name ends in the number of its only node. */
#define REGISTER(node)                       \
    void verbs_register_driver_##node(void); \
    void verbs_register_driver_##node(void)  \
    {                                        \
    }
REGISTER(34)
REGISTER(57)
REGISTER(59)
REGISTER(64)
REGISTER(65)

VERBS_PRIVATE(void ignored_verbs_log(void *context, unsigned level, const char *format, ...),
              ignored_verbs_log, __verbs_log);
void ignored_verbs_log(void *context, unsigned level, const char *format, ...)
{
    (void)context;
    (void)level;
    (void)format;
}

/* A variable: whether a device may vanish under its objects. */
VERBS_PRIVATE(bool may_disassociate_destroy, may_disassociate_destroy, verbs_allow_disassociate_destroy);
bool may_disassociate_destroy;
