/* SPDX-License-Identifier: BSD-2-Clause */
/* From the octets of a TCP stream, cut anywhere, to checked ULPDUs: MPA's receiving half (RFC 5044 4 and 6).
 * Inside the engine only.
 *
 * An FPDU that lies whole in what came, without a marker inside, is read in place. Any other is gathered in
 * the bounce buffer, its markers left out. Nothing of it is told before its CRC was good: a damaged header
 * could name any valid region (IWARP-FPDU-09). */
#ifndef NORNIC_IWARP_FPDU_RX_H
#define NORNIC_IWARP_FPDU_RX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds an FPDU of the longest ULPDU that its length field can say, without markers. */
#define IWARP_BOUNCE_BYTES 65544u

/* What came of the octets. */
enum iwarp_fpdu_verdict {
    IWARP_FPDU_MORE,    /* all were taken, and the FPDU is not whole */
    IWARP_FPDU_WHOLE,   /* there is a ULPDU */
    IWARP_FPDU_BAD_CRC, /* Terminate 2/0/02 (IWARP-FPDU-10) */
    IWARP_FPDU_BAD_LEN, /* Terminate 2/0/03: a marker that points elsewhere, or a ULPDU shorter than its own
                         * header (IWARP-MARK-05, IWARP-FPDU-02) */
};

struct iwarp_ulpdu {
    const uint8_t *bytes; /* at least the DDP header that its T bit says */
    uint32_t len_bytes;
};

/* What one direction of a stream agreed on. */
struct iwarp_fpdu_rules {
    bool has_markers;
    bool has_crc;
};

struct iwarp_fpdu_rx {
    struct iwarp_fpdu_rules rules;
    uint8_t *bounce;     /* IWARP_BOUNCE_BYTES, the owner's */
    uint32_t position;   /* octets since the set-up, modulo the interval of markers */
    uint32_t held_bytes; /* of the FPDU in progress, markers left out */
    uint32_t raw_bytes;  /* of it from ULPDU_Length on, markers counted: where an inner marker points from */
    uint32_t crc;        /* of it so far */
    uint8_t marker[4];
    bool is_led;         /* a marker stands before ULPDU_Length, or has begun to */
    bool has_bad_marker; /* told when the CRC shows that nothing was damaged */
};

/* Begins at the first octet behind the set-up. Keeps `bounce`. */
void iwarp_fpdu_rx_init(struct iwarp_fpdu_rx *rx, const struct iwarp_fpdu_rules *rules, uint8_t *bounce);

/* Takes octets up to the end of one FPDU; `*taken` says how many. WHOLE: `*ulpdu` lies in `bytes` or in the
 * bounce buffer, and is good until the next call. After a bad verdict the stream has no framing any more and
 * no further call makes sense. */
enum iwarp_fpdu_verdict iwarp_fpdu_rx_take(struct iwarp_fpdu_rx *rx, const uint8_t *bytes, size_t len_bytes,
                                           size_t *taken, struct iwarp_ulpdu *ulpdu);

/* Whether a FIN here is an orderly one (IWARP-MPA-20): nothing of an FPDU has arrived. */
static inline bool iwarp_fpdu_rx_is_between(const struct iwarp_fpdu_rx *rx)
{
    return rx->held_bytes == 0 && !rx->is_led;
}

#endif
