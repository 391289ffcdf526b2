/* SPDX-License-Identifier: BSD-2-Clause */
/* Contexts: opened, imported, closed; their tables of calls; their asynchronous events. */
#define _GNU_SOURCE /* memfd_create() */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/host.h"
#include "net/error.h"
#include "verbs/device/context_list.h"
#include "verbs/device/device.h"
#include "verbs/faults/faults.h"
#include "verbs/show/last_words.h"
#include "verbs/object.h"
#include "verbs/device/open.h"
#include "verbs/ops.h"
#include "verbs/show/show.h"
#include "verbs/show/socket.h"

#define FINISH_NS  (2 * NS_PER_S)
#define SEE_OFF_NS NS_PER_S /* of that */

/* --- the tables --- */

static const struct ibv_context_ops ops = {
    .alloc_mw = verbs_alloc_mw,
    .bind_mw = verbs_bind_mw,
    .dealloc_mw = verbs_dealloc_mw,
    .poll_cq = verbs_poll_cq,
    .req_notify_cq = verbs_req_notify_cq,
    .post_srq_recv = verbs_post_srq_recv,
    .post_send = verbs_post_send,
    .post_recv = verbs_post_recv,
};

/* What is NULL here the program is told to be EOPNOTSUPP. */
static const struct verbs_context extended = {
    .query_port = verbs_query_port,
    .advise_mr = verbs_advise_mr,
    .alloc_null_mr = verbs_alloc_null_mr,
    .reg_dm_mr = verbs_reg_dm_mr,
    .alloc_dm = verbs_alloc_dm,
    .free_dm = verbs_free_dm,
    .alloc_parent_domain = verbs_alloc_parent_domain,
    .dealloc_td = verbs_dealloc_td,
    .alloc_td = verbs_alloc_td,
    .modify_cq = verbs_modify_cq,
    .query_rt_values = verbs_query_rt_values,
    .create_cq_ex = verbs_create_cq_ex,
    .query_device_ex = verbs_query_device_ex,
    .open_qp = verbs_open_qp,
    .create_qp_ex = verbs_create_qp_ex,
    .get_srq_num = verbs_get_srq_num,
    .create_srq_ex = verbs_create_srq_ex,
    .open_xrcd = verbs_open_xrcd,
    .close_xrcd = verbs_close_xrcd,
    .ibv_create_flow = verbs_create_flow,
    .create_flow_action_esp = verbs_create_flow_action_esp,
    .create_counters = verbs_create_counters,
    .modify_qp_rate_limit = verbs_modify_qp_rate_limit,
    .post_srq_ops = verbs_post_srq_ops,
    .create_wq = verbs_create_wq,
    .create_rwq_ind_table = verbs_create_rwq_ind_table,
    .sz = sizeof(struct verbs_context),
};

static void fill_tables(struct verbs_context_own *own)
{
    own->abi = extended;
    own->abi.context.ops = ops;
    own->abi.context.device = &own->device->base;
    own->abi.context.num_comp_vectors = VERBS_COMP_VECTORS;
    own->abi.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    pthread_mutex_init(&own->abi.context.mutex, NULL);
}

/* --- life --- */

/* Events are waited for as the program wants it, which it says by O_NONBLOCK; nornic reads its descriptors
 * only where there is something to read. */
static int blocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? -errno : 0;
}

