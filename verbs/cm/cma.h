/* SPDX-License-Identifier: BSD-2-Clause */
/* librdmacm.so.1 for programs that know nothing of nornic: over nornic/cm.h and libibverbs.so.1 beside it.
 *
 * nornic has one connection manager for each device, with a queue of events; a program has event channels
 * of its own, each with ids on any device. So each device has a thread that takes its events and puts them
 * into the channels of their ids (verbs/cm/device.c). One lock guards channels, queues and lists of ids:
 * nothing of it is on the path of data. Internal to verbs/cm/. */
#ifndef NORNIC_VERBS_CM_CMA_H
#define NORNIC_VERBS_CM_CMA_H

#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include "verbs/verbs.h"

#define CMA_DEVICES_MAX 16
#define CMA_BACKLOG     1024 /* of programs that name none */
#define CMA_RESOLVE_MS  2000 /* of synchronous endpoints */
/* The time to ask again while there is no listener. A program may tell its peer to connect before it listens
 * (perftest -R does, whose client then reads memory that it has freed); over an adapter the peer takes
 * longer. */
#define CMA_PATIENCE_NS (NS_PER_S / 5)

/* A device, opened by this library for all ids: rdma_get_devices() lists them. It stays until the process
 * ends. */
struct cma_device {
    struct ibv_context *verbs;
    struct nornic_dev *nornic;
    struct nornic_cm *cm;
    struct ibv_pd *pd;     /* for ids of programs that bring none */
    struct ibv_xrcd *xrcd; /* the same; NULL before it is wanted: cma_xrcd() */
};

struct cma_event;
TAILQ_HEAD(cma_queue, cma_event);

/* Under the lock. The memory stays while the program or an id uses it. A call that waits looks anew whether
 * it is there: kernels let a program destroy a channel while one of its threads is there (rping does). */
struct cma_channel {
    struct rdma_event_channel base; /* an eventfd, readable while events wait; -1: it is destroyed */
    struct cma_queue events;
    unsigned users;
    unsigned forks; /* cma_forks() of the process whose events and descriptor these are */
};

/* A group that an id has joined, or asked to. */
struct cma_group {
    struct nornic_addr addr;
    void *context;
    bool is_attached;  /* the id's queue pair */
    bool is_send_only; /* it is never attached */
    LIST_ENTRY(cma_group) entry;
};

enum cma_option {
    CMA_ONE_FAMILY = 1, /* RDMA_OPTION_ID_AFONLY */
};

/* The completion queues that the library made for an id, and destroys. */
struct cma_made {
    bool has_cqs, has_srq_cq;
};

/* The options of the connection that an id will make: rdma_set_option(). */
struct cma_wishes {
    bool has_tos, has_ack_timeout;
    uint8_t tos, ack_timeout;
};

struct cma_id {
    struct rdma_cm_id base;
    const struct cma_device *device;                 /* NULL: not bound to one */
    const struct cma_device *bound_device;           /* the one of rdma_bind_addr(); NULL: none */
    struct nornic_cm_id *nornic;                     /* the CM's id; NULL before there is a device */
    struct nornic_cm_id *resting[CMA_DEVICES_MAX];   /* of devices that resolving has tried before */
    struct nornic_cm_id *listeners[CMA_DEVICES_MAX]; /* of one that listens */
    unsigned num_listeners;
    unsigned forks; /* cma_forks() when it got its device, or began to listen */
    bool is_sync;   /* calls wait for their event; the channel is the id's own */
    bool is_gone;   /* being destroyed: whatever comes is dropped */
    struct cma_made made;
    struct cma_wishes wishes;
    uint8_t options; /* enum cma_option */
    /* Under the lock, of a request that the program has not taken: its listener. Such an id has no channel,
     * and its events wait in the listener's. NULL: the program has it. */
    struct cma_id *waits_for;
    /* Its own address; under the lock: verbs/cm/ports.c. */
    struct nornic_addr bound_addr;
    uint16_t bound_port;           /* that it listens to or connects from; 0: it is not bound */
    enum rdma_port_space bound_ps; /* of the port: `base` may be written while other threads look */
    bool shares_port;              /* with others that do */
    LIST_ENTRY(cma_id) of_bound;
    struct ibv_qp_init_attr *ep_attr; /* rdma_create_ep(), passive: for the queue pairs of requests */
    struct ibv_sa_path_rec path;      /* route.path_rec points to it */
    const void *ep_data;              /* rdma_create_ep(), active: private data to connect with, malloc()ed */
    uint8_t ep_data_bytes;
    LIST_HEAD(cma_group_list, cma_group) groups;
    bool has_met; /* a peer, which is to hear of the end; under the lock */
    LIST_ENTRY(cma_id) of_met;
};

