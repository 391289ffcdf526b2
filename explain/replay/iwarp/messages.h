/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of RDMAP. */
#ifndef NORNIC_EXPLAIN_REPLAY_IWARP_MESSAGES_H
#define NORNIC_EXPLAIN_REPLAY_IWARP_MESSAGES_H

#include "explain/replay/iwarp/types.h"

/* Appends a ULPDU; `like` says where from. The message that it belongs to, or NULL: no memory. */
struct iwr_message *explain_iwr_message_add(struct iwr_messages *messages, const uint8_t *ulpdu,
                                            uint32_t len_bytes, const struct iwr_message *like);
void explain_iwr_messages_free(struct iwr_messages *messages);
/* NULL: reserved. */
const struct iwarp_opcode *explain_iwr_opcode(uint8_t opcode);
/* The ULPDU in an FPDU; its length in `*len_bytes`. */
const uint8_t *explain_iwr_ulpdu(const struct iwr_event *event, uint32_t *len_bytes);

#endif
