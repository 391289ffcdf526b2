/* SPDX-License-Identifier: BSD-2-Clause */
/* QP 1 of a device: what carries a CM's datagrams (ROCE section 10.3). Internal to host/; all calls under the
 * device's lock. */
#ifndef NORNIC_HOST_CM_GSI_H
#define NORNIC_HOST_CM_GSI_H

#include "roce/cm/cm.h"

struct host_cm_gsi;

/* 0, -ENOMEM or another -errno (-EBUSY: the device has a QP 1). */
int host_cm_gsi_create(struct roce_dev *engine, uint64_t now_ns, struct host_cm_gsi **out);
void host_cm_gsi_destroy(struct host_cm_gsi *gsi);

/* For roce_cm_config.wire: a datagram that finds no room is lost. */
void host_cm_gsi_send(void *gsi, const struct roce_cm_path *path, const uint8_t *mad, uint64_t now_ns);

/* Hands what has arrived to the CM. Returns whether there was anything. */
bool host_cm_gsi_receive(struct host_cm_gsi *gsi, struct roce_cm *cm, uint64_t now_ns);

#endif
