/* SPDX-License-Identifier: BSD-2-Clause */
/* Two devices of nornic/nornic.h joined in memory, with an RC queue pair each: what most tests of the room
 * begin with. */
#ifndef NORNIC_TEST_API_ENDS_H
#define NORNIC_TEST_API_ENDS_H

#include "nornic/nornic.h"

#define ENDS_SECOND_NS UINT64_C(1000000000)
#define ENDS_BYTES     65536
#define ENDS_RIGHTS                                                                       \
    (NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | \
     NORNIC_ACCESS_REMOTE_ATOMIC)

struct end {
    struct nornic_dev *dev;
    struct nornic_pd *pd;
    struct nornic_cq *cq;
    struct nornic_mr *mr; /* all of `memory`, with every right */
    struct nornic_qp *qp; /* 64 sends, 64 receives, of one SGE each */
    struct nornic_endpoint address;
    uint8_t *memory; /* ENDS_BYTES */
};

/* Opens both devices as `config` says (NULL: all defaults), and nothing on them. Fails the test
 * otherwise; so do the others. */
void ends_open_devices(struct end ends[2], const struct nornic_dev_config *config);

/* The same with everything of struct end; connected. */
void ends_open(struct end ends[2], const struct nornic_dev_config *config);

/* Destroys what is not NULL. */
void ends_close(struct end ends[2]);

/* Posts a signalled WRITE of `len_bytes` from the beginning of one memory to that of the other: 0 or
 * -errno. */
int ends_post_write(struct end *from, const struct end *to, uint64_t wr_id, uint32_t len_bytes);

/* Posts a receive of `len_bytes` at `offset`. 0 or -errno. */
int ends_post_recv(struct end *e, uint64_t wr_id, uint64_t offset, uint32_t len_bytes);

/* Posts a signalled SEND likewise. */
int ends_post_send(struct end *e, uint64_t wr_id, uint64_t offset, uint32_t len_bytes);

/* The next completion within five seconds. */
struct nornic_wc ends_wait(struct end *e);

#endif