/* One that waits in a channel or is the program's. */
struct cma_event {
    struct rdma_cm_event base;
    struct cma_id *id;       /* the one that it is about; of a request the new one */
    struct cma_id *listener; /* of a request */
    struct nornic_cm_event *nornic;
    TAILQ_ENTRY(cma_event) entry;
};

static inline struct cma_id *cma_id_of(struct rdma_cm_id *id)
{
    return (struct cma_id *)(void *)id;
}

/* Sets errno, tells why if that is wanted, and is -1: `return cma_fail(EINVAL, "...");` */
#define cma_fail(...) (verbs_fail(__VA_ARGS__), -1)

/* --- verbs/cm/device.c --- */

/* Opens all devices, once. How many there are, with *out at the first; 0: none, with errno. */
unsigned cma_devices(const struct cma_device **out);

/* The device that has an address, by whatever GID; on the interface `ifindex`, or with 0 on any. NULL:
 * none. */
const struct cma_device *cma_device_of(const struct nornic_addr *addr, unsigned ifindex);
/* Finds the device with an address on an interface; `own` is its link-local one there, if it has any.
 * NULL: none. */
const struct cma_device *cma_device_on(unsigned ifindex, struct nornic_addr *own);
/* Whether a device has an address on an interface; as above. */
bool cma_device_is_on(const struct cma_device *device, unsigned ifindex, struct nornic_addr *own);

/* Returns the XRC domain of a device for ids of programs that bring none. NULL: no memory, with errno. */
struct ibv_xrcd *cma_xrcd(const struct cma_device *device);

/* A connection manager's id of a device for `id`, of its port space and type. 0 or an errno value. */
int cma_make(struct cma_id *id, const struct cma_device *device, struct nornic_cm_id **out);
/* Makes `id->nornic`, if there is none, on the device of the id. 0, EINVAL (it is bound to no device) or
 * another errno value. */
int cma_need_nornic(struct cma_id *id);
/* Puts `id->nornic` aside, which has begun nothing, for when its device is tried again. */
void cma_rest(struct cma_id *id);

/* --- verbs/cm/lock.c --- */

/* The lock of all channels, queues and ids. It is the first to be taken: before those of contexts, devices
 * and objects. */
void cma_lock(void);
void cma_unlock(void);

/* How many forks lie between the first process that used this library and this one. */
unsigned cma_forks(void);
/* Returns whether the connection manager's ids of `id` belong to a parent of this process. Only the parent
 * sends with their sockets. Calls that release something of the id then do nothing and return 0. */
bool cma_is_inherited(const struct cma_id *id);
/* For calls that begin something. 0; or -1 with EINVAL: it is inherited. */
int cma_need_own(const struct cma_id *id);

/* --- verbs/cm/channel.c --- */

/* An id of it comes: 0; or EINVAL, told in words: it is none, or destroyed. And goes: with the last one a
 * channel that the program has destroyed is freed. Both under the lock. */
int cma_channel_get(struct rdma_event_channel *channel);
void cma_channel_put(struct rdma_event_channel *channel);

