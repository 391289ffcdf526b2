/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/share/share.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/notice.h"
#include "net/share/hand.h"
#include "net/share/inner.h"
#include "net/share/ledger.h"
#include "net/share/lend.h"
#include "net/udp/open.h"

#define LOCK_WAIT_NS   (5 * NS_PER_S)
#define SAY_WAIT_NS    (100 * NS_PER_MS)
#define LOCK_AGAIN_NS  NS_PER_MS
#define WRITE_AGAIN_NS (50 * NS_PER_MS) /* to a file system that is full */
#define BORROW_TRIES   8

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

/* Under the table's lock: gives the slot back. */
static void drop_slot(struct net_share *share)
{
    if (share->slot == NET_SHARE_NOBODY)
        return;
    if (share->hand_fd >= 0)
        close(share->hand_fd);
    share->hand_fd = -1;
    net_share_hand_remove(&share->table, share->slot);
    net_share_table_write(&share->table, share->slot, NULL);
    net_share_table_release(&share->table, share->slot);
    share->slot = NET_SHARE_NOBODY;
}

/* Under the table's lock. The socket is opened behind the record, so that a name that a killed process leaves
 * is found. -EAGAIN: another process has the slot; -EADDRINUSE: its name is left there by another user. */
static int try_slot(struct net_share *share, unsigned slot)
{
    int err = net_share_table_lease(&share->table, slot);
    if (err)
        return err;
    share->slot = slot;
    share->said = (struct net_share_record){.pid = 0};
    net_share_say(share);
    share->hand_fd = share->say_error;
    if (!share->say_error)
        share->hand_fd = net_share_hand_open(&share->table, &share->dir, share->slot, NET_SHARE_DOOR);
    err = share->hand_fd < 0 ? share->hand_fd : net_share_news_open(share);
    if (!err)
        return 0;
    net_share_news_close(share);
    drop_slot(share);
    return err;
}

static void mark_slot(void *ctx, const char *name, unsigned slot)
{
    (void)name;
    ((bool *)ctx)[slot] = true;
}

/* Marks the slots that a ledger names: peers may still know the numbers of a dead process. */
static void mark_owed(bool is_owed[NET_LEDGER_NO_SLOT + 1])
{
    struct net_share_dir own;
    memset(is_owed, 0, NET_LEDGER_NO_SLOT + 1);
    if (net_share_dir_own(&own, NULL) == 0)
        net_ledger_list(&own, mark_slot, is_owed);
}

/* Slot 0 is only for callers that ask for low numbers: with it comes the 1. */
static int take_slot(struct net_share *share, uint32_t first_qpn)
{
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random ||
        getrandom(&share->nonce, sizeof share->nonce, 0) != sizeof share->nonce)
        return -EIO;
    if (first_qpn) {
        unsigned slot = first_qpn >> NET_SHARE_SLOT_BITS;
        return slot < NET_SHARE_SLOTS ? try_slot(share, slot) : -EINVAL;
    }
    int err = -EAGAIN;
    bool is_owed[NET_LEDGER_NO_SLOT + 1];
    mark_owed(is_owed);
    for (unsigned i = 0; i < NET_SHARE_SLOTS - 1 && (err == -EAGAIN || err == -EADDRINUSE); i++) {
        unsigned slot = 1 + (unsigned)((random + i) % (NET_SHARE_SLOTS - 1));
        err = is_owed[slot] ? -EAGAIN : try_slot(share, slot);
    }
    return err;
}

