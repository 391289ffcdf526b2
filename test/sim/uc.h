/* SPDX-License-Identifier: BSD-2-Clause */
/* What UC promises (ROCE section 9): whatever completes is right and whole, what does not is silence, and
 * neither keeps the next message from arriving. */
#ifndef NORNIC_TEST_SIM_UC_H
#define NORNIC_TEST_SIM_UC_H

#include "test/sim/end.h"

/* Receive `index` of `end` completed: finds the message of the peer that it tells of. */
void sim_uc_receive(struct sim_end *end, unsigned index, const struct nornic_wc *wc);

/* After the run: WRITEs landed packet by packet or not at all; on a calm wire everything arrived. */
void sim_uc_settle(struct sim_end *end);

#endif