/* Puts an event into its id's channel. False: that id is going, and the event is the caller's to drop. */
bool cma_deliver(struct cma_event *event);

/* Takes those of `id` out of its channel: into `out`. Under the lock. */
void cma_pull(struct cma_id *id, struct cma_queue *out);

/* Puts them into another. Under the lock. */
void cma_put(struct cma_channel *channel, struct cma_queue *events);

/* Synchronous: waits for the next event of the id, which becomes id->event. 0; or -1 with errno, also if
 * the event is a failure. Otherwise: 0 at once. */
int cma_complete(struct cma_id *id);

/* --- verbs/cm/goodbye.c --- */

/* From here on the id's peer hears of it if this process ends by exit(); until cma_part(), which comes
 * before id->nornic goes. Comes before the call that asks the peer: another thread may take the answer, and
 * destroy the id, before that call returns. False: it was so already. Both take the lock. */
bool cma_meet(struct cma_id *id);
void cma_part(struct cma_id *id);

/* --- verbs/cm/ports.c --- */

/* Binds an id that is not bound to a port of an address; *port 0: one is drawn, and written there. 0,
 * EADDRINUSE, EADDRNOTAVAIL (somebody is bound to the port at all addresses, or this is for all and somebody
 * has it at one), or an errno value of drawing. All take the lock. */
int cma_port_take(struct cma_id *id, const struct nornic_addr *addr, uint16_t *port);
/* Whether the id shares its port with others that do: RDMA_OPTION_ID_REUSEADDR. 0; or EINVAL: it listens, or
 * is bound and would share no longer. */
int cma_port_share(struct cma_id *id, bool shares);
/* Shares it no longer: to listen. 0, also of one that is not bound; or EADDRINUSE or EADDRNOTAVAIL: others
 * have it, too. */
int cma_port_own(struct cma_id *id);
/* Releases the port of an id; an id that is not bound has none. */
void cma_port_give_back(struct cma_id *id);

/* --- verbs/cm/id.c --- */

/* An id without device. NULL with errno. */
struct cma_id *cma_id_new(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
                          enum ibv_qp_type qp_type);

/* The id of a request that came to `listener`, and that its program has not taken yet. NULL: no memory. */
struct cma_id *cma_id_of_request(const struct cma_device *device, struct cma_id *listener,
                                 struct nornic_cm_id *nornic);
/* Whether `id->nornic` is there and has begun something: resolving an address at least. Resolving that has
 * failed leaves an id that has begun nothing. */
bool cma_is_in_use(const struct cma_id *id);
/* Its device from now on. */
void cma_id_bind(struct cma_id *id, const struct cma_device *device);

/* --- verbs/cm/ends.c --- */

/* The interface that a sockaddr names by its scope id; 0: none, or its address is not link-local. */
unsigned cma_scope_of(const struct sockaddr *addr);
/* The address and port of a sockaddr. False: neither IPv4 nor IPv6, or NULL. */
bool cma_addr_of(const struct sockaddr *from, struct nornic_addr *addr, uint16_t *port);
/* The way back, into at least a sockaddr_in6. */
void cma_sockaddr_of(const struct nornic_addr *addr, uint16_t port, struct sockaddr *out);
socklen_t cma_sockaddr_bytes(const struct sockaddr *addr);
/* Changes its port. Whatever is not IPv6 is IPv4. */
void cma_sockaddr_set_port(struct sockaddr *addr, uint16_t port);
/* Finds an address of a device, on the interface `ifindex` or with 0 on any: its index, or -1. */
int cma_find_addr(const struct cma_device *device, const struct nornic_addr *addr, unsigned ifindex);
/* 0.0.0.0 or :: */
bool cma_is_any(const struct nornic_addr *addr);
/* Writes the id's ends into its route. */
void cma_show_ends(struct cma_id *id);
/* And its path. */
void cma_show_path(struct cma_id *id);

#endif
