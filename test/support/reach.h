/* SPDX-License-Identifier: BSD-2-Clause */
/* What a device has said of whose packets its queue pairs take (roce_dev_config.reach), kept as a port does.
 */
#ifndef NORNIC_TEST_SUPPORT_REACH_H
#define NORNIC_TEST_SUPPORT_REACH_H

#include "roce/roce.h"

#define REACH_QPS 64

struct reach {
    unsigned count, calls;
    struct reach_rule {
        uint32_t qpn;
        enum roce_reach reach;
        struct nornic_addr peer;
    } rules[REACH_QPS];
};

/* For the hook: what was said last of a number is what holds. */
void reach_note(struct reach *r, uint32_t qpn, enum roce_reach reach, const struct nornic_addr *peer);
/* What was said of a number; nobody's where nothing was. */
struct reach_rule reach_of(const struct reach *r, uint32_t qpn);
/* A port would hand up a packet from there. */
bool reach_admits(const struct reach *r, uint32_t qpn, const struct nornic_addr *src);

#endif
