/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the headers, and the words of queues and atomic operations. */
#include "iwarp/wire/wire.h"

#include "base/base.h"

NET_HEADER_TABLE(iwarp_mpa_frame, "MPA frame", IWARP_MPA_FRAME_BYTES, IWARP_MPA_FRAME_FIELDS);
NET_HEADER_TABLE(iwarp_mpa_enhanced, "MPA enhanced", IWARP_MPA_ENHANCED_BYTES, IWARP_MPA_ENHANCED_FIELDS);
NET_HEADER_TABLE(iwarp_mpa_length, "MPA", IWARP_MPA_LENGTH_BYTES, IWARP_MPA_LENGTH_FIELDS);
NET_HEADER_TABLE(iwarp_marker, "MPA marker", IWARP_MARKER_BYTES, IWARP_MARKER_FIELDS);
NET_HEADER_TABLE(iwarp_mpa_crc, "MPA CRC", IWARP_MPA_CRC_BYTES, IWARP_MPA_CRC_FIELDS);
NET_HEADER_TABLE(iwarp_ctrl, "DDP control", IWARP_CTRL_BYTES, IWARP_CTRL_FIELDS);
NET_HEADER_TABLE(iwarp_tagged, "DDP tagged", IWARP_TAGGED_BYTES, IWARP_TAGGED_FIELDS);
NET_HEADER_TABLE(iwarp_untagged, "DDP untagged", IWARP_UNTAGGED_BYTES, IWARP_UNTAGGED_FIELDS);
NET_HEADER_TABLE(iwarp_read_req, "RDMA Read Request", IWARP_READ_REQ_BYTES, IWARP_READ_REQ_FIELDS);
NET_HEADER_TABLE(iwarp_atomic_req, "Atomic Request", IWARP_ATOMIC_REQ_BYTES, IWARP_ATOMIC_REQ_FIELDS);
NET_HEADER_TABLE(iwarp_atomic_rsp, "Atomic Response", IWARP_ATOMIC_RSP_BYTES, IWARP_ATOMIC_RSP_FIELDS);
NET_HEADER_TABLE(iwarp_imm, "Immediate Data", IWARP_IMM_BYTES, IWARP_IMM_FIELDS);
NET_HEADER_TABLE(iwarp_term, "Terminate", IWARP_TERM_BYTES, IWARP_TERM_FIELDS);
NET_HEADER_TABLE(iwarp_term_length, "Terminate length", IWARP_TERM_LENGTH_BYTES, IWARP_TERM_LENGTH_FIELDS);

static const char *const queue_names[] = {
    [IWARP_QN_SEND] = "Send",
    [IWARP_QN_REQUEST] = "RDMA Read Request",
    [IWARP_QN_TERMINATE] = "Terminate",
    [IWARP_QN_ATOMIC_RSP] = "Atomic Response",
};
_Static_assert(array_len(queue_names) == IWARP_QN_COUNT, "a word a queue");

static const char *const atomic_names[] = {
    [IWARP_FETCH_ADD] = "FetchAdd",
    [IWARP_SWAP] = "Swap",
    [IWARP_CMP_SWAP] = "CmpSwap",
};
_Static_assert(array_len(atomic_names) == IWARP_ATOMIC_COUNT, "a word an operation");

const char *iwarp_queue_name(uint64_t value)
{
    return value < array_len(queue_names) ? queue_names[value] : NULL;
}

const char *iwarp_atomic_name(uint64_t value)
{
    return value < array_len(atomic_names) ? atomic_names[value] : NULL;
}
