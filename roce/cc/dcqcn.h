/* SPDX-License-Identifier: BSD-2-Clause */
/* DCQCN: the rate of one flow. Pure arithmetic on integers, no clock: ROCE-CC-20..24.
 *
 * The periodic steps are made up for when somebody asks, so that an idle flow needs no timer and costs
 * nothing. */
#ifndef NORNIC_ROCE_DCQCN_H
#define NORNIC_ROCE_DCQCN_H

#include <stdbool.h>
#include <stdint.h>

#include "roce/cc_config.h"

#define ROCE_DCQCN_ONE (1u << 20) /* alpha = 1 */

struct roce_dcqcn {
    uint64_t rate_bps;             /* Rc */
    uint64_t target_bps;           /* Rt */
    uint64_t alpha_deadline_ns;    /* the end of the running K */
    uint64_t increase_deadline_ns; /* the end of the running T */
    uint32_t alpha;                /* in units of 1 / ROCE_DCQCN_ONE */
    uint32_t bytes;                /* sent of the running B */
    uint32_t time_stage;           /* i_T */
    uint32_t byte_stage;           /* i_B */
    bool is_limited;               /* false: line rate, as from the start on; nothing else counts then */
};

/* Fills in the defaults. 0, or -EINVAL: a value out of the range that struct roce_cc_config names, or a step
 * so small (line rate / 2^20) that recovery would take for ever. */
int roce_cc_config_complete(struct roce_cc_config *config);

/* A flow that no CNP was seen for. `config` is complete, here and below. */
void roce_dcqcn_init(struct roce_dcqcn *flow, const struct roce_cc_config *config);

/* A CNP came: ROCE-CC-20. */
void roce_dcqcn_cnp(struct roce_dcqcn *flow, const struct roce_cc_config *config, uint64_t now_ns);

/* Makes the steps of all K and T that ended by `now_ns`: ROCE-CC-21, CC-22. To be called before the rate is
 * looked at. */
void roce_dcqcn_advance(struct roce_dcqcn *flow, const struct roce_cc_config *config, uint64_t now_ns);

/* So many bytes were sent: ROCE-CC-22. */
void roce_dcqcn_sent(struct roce_dcqcn *flow, const struct roce_cc_config *config, uint32_t len_bytes);

#endif
