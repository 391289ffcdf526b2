/* SPDX-License-Identifier: BSD-2-Clause */
/* The layers of SMC-R, version 1 (RFC 7609). Of version 2 the common header is shown. */
#include "explain/cursor.h"
#include "net/bytes.h"
#include "net/tcp.h"
#include "smcr/cdc_wire.h"
#include "smcr/clc_wire.h"
#include "smcr/llc_wire.h"

#define CLC_MESSAGES_MAX 3 /* of one segment */

static void take_option(struct explain_cursor *c, uint32_t end)
{
    while (c->at + 1 < end) {
        const uint8_t *option = c->packet->frame + c->at;
        if (option[0] == NET_TCP_OPTION_END)
            return;
        uint32_t n = option[0] == NET_TCP_OPTION_NOP ? 1 : option[1];
        bool is_exp = option[0] == NET_TCP_OPTION_EXP1 || option[0] == NET_TCP_OPTION_EXP2;
        if (is_exp && n == NET_TCP_EXID_BYTES && c->at + n <= end &&
            get_be32(option + 2) == SMCR_EYE_CATCHER) {
            c->packet->kind = EXPLAIN_SMC_TCP;
            explain_take(c, &net_tcp_exid_header, "smc_option");
            return;
        }
        if (n < 1 || (n < 2 && option[0] != NET_TCP_OPTION_NOP))
            return;
        c->at += n;
    }
}

/* The subnet, or the prefixes, behind the growth area: SMCR-CLC-21. */
static void take_prefixes(struct explain_cursor *c, const struct smcr_proposal *p)
{
    struct smcr_subnet subnet;
    uint32_t from = c->at + p->offset;
    if (from > c->end)
        return;
    c->at = from;
    if (!explain_take(c, &smcr_subnet_header, "clc_subnet"))
        return;
    smcr_subnet_get(&subnet, c->packet->frame + from);
    for (unsigned i = 0; i < subnet.prefix_count && i < SMCR_CLC_MAX_PREFIX; i++)
        if (!explain_take(c, &smcr_prefix_header, "clc_prefix"))
            return;
}

/* One message; `clc` is its header. Of what is not known more than that is not shown. */
static void take_clc(struct explain_cursor *c, const struct smcr_clc *clc)
{
    struct smcr_proposal p;
    uint32_t from = c->at;
    switch (clc->version == 1 ? clc->type : 0) {
    case SMCR_CLC_PROPOSAL:
        if (!explain_take(c, &smcr_proposal_header, "clc_proposal"))
            return;
        smcr_proposal_get(&p, c->packet->frame + from);
        take_prefixes(c, &p);
        return;
    case SMCR_CLC_ACCEPT:
        explain_take(c, &smcr_accept_header, "clc_accept");
        return;
    case SMCR_CLC_CONFIRM:
        explain_take(c, &smcr_accept_header, "clc_confirm");
        return;
    case SMCR_CLC_DECLINE:
        explain_take(c, &smcr_decline_header, "clc_decline");
        return;
    }
    explain_take(c, &smcr_clc_header, "clc");
}

void explain_take_tcp(struct explain_cursor *c)
{
    struct net_tcp tcp;
    uint32_t from = c->at;
    if (!explain_take(c, &net_tcp_header, "tcp"))
        return;
    net_tcp_get(&tcp, c->packet->frame + from);
    uint32_t data = from + tcp.data_offset * 4u;
    if (data < c->at || data > c->end)
        return;
    take_option(c, data);
    c->at = data;
    for (unsigned i = 0; i < CLC_MESSAGES_MAX && c->end - c->at >= SMCR_CLC_BYTES; i++) {
        struct smcr_clc clc;
        uint32_t message = c->at;
        smcr_clc_get(&clc, c->packet->frame + message);
        if (clc.eye_catcher != SMCR_EYE_CATCHER || clc.length < SMCR_CLC_BYTES)
            return;
        c->packet->kind = EXPLAIN_SMC_TCP;
        take_clc(c, &clc);
        if (clc.length > c->end - message)
            return;
        c->at = message + clc.length;
    }
}

void explain_take_smc_message(struct explain_cursor *c)
{
    static const struct {
        uint8_t type;
        const struct net_header *header;
        const char *key;
    } messages[] = {
        {SMCR_LLC_CONFIRM_LINK, &smcr_confirm_link_header, "llc_confirm_link"},
        {SMCR_LLC_ADD_LINK, &smcr_add_link_header, "llc_add_link"},
        {SMCR_LLC_ADD_LINK_CONT, &smcr_add_link_cont_header, "llc_add_link_cont"},
        {SMCR_LLC_DELETE_LINK, &smcr_delete_link_header, "llc_delete_link"},
        {SMCR_LLC_CONFIRM_RKEY, &smcr_confirm_rkey_header, "llc_confirm_rkey"},
        {SMCR_LLC_CONFIRM_RKEY_CONT, &smcr_confirm_rkey_cont_header, "llc_confirm_rkey_cont"},
        {SMCR_LLC_TEST_LINK, &smcr_test_link_header, "llc_test_link"},
        {SMCR_LLC_DELETE_RKEY, &smcr_delete_rkey_header, "llc_delete_rkey"},
        {SMCR_CDC, &smcr_cdc_header, "cdc"},
    };
    const uint8_t *message = c->packet->frame + c->at;
    if (c->packet->payload_bytes != SMCR_MSG_BYTES || message[1] != SMCR_MSG_BYTES)
        return;
    for (unsigned i = 0; i < sizeof messages / sizeof messages[0]; i++)
        if (messages[i].type == message[0])
            explain_take(c, messages[i].header, messages[i].key);
}
