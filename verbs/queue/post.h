/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests: from the ABI's form to nornic's. Internal to verbs/. */
#ifndef NORNIC_VERBS_POST_H
#define NORNIC_VERBS_POST_H

#include "verbs/verbs.h"

_Static_assert(sizeof(struct ibv_sge) == sizeof(struct nornic_sge) &&
                   offsetof(struct ibv_sge, addr) == offsetof(struct nornic_sge, addr) &&
                   offsetof(struct ibv_sge, length) == offsetof(struct nornic_sge, len_bytes) &&
                   offsetof(struct ibv_sge, lkey) == offsetof(struct nornic_sge, lkey),
               "a list of pieces is one of nornic's");

/* Posts a list of receives by `post` to `queue`, which is of `qp` or, where that is NULL, an SRQ. 0 or an
 * errno value, with *bad at the first that was not taken. */
int verbs_post_receives(struct verbs_context_own *own, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
                        int (*post)(void *queue, const struct nornic_recv_wr *wr,
                                    const struct nornic_recv_wr **bad),
                        void *queue, struct verbs_qp *qp);

#endif
