/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "net/share_hand.h"
#include "net/share_inner.h"
#include "net/share_lend.h"
#include "net/udp_socket.h"

#define LOCK_WAIT_NS  (5 * NS_PER_S)
#define SAY_WAIT_NS   (100 * NS_PER_MS)
#define SLOT_TRIES    32 /* where names are left that only another user may remove */
#define LOCK_AGAIN_NS NS_PER_MS

/* --- opening and closing --- */

static void name_program(struct net_share_record *record)
{
    FILE *comm = fopen("/proc/self/comm", "re");
    if (!comm || !fgets(record->name, sizeof record->name, comm))
        record->name[0] = '\0';
    record->name[strcspn(record->name, "\n")] = '\0';
    if (comm)
        fclose(comm);
}

/* Under the table's lock. Slot 0 is only for who asks for low numbers: with it comes the 1. */
static int lease(struct net_share *share, uint32_t first_qpn)
{
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random ||
        getrandom(&share->nonce, sizeof share->nonce, 0) != sizeof share->nonce)
        return -EIO;
    if (first_qpn) {
        share->slot = first_qpn >> NET_SHARE_SLOT_BITS;
        return share->slot < NET_SHARE_SLOTS ? net_share_table_lease(&share->table, share->slot) : -EINVAL;
    }
    int err = -EAGAIN;
    for (unsigned i = 0; i < NET_SHARE_SLOTS - 1 && err == -EAGAIN; i++) {
        share->slot = 1 + (unsigned)((random + i) % (NET_SHARE_SLOTS - 1));
        err = net_share_table_lease(&share->table, share->slot);
    }
    return err;
}

static int watch(const struct net_share *share)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (fd < 0 || inotify_add_watch(fd, share->table.path, IN_MODIFY | IN_CLOSE_WRITE) >= 0)
        return fd;
    close(fd);
    return -1;
}

/* Under the table's lock. */
static int take_slot(struct net_share *share, uint32_t first_qpn)
{
    struct timespec now;
    int err = lease(share, first_qpn);
    if (err)
        return err;
    share->own.pid = (uint32_t)getpid();
    share->own.uid = geteuid();
    clock_gettime(CLOCK_BOOTTIME, &now);
    share->own.opened_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    name_program(&share->own);
    net_share_say(share);
    if (share->is_unsaid)
        return -EIO;
    /* Behind the record, so that a name that a killed process leaves is found. */
    share->hand_fd = net_share_hand_open(&share->table, &share->dir, share->slot);
    if (share->hand_fd < 0)
        return share->hand_fd;
    share->news_fd = watch(share); /* without it packets that go astray are the news */
    return 0;
}

static int explain(const struct net_share *share, int err, uint32_t first_qpn, struct nornic_error *why)
{
    if (err == -EAGAIN && first_qpn)
        return net_error_set(
            why, EADDRINUSE,
            "another process of this machine has the queue pair numbers from %u on: leave the "
            "choice to nornic, or take others",
            first_qpn & ~((1u << NET_SHARE_SLOT_BITS) - 1));
    return net_error_set(why, -err, "processes cannot share addresses by %s: %s", share->table.path,
                         err == -EAGAIN ? "it is full, or kept locked" : strerror(-err));
}

static void free_share(struct net_share *share)
{
    free(share->view.records);
    free(share);
}

