/* SPDX-License-Identifier: BSD-2-Clause */
/* What a step leaves to be done.
 *
 * Everything that comes in - a message, the end of a post, a timer, a call of the application - is one step.
 * A step computes, changes its own object and returns; what follows from it for other objects, or would take
 * the ground from under its caller, it leaves as an effect: a link has failed, a group ends, a connection is
 * over, LLC may begin something. smcr_settle() (smcr/progress.c) runs after each step, takes the effects in
 * the order in which they were left, and alone moves connections, ends groups, frees, and resets the
 * application's TCP. Handling one may leave others; since each brings its object further along (a link fails
 * once, a group ends once, a connection closes once), the queue runs dry.
 *
 * So a step may rely on this: whatever it was handed is still there when it returns, and so is everything it
 * looked at. A link that failed in the middle of it is DOWN (nothing leaves on it any more), a group that
 * ends is ENDING (nobody joins it); the rest comes after the step.
 *
 * Each connection, link and group has one node with a bit for each effect that it may be due, so that nothing
 * is allocated and what is left twice is done once. Of one object, the effects are handled in the order of
 * their bits. */
#ifndef NORNIC_SMCR_EFFECTS_H
#define NORNIC_SMCR_EFFECTS_H

#include "smcr/instance.h"

enum smcr_conn_effect {
    SMCR_CONN_RST = 1 << 0, /* the application's TCP connection is to be reset */
    SMCR_CONN_REFUSED =
        1 << 1,             /* in its handshake: its group ends or its buffer is gone; conn->error, reason */
    SMCR_CONN_RMB = 1 << 2, /* in its handshake: the RMBE that it waits for is known to the peer, or gone */
    SMCR_CONN_CONTACT = 1 << 3, /* in its handshake: the first contact that it waits for has ended */
    SMCR_CONN_RESTS = 1 << 4, /* it may be over, or move: nothing is posted, or it is CLOSED, or given back */
};

enum smcr_link_effect {
    SMCR_LINK_LOST = 1 << 0,       /* it went DOWN: its connections move, its exchanges end (SMCR-FOV-01) */
    SMCR_LINK_LEAVE = 1 << 1,      /* its connections are to leave it in order (SMCR-FOV-15) */
    SMCR_LINK_EMPTY = 1 << 2,      /* it may be drained: a connection left it, or a post ended */
    SMCR_LINK_TEST = 1 << 3,       /* a TEST LINK is to go out (SMCR-KAL-02) */
    SMCR_LINK_TEST_DUE = 1 << 4,   /* link->test_timer: it was idle, or an answer did not come */
    SMCR_LINK_DELETE_DUE = 1 << 5, /* link->delete_timer: its end does not get on */
};

enum smcr_group_effect {
    SMCR_GROUP_CONTACT = 1 << 0, /* its first contact has ended: group->contact says how */
    SMCR_GROUP_END = 1 << 1, /* it is ENDING: its connections end, and the peer is told where it is to be */
    SMCR_GROUP_FINISH = 1 << 2,  /* the peer was told, or cannot be: its links stop */
    SMCR_GROUP_ADVANCE = 1 << 3, /* links that are gone are freed; the next exchange of LLC may begin */
    SMCR_GROUP_EMPTY = 1 << 4,   /* ENDING, and its last connection may have left: it is freed */
};

static inline void smcr_effect_leave(struct smcr *smcr, struct smcr_effects *node, unsigned what)
{
    if (!node->due) {
        node->next = NULL;
        node->prev = smcr->effects_tail;
        *smcr->effects_tail = node;
        smcr->effects_tail = &node->next;
    }
    node->due |= what;
}

/* It is not in the queue any more. Returns what was due. */
static inline unsigned smcr_effect_take(struct smcr *smcr, struct smcr_effects *node)
{
    unsigned due = node->due;
    if (!due)
        return 0;
    *node->prev = node->next;
    if (node->next)
        node->next->prev = node->prev;
    else
        smcr->effects_tail = node->prev;
    node->due = 0;
    return due;
}

#endif
