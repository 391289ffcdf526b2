/* SPDX-License-Identifier: BSD-2-Clause */
/* What steps have left is done here, and only here: connections move and end, links go down and are freed,
 * groups end and are freed, the application's TCP connections are reset. smcr/effects.h says what each effect
 * means.
 */
#include "smcr/progress.h"

#include <errno.h>

#include "base/base.h"
#include "smcr/conn/data.h"
#include "smcr/handshake/handshake.h"
#include "smcr/llc/llc.h"

/* --- links --- */

void smcr_progress_post_ended(struct smcr_link *link, bool ok, uint64_t now_ns)
{
    struct smcr_post post;
    if (!smcr_link_post_ended(link, &post))
        return;
    if (post.kind == SMCR_POST_CDC)
        smcr_tx_completed(post.conn, (uint16_t)post.value, ok, now_ns);
    else if (ok) /* else its link is lost, and that says it: SMCR-REC-02 */
        smcr_llc_sent(link, &post, now_ns);
}

/* What was delivered is reported so, the rest as failed: after this nothing of the link is outstanding
 * (SMCR-FOV-04). Messages that came are still taken by the poll. */
static void end_posts(struct smcr_link *link, uint64_t now_ns)
{
    if (link->port) {
        smcr_port_set_aside(link->port);
        for (unsigned n = smcr_port_drop_posts(link); n > 0; n--)
            smcr_progress_post_ended(link, true, now_ns);
    }
    while (link->num_posts > 0)
        smcr_progress_post_ended(link, false, now_ns);
    smcr_tx_forget_waiting(link);
}

void smcr_progress_stop(struct smcr_link *link, const char *cause, uint64_t now_ns)
{
    smcr_link_take_down(link, cause, now_ns);
    end_posts(link, now_ns);
}

/* SMCR-FOV-02, FOV-16: each connection chooses anew where it sends (FOV-03, FOV-17); the last link takes the
 * group with it. */
static void link_lost(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    end_posts(link, now_ns);
    if (group->state == SMCR_GROUP_USABLE && !smcr_group_pick_link(group, NULL)) {
        smcr_group_end(group, false, link->down_cause, now_ns);
        return;
    }
    for (struct smcr_conn *conn = group->conns; conn; conn = conn->group_next)
        if (conn->link == link)
            smcr_move_lost(conn, now_ns);
    smcr_llc_link_lost(link, now_ns);
}

static void conns_leave(struct smcr_link *link, uint64_t now_ns)
{
    for (struct smcr_conn *conn = link->group->conns; conn; conn = conn->group_next) {
        struct smcr_link *to = conn->link == link ? smcr_group_pick_link(link->group, link) : NULL;
        if (to)
            smcr_move_to(conn, to, now_ns);
    }
}

static void link_effects(struct smcr_link *link, unsigned due, uint64_t now_ns)
{
    if (due & SMCR_LINK_LOST)
        link_lost(link, now_ns);
    if (due & SMCR_LINK_LEAVE)
        conns_leave(link, now_ns);
    if (due & SMCR_LINK_EMPTY)
        smcr_llc_drained(link, now_ns);
    if (due & SMCR_LINK_TEST)
        smcr_llc_test_link(link, now_ns);
    if (due & SMCR_LINK_TEST_DUE)
        smcr_llc_test_due(link, now_ns);
    if (due & SMCR_LINK_DELETE_DUE)
        smcr_llc_delete_due(link, now_ns);
}

void smcr_progress_unplug(struct smcr_link *link, uint64_t now_ns)
{
    struct nornic_wc wc;
    smcr_progress_stop(link, "stopped", now_ns);
    while (smcr_port_take_message(link, &wc)) {
        const uint8_t *message = link->recv_bytes + (size_t)smcr_wr_recv_index(&wc) * SMCR_RECV_BYTES;
        struct smcr_cdc cdc;
        if (wc.opcode != NORNIC_WC_RECV || wc.byte_len != SMCR_MSG_BYTES)
            continue;
        smcr_cdc_get(&cdc, message);
        if (cdc.type == SMCR_CDC)
            smcr_rx_cdc(link, &cdc, message, now_ns);
    }
    smcr_link_unplug(link);
}

static void free_link(struct smcr_link *link, uint64_t now_ns)
{
    if (link->state == SMCR_LINK_FREE)
        return;
    if (link->port)
        smcr_progress_unplug(link, now_ns);
    smcr_llc_forget_link(link);
    smcr_link_free(link, now_ns);
}

/* --- groups --- */

/* A link that goes is lost before it is freed, also where it did not fail: one that was drained carries what
 * the server began over it meanwhile, or an RKey exchange of ours; one that the server does not know has its
 * connections still; and one may have failed a moment ago, which nobody has acted on yet. */
