/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the SMC-R messages and the words for their values: SMCR sections 5, 10 and 14. */
#include <stddef.h>

#include "base/base.h"
#include "smcr/wire/cdc.h"
#include "smcr/clc_wire.h"
#include "smcr/wire/llc.h"

NET_HEADER_TABLE(smcr_clc, "CLC", SMCR_CLC_BYTES, SMCR_CLC_FIELDS);
NET_HEADER_TABLE(smcr_proposal, "CLC Proposal", SMCR_PROPOSAL_BYTES, SMCR_PROPOSAL_FIELDS);
NET_HEADER_TABLE(smcr_subnet, "CLC Proposal subnet", SMCR_SUBNET_BYTES, SMCR_SUBNET_FIELDS);
NET_HEADER_TABLE(smcr_prefix, "CLC Proposal prefix", SMCR_PREFIX_BYTES, SMCR_PREFIX_FIELDS);
NET_HEADER_TABLE(smcr_accept, "CLC Accept or Confirm", SMCR_ACCEPT_BYTES, SMCR_ACCEPT_FIELDS);
NET_HEADER_TABLE(smcr_decline, "CLC Decline", SMCR_DECLINE_BYTES, SMCR_DECLINE_FIELDS);
NET_HEADER_TABLE(smcr_llc_head, "LLC", SMCR_LLC_HEAD_BYTES, SMCR_LLC_HEAD_FIELDS);
NET_HEADER_TABLE(smcr_confirm_link, "CONFIRM LINK", SMCR_MSG_BYTES, SMCR_CONFIRM_LINK_FIELDS);
NET_HEADER_TABLE(smcr_add_link, "ADD LINK", SMCR_MSG_BYTES, SMCR_ADD_LINK_FIELDS);
NET_HEADER_TABLE(smcr_add_link_shifted, "ADD LINK (shifted)", SMCR_MSG_BYTES, SMCR_ADD_LINK_SHIFTED_FIELDS);
NET_HEADER_TABLE(smcr_add_link_cont, "ADD LINK CONTINUATION", SMCR_MSG_BYTES, SMCR_ADD_LINK_CONT_FIELDS);
NET_HEADER_TABLE(smcr_delete_link, "DELETE LINK", SMCR_MSG_BYTES, SMCR_DELETE_LINK_FIELDS);
NET_HEADER_TABLE(smcr_confirm_rkey, "CONFIRM RKEY", SMCR_MSG_BYTES, SMCR_CONFIRM_RKEY_FIELDS);
NET_HEADER_TABLE(smcr_confirm_rkey_cont, "CONFIRM RKEY CONTINUATION", SMCR_MSG_BYTES,
                 SMCR_CONFIRM_RKEY_CONT_FIELDS);
NET_HEADER_TABLE(smcr_test_link, "TEST LINK", SMCR_MSG_BYTES, SMCR_TEST_LINK_FIELDS);
NET_HEADER_TABLE(smcr_delete_rkey, "DELETE RKEY", SMCR_MSG_BYTES, SMCR_DELETE_RKEY_FIELDS);
NET_HEADER_TABLE(smcr_cdc, "CDC", SMCR_MSG_BYTES, SMCR_CDC_FIELDS);

const char *smcr_clc_type_name(uint64_t value)
{
    static const char *const names[] = {NULL, "Proposal", "Accept", "Confirm", "Decline"};
    return value < array_len(names) ? names[value] : NULL;
}

const char *smcr_clc_diagnosis_name(uint64_t value)
{
    switch (value) {
#define CASE(name, code, words) \
    case code:                  \
        return words;
        SMCR_DIAGNOSES(CASE)
#undef CASE
    }
    return NULL;
}

const char *smcr_bsize_name(uint64_t value)
{
    static const char *const names[] = {"16 KiB", "32 KiB", "64 KiB", "128 KiB", "256 KiB", "512 KiB"};
    return value < array_len(names) ? names[value] : NULL;
}

const char *smcr_mtu_name(uint64_t value)
{
    static const char *const names[] = {NULL, "256", "512", "1024", "2048", "4096"};
    return value < array_len(names) ? names[value] : NULL;
}

const char *smcr_llc_type_name(uint64_t value)
{
    switch (value) {
    case SMCR_LLC_CONFIRM_LINK:
        return "CONFIRM LINK";
    case SMCR_LLC_ADD_LINK:
        return "ADD LINK";
    case SMCR_LLC_ADD_LINK_CONT:
        return "ADD LINK CONTINUATION";
    case SMCR_LLC_DELETE_LINK:
        return "DELETE LINK";
    case SMCR_LLC_CONFIRM_RKEY:
        return "CONFIRM RKEY";
    case SMCR_LLC_TEST_LINK:
        return "TEST LINK";
    case SMCR_LLC_CONFIRM_RKEY_CONT:
        return "CONFIRM RKEY CONTINUATION";
    case SMCR_LLC_DELETE_RKEY:
        return "DELETE RKEY";
    case SMCR_CDC:
        return "CDC";
    }
    return NULL;
}

const char *smcr_delete_link_reason_name(uint64_t value)
{
    switch (value) {
    case SMCR_DELETE_LOST_PATH:
        return "lost path";
    case SMCR_DELETE_OPERATOR:
        return "operator";
    case SMCR_DELETE_INACTIVE:
        return "link inactivity";
    case SMCR_DELETE_PROTOCOL:
        return "LLC protocol violation";
    case SMCR_DELETE_ASYMMETRIC:
        return "asymmetric link no longer needed";
    case SMCR_DELETE_UNKNOWN_LINK:
        return "unknown link";
    }
    return NULL;
}
