/* SPDX-License-Identifier: BSD-2-Clause */
/* The devices of all ids, each with its connection manager and the thread that takes its events. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "verbs/cm/cma.h"

static struct {
    pthread_once_t once;
    struct cma_device list[CMA_DEVICES_MAX];
    unsigned count;
    int err;        /* why there is none */
    unsigned forks; /* cma_forks() of the process that has opened them: a child opens its own */
} devices = {.once = PTHREAD_ONCE_INIT};

/* --- events --- */

static void refuse(struct nornic_cm_event *event)
{
    struct nornic_cm_id *id = event->type == NORNIC_CM_EVENT_CONNECT_REQUEST ? event->id : NULL;
    nornic_cm_ack_event(event);
    if (id)
        nornic_cm_id_destroy(id);
}

static void take(const struct cma_device *device, struct nornic_cm_event *taken)
{
    struct cma_event *event = calloc(1, sizeof *event);
    bool is_request = taken->type == NORNIC_CM_EVENT_CONNECT_REQUEST;
    struct cma_id *listener = is_request ? nornic_cm_id_ctx(taken->listen_id) : NULL;
    struct cma_id *id = NULL;
    if (event)
        id = is_request ? cma_id_of_request(device, listener, taken->id) : nornic_cm_id_ctx(taken->id);
    if (!id) { /* no memory: as if it had been lost on the way */
        free(event);
        refuse(taken);
        return;
    }
    event->id = id;
    event->listener = listener;
    event->nornic = taken;
    if (cma_deliver(event))
        return;
    nornic_cm_ack_event(taken);
    free(event);
    if (is_request)
        rdma_destroy_id(&id->base);
}

static void *take_events(void *arg)
{
    const struct cma_device *device = arg;
    struct nornic_cm_event *event;
    for (;;) {
        int err = nornic_cm_get_event(device->cm, &event, UINT64_MAX);
        if (!err)
            take(device, event);
        else
            usleep(1000); /* without memory: it waits */
    }
    return NULL;
}

static int start_thread(struct cma_device *device)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's threads */
    int err = pthread_create(&thread, NULL, take_events, device);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!err)
        pthread_detach(thread);
    return err;
}

/* --- opening --- */

static int open_one(struct ibv_device *from, struct cma_device *device)
{
    struct nornic_error why;
    device->verbs = ibv_open_device(from);
    if (!device->verbs)
        return errno;
    device->nornic = verbs_own(device->verbs)->dev;
    int err = -nornic_cm_open(device->nornic, NULL, &device->cm, &why);
    if (err)
        verbs_fail(err, "%s: %s", from->name, why.text);
    device->pd = err ? NULL : ibv_alloc_pd(device->verbs);
    if (!err && !device->pd)
        err = errno;
    if (!err)
        err = start_thread(device);
    if (!err)
        return 0;
    if (device->pd)
        ibv_dealloc_pd(device->pd);
    if (device->cm)
        nornic_cm_close(device->cm);
    ibv_close_device(device->verbs);
    return err;
}

static void open_all(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    devices.err = list ? ENODEV : errno;
    for (struct ibv_device **one = list; one && *one && devices.count < CMA_DEVICES_MAX; one++) {
        devices.list[devices.count] = (struct cma_device){0};
        int err = open_one(*one, &devices.list[devices.count]);
        if (err)
            devices.err = err;
        else
            devices.count++;
    }
    if (list)
        ibv_free_device_list(list);
}

unsigned cma_devices(const struct cma_device **out)
{
    cma_lock();
    if (devices.forks != cma_forks()) {
        devices.once = (pthread_once_t)PTHREAD_ONCE_INIT;
        devices.count = 0;
        devices.forks = cma_forks();
    }
    cma_unlock();
    pthread_once(&devices.once, open_all);
    *out = devices.list;
    if (!devices.count)
        verbs_fail(devices.err, "no device can be opened");
    return devices.count;
}

const struct cma_device *cma_device_of(const struct nornic_addr *addr, unsigned ifindex)
{
    const struct cma_device *list;
    unsigned count = cma_devices(&list);
    for (unsigned d = 0; d < count; d++)
        if (cma_find_addr(&list[d], addr, ifindex) >= 0)
            return &list[d];
    return NULL;
}

bool cma_device_is_on(const struct cma_device *device, unsigned ifindex, struct nornic_addr *own)
{
    struct nornic_addr addr;
    bool is_on = false;
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++) {
        if (nornic_dev_query_addr(device->nornic, i, &addr) != 0 ||
            nornic_dev_query_ifindex(device->nornic, i) != ifindex)
            continue;
        is_on = true;
        if (nornic_addr_is_link_local(&addr) && !nornic_addr_is_v4(&addr)) {
            *own = addr;
            break;
        }
    }
    return is_on;
}

const struct cma_device *cma_device_on(unsigned ifindex, struct nornic_addr *own)
{
    const struct cma_device *list;
    unsigned count = cma_devices(&list);
    for (unsigned d = 0; d < count; d++)
        if (cma_device_is_on(&list[d], ifindex, own))
            return &list[d];
    return NULL;
}

struct ibv_xrcd *cma_xrcd(const struct cma_device *device)
{
    struct cma_device *own = &devices.list[device - devices.list];
    struct ibv_xrcd_init_attr init = {
        .comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
    cma_lock();
    if (!own->xrcd)
        own->xrcd = ibv_open_xrcd(own->verbs, &init);
    struct ibv_xrcd *xrcd = own->xrcd;
    cma_unlock();
    return xrcd;
}

/* XRC is in one port space alone, as with a kernel. */
int cma_make(struct cma_id *id, const struct cma_device *device, struct nornic_cm_id **out)
{
    enum ibv_qp_type type = id->base.qp_type;
    bool is_xrc = type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV;
    int err = -nornic_cm_id_create(device->cm, (enum nornic_port_space)id->base.ps, id, out);
    if (err || !is_xrc)
        return err;
    err = -nornic_cm_id_set_qp_type(*out, (enum nornic_qp_type)type);
    if (err)
        nornic_cm_id_destroy(*out);
    return err;
}

int cma_need_nornic(struct cma_id *id)
{
    if (id->nornic)
        return 0;
    if (!id->device)
        return EINVAL;
    struct nornic_cm_id **resting = &id->resting[id->device - devices.list];
    if (!*resting)
        return cma_make(id, id->device, &id->nornic);
    id->nornic = *resting;
    *resting = NULL;
    return 0;
}

void cma_rest(struct cma_id *id)
{
    if (id->nornic)
        id->resting[id->device - devices.list] = id->nornic;
    id->nornic = NULL;
}

struct ibv_context **rdma_get_devices(int *num_devices)
{
    const struct cma_device *list;
    unsigned count = cma_devices(&list);
    struct ibv_context **out = count ? calloc(count + 1, sizeof(struct ibv_context *)) : NULL;
    if (num_devices)
        *num_devices = out ? (int)count : 0;
    for (unsigned i = 0; out && i < count; i++)
        out[i] = list[i].verbs;
    if (count && !out)
        return verbs_fail_null(ENOMEM, "no memory for the list of devices");
    return out;
}

void rdma_free_devices(struct ibv_context **list)
{
    free(list);
}
