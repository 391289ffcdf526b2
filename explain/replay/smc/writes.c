/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA writes, and the element that they go to. Many connections' writes may come before all that tells of
 * them, so each takes those that lie in its own element (rmbs.c). */
#include "explain/replay/smc/writes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base.h"

int smcplay_writes_add(struct smcplay_writes *w, const struct roce_pkt *pkt)
{
    uint32_t n = pkt->payload_bytes;
    if (pkt->op->flags & ROCE_PKT_RETH) {
        w->next_va = pkt->reth.va;
        w->next_rkey = pkt->reth.rkey;
    }
    if (w->used + n > SMCPLAY_WRITES_BYTES)
        w->count = w->used = 0;
    struct smcplay_piece *pieces = array_room(w->pieces, &w->cap, w->count + 1, sizeof *pieces);
    if (!pieces)
        return -ENOMEM;
    w->pieces = pieces;
    uint8_t *bytes = array_room(w->bytes, &w->room, w->used + n, 1);
    if (!bytes)
        return -ENOMEM;
    w->bytes = bytes;
    w->pieces[w->count++] =
        (struct smcplay_piece){.va = w->next_va, .at = w->used, .rkey = w->next_rkey, .len_bytes = n};
    memcpy(w->bytes + w->used, pkt->payload, n);
    w->used += n;
    w->next_va += n;
    return 0;
}

void smcplay_writes_free(struct smcplay_writes *w)
{
    free(w->pieces);
    free(w->bytes);
}

int smcplay_image_init(struct smcplay_image *image, uint32_t elem_bytes, uint32_t start)
{
    *image = (struct smcplay_image){.elem_bytes = elem_bytes,
                                    .start = start,
                                    .cursor = {.offset_bytes = start},
                                    .bytes = calloc(1, elem_bytes),
                                    .known = calloc(1, elem_bytes)};
    return image->bytes && image->known ? 0 : -ENOMEM;
}

void smcplay_image_free(struct smcplay_image *image)
{
    free(image->bytes);
    free(image->known);
}

int64_t smcplay_image_ahead(const struct smcplay_image *image, const struct smcr_cursor *to)
{
    if (!image->elem_bytes || !smcr_cursor_is_valid(image->start, to, image->elem_bytes))
        return -1;
    int64_t n = smcr_cursor_distance(image->start, &image->cursor, to, image->elem_bytes);
    return n <= smcr_cap_bytes(image->start, image->elem_bytes) ? n : -1;
}

/* The piece lies in the element: where in it. */
static bool is_in(const struct smcplay_image *image, const struct smcplay_place *place,
                  const struct smcplay_piece *piece, uint32_t *offset)
{
    uint64_t from = piece->va - place->va;
    *offset = (uint32_t)from;
    return piece->rkey == place->rkey && from < image->elem_bytes &&
           piece->len_bytes <= image->elem_bytes - from;
}

/* Of a write that ends beyond the cursor: a few bytes may be filled up to what a message is long
 * (smcr/group/link_states.c). */
static uint32_t without_filling(const struct smcplay_image *image, const struct smcr_cursor *to,
                                uint32_t offset, uint32_t len_bytes)
{
    uint32_t end = to->offset_bytes == image->start ? image->elem_bytes : to->offset_bytes;
    return len_bytes == SMCR_SHORT_BYTES && offset < end ? min_u32(len_bytes, end - offset) : len_bytes;
}

void smcplay_image_place(struct smcplay_image *image, const struct smcplay_place *place,
                         struct smcplay_writes *w, const struct smcr_cursor *to)
{
    size_t kept = 0, used = 0;
    for (size_t i = 0; i < w->count; i++) {
        struct smcplay_piece piece = w->pieces[i];
        uint32_t offset;
        if (is_in(image, place, &piece, &offset)) {
            uint32_t n = without_filling(image, to, offset, piece.len_bytes);
            memcpy(image->bytes + offset, w->bytes + piece.at, n);
            memset(image->known + offset, 1, n);
            continue;
        }
        if (piece.at != used)
            memmove(w->bytes + used, w->bytes + piece.at, piece.len_bytes);
        piece.at = used;
        used += piece.len_bytes;
        w->pieces[kept++] = piece;
    }
    w->count = kept;
    w->used = used;
}

bool smcplay_image_next(struct smcplay_image *image, uint8_t *byte)
{
    uint32_t at = image->cursor.offset_bytes;
    bool is_known = image->known[at];
    *byte = image->bytes[at];
    image->known[at] = 0;
    image->cursor = smcr_cursor_advance(image->start, image->cursor, 1, image->elem_bytes);
    image->position++;
    return is_known;
}
