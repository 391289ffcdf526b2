/* SPDX-License-Identifier: BSD-2-Clause */
/* What this process has open, for `nornic stat`. Internal to verbs/. */
#ifndef NORNIC_VERBS_SHOW_H
#define NORNIC_VERBS_SHOW_H

#include <stddef.h>

/* One JSON object, ASCII, with a newline at its end: {"devices": [...]}, each with device, port, state,
 * addresses, counters (those that are not 0) and qps; each of these with qpn, type, state, peer and peer_qpn
 * (where it has one), sends and recvs (outstanding), counters. free() it. NULL: no memory. */
char *verbs_show(size_t *len_bytes);

#endif
