/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that outlive their process. A kernel keeps the connections of a process, and sends their
 * last messages when the process ends. A CM in userspace takes notes (roce_cm_config.note), and a CM of
 * another process sends the messages by these notes. */
#ifndef NORNIC_ROCE_CM_ESTATE_H
#define NORNIC_ROCE_CM_ESTATE_H

#include "roce/cm/cm.h"

/* The values that the last message of a connection needs. Bytes between members are zero. */
struct roce_cm_connection {
    struct roce_cm_path
        path; /* to the peer; its sgid_index counts in the table of the device that filled it */
    struct nornic_addr local; /* the GID that it leaves from */
    uint64_t service_id;
    uint64_t tid; /* of the exchange that the next message belongs to */
    uint32_t comm_id, remote_comm_id;
    uint32_t local_qpn, remote_qpn;
    uint32_t state; /* enum roce_cm_state */
};

/* Ends a connection of a dead process by the message of roce_cm_id_destroy(). A DREQ is repeated until
 * the DREP comes, for 1 s. `connection` is borrowed, and its sgid_index is one of this device. Returns
 * 0; -EINVAL: the values are not those of a connection; -ENOSPC or -ENOMEM. */
int roce_cm_bury(struct roce_cm *cm, const struct roce_cm_connection *connection, uint64_t now_ns);
/* Returns the number of DREQs that wait for a DREP. */
unsigned roce_cm_count_ending(const struct roce_cm *cm);

#endif