/* A file of its own: a descriptor that stands for it, also one that came over a socket, is known by it. */
static int make_cmd_fd(void)
{
    int fd = memfd_create("nornic-verbs", MFD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* What was raised while the device was opened, such as that it has addresses, came before the program. */
static void drop_events(struct nornic_dev *dev)
{
    struct nornic_event event;
    int err;
    while ((err = nornic_dev_get_event(dev, &event, 0)) == 0 || err == -ENOBUFS)
        if (!err)
            nornic_dev_ack_event(dev, &event);
}

static int open_parts(struct verbs_context_own *own, struct nornic_error *why)
{
    int err = verbs_faults_get(&own->faults, why);
    if (!err && (err = -verbs_fault_alloc(own->faults, VERBS_FAULT_OF_DEVICE)))
        net_error_set(why, -err, "by NORNIC_FAULTS");
    if (!err)
        err = verbs_open_engine(own->device, verbs_context_list_count(), &own->dev, why);
    if (err)
        return err;
    drop_events(own->dev);
    own->abi.context.async_fd = nornic_dev_event_fd(own->dev);
    own->abi.context.cmd_fd = make_cmd_fd();
    err = own->abi.context.cmd_fd < 0 ? own->abi.context.cmd_fd : blocking(own->abi.context.async_fd);
    if (err) {
        if (own->abi.context.cmd_fd >= 0)
            close(own->abi.context.cmd_fd);
        nornic_dev_close(own->dev, NULL);
    }
    return err;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
    struct nornic_error why = {"no descriptors are left"};
    struct verbs_context_own *own = verbs_object_new(VERBS_CONTEXT, sizeof *own);
    if (!own)
        return verbs_fail_null(ENOMEM, "no memory for a context");
    own->device = (struct verbs_device *)(void *)device;
    atomic_init(&own->users, 1);
    pthread_mutex_init(&own->lock, NULL);
    fill_tables(own);
    int err = open_parts(own, &why);
    if (err) {
        verbs_object_free(VERBS_CONTEXT, own);
        verbs_say(-err, "%s cannot be opened: %s", device->name, why.text);
        errno = -err;
        return NULL;
    }
    verbs_device_get(own->device);
    verbs_context_list_add(own);
    err = verbs_show_socket_open(verbs_show);
    if (err)
        verbs_tell("nornic stat cannot see this process: %s", strerror(-err));
    err = verbs_fault_port_follow(own);
    if (err)
        verbs_tell("the rules for the port are not followed: there is no thread (%s)", strerror(err));
    return &own->abi.context;
}

/* Queue pairs that the program left behind end with their context, as they would with its process. */
static void end_qps(struct verbs_context_own *own)
{
    const struct nornic_qp_attr to_err = {.state = NORNIC_QPS_ERR};
    struct verbs_qp *qp;
    pthread_mutex_lock(&own->lock);
    for (qp = LIST_FIRST(&own->qps); qp; qp = LIST_NEXT(qp, entry))
        (void)nornic_qp_modify(qp->nornic, &to_err, NORNIC_QP_STATE); /* one in RESET has nothing to end */
    pthread_mutex_unlock(&own->lock);
}

int ibv_close_device(struct ibv_context *context)
{
    struct verbs_context_own *own = verbs_own(context);
    struct nornic_error why;
    if (verbs_object_need(VERBS_CONTEXT, own))
        return EINVAL;
    if (own->is_inherited || !verbs_context_list_drop(own))
        return 0;
    verbs_show_socket_close();
    verbs_stat_tell(own);
    int err = nornic_dev_close(own->dev, &why);
    if (err == -EBUSY) {
        /* libibverbs closes all the same, and a program that leaves things behind relies on it. Their memory
         * stays, since it may still be named. */
        verbs_fail(EBUSY, "closed with things left: %s", why.text);
        end_qps(own);
        (void)nornic_dev_flush_capture(own->dev);
        return 0;
    }
    if (err)
        return verbs_fail(-err, "%s", why.text);
    close(context->cmd_fd);
    verbs_device_put(own->device);
    pthread_mutex_destroy(&context->mutex);
    pthread_mutex_destroy(&own->lock);
    verbs_object_free(VERBS_CONTEXT, own);
    return 0;
}

struct ibv_context *ibv_import_device(int cmd_fd)
{
    struct verbs_context_own *own = verbs_context_list_find(cmd_fd);
    if (!own)
        return verbs_fail_null(EINVAL, "descriptor %d is of no context of this process", cmd_fd);
    return &own->abi.context;
}

/* Programs end without closing what they opened, and right after they posted, or after a completion whose
 * acknowledgement is still in the round that made it. */
static void finish_one(struct verbs_context_own *own, const void *arg)
{
    (void)arg;
    verbs_settle(own);
    host_dev_see_off(host_dev_of(own->dev), SEE_OFF_NS);
    verbs_stat_tell(own);
    (void)nornic_dev_flush_capture(own->dev); /* whom could it be told? */
}

static void *finish_all(void *unused)
{
    (void)unused;
    verbs_context_list_each(finish_one, NULL);
    return NULL;
}

static void __attribute__((destructor)) finish(void)
{
    if (verbs_context_list_is_any())
        verbs_last_words(finish_all, FINISH_NS);
}

/* --- fork: a child opens contexts of its own, and no page is ever pinned --- */

int ibv_fork_init(void)
{
    return 0;
}

enum ibv_fork_status ibv_is_fork_initialized(void)
{
    return IBV_FORK_UNNEEDED;
}

int ibv_dontfork_range(void *base, size_t size);
int ibv_dofork_range(void *base, size_t size);

int ibv_dontfork_range(void *base, size_t size)
{
    (void)base;
    (void)size;
    return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
    (void)base;
    (void)size;
    return 0;
}