int net_share_open(uint32_t first_qpn, struct net_share **out, struct nornic_error *why)
{
    struct net_share *share = calloc(1, sizeof *share);
    if (share)
        share->view.records = calloc(NET_SHARE_SLOTS, sizeof *share->view.records);
    if (!share || !share->view.records) {
        free(share);
        return net_error_set(why, ENOMEM, "no memory to share an address");
    }
    share->hand_fd = share->news_fd = -1;
    share->trial_at_ns = NET_TIME_NONE;
    int err = net_share_dir_find(&share->dir, why);
    if (err) {
        free_share(share);
        return err;
    }
    err = net_share_table_open(&share->dir, &share->table);
    if (err) {
        explain(share, err, 0, why);
        free_share(share);
        return err;
    }
    err = take_slot(share, first_qpn);
    for (unsigned tries = 0; tries < SLOT_TRIES && err == -EADDRINUSE && !first_qpn; tries++) {
        net_share_table_write(&share->table, share->slot, NULL);
        net_share_table_release(&share->table, share->slot);
        err = take_slot(share, 0);
    }
    if (!err) {
        net_share_table_unlock(&share->table);
        *out = share;
        return 0;
    }
    err = explain(share, err, first_qpn, why);
    if (share->hand_fd >= 0)
        close(share->hand_fd);
    if (share->news_fd >= 0)
        close(share->news_fd);
    net_share_table_close(&share->table);
    free_share(share);
    return err;
}

void net_share_close(struct net_share *share)
{
    bool is_locked = net_share_table_lock(&share->table, LOCK_WAIT_NS) == 0;
    for (uint32_t i = 0; i < share->own.place_count; i++)
        close(share->sites[i].fd);
    net_share_hand_remove(&share->table, share->slot);
    close(share->hand_fd);
    if (share->news_fd >= 0)
        close(share->news_fd);
    if (is_locked) {
        net_share_table_write(&share->table, share->slot, NULL);
        net_share_bury(share);
        net_share_refresh(share);
        if (share->view.count == 1) /* ourselves */
            net_share_table_remove(&share->table);
    }
    net_share_table_close(&share->table); /* with the lock and the lease */
    free_share(share);
}

uint32_t net_share_first_qpn(const struct net_share *share)
{
    return share->slot << NET_SHARE_SLOT_BITS;
}

uint8_t net_share_id_prefix(const struct net_share *share)
{
    return (uint8_t)share->slot;
}

/* --- addresses --- */

/* The first in a group binds alone, so that who does not share is found, and who meets elsewhere. Of another
 * user's group a socket is borrowed, without the lock, which whoever lends it may want. */
static int open_socket(struct net_share *share, const struct nornic_addr *addr, unsigned ifindex,
                       uint32_t scope, struct nornic_error *why)
{
    unsigned others = net_share_count_at(&share->view, addr, scope);
    int fd = net_udp_socket_open(addr, ifindex, others ? NET_UDP_BESIDE_OTHERS : NET_UDP_FIRST_OF_MANY, why);
    if (fd != -EADDRINUSE || !others || !share->dir.is_system)
        return fd;
    net_share_table_unlock(&share->table);
    fd = net_share_borrow(share, addr, scope);
    int err = net_share_table_lock(&share->table, LOCK_WAIT_NS);
    if (err && fd >= 0)
        close(fd);
    if (!err)
        net_share_refresh(share);
    return err ? err : fd;
}

int net_share_join(struct net_share *share, const struct nornic_addr *addr, unsigned ifindex,
                   struct nornic_error *why)
{
    uint32_t i = share->own.place_count, scope = nornic_addr_is_link_local(addr) ? ifindex : 0;
    if (i == NET_SHARE_PLACES_MAX)
        return net_error_set(why, ENOSPC, "a port shares %u addresses at the most", NET_SHARE_PLACES_MAX);
    int err = net_share_table_lock(&share->table, LOCK_WAIT_NS);
    if (err)
        return net_error_set(why, -err, "another process keeps %s locked", share->table.path);
    net_share_refresh(share);
    int fd = open_socket(share, addr, ifindex, scope, why);
    if (fd >= 0) {
        net_share_table_keep(&share->table, fd);
        share->own.places[i] = (struct net_share_place){
            .addr = *addr, .scope = scope, .index = net_share_count_at(&share->view, addr, scope)};
        share->sites[i] = (struct net_share_site){.fd = fd, .ifindex = ifindex, .is_sure = true};
        share->own.place_count++;
        net_share_say(share);
    }
    net_share_table_unlock(&share->table);
    return fd;
}

