/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/smc/llc_message.h"

#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "smcr/wire/clc2.h"

#define KEYS_OFFSET 8 /* in a DELETE RKEY */
#define KEY_BYTES   4u

/* Version 1 as version 2, which has a field more. */
static void get_confirm_link(struct smcr_confirm_link2 *c, const uint8_t *at, bool is_v2)
{
    struct smcr_confirm_link v1;
    if (is_v2) {
        smcr_confirm_link2_get(c, at);
        return;
    }
    smcr_confirm_link_get(&v1, at);
    *c = (struct smcr_confirm_link2){.response = v1.response,
                                     .qpn = v1.qpn,
                                     .link = v1.link,
                                     .link_user_id = v1.link_user_id,
                                     .max_links = v1.max_links};
    memcpy(c->mac, v1.mac, sizeof c->mac);
    memcpy(c->gid, v1.gid, sizeof c->gid);
}

/* The layout of the RFC as that of Linux, which both versions have. */
static void get_add_link(struct smcr_add_link_shifted *a, const uint8_t *at, bool is_shifted)
{
    struct smcr_add_link plain;
    smcr_add_link_shifted_get(a, at);
    if (is_shifted)
        return;
    smcr_add_link_get(&plain, at);
    memcpy(a->gid, plain.gid, sizeof a->gid);
    a->qpn = plain.qpn;
    a->link = plain.link;
    a->mtu = plain.mtu;
    a->psn = plain.psn;
}

/* What is not named here has the same layout in both versions from byte 3 on
 * (test/explain/smc/test_layout.c). */
static void get_body(struct smc_message *msg, const uint8_t *at, enum explain_layer_id layer)
{
    switch (msg->type) {
    case SMCR_LLC_CONFIRM_LINK:
        get_confirm_link(&msg->confirm_link, at, msg->is_v2);
        break;
    case SMCR_LLC_ADD_LINK:
        get_add_link(&msg->add_link, at, layer != EXPLAIN_LAYER_LLC_ADD_LINK);
        break;
    case SMCR_LLC_ADD_LINK_CONT:
        smcr_add_link_cont_get(&msg->add_link_cont, at);
        break;
    case SMCR_LLC_DELETE_LINK:
        smcr_delete_link_get(&msg->delete_link, at);
        break;
    case SMCR_LLC_CONFIRM_RKEY:
        smcr_confirm_rkey_get(&msg->confirm_rkey, at);
        break;
    case SMCR_LLC_CONFIRM_RKEY_CONT:
        smcr_confirm_rkey_cont_get(&msg->confirm_rkey_cont, at);
        break;
    case SMCR_LLC_TEST_LINK:
        smcr_test_link_get(&msg->test_link, at);
        break;
    case SMCR_LLC_DELETE_RKEY:
        smcr_delete_rkey_get(&msg->delete_rkey, at);
        break;
    }
}

struct smc_message explain_smc_message(const struct explain_packet *packet, const struct explain_layer *layer)
{
    uint8_t room[EXPLAIN_LAYER_BYTES_MAX];
    const uint8_t *at = explain_layer_bytes(packet, layer, room);
    struct smcr_llc_head head;
    smcr_llc_head_get(&head, at);
    struct smc_message msg = {
        .is_v2 = smcr_llc_is_v2(head.type), .is_response = head.response, .layer = layer};
    msg.type = msg.is_v2 ? smcr_llc2_v1_type(head.type) : head.type;
    msg.name = msg.is_v2 ? smcr_llc2_type_name(head.type) : smcr_llc_type_name(head.type);
    get_body(&msg, at, layer->kind->id);
    return msg;
}

/* --- how much of it there is --- */

bool explain_smc_message_has(const struct smc_message *msg, const char *field)
{
    return explain_layer_is_whole(msg->layer) || explain_layer_has(msg->layer, field);
}

unsigned explain_smc_message_keys(const struct explain_packet *packet, const struct smc_message *msg)
{
    uint32_t room = (packet->icrc_offset - msg->layer->offset - KEYS_OFFSET) / KEY_BYTES;
    return min_u32(msg->delete_rkey.count, msg->is_v2 ? room : SMCR_RKEYS_PER_DELETE);
}

/* Those that are behind the layer, which has a fixed length, follow it at once. */
bool explain_smc_message_key(const struct explain_packet *packet, const struct smc_message *msg, unsigned i,
                             uint32_t *rkey)
{
    uint32_t at = msg->layer->offset + KEYS_OFFSET + KEY_BYTES * i;
    if (at + KEY_BYTES > packet->len_bytes)
        return false;
    *rkey = get_be32(packet->frame + at);
    return true;
}

/* The last field that is told. */
static const char *last_said(const struct smc_message *msg)
{
    switch (msg->type) {
    case SMCR_LLC_CONFIRM_LINK:
        return "max_links";
    case SMCR_LLC_ADD_LINK:
        return msg->add_link.rejected ? "rejected" : "psn";
    case SMCR_LLC_ADD_LINK_CONT:
        return "rtokens_left";
    case SMCR_LLC_DELETE_LINK:
        return "reason";
    case SMCR_LLC_CONFIRM_RKEY:
        return "va";
    case SMCR_LLC_CONFIRM_RKEY_CONT:
        return "links_left";
    case SMCR_LLC_DELETE_RKEY:
        return "count"; /* and the first key */
    default: /* TEST LINK and what is not known say nothing, the GIDs of REQUEST ADD LINK are layers */
        return "response";
    }
}

bool explain_smc_message_is_told(const struct explain_packet *packet, const struct smc_message *msg)
{
    uint32_t first;
    return explain_smc_message_has(msg, last_said(msg)) &&
           (msg->type != SMCR_LLC_DELETE_RKEY || explain_smc_message_key(packet, msg, 0, &first));
}

/* The last field of as many RTokens as the message has. */
static bool has_rtokens(const struct smc_message *msg, unsigned count)
{
    return count == 0 || explain_smc_message_has(msg, count == 1 ? "va_1" : count == 2 ? "va_2" : "va_3");
}

bool explain_smc_message_is_whole(const struct explain_packet *packet, const struct smc_message *msg)
{
    unsigned keys;
    uint32_t rkey;
    if (!explain_smc_message_is_told(packet, msg))
        return false;
    switch (msg->type) {
    case SMCR_LLC_ADD_LINK:
        return !msg->is_v2 || msg->add_link.rejected || packet->len_bytes >= packet->icrc_offset;
    case SMCR_LLC_ADD_LINK_CONT:
        return has_rtokens(msg, min_u32(msg->add_link_cont.rtokens_left, SMCR_RTOKENS_PER_CONT));
    case SMCR_LLC_CONFIRM_RKEY:
        return msg->is_response ||
               has_rtokens(msg, min_u32(msg->confirm_rkey.other_links, SMCR_LINKS_PER_CONFIRM_RKEY));
    case SMCR_LLC_CONFIRM_RKEY_CONT:
        return msg->is_response ||
               has_rtokens(msg, min_u32(msg->confirm_rkey_cont.links_left, SMCR_LINKS_PER_CONFIRM_RKEY_CONT));
    case SMCR_LLC_DELETE_RKEY:
        keys = explain_smc_message_keys(packet, msg);
        return keys == 0 || explain_smc_message_key(packet, msg, keys - 1, &rkey);
    default:
        return true;
    }
}
