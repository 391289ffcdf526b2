/* SPDX-License-Identifier: BSD-2-Clause */
/* An LLC message of either version as values, and how much of it the capture holds. Only explain/smc/
 * includes this. */
#ifndef NORNIC_EXPLAIN_SMC_LLC_MESSAGE_H
#define NORNIC_EXPLAIN_SMC_LLC_MESSAGE_H

#include "explain/packet/packet.h"
#include "smcr/wire/llc.h"
#include "smcr/wire/llc2.h"

/* What the capture cut off is 0. */
struct smc_message {
    uint8_t type; /* of version 1 */
    bool is_v2, is_response;
    const char *name; /* "ADD LINK" */
    const struct explain_layer *layer;
    union { /* by type */
        struct smcr_confirm_link2 confirm_link;
        struct smcr_add_link_shifted add_link;
        struct smcr_add_link_cont add_link_cont;
        struct smcr_delete_link delete_link;
        struct smcr_confirm_rkey confirm_rkey;
        struct smcr_confirm_rkey_cont confirm_rkey_cont;
        struct smcr_test_link test_link;
        struct smcr_delete_rkey delete_rkey;
    };
};

/* Decodes the message that begins with that layer; `layer` is to outlive it. */
struct smc_message explain_smc_message(const struct explain_packet *packet,
                                       const struct explain_layer *layer);
/* Whether the capture holds the field, by its name in the layer's list. */
bool explain_smc_message_has(const struct smc_message *msg, const char *field);
/* How many keys a DELETE RKEY names: eight at most in version 1; in version 2, whose message is as long as it
 * has to be, as many as there is room for in it. */
unsigned explain_smc_message_keys(const struct explain_packet *packet, const struct smc_message *msg);
/* The i-th of them, from 0; false: the capture does not hold it. */
bool explain_smc_message_key(const struct explain_packet *packet, const struct smc_message *msg, unsigned i,
                             uint32_t *rkey);
/* Whether it holds all that a line tells of the message. */
bool explain_smc_message_is_told(const struct explain_packet *packet, const struct smc_message *msg);
/* Whether it holds all that the group learns from the message, with the parts that hang on it. */
bool explain_smc_message_is_whole(const struct explain_packet *packet, const struct smc_message *msg);

#endif
