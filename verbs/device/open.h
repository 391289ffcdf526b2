/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a device as the environment says. Internal to verbs/. */
#ifndef NORNIC_VERBS_OPEN_H
#define NORNIC_VERBS_OPEN_H

#include "verbs/verbs.h"

/* The engine of a context of `device`: on its port, with the capture, the impairment and the window that
 * the environment asks for (docs/verbs.md). `number`: how many contexts the process opened before. 0 or
 * -errno with a sentence. */
int verbs_open_engine(const struct verbs_device *device, unsigned number, struct nornic_dev **out,
                      struct nornic_error *why);

/* In verbs/show/stat.c: where NORNIC_STAT wants it, tells once on stderr what the context's device has counted. */
void verbs_stat_tell(struct verbs_context_own *own);

#endif
