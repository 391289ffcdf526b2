/* SPDX-License-Identifier: BSD-2-Clause */
/* RDMAP messages out of DDP segments, in the order of one direction of a stream. */
#include "explain/replay/iwarp/messages.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base.h"
#include "iwarp/wire/opcode.h"
#include "net/bytes.h"

const struct iwarp_opcode *explain_iwr_opcode(uint8_t opcode)
{
    return opcode < IWARP_OP_DEFINED ? &iwarp_opcodes[opcode] : NULL;
}

const uint8_t *explain_iwr_ulpdu(const struct iwr_event *event, uint32_t *len_bytes)
{
    *len_bytes = get_be16(event->bytes);
    return event->bytes + IWARP_MPA_LENGTH_BYTES;
}

static enum iwr_class class_of(uint8_t opcode)
{
    if (opcode == IWARP_OP_TERMINATE)
        return IWR_TERM;
    return opcode == IWARP_OP_READ_RESPONSE || opcode == IWARP_OP_ATOMIC_RESPONSE ? IWR_ANSWER : IWR_SOURCE;
}

/* The message that the segment goes on with, or a new one. */
static struct iwr_message *message_of(struct iwr_messages *m, enum iwr_class class, uint8_t opcode)
{
    struct iwr_message *last = m->count[class] ? &m->items[class][m->count[class] - 1] : NULL;
    if (last && !last->is_whole && last->opcode == opcode)
        return last;
    struct iwr_message *items =
        array_room(m->items[class], &m->cap[class], m->count[class] + 1, sizeof *items);
    if (!items)
        return NULL;
    m->items[class] = items;
    return &m->items[class][m->count[class]];
}

static bool add_data(struct iwr_message *to, const uint8_t *bytes, uint32_t len)
{
    uint8_t *data = array_room(to->data, &to->data_cap, (size_t)to->len_bytes + len, 1);
    if (!data)
        return false;
    to->data = data;
    if (len)
        memcpy(to->data + to->len_bytes, bytes, len);
    to->len_bytes += len;
    return true;
}

struct iwr_message *explain_iwr_message_add(struct iwr_messages *m, const uint8_t *ulpdu, uint32_t len_bytes,
                                            const struct iwr_message *like)
{
    uint8_t empty[IWARP_DDP_UNTAGGED_BYTES] = {0};
    struct iwarp_ctrl ctrl;
    struct iwarp_tagged tagged = {0};
    struct iwarp_untagged untagged = {0};
    memcpy(empty, ulpdu, min_u32(len_bytes, sizeof empty));
    iwarp_ctrl_get(&ctrl, empty);
    uint32_t head = ctrl.t ? IWARP_DDP_TAGGED_BYTES : IWARP_DDP_UNTAGGED_BYTES;
    if (ctrl.t)
        iwarp_tagged_get(&tagged, empty + IWARP_CTRL_BYTES);
    else
        iwarp_untagged_get(&untagged, empty + IWARP_CTRL_BYTES);
    enum iwr_class class = class_of(ctrl.opcode);
    struct iwr_message *to = message_of(m, class, ctrl.opcode);
    if (!to)
        return NULL;
    if (to == m->items[class] + m->count[class]) {
        *to = *like;
        to->opcode = ctrl.opcode;
        to->is_tagged = ctrl.t;
        to->stag = tagged.stag;
        to->to = tagged.to;
        to->qn = untagged.qn;
        to->msn = untagged.msn;
        to->inv_stag = untagged.inv_stag;
        m->count[class]++;
    }
    to->number = like->number;
    to->is_whole = ctrl.l || len_bytes < head;
    to->has_bad_crc |= like->has_bad_crc;
    to->segments++;
    to->longest = max_u32(to->longest, len_bytes);
    return add_data(to, ulpdu + head, len_bytes > head ? len_bytes - head : 0) ? to : NULL;
}

void explain_iwr_messages_free(struct iwr_messages *m)
{
    for (unsigned class = 0; class < IWR_CLASS_COUNT; class ++) {
        for (size_t i = 0; i < m->count[class]; i++)
            free(m->items[class][i].data);
        free(m->items[class]);
    }
    *m = (struct iwr_messages){0};
}