/* Names a process that has a record in the table and is stopped. False: there is none. */
static bool name_stopped(const struct net_share *share, char *text, size_t text_bytes)
{
    struct net_share_table table;
    uint64_t marks[NET_SHARE_SLOTS];
    struct net_share_record record;
    bool is_found = false;
    if (net_share_table_look(&share->dir, &table) != 0)
        return false;
    net_share_table_marks(&table, marks);
    for (unsigned slot = 0; slot < NET_SHARE_SLOTS && !is_found; slot++) {
        is_found =
            marks[slot] && net_share_table_read(&table, slot, &record) && base_is_stopped((int)record.pid);
        if (is_found)
            snprintf(text, text_bytes,
                     "%s (process %u) is stopped and may hold the lock: continue it "
                     "(kill -CONT %u) or end it",
                     record.name, record.pid, record.pid);
    }
    net_share_table_close(&table);
    return is_found;
}

/* Writes the sentence for a table that stays locked. Returns -EAGAIN. */
static int explain_lock(const struct net_share *share, struct nornic_error *why)
{
    char holder[160];
    if (!name_stopped(share, holder, sizeof holder))
        snprintf(holder, sizeof holder, "`lslocks` names its holder");
    return net_error_set(why, EAGAIN, "another process keeps %s locked: %s", share->table.path, holder);
}

static int explain(const struct net_share *share, int err, uint32_t first_qpn, struct nornic_error *why)
{
    if (err == -EAGAIN && first_qpn)
        return net_error_set(
            why, EADDRINUSE,
            "another process of this machine has the queue pair numbers from %u on: leave the "
            "choice to nornic, or take others",
            first_qpn & ~((1u << NET_SHARE_SLOT_BITS) - 1));
    if (err == -ENOSPC || err == -EDQUOT)
        return net_error_set(
            why, -err,
            "processes cannot share addresses by %s: its file system is full; free space there, or "
            "set NORNIC_RUNTIME_DIR to another directory",
            share->table.path);
    return net_error_set(why, -err, "processes cannot share addresses by %s: %s", share->table.path,
                         err == -EAGAIN ? "all its slots are leased" : strerror(-err));
}

static void introduce(struct net_share *share)
{
    struct timespec now;
    share->own.pid = (uint32_t)getpid();
    share->own.uid = geteuid();
    clock_gettime(CLOCK_BOOTTIME, &now);
    share->own.opened_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
    name_program(&share->own);
}

static void free_share(struct net_share *share)
{
    net_share_news_close(share);
    free(share->view.records);
    free(share->view.last);
    free(share);
}

/* Closes the table, under its lock if that could be had; the last one removes it. */
static void close_table(struct net_share *share, bool is_locked)
{
    if (is_locked) {
        drop_slot(share);
        net_share_bury(&share->table, NET_SHARE_NOBODY);
        net_share_tell(share);
        if (!net_share_table_has_leases(&share->table))
            net_share_table_remove(&share->table);
    }
    net_share_table_close(&share->table); /* with the lock and the lease */
}

static struct net_share *make_share(void)
{
    struct net_share *share = calloc(1, sizeof *share);
    if (!share)
        return NULL;
    share->slot = NET_SHARE_NOBODY;
    share->hand_fd = share->bell_fd = share->watch_fd = share->neighbour_fd = -1;
    share->trial_at_ns = share->renew_at_ns = NET_TIME_NONE;
    share->view.records = calloc(NET_SHARE_SLOTS, sizeof *share->view.records);
    share->view.last = calloc(NET_SHARE_SLOTS, sizeof *share->view.last);
    if (share->view.records && share->view.last)
        return share;
    free_share(share);
    return NULL;
}

/* Opens the table of `share->dir`, and leases a slot. Returns 0 or -errno with a sentence. */
static int enter(struct net_share *share, uint32_t first_qpn, struct nornic_error *why)
{
    int err = net_share_table_open(&share->dir, &share->table, LOCK_WAIT_NS);
    if (err == -EAGAIN)
        return explain_lock(share, why);
    if (err)
        return explain(share, err, 0, why);
    err = take_slot(share, first_qpn);
    if (!err)
        return 0;
    err = explain(share, err, first_qpn, why);
    close_table(share, true);
    return err;
}

