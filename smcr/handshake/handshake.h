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
/* SMCR_CONN_REFUSED: its group ends, or the peer reuses its target: a Decline where we owe the next
 * message of a subsequent contact (SMCR-SC-11), else RST. */
void smcr_handshake_refused(struct smcr_conn *conn, uint64_t now_ns);

/* SMCR_CONN_RMB: its RMB can be told to the peer now, or never will (SMCR-SC-02, SC-04). */
void smcr_handshake_rmb(struct smcr_conn *conn, uint64_t now_ns);
/* SMCR_CONN_CONTACT: the first contact that it waits for is over: the message that waits is looked at again.
 */
void smcr_handshake_resume(struct smcr_conn *conn, uint64_t now_ns);
/* SMCR_GROUP_CONTACT: the LLC part of a first contact has ended, as group->contact says; what waited for the
 * group goes on (SMCR-FC-21). But for OK the group ends. */
void smcr_handshake_contact_ended(struct smcr_group *group, uint64_t now_ns);

#endif
