/* SPDX-License-Identifier: BSD-2-Clause */
/* The effect of RDMA writes on an element. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_WRITES_H
#define NORNIC_EXPLAIN_REPLAY_SMC_WRITES_H

#include "explain/replay/smc/types.h"

int smcplay_writes_add(struct smcplay_writes *w, const struct roce_pkt *pkt);
void smcplay_writes_free(struct smcplay_writes *w);
int smcplay_image_init(struct smcplay_image *image, uint32_t elem_bytes, uint32_t start);
void smcplay_image_free(struct smcplay_image *image);
/* Bytes from the cursor to `to`; negative: that is no place ahead of it. */
int64_t smcplay_image_ahead(const struct smcplay_image *image, const struct smcr_cursor *to);
/* Takes the bytes that were written to the element, which lies at `place` on that link, up to a cursor that a
 * CDC tells of. Bytes of other elements stay for theirs. */
void smcplay_image_place(struct smcplay_image *image, const struct smcplay_place *place,
                         struct smcplay_writes *w, const struct smcr_cursor *to);
/* Takes the next byte of the stream. False: it was not written. */
bool smcplay_image_next(struct smcplay_image *image, uint8_t *byte);

#endif