/* A common directory that does not serve costs the caller its neighbours of other users, and nothing else:
 * the
 * caller meets its own user's processes in their own directory. A slot that was asked for is not looked for
 * there, since the holder may be anybody's. */
static int enter_some(struct net_share *share, uint32_t first_qpn, struct nornic_error *why)
{
    struct nornic_error reason = {""};
    int err = net_share_dir_find(&share->dir, why);
    if (err)
        return err;
    if (!share->dir.is_common || first_qpn)
        return enter(share, first_qpn, why);
    err = enter(share, 0, &reason);
    if (!err)
        return 0;
    err = net_share_dir_own(&share->dir, why);
    if (err)
        return err;
    base_notice("%s; nornic goes on by %s, without the processes of other users", reason.text,
                share->dir.path);
    return enter(share, 0, why);
}

int net_share_open(uint32_t first_qpn, struct net_share **out, struct nornic_error *why)
{
    struct net_share *share = make_share();
    if (!share)
        return net_error_set(why, ENOMEM, "no memory to share an address");
    introduce(share);
    int err = enter_some(share, first_qpn, why);
    if (err) {
        free_share(share);
        return err;
    }
    net_share_tell(share);
    net_share_table_unlock(&share->table);
    net_share_sweep(&share->dir, &share->table);
    *out = share;
    return 0;
}

