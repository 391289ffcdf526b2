/* SPDX-License-Identifier: BSD-2-Clause */
/* What an FPDU does at the side that receives it. Inside the engine only. */
#ifndef NORNIC_IWARP_SINK_H
#define NORNIC_IWARP_SINK_H

#include "iwarp/fail.h"

/* Takes one checked ULPDU: places, delivers, answers, or ends the stream. */
void iwarp_take_ulpdu(struct iwarp_qp *qp, const struct iwarp_ulpdu *ulpdu);

#endif
