/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMA writes, and the element that they go to. A CDC tells up to which byte of it the writes before have
 * come; so where the element begins is told by its cursor, whatever the key and the address on that link
 * are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/replay/smc/inner.h"

static bool grow(void **array, size_t *cap, size_t needed, size_t size)
{
    if (needed <= *cap)
        return true;
    size_t wanted = *cap ? *cap : 64;
    while (wanted < needed)
        wanted *= 2;
    void *grown = reallocarray(*array, wanted, size);
    if (!grown)
        return false;
    *array = grown;
    *cap = wanted;
    return true;
}

int smcplay_writes_add(struct smcplay_writes *w, const struct roce_pkt *pkt)
{
    uint32_t n = pkt->payload_bytes;
    if (pkt->op->flags & ROCE_PKT_RETH)
        w->next_va = pkt->reth.va;
    if (!grow((void **)&w->pieces, &w->cap, w->count + 1, sizeof *w->pieces) ||
        !grow((void **)&w->bytes, &w->room, w->used + n, 1))
        return -ENOMEM;
    w->pieces[w->count++] = (struct smcplay_piece){.va = w->next_va, .at = w->used, .len_bytes = n};
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

/* How many bytes of the last write are beyond the cursor at `end`: a few bytes may be filled up to what a
 * message is long (smcr/link.c). Then the pieces that join up to it are more than the cursor moves. */
static uint32_t filled_up(const struct smcplay_image *image, const struct smcplay_writes *w,
                          const struct smcr_cursor *to, uint32_t end)
{
    size_t i = w->count - 1;
    const struct smcplay_piece *last = &w->pieces[i];
    int64_t n = smcplay_image_ahead(image, to);
    uint64_t joined = last->len_bytes;
    for (; i > 0 && w->pieces[i - 1].va + w->pieces[i - 1].len_bytes == w->pieces[i].va; i--)
        joined += w->pieces[i - 1].len_bytes;
    int64_t over = (int64_t)joined - (n < end - image->start ? n : end - image->start);
    return n > 0 && last->len_bytes == SMCR_SHORT_BYTES && over > 0 && over < SMCR_SHORT_BYTES
               ? (uint32_t)over
               : 0;
}

void smcplay_image_place(struct smcplay_image *image, struct smcplay_writes *w, const struct smcr_cursor *to)
{
    uint32_t end = to->offset_bytes == image->start ? image->elem_bytes : to->offset_bytes;
    if (w->count == 0)
        return;
    struct smcplay_piece *last = &w->pieces[w->count - 1];
    last->len_bytes -= filled_up(image, w, to, end);
    uint64_t base = last->va + last->len_bytes - end;
    for (size_t i = 0; i < w->count; i++) {
        const struct smcplay_piece *piece = &w->pieces[i];
        uint64_t offset = piece->va - base;
        if (offset >= image->elem_bytes || piece->len_bytes > image->elem_bytes - offset)
            continue; /* of another connection */
        memcpy(image->bytes + offset, w->bytes + piece->at, piece->len_bytes);
        memset(image->known + offset, 1, piece->len_bytes);
    }
    w->count = w->used = 0;
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
