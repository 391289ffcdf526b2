/* SPDX-License-Identifier: BSD-2-Clause */
/* The private node of libibverbs, by which its providers reach into it. Providers are linked by programs for
 * their vendor's calls, and their names are bound when a program starts, so each has to be there; none of
 * them has a device here, so nothing has to work. */
#include <errno.h>
#include <stddef.h>

#include "verbs/verbs.h"

/* Calls by which a provider would send a command to the kernel, and others that say EOPNOTSUPP. */
/* clang-format off */
#define REFUSED(F) \
    F(execute_ioctl) F(ibv_read_ibdev_sysfs_file) F(ibv_cmd_advise_mr) F(ibv_cmd_alloc_dm) \
    F(ibv_cmd_alloc_mw) F(ibv_cmd_alloc_pd) F(ibv_cmd_attach_mcast) F(ibv_cmd_close_xrcd) \
    F(ibv_cmd_create_ah) F(ibv_cmd_create_counters) F(ibv_cmd_create_cq) F(ibv_cmd_create_cq_ex) \
    F(ibv_cmd_create_flow) F(ibv_cmd_create_flow_action_esp) F(ibv_cmd_create_qp) \
    F(ibv_cmd_create_qp_ex) F(ibv_cmd_create_qp_ex2) F(ibv_cmd_create_rwq_ind_table) \
    F(ibv_cmd_create_srq) F(ibv_cmd_create_srq_ex) F(ibv_cmd_create_wq) F(ibv_cmd_dealloc_mw) \
    F(ibv_cmd_dealloc_pd) F(ibv_cmd_dereg_mr) F(ibv_cmd_destroy_ah) F(ibv_cmd_destroy_counters) \
    F(ibv_cmd_destroy_cq) F(ibv_cmd_destroy_flow) F(ibv_cmd_destroy_flow_action) \
    F(ibv_cmd_destroy_qp) F(ibv_cmd_destroy_rwq_ind_table) F(ibv_cmd_destroy_srq) \
    F(ibv_cmd_destroy_wq) F(ibv_cmd_detach_mcast) F(ibv_cmd_free_dm) F(ibv_cmd_get_context) \
    F(ibv_cmd_modify_cq) F(ibv_cmd_modify_flow_action_esp) F(ibv_cmd_modify_qp) \
    F(ibv_cmd_modify_qp_ex) F(ibv_cmd_modify_srq) F(ibv_cmd_modify_wq) F(ibv_cmd_open_qp) \
    F(ibv_cmd_open_xrcd) F(ibv_cmd_poll_cq) F(ibv_cmd_post_recv) F(ibv_cmd_post_send) \
    F(ibv_cmd_post_srq_recv) F(ibv_cmd_query_context) F(ibv_cmd_query_device_any) \
    F(ibv_cmd_query_mr) F(ibv_cmd_query_port) F(ibv_cmd_query_qp) F(ibv_cmd_query_srq) \
    F(ibv_cmd_read_counters) F(ibv_cmd_reg_dm_mr) F(ibv_cmd_reg_dmabuf_mr) F(ibv_cmd_reg_mr) \
    F(ibv_cmd_req_notify_cq) F(ibv_cmd_rereg_mr) F(ibv_cmd_resize_cq) F(verbs_init_cq)
/* clang-format on */

#define REFUSE(name)                                                                         \
    int name(void);                                                                          \
    int name(void)                                                                           \
    {                                                                                        \
        return verbs_fail(EOPNOTSUPP, #name "() is for providers, of which there are none"); \
    }
REFUSED(REFUSE)

/* And those that would return a pointer. */
#define REFUSED_NULL(F) F(__ioctl_final_num_attrs) F(_verbs_init_and_alloc_context) F(verbs_open_device)

#define REFUSE_NULL(name)                                                                         \
    void *name(void);                                                                             \
    void *name(void)                                                                              \
    {                                                                                             \
        return verbs_fail_null(EOPNOTSUPP, #name "() is for providers, of which there are none"); \
    }
REFUSED_NULL(REFUSE_NULL)

/* Those that return nothing, as there is nothing to be done. verbs_register_driver_34() is called by the
 * constructors of vendors' libraries. */
#define IGNORED(F) F(verbs_register_driver_34) F(verbs_set_ops) F(verbs_uninit_context)

#define IGNORE(name) \
    void name(void); \
    void name(void)  \
    {                \
    }
IGNORED(IGNORE)

void __verbs_log(void *context, unsigned level, const char *format, ...);
void __verbs_log(void *context, unsigned level, const char *format, ...)
{
    (void)context;
    (void)level;
    (void)format;
}

/* A variable: whether a device may vanish under its objects. */
extern bool verbs_allow_disassociate_destroy;
bool verbs_allow_disassociate_destroy;
