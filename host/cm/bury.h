/* SPDX-License-Identifier: BSD-2-Clause */
/* For the keeper: connections that a dead process left. */
#ifndef NORNIC_HOST_CM_BURY_H
#define NORNIC_HOST_CM_BURY_H

#include "host/cm/cm.h"
#include "roce/cm/estate.h"

/* Ends connections that a dead process left, `count` of them, from the GIDs of this device (roce_cm_bury()).
 * Returns how many are on their way to an end; the others have no GID here. */
unsigned host_cm_bury(struct host_cm *cm, const struct roce_cm_connection *connections, unsigned count);
/* Returns whether a DREQ waits for its DREP, or a message has not left yet. */
bool host_cm_is_burying(struct host_cm *cm);

#endif