void net_share_leave(struct net_share *share, int fd)
{
    uint32_t i = 0;
    while (i < share->own.place_count && share->sites[i].fd != fd)
        i++;
    if (i == share->own.place_count)
        return;
    bool is_locked = net_share_table_lock(&share->table, LOCK_WAIT_NS) == 0;
    uint32_t last = --share->own.place_count;
    share->own.places[i] = share->own.places[last];
    share->sites[i] = share->sites[last];
    close(fd);
    if (is_locked) {
        net_share_say(share);
        net_share_table_unlock(&share->table);
    } else {
        net_share_say_soon(share);
    }
}

/* --- services --- */

/* What another process may rely on as soon as the call returns, unless the table is locked for long. */
static void say_now(struct net_share *share)
{
    net_share_say_soon(share);
    if (net_share_table_lock(&share->table, SAY_WAIT_NS) != 0)
        return;
    net_share_say(share);
    net_share_table_unlock(&share->table);
}

/* At an address of ours. */
static bool is_served(struct net_share *share, uint64_t service_id)
{
    for (uint32_t i = 0; i < share->own.place_count; i++) {
        const struct net_share_place *place = &share->own.places[i];
        unsigned slot = net_share_server_at(&share->view, &place->addr, place->scope, service_id);
        if (slot != NET_SHARE_NOBODY && slot != share->slot)
            return true;
    }
    return false;
}

bool net_share_is_served(struct net_share *share, uint64_t service_id)
{
    if (net_share_refresh(share))
        net_share_say_soon(share);
    return is_served(share, service_id);
}

int net_share_serve(struct net_share *share, uint64_t service_id)
{
    if (share->own.service_count == NET_SHARE_SERVICES_MAX)
        return -ENOSPC;
    int err = net_share_table_lock(&share->table, LOCK_WAIT_NS);
    if (err)
        return err;
    net_share_refresh(share);
    if (is_served(share, service_id)) {
        err = -EADDRINUSE;
    } else {
        share->own.services[share->own.service_count++] = service_id;
        net_share_say(share);
    }
    net_share_table_unlock(&share->table);
    return err;
}

void net_share_unserve(struct net_share *share, uint64_t service_id)
{
    for (uint32_t i = 0; i < share->own.service_count; i++) {
        if (share->own.services[i] != service_id)
            continue;
        share->own.services[i] = share->own.services[--share->own.service_count];
        say_now(share);
        return;
    }
}

void net_share_set_qp1(struct net_share *share, bool has_qp1)
{
    if (share->own.has_qp1 == has_qp1)
        return;
    share->own.has_qp1 = has_qp1;
    net_share_say_soon(share);
}

/* --- rounds --- */

bool net_share_is_alone(const struct net_share *share)
{
    return share->view.count == 1;
}

unsigned net_share_fds(const struct net_share *share, int fds[NET_SHARE_FDS])
{
    fds[0] = share->hand_fd;
    fds[1] = share->news_fd;
    return share->news_fd >= 0 ? 2 : 1;
}

uint64_t net_share_deadline_ns(const struct net_share *share)
{
    return min_u64(share->trial_at_ns, share->is_unsaid ? share->say_at_ns : NET_TIME_NONE);
}

/* Whether there was any. */
static bool drain_news(const struct net_share *share)
{
    char events[4096];
    bool is_any = false;
    while (share->news_fd >= 0 && read(share->news_fd, events, sizeof events) > 0)
        is_any = true;
    return is_any;
}

void net_share_round(struct net_share *share, uint64_t now_ns)
{
    share->now_ns = now_ns;
    bool has_news = drain_news(share);
    if ((has_news || now_ns >= share->trial_at_ns) && net_share_refresh(share) && !share->is_unsaid)
        net_share_say_soon(share);
    net_share_trial_step(share);
    if (!share->is_unsaid || now_ns < share->say_at_ns)
        return;
    if (net_share_table_lock(&share->table, 0) == 0) {
        net_share_say(share);
        net_share_table_unlock(&share->table);
    }
    if (share->is_unsaid)
        share->say_at_ns = now_ns + LOCK_AGAIN_NS;
}
