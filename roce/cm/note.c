/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes of connections, taken at each change of a state (roce/cm/estate.h). */
#include <string.h>

#include "roce/cm/estate.h"
#include "roce/cm/id.h"
#include "roce/cm/note.h"

bool roce_cm_owes_word(enum roce_cm_state state)
{
    switch (state) {
    case ROCE_CM_REQ_SENT_STATE:
    case ROCE_CM_REQ_RCVD_STATE:
    case ROCE_CM_MRA_REQ_SENT_STATE:
    case ROCE_CM_MRA_REQ_RCVD_STATE:
    case ROCE_CM_REP_SENT_STATE:
    case ROCE_CM_REP_RCVD_STATE:
    case ROCE_CM_MRA_REP_SENT_STATE:
    case ROCE_CM_MRA_REP_RCVD_STATE:
    case ROCE_CM_ESTABLISHED_STATE:
    case ROCE_CM_DREQ_SENT_STATE:
    case ROCE_CM_DREQ_RCVD_STATE:
        return true;
    case ROCE_CM_IDLE_STATE:
    case ROCE_CM_LISTEN_STATE:
    case ROCE_CM_TIMEWAIT_STATE:
    case ROCE_CM_SIDR_REQ_SENT_STATE:
    case ROCE_CM_SIDR_REQ_RCVD_STATE:
    case ROCE_CM_SIDR_REP_SENT_STATE:
        return false;
    }
    return false;
}

static void take_note(struct roce_cm_id *id)
{
    const struct roce_cm_config *config = &id->cm->config;
    struct roce_cm_connection c;
    bool is_owed = roce_cm_owes_word(id->state);
    if (!config->note || (!is_owed && id->note == 0))
        return;
    memset(&c, 0, sizeof c);
    c.path.av = id->path.av;
    c.path.remote_qpn = id->path.remote_qpn;
    c.path.pkey_index = id->path.pkey_index;
    c.local = id->local_addr;
    c.service_id = id->service_id;
    c.tid = id->state == ROCE_CM_DREQ_RCVD_STATE ? id->dreq_tid : id->tid;
    c.comm_id = id->comm_id;
    c.remote_comm_id = id->remote_comm_id;
    c.local_qpn = id->local_qpn;
    c.remote_qpn = id->remote_qpn;
    c.state = id->state;
    config->note(config->note_ctx, is_owed ? &c : NULL, &id->note);
}

void roce_cm_set_state(struct roce_cm_id *id, enum roce_cm_state state)
{
    id->state = state;
    take_note(id);
}
