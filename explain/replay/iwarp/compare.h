/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of both, compared. */
#ifndef NORNIC_EXPLAIN_REPLAY_IWARP_COMPARE_H
#define NORNIC_EXPLAIN_REPLAY_IWARP_COMPARE_H

#include "explain/replay/iwarp/types.h"

void explain_iwr_compare(const struct iwr_end *e, uint32_t connection,
                         const struct explain_iwarp_replay_config *config,
                         struct explain_iwarp_replay_result *result);

#endif
