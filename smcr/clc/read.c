/* SPDX-License-Identifier: BSD-2-Clause */
/* CLC messages out of the TCP stream, in segments of any size: SMCR-CLC-02, CLC-05, CLC-13. */
#include <string.h>

#include "net/bytes.h"
#include "smcr/clc/clc.h"

static const uint8_t eye_catcher[SMCR_CLC_TRAIL_BYTES] = {0xe2, 0xd4, 0xc3, 0xd9};

/* SMCR-CLC-04: of a Proposal a later version is fine, its answer will be version 1. SMCR-CLC-13: lengths. */
static bool header_is_sound(const struct smcr_clc *h)
{
    switch (h->type) {
    case SMCR_CLC_PROPOSAL:
        return h->version >= SMCR_CLC_VERSION && h->length >= SMCR_PROPOSAL_BYTES + SMCR_CLC_TRAIL_BYTES &&
               h->length <= SMCR_CLC_MAX_BYTES;
    case SMCR_CLC_ACCEPT:
    case SMCR_CLC_CONFIRM:
        if (h->version == SMCR_CLC2_VERSION)
            return h->length >= SMCR_ACCEPT2_BYTES + SMCR_CLC_TRAIL_BYTES && h->length <= SMCR_CLC_MAX_BYTES;
        return h->version == SMCR_CLC_VERSION && h->length == SMCR_ACCEPT_BYTES;
    case SMCR_CLC_DECLINE:
        return h->version >= SMCR_CLC_VERSION &&
               (h->length == SMCR_DECLINE_BYTES ||
                (h->version == SMCR_CLC2_VERSION && h->length == SMCR_DECLINE2_BYTES));
    }
    return false;
}

static uint32_t message_bytes(const struct smcr_clc_reader *reader)
{
    struct smcr_clc h;
    smcr_clc_get(&h, reader->small);
    return h.length;
}

/* The header is complete: makes room for what follows. */
static enum smcr_clc_read begin_message(struct smcr_clc_reader *reader, const struct rdma_mem *mem)
{
    struct smcr_clc h;
    smcr_clc_get(&h, reader->small);
    if (!header_is_sound(&h))
        return SMCR_CLC_READ_BROKEN;
    if (h.length <= sizeof reader->small && h.type != SMCR_CLC_PROPOSAL)
        return SMCR_CLC_READ_MORE;
    reader->big = mem->alloc(mem->ctx, h.length);
    if (!reader->big)
        return SMCR_CLC_READ_NO_MEMORY;
    memcpy(reader->big, reader->small, SMCR_CLC_BYTES);
    return SMCR_CLC_READ_MORE;
}

/* Appends what still belongs to the header, or to the message. */
static size_t append(struct smcr_clc_reader *reader, uint32_t up_to, const uint8_t *bytes, size_t len_bytes)
{
    uint8_t *to = (reader->big ? reader->big : reader->small) + reader->len_bytes;
    size_t n = up_to - reader->len_bytes;
    if (n > len_bytes)
        n = len_bytes;
    if (n)
        memcpy(to, bytes, n);
    reader->len_bytes += (uint32_t)n;
    return n;
}

enum smcr_clc_read smcr_clc_read(struct smcr_clc_reader *reader, const struct rdma_mem *mem,
                                 const uint8_t *bytes, size_t len_bytes, size_t *taken)
{
    *taken = 0;
    if (reader->len_bytes < SMCR_CLC_BYTES) {
        *taken = append(reader, SMCR_CLC_BYTES, bytes, len_bytes);
        /* What is not CLC shows at its first byte: a peer that waits for an answer to it gets one. */
        uint32_t eye = reader->len_bytes < sizeof eye_catcher ? reader->len_bytes : sizeof eye_catcher;
        if (memcmp(reader->small, eye_catcher, eye) != 0)
            return SMCR_CLC_READ_BROKEN;
        if (reader->len_bytes < SMCR_CLC_BYTES)
            return SMCR_CLC_READ_MORE;
        enum smcr_clc_read read = begin_message(reader, mem);
        if (read != SMCR_CLC_READ_MORE)
            return read;
    }
    uint32_t whole = message_bytes(reader);
    *taken += append(reader, whole, bytes + *taken, len_bytes - *taken);
    if (reader->len_bytes < whole)
        return SMCR_CLC_READ_MORE;
    const uint8_t *trailer = smcr_clc_message(reader) + whole - SMCR_CLC_TRAIL_BYTES;
    return memcmp(trailer, eye_catcher, sizeof eye_catcher) == 0 ? SMCR_CLC_READ_DONE : SMCR_CLC_READ_BROKEN;
}

void smcr_clc_reader_clear(struct smcr_clc_reader *reader, const struct rdma_mem *mem)
{
    if (reader->big)
        mem->free(mem->ctx, reader->big);
    memset(reader, 0, sizeof *reader);
}
