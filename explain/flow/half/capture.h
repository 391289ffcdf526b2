/* SPDX-License-Identifier: BSD-2-Clause */
/* The gaps of a capture in a direction. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_CAPTURE_H
#define NORNIC_EXPLAIN_FLOW_HALF_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

/* The newest packet that left PSNs out. */
struct explain_gap {
    uint64_t number;       /* 0: none */
    uint32_t psn, end_psn; /* of the missing packets: the first, and one past the last */
    bool is_covered;       /* an answer has acknowledged it */
    bool is_uncounted;     /* the number of messages in it is not known */
};

struct explain_capture {
    struct explain_gap gap;
    bool is_holey;       /* it missed packets */
    bool has_ghosts;     /* answers came to requests that were not seen */
    bool is_headers_cut; /* it holds requests with their headers cut off */
    bool is_unseen;      /* it cuts headers: it does not tell the kind of these packets */
};

#endif
