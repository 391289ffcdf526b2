/* SPDX-License-Identifier: BSD-2-Clause */
/* The statements of a port about itself in LLDP. */
#ifndef NORNIC_EXPLAIN_FLOW_LINK_DCBX_H
#define NORNIC_EXPLAIN_FLOW_LINK_DCBX_H

#include "explain/meaning/meaning.h"

/* Takes an LLDP frame. */
void explain_lldp_take(const struct explain_packet *packet, struct explain_meaning *m);

#endif
