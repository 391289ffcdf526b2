/* SPDX-License-Identifier: BSD-2-Clause */
/* Bringing up queue pairs of the unreliable services. Functions return CLI_OK, or CLI_ERROR after printing
 * their sentence. */
#ifndef NORNIC_CLI_NODE_UNRELIABLE_H
#define NORNIC_CLI_NODE_UNRELIABLE_H

#include "cli/node/rc.h"

/* UC: INIT to RTR to RTS. */
int cli_uc_connect(struct nornic_qp *qp, const struct cli_path *path);

/* UD: RESET to INIT with a Q_Key; INIT to RTR to RTS, sending from `sq_psn` on. */
int cli_ud_init(struct nornic_qp *qp, uint32_t qkey);
int cli_ud_start(struct nornic_qp *qp, uint32_t sq_psn);

/* What stands before the data in a receive buffer of UD (ROCE-UD-4), of datagrams over IPv4 in its last
 * 20 bytes. */
#define CLI_UD_AREA_BYTES NORNIC_L3_AREA_BYTES

/* Whether that area says that the datagram came from `src` to `dst`. */
bool cli_ud_area_names(const uint8_t *area, const struct nornic_addr *src, const struct nornic_addr *dst);

#endif
