/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages: taken apart once, where they come in, and put together where they leave. SMCR
 * section 10. */
#ifndef NORNIC_SMCR_LLC_MESSAGES_H
#define NORNIC_SMCR_LLC_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "smcr/wire/llc.h"

struct smcr_group;
struct smcr_link;
struct smcr_link_end;
struct smcr_llc_rkey;

/* One that came. */
struct smcr_llc_msg {
    uint8_t type; /* enum smcr_llc_type: which of these it is */
    bool is_response;
    union {
        struct smcr_confirm_link confirm_link;
        struct smcr_add_link add_link; /* in whichever layout it came (A5) */
        struct smcr_add_link_cont cont;
        struct smcr_delete_link delete_link;
        struct smcr_confirm_rkey confirm_rkey;
        struct smcr_confirm_rkey_cont rkey_cont;
        struct smcr_test_link test_link;
        struct smcr_delete_rkey delete_rkey;
    };
    uint8_t bytes[SMCR_MSG_BYTES]; /* as it came, for traces */
    uint8_t no_eye_catcher;        /* of CONFIRM LINK, version 2: SMCR_NO_EYE_CATCHER */
    uint8_t max_conns;             /* of the same */
    bool is_direct;                /* of ADD LINK, version 2: the sender needs no gateway */
    unsigned num_rtokens;          /* of the same, */
    const uint8_t *rtokens;        /* SMCR_RTOKEN2_BYTES each; valid while the message is handled */
};

enum smcr_llc_decoded {
    SMCR_LLC_DECODED,
    SMCR_LLC_IGNORABLE, /* a type that later versions may define (SMCR-LLC-02) */
    SMCR_LLC_UNKNOWN,   /* a type that is not known */
    SMCR_LLC_MALFORMED, /* not as long as it has to be (SMCR-LLC-01); `bytes` is padded or cut */
};
enum smcr_llc_decoded smcr_llc_decode(const struct smcr_group *group, const uint8_t *message,
                                      size_t len_bytes, struct smcr_llc_msg *out);

/* --- built: each fills SMCR_MSG_BYTES --- */

/* The request with R: TEST LINK, and CONFIRM RKEY with its continuations, with Z and C where it is refused
 * (SMCR-LLC-52). */
void smcr_llc_build_echo(uint8_t *message, const struct smcr_llc_msg *request, bool is_negative,
                         bool is_retry);
void smcr_llc_build_confirm_link(uint8_t *message, const struct smcr_link *link, bool is_response);
void smcr_llc_build_add_link(uint8_t *message, const struct smcr_group *group,
                             const struct smcr_link_end *end, uint8_t number, bool is_response);
/* `end`: of ours, of the link that the request came on; `reason`: enum smcr_add_link_reason. */
void smcr_llc_build_reject(uint8_t *message, const struct smcr_group *group, const struct smcr_link_end *end,
                           uint8_t number, uint8_t reason);
/* The next RTokens of ours for llc->about, which count as told from now on. */
void smcr_llc_build_cont(uint8_t *message, struct smcr_group *group, bool is_response);
void smcr_llc_build_delete_link(uint8_t *message, uint8_t number, uint32_t reason, bool orderly);
void smcr_llc_build_delete_all(uint8_t *message, uint32_t reason, bool orderly);
void smcr_llc_build_delete_rsp(uint8_t *message, uint8_t number, uint32_t reason);
void smcr_llc_build_test_link(uint8_t *message, const uint8_t user_data[16]);
/* Each notes in the exchange what its response will repeat: the first message of `x`, the next, DELETE RKEY.
 */
void smcr_llc_build_confirm_rkey(uint8_t *message, struct smcr_llc_rkey *x);
void smcr_llc_build_rkey_cont(uint8_t *message, struct smcr_llc_rkey *x);
void smcr_llc_build_delete_rkey(uint8_t *message, struct smcr_llc_rkey *x);

#endif