static void free_gone_links(struct smcr_group *group, uint64_t now_ns)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        struct smcr_link *link = &group->links[i];
        if (link->state == SMCR_LINK_FREE || link->delete_step != SMCR_LINK_GONE)
            continue;
        bool was_about = group->llc.about == link;
        if (link->state != SMCR_LINK_DOWN || link->effects.due & SMCR_LINK_LOST) {
            smcr_link_take_down(link, "deleted", now_ns);
            link_lost(link, now_ns);
        }
        if (group->state == SMCR_GROUP_ENDING) /* it was the last one, and goes with the group */
            return;
        free_link(link, now_ns);
        smcr_llc_link_freed(group, was_about, now_ns);
    }
}

/* One whose posts have not ended stays in the group until they have. */
static void kill_conns(struct smcr_group *group, const char *cause, uint64_t now_ns)
{
    for (struct smcr_conn *conn = group->conns; conn; conn = conn->group_next)
        smcr_end_kill(conn, -ECONNRESET, cause, now_ns);
}

static void stop_links(struct smcr_group *group, const char *cause, uint64_t now_ns)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].state != SMCR_LINK_FREE)
            smcr_progress_stop(&group->links[i], cause, now_ns);
}

/* SMCR-FOV-16, LGT-03, SC-06. */
static void end_group(struct smcr_group *group, uint64_t now_ns)
{
    smcr_llc_cancel(group);
    if (group->ending.tells) {
        smcr_llc_delete_all(group, now_ns); /* and so it finishes */
    } else {
        stop_links(group, group->ending.cause, now_ns);
        smcr_group_effect(group, SMCR_GROUP_FINISH);
    }
    kill_conns(group, group->ending.cause, now_ns);
}

static void finish_group(struct smcr_group *group, uint64_t now_ns)
{
    stop_links(group, "stopped", now_ns);
    kill_conns(group, "the link group has ended", now_ns);
    smcr_group_effect(group, SMCR_GROUP_EMPTY);
}

static void free_group(struct smcr_group *group, uint64_t now_ns)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        free_link(&group->links[i], now_ns);
    smcr_llc_cancel(group);
    smcr_group_free(group, now_ns);
}

static void group_effects(struct smcr_group *group, unsigned due, uint64_t now_ns)
{
    if (due & SMCR_GROUP_CONTACT)
        smcr_handshake_contact_ended(group, now_ns);
    if (due & SMCR_GROUP_END)
        end_group(group, now_ns);
    if (due & SMCR_GROUP_FINISH)
        finish_group(group, now_ns);
    if (due & SMCR_GROUP_ADVANCE && group->state != SMCR_GROUP_ENDING) {
        free_gone_links(group, now_ns);
        smcr_llc_advance(group, now_ns);
    }
    if (due & SMCR_GROUP_EMPTY && !group->effects.due && group->state == SMCR_GROUP_ENDING && !group->conns &&
        group->llc.delete_all != SMCR_DELETE_ALL_OUT && group->llc.delete_all != SMCR_DELETE_ALL_LINGERS)
        free_group(group, now_ns);
}

/* --- connections --- */

static void conn_effects(struct smcr_conn *conn, unsigned due, uint64_t now_ns)
{
    if (due & SMCR_CONN_RST)
        conn->config.tcp.reset(conn->config.ctx);
    if (due & SMCR_CONN_REFUSED)
        smcr_handshake_refused(conn, now_ns);
    if (due & SMCR_CONN_RMB)
        smcr_handshake_rmb(conn, now_ns);
    if (due & SMCR_CONN_CONTACT)
        smcr_handshake_resume(conn, now_ns);
    if (due & SMCR_CONN_RESTS && smcr_conn_rests(conn, now_ns)) {
        if (conn->effects.due) /* what the above has left comes first */
            smcr_conn_effect(conn, SMCR_CONN_RESTS);
        else
            smcr_conn_free(conn);
    }
}

/* --- all of them --- */

void smcr_settle(struct smcr *smcr, uint64_t now_ns)
{
    struct smcr_effects *node;
    while ((node = smcr->effects)) {
        unsigned due = smcr_effect_take(smcr, node);
        switch (node->of) {
        case SMCR_OF_CONN:
            conn_effects(container_of(node, struct smcr_conn, effects), due, now_ns);
            break;
        case SMCR_OF_LINK:
            link_effects(container_of(node, struct smcr_link, effects), due, now_ns);
            break;
        case SMCR_OF_GROUP:
            group_effects(container_of(node, struct smcr_group, effects), due, now_ns);
            break;
        }
    }
}