void net_share_close(struct net_share *share)
{
    bool is_locked = net_share_table_lock(&share->table, LOCK_WAIT_NS) == 0;
    for (uint32_t i = 0; i < share->own.place_count; i++) {
        net_share_empty(share, i);
        close(share->sites[i].fd);
    }
    if (!is_locked) {
        net_share_hand_remove(&share->table, share->slot);
        close(share->hand_fd);
    }
    close_table(share, is_locked);
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

/* Of another user's group, without the lock, which whoever lends may want. A descriptor or -errno; with
 * -EAGAIN the lock is not there again. */
static int borrow_socket(struct net_share *share, const struct nornic_addr *addr, uint32_t scope)
{
    net_share_table_unlock(&share->table);
    int fd = net_share_borrow(share, addr, scope);
    int err = net_share_table_lock(&share->table, LOCK_WAIT_NS);
    if (err && fd >= 0)
        close(fd);
    if (!err)
        net_share_refresh(share);
    return err ? err : fd;
}

/* The first in a group binds alone, so that a program that does not share is found. A process that could
 * lend may have only begun, or be about to end, and its group to be founded anew (renew.c): so it is
 * tried again. */
static int open_socket(struct net_share *share, const struct nornic_addr *addr, unsigned ifindex,
                       uint32_t scope, struct nornic_error *why)
{
    int fd = -EADDRINUSE;
    for (unsigned tries = 0; tries < BORROW_TRIES && fd == -EADDRINUSE; tries++) {
        unsigned others = net_share_count_at(&share->view, addr, scope);
        fd = net_udp_socket_open(addr, ifindex, others ? NET_UDP_BESIDE_OTHERS : NET_UDP_FIRST_OF_MANY, why);
        if (fd != -EADDRINUSE || !others || !share->dir.is_common)
            return fd;
        fd = borrow_socket(share, addr, scope);
    }
    return fd;
}

/* Returns the user that opened a socket, from its inode (sockfs). */
static uint32_t owner_of(int fd, uint32_t otherwise)
{
    struct stat of;
    return fstat(fd, &of) == 0 ? of.st_uid : otherwise;
}

int net_share_join(struct net_share *share, const struct nornic_addr *addr, unsigned ifindex,
                   struct nornic_error *why)
{
    uint32_t i = share->own.place_count, scope = nornic_addr_is_link_local(addr) ? ifindex : 0;
    if (i == NET_SHARE_PLACES_MAX)
        return net_error_set(why, ENOSPC, "a port shares %u addresses at the most", NET_SHARE_PLACES_MAX);
    int err = net_share_table_lock(&share->table, LOCK_WAIT_NS);
    if (err)
        return explain_lock(share, why);
    if (net_share_refresh(share))
        net_share_say(share); /* others may have to hear it before they lend a socket */
    int fd = open_socket(share, addr, ifindex, scope, why);
    if (fd >= 0) {
        net_share_table_keep(&share->table, fd);
        share->own.places[i] = (struct net_share_place){
            .addr = *addr, .scope = scope, .index = net_share_count_at(&share->view, addr, scope)};
        share->sites[i] = (struct net_share_site){.fd = fd,
                                                  .ifindex = ifindex,
                                                  .uid = owner_of(fd, share->own.uid),
                                                  .is_sure = true,
                                                  .renew_at_ns = NET_TIME_NONE};
        net_addr_index_add(&share->by_addr, addr, i);
        share->own.place_count++;
        net_share_say(share);
    }
    net_share_table_unlock(&share->table);
    return fd;
}

/* The last one takes its place. */
static void remove_site(struct net_share *share, uint32_t i)
{
    struct net_share_record *own = &share->own;
    const uint32_t last = own->place_count - 1;
    net_addr_index_remove(&share->by_addr, &own->places[i].addr, i);
    if (i != last) {
        net_addr_index_remove(&share->by_addr, &own->places[last].addr, last);
        own->places[i] = own->places[last];
        share->sites[i] = share->sites[last];
        net_addr_index_add(&share->by_addr, &own->places[i].addr, i);
    }
    own->places[last] = (struct net_share_place){.index = 0};
    own->place_count = last;
    net_share_renew_sum(share);
}

void net_share_leave(struct net_share *share, int fd)
{
    uint32_t i = 0;
    while (i < share->own.place_count && share->sites[i].fd != fd)
        i++;
    if (i == share->own.place_count)
        return;
    bool is_locked = net_share_table_lock(&share->table, LOCK_WAIT_NS) == 0;
    net_share_empty(share, i);
    remove_site(share, i);
    close(fd);
    if (is_locked) {
        net_share_say(share);
        net_share_table_unlock(&share->table);
    } else {
        net_share_say_soon(share);
    }
}

/* --- services --- */

/* Another process may rely on it as soon as the call returns, unless the table is locked for long. */
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

unsigned net_share_others(const struct net_share *share, uint8_t slots[NET_SHARE_SLOTS])
{
    unsigned count = 0;
    for (unsigned i = 0; i < share->view.count; i++)
        if (share->view.slots[i] != share->slot)
            slots[count++] = share->view.slots[i];
    return count;
}

bool net_share_is_alone(const struct net_share *share)
{
    return share->view.count == 1;
}

unsigned net_share_fds(const struct net_share *share, int fds[NET_SHARE_FDS])
{
    fds[0] = share->hand_fd;
    fds[1] = share->watch_fd;
    return NET_SHARE_FDS;
}

uint64_t net_share_deadline_ns(const struct net_share *share)
{
    return min_u64(min_u64(share->trial_at_ns, share->renew_at_ns),
                   share->is_unsaid ? share->say_at_ns : NET_TIME_NONE);
}

void net_share_round(struct net_share *share, uint64_t now_ns)
{
    share->now_ns = now_ns;
    share->is_census_due |= net_share_trial_ends(share);
    if (net_share_has_news(share) && net_share_catch_up(share) && !share->is_unsaid)
        net_share_say_soon(share);
    net_share_trial_step(share);
    if (!share->is_unsaid || now_ns < share->say_at_ns)
        return;
    bool is_locked = net_share_table_lock(&share->table, 0) == 0;
    if (is_locked) {
        net_share_say(share);
        net_share_table_unlock(&share->table);
    }
    if (share->is_unsaid)
        share->say_at_ns = now_ns + (is_locked ? WRITE_AGAIN_NS : LOCK_AGAIN_NS);
}
