/* SPDX-License-Identifier: BSD-2-Clause */
/* How a stream begins: the MPA Request and Reply frames of revisions 1 and 2 (RFC 5044 7.1, RFC 6581), for
 * either side, as a function of octets, calls and time. Inside the engine only.
 *
 *     initiator   REQUEST_SENT -----------------------------------> ESTABLISHED
 *     responder   WAIT_REQUEST -> REQUESTED -iwarp_setup_accept()-> ESTABLISHED
 *                                           -iwarp_setup_reject()-> FAILED, when the Reply is out
 *
 * FAILED from anywhere says why, and the TCP connection is to be closed. */
#ifndef NORNIC_IWARP_SETUP_H
#define NORNIC_IWARP_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "iwarp/wire/wire.h"

/* How long the peer's frame may take (IWARP-MPA-14). */
#define IWARP_REPLY_TIMEOUT_NS   UINT64_C(10000000000)
#define IWARP_REQUEST_TIMEOUT_NS UINT64_C(5000000000)

/* What the initiator may begin with so that the responder may speak (IWARP-ECE-05), as bits. The third kind
 * of RFC 6581, a Send, is never offered and never taken (IWARP-AMB-15). */
enum iwarp_rtr { IWARP_RTR_NONE = 0, IWARP_RTR_WRITE = 1, IWARP_RTR_READ = 2 };

/* What a side wants. All zero is the default but for the depths. */
struct iwarp_setup_config {
    uint8_t rev;            /* initiator: of its Request; responder: the newest served. 0: 2 */
    bool wants_markers;     /* in what it receives (IWARP-MPA-04) */
    bool no_crc;            /* does without, if the peer does (IWARP-MPA-07) */
    uint16_t ird, ord;      /* READs and atomics that it serves and that it makes, below IWARP_DEPTH_OPEN */
    uint16_t max_ird;       /* how far it can raise the former when the Reply asks. 0: not at all */
    bool leaves_depths;     /* initiator: does not say its depths: the programs know them */
    bool no_rtr;            /* initiator: the server does not speak first, so no RTR is offered */
    uint8_t rtr;            /* initiator: the kinds it offers, enum iwarp_rtr. 0: both */
    bool falls_back;        /* initiator of revision 2: another connection may begin with 1 (IWARP-MPA-12) */
    uint64_t reply_wait_ns; /* 0: IWARP_REPLY_TIMEOUT_NS */
    uint64_t request_wait_ns; /* 0: IWARP_REQUEST_TIMEOUT_NS */
};

enum iwarp_setup_state {
    IWARP_SETUP_NONE, /* all zero: not begun */
    IWARP_SETUP_REQUEST_SENT,
    IWARP_SETUP_WAIT_REQUEST,
    IWARP_SETUP_REQUESTED,
    IWARP_SETUP_ESTABLISHED,
    IWARP_SETUP_FAILED,
};

enum iwarp_setup_failure {
    IWARP_SETUP_FINE,
    IWARP_SETUP_REFUSED,  /* the peer's Reply says no; its private data may say why (IWARP-MPA-08) */
    IWARP_SETUP_REJECTED, /* this side says no: the program, or the Request asks what cannot be */
    IWARP_SETUP_TIMEOUT,  /* no whole frame in time */
    IWARP_SETUP_CLOSED,   /* TCP ended first */
    IWARP_SETUP_FRAME,    /* no frame of MPA, or octets where none may be (IWARP-MPA-10) */
    IWARP_SETUP_REVISION, /* one that is not spoken (IWARP-MPA-12) */
    IWARP_SETUP_IRD,      /* the Reply wants to read more than this side serves */
    IWARP_SETUP_RTR,      /* the Reply wants an RTR that was not offered */
};

/* What both sides have agreed on. */
struct iwarp_session {
    bool is_initiator;
    bool tx_markers, rx_markers;
    bool has_crc;
    uint8_t rev;
    uint8_t rtr;       /* enum iwarp_rtr: what the initiator's first FPDU is */
    uint16_t ird, ord; /* READs and atomics that this side serves and makes at once */
};

struct iwarp_setup {
    struct iwarp_setup_config config;
    enum iwarp_setup_state state;
    enum iwarp_setup_failure failure;
    uint16_t term; /* the MPA error that the initiator tells in a Terminate; 0: none (IWARP-CONN-05) */
    struct iwarp_session session;
    uint64_t deadline_ns; /* UINT64_MAX: none */
    struct iwarp_mpa_frame peer;
    struct iwarp_mpa_enhanced peer_enhanced; /* if the peer's frame has S */
    uint8_t in[IWARP_MPA_FRAME_BYTES + IWARP_MPA_PRIVATE_BYTES];
    uint8_t out[IWARP_MPA_FRAME_BYTES + IWARP_MPA_PRIVATE_BYTES];
    uint16_t in_bytes, out_bytes, out_sent;
};

/* Begins as initiator: the Request is to be sent. 0, or -EINVAL: a revision that is none, depths or private
 * data (at most 512 octets, 508 in revision 2) that cannot be told, an RTR that is not offered. */
int iwarp_setup_connect(struct iwarp_setup *s, const struct iwarp_setup_config *config,
                        const void *private_data, size_t private_bytes, uint64_t now_ns);
/* Begins as responder. 0 or -EINVAL. */
int iwarp_setup_listen(struct iwarp_setup *s, const struct iwarp_setup_config *config, uint64_t now_ns);

/* Octets of the TCP stream. Returns how many belong to the set-up: in ESTABLISHED those behind are FPDUs. */
size_t iwarp_setup_input(struct iwarp_setup *s, const uint8_t *bytes, size_t len_bytes);
/* The peer's half of TCP has ended, or the whole of it. */
void iwarp_setup_closed(struct iwarp_setup *s);
void iwarp_setup_advance(struct iwarp_setup *s, uint64_t now_ns);

/* In REQUESTED: the depths that the program accepts with, both below IWARP_DEPTH_OPEN. */
void iwarp_setup_set_depths(struct iwarp_setup *s, uint16_t ird, uint16_t ord);

/* In REQUESTED: what the program makes of the Request. 0, or -EINVAL: another state, or private data too
 * long (at most 512 octets; 508 if the Request has S). */
int iwarp_setup_accept(struct iwarp_setup *s, const void *private_data, size_t private_bytes);
int iwarp_setup_reject(struct iwarp_setup *s, const void *private_data, size_t private_bytes);

/* The octets that are to be sent, or NULL; and how many of them TCP took. */
const uint8_t *iwarp_setup_output(const struct iwarp_setup *s, size_t *len_bytes);
void iwarp_setup_sent(struct iwarp_setup *s, size_t len_bytes);

/* The peer's private data for the program, without what RFC 6581 put before it (IWARP-ECE-01); good as long
 * as `s`. */
const uint8_t *iwarp_setup_private_data(const struct iwarp_setup *s, size_t *len_bytes);

/* A Request of revision 2 was answered by an end of TCP, and the config has `falls_back`: another connection
 * may try revision 1 (IWARP-MPA-12). */
bool iwarp_setup_may_fall_back(const struct iwarp_setup *s);
/* On that connection: begins with a Request of revision 1, with the same private data. 0, or -EINVAL: it may
 * not. */
int iwarp_setup_fall_back(struct iwarp_setup *s, uint64_t now_ns);

#endif
