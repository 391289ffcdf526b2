/* SPDX-License-Identifier: BSD-2-Clause */
/* Internal to net/share/. */
#ifndef NORNIC_NET_SHARE_INNER_H
#define NORNIC_NET_SHARE_INNER_H

#include "net/addr_index.h"
#include "net/share/share.h"
#include "net/share/who.h"

/* A socket, in addition to its entry in `own.places`. */
struct net_share_site {
    int fd;
    unsigned ifindex;
    uint32_t uid;         /* its opener: of a borrowed one, another user */
    bool is_sure;         /* a trial has found its index */
    uint64_t renew_at_ns; /* net_share_renew(): when to try it; NET_TIME_NONE: it need not be renewed */
};

struct net_share {
    struct net_share_dir dir;
    struct net_share_table table;
    unsigned slot;
    int hand_fd, bell_fd;            /* net/share/hand.h */
    int watch_fd;                    /* epoll: of bell_fd and neighbour_fd */
    int neighbour_fd;                /* pidfd of the next one's process, or -1 */
    uint64_t neighbour_ns;           /* when the next one was opened; 0: there is none */
    uint64_t seen_writes;            /* of the table, when it was read */
    uint64_t marks[NET_SHARE_SLOTS]; /* of the records of others that the view has; 0: none */
    bool is_census_due;              /* a known process may have died */
    struct net_share_record own;     /* as it is to be in the table */
    struct net_share_site sites[NET_SHARE_PLACES_MAX]; /* of own.places */
    struct net_addr_index by_addr;                     /* of own.places */
    uint64_t renew_at_ns;                              /* the first of all sites' */
    struct net_share_view view;                        /* own among them */
    uint64_t signature;                                /* of the processes and their addresses */
    uint64_t now_ns, seen_ns;                          /* of the round; when the table was read */
    struct net_share_record said;                      /* as it is there */
    uint64_t steered_writes; /* of the table, when this process gave its groups their filters */
    bool is_filter_suspect;  /* a packet went astray: the filters are to be made anew */
    bool is_unsaid;          /* the table or the filters have to be written */
    int say_error;           /* of the last write of the record; 0 or -errno */
    uint64_t say_at_ns;      /* then: not before */
    unsigned refusals_left;  /* to be handed over before refusals_at_ns */
    uint64_t refusals_at_ns;
    uint64_t nonce; /* of trials, so that nobody else's are taken for ours */
    unsigned trial_step;
    uint64_t trial_began_ns, trial_at_ns; /* the next step; NET_TIME_NONE: none */
};

/* The site of an address, -1: none. */
static inline int net_share_find(const struct net_share *share, const struct nornic_addr *addr)
{
    for (int i = net_addr_index_first(&share->by_addr, addr); i >= 0;
         i = net_addr_index_next(&share->by_addr, i))
        if ((uint32_t)i < share->own.place_count && nornic_addr_equal(&share->own.places[i].addr, addr))
            return i;
    return -1;
}

/* Has the news said in the next round in which the table's lock is free. */
static inline void net_share_say_soon(struct net_share *share)
{
    share->is_unsaid = true;
    share->say_at_ns = share->now_ns;
}

/* Begins to look for the indexes of all sites. */
static inline void net_share_trial_begin(struct net_share *share)
{
    if (share->trial_at_ns != NET_TIME_NONE && share->trial_step == 0)
        return;
    share->trial_step = 0;
    share->trial_at_ns = share->trial_began_ns = share->now_ns;
}

/* --- leave.c --- */

/* Nothing comes to a site's socket any more, and packets in it for others are handed over. */
void net_share_empty(struct net_share *share, uint32_t site);

/* --- news.c --- */

/* Opens what the process hears by, of the slot that it has leased. 0 or -errno. And closes it, also half
 * opened. */
int net_share_news_open(struct net_share *share);
void net_share_news_close(struct net_share *share);
/* The table has been written to: tells the others. */
void net_share_tell(const struct net_share *share);
/* The table may say something else than when it was read. */
bool net_share_has_news(struct net_share *share);
/* The view is new: watches the next process in it. */
void net_share_watch_next(struct net_share *share);

/* --- view.c --- */

/* Reads the table, and asks of each process whether it lives. True: somebody has died, and is to be
 * buried. */
bool net_share_refresh(struct net_share *share);
/* Reads the news of the table, and asks of those alone, unless a census is due. Hundreds that come at once
 * write hundreds of times, and each of them is woken each time: to read all there is would take a time that
 * grows by the cube of their number. */
bool net_share_catch_up(struct net_share *share);
/* Under the table's lock: buries the dead, writes the news, and gives each group its filter. */
void net_share_say(struct net_share *share);

/* --- renew.c --- */

/* Somebody has come or gone: whether there are sockets to be renewed. */
void net_share_renew_look(struct net_share *share);
/* The sites are others: finds when the first of them is to be renewed. */
void net_share_renew_sum(struct net_share *share);

/* --- dead.c --- */

/* Under the table's lock: clears the records of the dead, and removes the names of their sockets; `own_slot`
 * is the caller's. Returns whether there were any. */
bool net_share_bury(struct net_share_table *table, unsigned own_slot);
/* Removes the files of processes that died in other network namespaces, since nobody may come there any more
 * to find them; without the lock of the caller's own table, `own`. Locked files are left, and so are all of
 * a directory of several users, since each may remove no names but his own. */
void net_share_sweep(const struct net_share_dir *dir, const struct net_share_table *own);

/* --- trial.c --- */

/* Looks for the indexes as a packet went astray; not too often, for packets may come at any rate. */
void net_share_trial_suspect(struct net_share *share);
/* The last step is due: nobody has come or gone for as long as trials are repeated. */
bool net_share_trial_ends(const struct net_share *share);
/* The next step, if one is due. */
void net_share_trial_step(struct net_share *share);
/* A packet to queue pair 0 came to a site. */
void net_share_trial_note(struct net_share *share, const struct nornic_addr *addr, const uint8_t *payload,
                          uint32_t bytes);

#endif
