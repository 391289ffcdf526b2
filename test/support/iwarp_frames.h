/* SPDX-License-Identifier: BSD-2-Clause */
/* One worked example of each frame and message of iWARP, as bytes of the TCP stream. They were made by a
 * script that knows nothing of this project, and tshark took every one for what it is, its CRC for good. */
#ifndef NORNIC_TEST_SUPPORT_IWARP_FRAMES_H
#define NORNIC_TEST_SUPPORT_IWARP_FRAMES_H

#include <stddef.h>
#include <stdint.h>

enum iwarp_example_name {
    IWARP_EX_REQUEST_1,
    IWARP_EX_REPLY_1,
    IWARP_EX_REQUEST_2,
    IWARP_EX_REPLY_2,
    IWARP_EX_FIRST_FPDU, /* what follows are FPDUs, with good CRCs */
    IWARP_EX_RTR_WRITE = IWARP_EX_FIRST_FPDU,
    IWARP_EX_RTR_READ,
    IWARP_EX_RTR_READ_RESPONSE,
    IWARP_EX_SEND,
    IWARP_EX_SEND_INV,
    IWARP_EX_SEND_SE,
    IWARP_EX_SEND_SE_INV,
    IWARP_EX_WRITE,
    IWARP_EX_READ_REQUEST,
    IWARP_EX_READ_RESPONSE,
    IWARP_EX_FETCH_ADD,
    IWARP_EX_ATOMIC_RESPONSE,
    IWARP_EX_CMP_SWAP,
    IWARP_EX_SWAP,
    IWARP_EX_IMM,
    IWARP_EX_IMM_SE,
    IWARP_EX_TERM_MPA,
    IWARP_EX_TERM_UNTAGGED,
    IWARP_EX_TERM_TAGGED,
    IWARP_EX_TERM_READ,
    IWARP_EX_MARKED, /* begins with a marker */
    IWARP_EX_COUNT,
};

struct iwarp_example {
    const char *title;
    const char *hex;
};

#define IWARP_EXAMPLE_MAX_BYTES 128

extern const struct iwarp_example iwarp_examples[IWARP_EX_COUNT];

/* Writes the bytes of an example and returns how many there are. */
size_t iwarp_example_bytes(enum iwarp_example_name name, uint8_t out[IWARP_EXAMPLE_MAX_BYTES]);

#endif
