/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the messages of SMC-R version 2. */
#include <stddef.h>

#include "base/base.h"
#include "smcr/wire/clc2.h"
#include "smcr/wire/llc2.h"

NET_HEADER_TABLE(smcr_proposal2, "CLC Proposal v2", SMCR_PROPOSAL2_BYTES, SMCR_PROPOSAL2_FIELDS);
NET_HEADER_TABLE(smcr_proposal2_ext, "CLC Proposal v2 extension", SMCR_PROPOSAL2_EXT_BYTES,
                 SMCR_PROPOSAL2_EXT_FIELDS);
NET_HEADER_TABLE(smcr_eid, "enterprise id", SMCR_EID_BYTES, SMCR_EID_FIELDS);
NET_HEADER_TABLE(smcr_smcd_ext, "CLC Proposal SMC-D extension", SMCR_SMCD_EXT_BYTES, SMCR_SMCD_EXT_FIELDS);
NET_HEADER_TABLE(smcr_ism, "ISM device", SMCR_ISM_BYTES, SMCR_ISM_FIELDS);
NET_HEADER_TABLE(smcr_accept2, "CLC Accept or Confirm v2", SMCR_ACCEPT2_BYTES, SMCR_ACCEPT2_FIELDS);
NET_HEADER_TABLE(smcr_fce, "CLC first contact extension", SMCR_FCE_BYTES, SMCR_FCE_FIELDS);
NET_HEADER_TABLE(smcr_gid_list, "CLC GID list", SMCR_GID_LIST_BYTES, SMCR_GID_LIST_FIELDS);
NET_HEADER_TABLE(smcr_gid, "GID", SMCR_GID_BYTES, SMCR_GID_FIELDS);
NET_HEADER_TABLE(smcr_decline2, "CLC Decline v2", SMCR_DECLINE2_BYTES, SMCR_DECLINE2_FIELDS);
NET_HEADER_TABLE(smcr_trailer, "CLC trailer", SMCR_CLC_TRAIL_BYTES, SMCR_TRAILER_FIELDS);
NET_HEADER_TABLE(smcr_llc2_head, "LLC v2", SMCR_LLC2_HEAD_BYTES, SMCR_LLC2_HEAD_FIELDS);
NET_HEADER_TABLE(smcr_confirm_link2, "CONFIRM LINK v2", SMCR_MSG_BYTES, SMCR_CONFIRM_LINK2_FIELDS);
NET_HEADER_TABLE(smcr_add_link2, "ADD LINK v2", SMCR_MSG_BYTES, SMCR_ADD_LINK2_FIELDS);
NET_HEADER_TABLE(smcr_add_link2_ext, "ADD LINK v2 extension", SMCR_ADD_LINK2_EXT_BYTES,
                 SMCR_ADD_LINK2_EXT_FIELDS);
NET_HEADER_TABLE(smcr_rtoken2, "RToken", SMCR_RTOKEN2_BYTES, SMCR_RTOKEN2_FIELDS);
NET_HEADER_TABLE(smcr_delete_link2, "DELETE LINK v2", SMCR_MSG_BYTES, SMCR_DELETE_LINK2_FIELDS);
NET_HEADER_TABLE(smcr_request_add_link2, "REQUEST ADD LINK", SMCR_REQUEST_ADD_LINK2_BYTES,
                 SMCR_REQUEST_ADD_LINK2_FIELDS);
NET_HEADER_TABLE(smcr_confirm_rkey2, "CONFIRM RKEY v2", SMCR_MSG_BYTES, SMCR_CONFIRM_RKEY2_FIELDS);
NET_HEADER_TABLE(smcr_test_link2, "TEST LINK v2", SMCR_MSG_BYTES, SMCR_TEST_LINK2_FIELDS);
NET_HEADER_TABLE(smcr_delete_rkey2, "DELETE RKEY v2", SMCR_MSG_BYTES, SMCR_DELETE_RKEY2_FIELDS);

