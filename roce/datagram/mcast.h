/* SPDX-License-Identifier: BSD-2-Clause */
/* The multicast groups of a device: ROCE section 10.2. Inside roce/ only. */
#ifndef NORNIC_ROCE_MCAST_H
#define NORNIC_ROCE_MCAST_H

#include <stdbool.h>

#include "nornic/addr.h"
#include "roce/packet.h"

#define ROCE_MCAST_BUCKETS 64

struct roce_qp;

struct roce_mcast_member {
    struct roce_mcast_member *next;
    struct roce_qp *qp;
};

/* Exists as long as it has members. */
struct roce_mcast_group {
    struct roce_mcast_group *next; /* of its bucket */
    struct nornic_addr addr;
    struct roce_mcast_member *members;
};

/* All zero: no groups. */
struct roce_mcast_table {
    struct roce_mcast_group *buckets[ROCE_MCAST_BUCKETS];
};

/* The group, or NULL: nobody joined. */
const struct roce_mcast_group *roce_mcast_find(const struct roce_mcast_table *table,
                                               const struct nornic_addr *addr);

/* The packet is a copy of what the QP itself sent, and it does not want those (ROCE-UD-23). */
bool roce_mcast_is_own(const struct roce_qp *qp, const struct roce_pkt *pkt);

#endif
