/* SPDX-License-Identifier: BSD-2-Clause */
/* FPDUs as layers of a packet. */
#ifndef NORNIC_EXPLAIN_IWARP_LAYERS_H
#define NORNIC_EXPLAIN_IWARP_LAYERS_H

#include "explain/iwarp/types.h"

/* The headers of an FPDU that begins in the packet become its layers; of one that began before, its CRC. */
void explain_iwarp_show(struct iwarp_view *v, const struct iwarp_fpdu *f);
/* The MPA frame at that position. */
void explain_iwarp_show_frame(struct iwarp_view *v, uint64_t at, bool is_enhanced);

#endif
