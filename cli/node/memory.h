/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory that a side registers for its messages, and the protection domain that it stands in. */
#ifndef NORNIC_CLI_NODE_MEMORY_H
#define NORNIC_CLI_NODE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "nornic/nornic.h"

struct cli_memory {
    struct nornic_pd *pd;
    struct nornic_mr *mr;
    uint8_t *bytes;
    uint32_t lkey, rkey; /* of `mr` */
    uint64_t remote_addr;
};

/* Allocates `len_bytes`, a whole number of pages with zeros in them, and registers them with these
 * rights. 0, or -errno with a sentence; what has been made then is given back by cli_memory_close() as
 * well. */
int cli_memory_open(struct nornic_dev *dev, uint64_t len_bytes, uint32_t access, struct cli_memory *out,
                    struct nornic_error *why);

/* Gives it back: after the queue pairs and the shared receive queues of the domain, which work on it. All
 * zero is fine. */
void cli_memory_close(struct cli_memory *memory);

#endif
