/* SPDX-License-Identifier: BSD-2-Clause */
/* The CLC exchange of a connection: from the TCP connection to SMC-R or back to TCP. SMCR sections 5 to 8. */
#ifndef NORNIC_SMCR_HANDSHAKE_H
#define NORNIC_SMCR_HANDSHAKE_H

#include "smcr/conn/conn.h"

/* Client: proposes. Server: waits for the Proposal. */
void smcr_handshake_start(struct smcr_conn *conn, uint64_t now_ns);
/* smcr_conn_tcp_input() while the handshake runs. */
size_t smcr_handshake_input(struct smcr_conn *conn, const uint8_t *bytes, size_t len_bytes, uint64_t now_ns);
/* smcr_conn_tcp_input() in FALLBACK: takes nothing but the Decline that crossed ours. */
size_t smcr_handshake_crossed(struct smcr_conn *conn, const uint8_t *bytes, size_t len_bytes);
void smcr_handshake_tcp_end(struct smcr_conn *conn, enum smcr_tcp_end how, uint64_t now_ns);
/* The application gave the connection back, or wants it to end abnormally, while the handshake runs: RST. */
void smcr_handshake_abandon(struct smcr_conn *conn, const char *cause, uint64_t now_ns);
/* Its group ends, or the peer reuses its target (smcr_conn_kill()): a Decline where we owe the next
 * message of a subsequent contact (SMCR-SC-11), else RST. */
void smcr_handshake_kill(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns);

/* The RMB of the connection can be told to the peer now, or never will (SMCR-SC-02, SC-04). */
void smcr_conn_rmb_ready(struct smcr_conn *conn, uint64_t now_ns);
void smcr_conn_rmb_failed(struct smcr_conn *conn, uint64_t now_ns);

enum smcr_first_contact {
    SMCR_FIRST_CONTACT_OK,      /* the socket opens: SMCR-FC-19 */
    SMCR_FIRST_CONTACT_DECLINE, /* a Decline is still allowed (SMCR-FBK-01): fall back */
    SMCR_FIRST_CONTACT_RESET,   /* RST */
};
/* The LLC part of a first contact has ended; what waited for the group goes on (SMCR-FC-21) with the next
 * smcr_expire(). But for OK the group is ENDING when this returns. */
void smcr_handshake_first_contact_ended(struct smcr_group *group, enum smcr_first_contact how,
                                        uint32_t diagnosis, const char *cause, uint64_t now_ns);

#endif
