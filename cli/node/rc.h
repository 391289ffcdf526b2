/* SPDX-License-Identifier: BSD-2-Clause */
/* Bringing queue pairs up; what a service needs beyond this is in cli/node/rc.c (RC) and
 * cli/node/unreliable.h (UC, UD). Functions return CLI_OK, or CLI_ERROR after printing their sentence. */
#ifndef NORNIC_CLI_NODE_RC_H
#define NORNIC_CLI_NODE_RC_H

#include <stdint.h>

#include "cli/node/node.h"

struct cli_path {
    struct nornic_addr dgid;
    struct nornic_mac dst_mac;
    unsigned sgid_index;
    uint32_t pmtu_bytes;
    uint32_t dest_qpn;
    uint32_t rq_psn, sq_psn;
    uint8_t sl;
    uint8_t rd_atomic; /* both directions */
};

/* nornic_qp_modify(); NORNIC_QP_STATE is added to `mask`. */
int cli_qp_modify(struct nornic_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask);

/* The address vector of a path. */
struct nornic_av cli_path_av(const struct cli_path *path);

/* A PSN to start from: 24 random bits. */
uint32_t cli_rc_random_psn(void);

/* RESET to INIT with the remote rights `access`. */
int cli_rc_init(struct nornic_qp *qp, uint32_t access);

/* INIT to RTR to RTS with the timers of ibv_rc_pingpong: timeout 14 (67 ms), 7 retries, RNR retries for ever,
 * minimum RNR timer 12 (0.64 ms). */
int cli_rc_connect(struct nornic_qp *qp, const struct cli_path *path);

/* What a failed completion means to a user; never NULL. */
const char *cli_rc_status_words(enum nornic_wc_status status);

#endif
