/* SPDX-License-Identifier: BSD-2-Clause */
/* Posts of a link. RDMA writes are unsignalled and end with the message that follows them; so what is left of
 * the send queue is known here, and nothing is posted that has no room. */
#include <errno.h>

#include "smcr/link.h"

static bool sends(const struct smcr_link *link)
{
    return smcr_link_talks(link) && roce_qp_state(link->qp) == NORNIC_QPS_RTS;
}

int smcr_link_post_message(struct smcr_link *link, const uint8_t *message, struct smcr_post what)
{
    if (!sends(link))
        return -ENOTCONN;
    uint32_t room = what.kind == SMCR_POST_CDC ? smcr_link_room(link) : link->sends_left;
    if (room == 0)
        return -EAGAIN;
    struct nornic_sge sge = {.addr = (uintptr_t)message, .len_bytes = SMCR_MSG_BYTES};
    struct nornic_send_wr wr = {.wr_id = smcr_wr_id(link, SMCR_WR_MESSAGE, 0),
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_SEND,
                                .send_flags = NORNIC_SEND_SIGNALED | NORNIC_SEND_INLINE};
    if (roce_post_send(link->qp, &wr, NULL))
        return -ENOTCONN; /* it went to error, and the poll will tell */
    what.writes = link->pending_writes;
    link->pending_writes = 0;
    link->sends_left--;
    link->posts[(link->first_post + link->num_posts++) % SMCR_LINK_SENDS] = what;
    return 0;
}

int smcr_link_post_write(struct smcr_link *link, const uint8_t *local, uint32_t lkey, uint32_t len_bytes,
                         uint64_t remote_va, uint32_t rkey)
{
    if (!sends(link))
        return -ENOTCONN;
    if (smcr_link_room(link) < 2) /* the message that ends it needs room too */
        return -EAGAIN;
    struct nornic_sge sge = {.addr = (uintptr_t)local, .len_bytes = len_bytes, .lkey = lkey};
    struct nornic_send_wr wr = {.wr_id = smcr_wr_id(link, SMCR_WR_WRITE, 0),
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_RDMA_WRITE,
                                .remote_addr = remote_va,
                                .rkey = rkey};
    if (roce_post_send(link->qp, &wr, NULL))
        return -ENOTCONN;
    link->sends_left--;
    link->pending_writes++;
    return 0;
}

bool smcr_link_post_ended(struct smcr_link *link, struct smcr_post *out)
{
    if (link->num_posts == 0)
        return false;
    *out = link->posts[link->first_post];
    link->first_post = (link->first_post + 1) % SMCR_LINK_SENDS;
    link->num_posts--;
    link->sends_left += 1 + out->writes;
    smcr_link_has_less(link);
    return true;
}
