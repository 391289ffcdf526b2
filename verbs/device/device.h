/* SPDX-License-Identifier: BSD-2-Clause */
/* The devices that a program may open. Internal to verbs/. */
#ifndef NORNIC_VERBS_DEVICE_H
#define NORNIC_VERBS_DEVICE_H

#include "verbs/verbs.h"

/* A device is used as long as a list or a context names it; verbs_device_put() gives that back and frees the
 * device with the last. */
void verbs_device_get(struct verbs_device *device);
void verbs_device_put(struct verbs_device *device);

#endif
