/* SPDX-License-Identifier: BSD-2-Clause */
/* QP 1 of a device as the carrier of management datagrams: ROCE section 10.3. */
#ifndef NORNIC_ROCE_CM_GSI_H
#define NORNIC_ROCE_CM_GSI_H

#include "roce/cm/cm.h"

struct roce_cm_gsi;

/* Creates QP 1 with buffers, PD and CQ of its own. Datagrams beyond those that may be on their way wait in
 * order. `*dropped` counts those that could not be sent: no memory, or an address that is no longer the
 * device's. 0, -EBUSY (the device's QP 1 is taken) or -ENOMEM. */
int roce_cm_gsi_create(struct roce_dev *dev, const struct rdma_mem *mem, uint64_t *dropped,
                       struct roce_cm_gsi **out);
void roce_cm_gsi_destroy(struct roce_cm_gsi *gsi);

/* When datagrams that wait may leave; NET_TIME_NONE: none waits for its time. */
uint64_t roce_cm_gsi_deadline_ns(const struct roce_cm_gsi *gsi);

/* Returns whether at least half of the send buffers are in use. A poll makes room. It also makes room for
 * received datagrams, of which a device that sends to itself has as many. */
bool roce_cm_gsi_is_crowded(const struct roce_cm_gsi *gsi);

/* The `send` of a roce_cm_wire whose `ctx` is the carrier. */
void roce_cm_gsi_send(void *ctx, const struct roce_cm_path *path, const uint8_t *mad, uint64_t now_ns);

/* A datagram was sent and is not complete. */
bool roce_cm_gsi_is_sending(const struct roce_cm_gsi *gsi);

/* Takes completions: datagrams go to the CM, send buffers are free again, for those that wait. */
void roce_cm_gsi_poll(struct roce_cm_gsi *gsi, struct roce_cm *cm, uint64_t now_ns);

#endif