const char *smcr_clc2_offer_name(uint64_t value)
{
    static const char *const names[] = {"SMC-R", "SMC-D", "none", "both"};
    return value < array_len(names) ? names[value] : NULL;
}

const char *smcr_clc2_os_name(uint64_t value)
{
    static const char *const names[] = {NULL, "z/OS", "Linux", "AIX"};
    return value < array_len(names) ? names[value] : NULL;
}

const char *smcr_clc2_diagnosis_name(uint64_t value)
{
    static const struct {
        uint32_t code;
        const char *words;
    } linux_codes[] = {{SMCR_DIAG_NO_RNIC, "no usable RNIC, or no EID in common"},
                       {0x03030001, "no SMC-D device"},
                       {0x03030002, "no SMC-R device"},
                       {0x03030004, "the peer sent no extension of version 2"},
                       {0x03030005, "the peer sent no extension of SMC-Dv2"},
                       {0x03030006, "the peer sent no system EID"},
                       {0x03030007, "no SMC-Dv2 device"},
                       {0x03040000, "the peers offer different kinds of SMC"},
                       {0x030d0000, "out of DMBs"}};
    for (unsigned i = 0; i < array_len(linux_codes); i++)
        if (linux_codes[i].code == value)
            return linux_codes[i].words;
    return smcr_clc_diagnosis_name(value);
}

const char *smcr_llc2_type_name(uint64_t value)
{
    switch (value) {
    case SMCR_LLC2_CONFIRM_LINK:
        return "CONFIRM LINK";
    case SMCR_LLC2_ADD_LINK:
        return "ADD LINK";
    case SMCR_LLC2_DELETE_LINK:
        return "DELETE LINK";
    case SMCR_LLC2_REQUEST_ADD_LINK:
        return "REQUEST ADD LINK";
    case SMCR_LLC2_CONFIRM_RKEY:
        return "CONFIRM RKEY";
    case SMCR_LLC2_TEST_LINK:
        return "TEST LINK";
    case SMCR_LLC2_DELETE_RKEY:
        return "DELETE RKEY";
    }
    return NULL;
}

/* The numbers that peers are known to write least significant byte first, with their words. A message is 44
 * bytes; an ADD LINK has 16 more for each RToken behind 72, a REQUEST ADD LINK 16 for each GID behind 28. */
#define LSB_FIRST(n)                                                                  \
    {                                                                                 \
        (uint16_t)((n) << 8 & 0xff00) | (n) >> 8, #n ", least significant byte first" \
    }
static const struct lsb_first {
    uint16_t field;
    const char *words;
} lengths[] = {LSB_FIRST(44),  LSB_FIRST(60),  LSB_FIRST(76),  LSB_FIRST(92),  LSB_FIRST(108), LSB_FIRST(124),
               LSB_FIRST(140), LSB_FIRST(156), LSB_FIRST(72),  LSB_FIRST(88),  LSB_FIRST(104), LSB_FIRST(120),
               LSB_FIRST(136), LSB_FIRST(152), LSB_FIRST(168), LSB_FIRST(184), LSB_FIRST(200)},
  counts[] = {LSB_FIRST(1), LSB_FIRST(2), LSB_FIRST(3), LSB_FIRST(4),
              LSB_FIRST(5), LSB_FIRST(6), LSB_FIRST(7), LSB_FIRST(8)};

static const char *lsb_first_words(const struct lsb_first *known, size_t count, uint64_t field)
{
    for (size_t i = 0; i < count; i++)
        if (known[i].field == field)
            return known[i].words;
    return NULL;
}

const char *smcr_llc2_length_name(uint64_t value)
{
    return lsb_first_words(lengths, array_len(lengths), value);
}

const char *smcr_llc2_count_name(uint64_t value)
{
    return lsb_first_words(counts, array_len(counts), value);
}
