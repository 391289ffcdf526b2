/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/wire/fpdu_rx.h"

#include "iwarp/wire/crc.h"
#include "iwarp/wire/size.h"

#define LENGTH IWARP_MPA_LENGTH_BYTES

void iwarp_fpdu_rx_init(struct iwarp_fpdu_rx *rx, const struct iwarp_fpdu_rules *rules, uint8_t *bounce)
{
    *rx = (struct iwarp_fpdu_rx){.rules = *rules, .bounce = bounce};
}

/* The FPDU in progress up to its CRC, of which the length field is at `fpdu`. */
static uint32_t body_bytes(const uint8_t *fpdu)
{
    struct iwarp_mpa_length h;
    iwarp_mpa_length_get(&h, fpdu);
    return iwarp_fpdu_bytes(h.ulpdu_len) - IWARP_MPA_CRC_BYTES;
}

static void add_to_crc(struct iwarp_fpdu_rx *rx, const uint8_t *bytes, uint32_t len_bytes)
{
    if (rx->rules.has_crc)
        rx->crc = iwarp_crc(rx->crc, bytes, len_bytes);
}

static void go_on(struct iwarp_fpdu_rx *rx, uint32_t len_bytes)
{
    rx->position = (rx->position + len_bytes) % IWARP_MARKER_INTERVAL;
}

static bool is_in_marker(const struct iwarp_fpdu_rx *rx)
{
    return rx->rules.has_markers && rx->position < IWARP_MARKER_BYTES;
}

/* How many octets there are to the next marker. */
static uint32_t plain_bytes(const struct iwarp_fpdu_rx *rx)
{
    return rx->rules.has_markers ? IWARP_MARKER_INTERVAL - rx->position : UINT32_MAX;
}

/* IWARP-MARK-05. IWARP-AMB-03: some count from the marker that leads the FPDU, which is 4 more. */
static void check_marker(struct iwarp_fpdu_rx *rx)
{
    struct iwarp_marker h;
    iwarp_marker_get(&h, rx->marker);
    uint32_t ptr = h.fpdu_ptr & ~3u;
    bool is_from_leader = rx->is_led && rx->raw_bytes && ptr == rx->raw_bytes + IWARP_MARKER_BYTES;
    if (ptr != rx->raw_bytes && !is_from_leader)
        rx->has_bad_marker = true;
}

/* Takes one octet of a marker. */
static void take_marker(struct iwarp_fpdu_rx *rx, uint8_t octet)
{
    if (rx->held_bytes == 0)
        rx->is_led = true;
    rx->marker[rx->position] = octet;
    go_on(rx, 1);
    if (is_in_marker(rx))
        return;
    check_marker(rx);
    add_to_crc(rx, rx->marker, IWARP_MARKER_BYTES);
    if (rx->held_bytes)
        rx->raw_bytes += IWARP_MARKER_BYTES;
}

/* How many octets the part of the FPDU that is being gathered still wants: length, body, CRC. */
static uint32_t wanted_bytes(const struct iwarp_fpdu_rx *rx)
{
    if (rx->held_bytes < LENGTH)
        return LENGTH - rx->held_bytes;
    uint32_t body = body_bytes(rx->bounce);
    return (rx->held_bytes < body ? body : body + IWARP_MPA_CRC_BYTES) - rx->held_bytes;
}

static void gather(struct iwarp_fpdu_rx *rx, const uint8_t *bytes, uint32_t len_bytes)
{
    bool is_crc = rx->held_bytes >= LENGTH && rx->held_bytes >= body_bytes(rx->bounce);
    memcpy(rx->bounce + rx->held_bytes, bytes, len_bytes);
    if (!is_crc)
        add_to_crc(rx, bytes, len_bytes);
    rx->held_bytes += len_bytes;
    rx->raw_bytes += len_bytes;
    go_on(rx, len_bytes);
}

static bool is_gathered(const struct iwarp_fpdu_rx *rx)
{
    return rx->held_bytes > LENGTH && rx->held_bytes == body_bytes(rx->bounce) + IWARP_MPA_CRC_BYTES;
}

/* IWARP-FPDU-02. */
static bool has_its_header(const struct iwarp_ulpdu *ulpdu)
{
    struct iwarp_ctrl ctrl;
    if (ulpdu->len_bytes < IWARP_DDP_TAGGED_BYTES)
        return false;
    iwarp_ctrl_get(&ctrl, ulpdu->bytes);
    return ctrl.t || ulpdu->len_bytes >= IWARP_DDP_UNTAGGED_BYTES;
}

/* The whole FPDU is at `fpdu`, and its CRC in rx->crc: the verdict on it, and on to the next. */
static enum iwarp_fpdu_verdict judge(struct iwarp_fpdu_rx *rx, const uint8_t *fpdu, struct iwarp_ulpdu *ulpdu)
{
    struct iwarp_mpa_length h;
    ulpdu->bytes = iwarp_mpa_length_get(&h, fpdu);
    ulpdu->len_bytes = h.ulpdu_len;
    bool is_damaged = rx->rules.has_crc && rx->crc != iwarp_crc_get(fpdu + body_bytes(fpdu));
    bool is_out_of_step = rx->has_bad_marker || !has_its_header(ulpdu);
    rx->held_bytes = rx->raw_bytes = rx->crc = 0;
    rx->is_led = rx->has_bad_marker = false;
    if (is_damaged)
        return IWARP_FPDU_BAD_CRC;
    return is_out_of_step ? IWARP_FPDU_BAD_LEN : IWARP_FPDU_WHOLE;
}

/* Whether the FPDU that begins at `bytes` is all there, in one piece. */
static bool is_in_place(const struct iwarp_fpdu_rx *rx, const uint8_t *bytes, size_t len_bytes)
{
    if (rx->held_bytes || is_in_marker(rx) || len_bytes < LENGTH)
        return false;
    uint32_t fpdu_bytes = body_bytes(bytes) + IWARP_MPA_CRC_BYTES;
    return fpdu_bytes <= len_bytes && fpdu_bytes <= plain_bytes(rx);
}

enum iwarp_fpdu_verdict iwarp_fpdu_rx_take(struct iwarp_fpdu_rx *rx, const uint8_t *bytes, size_t len_bytes,
                                           size_t *taken, struct iwarp_ulpdu *ulpdu)
{
    for (*taken = 0; *taken < len_bytes;) {
        const uint8_t *p = bytes + *taken;
        size_t left = len_bytes - *taken;
        if (is_in_marker(rx)) {
            take_marker(rx, *p);
            *taken += 1;
            continue;
        }
        if (is_in_place(rx, p, left)) {
            uint32_t body = body_bytes(p);
            add_to_crc(rx, p, body);
            go_on(rx, body + IWARP_MPA_CRC_BYTES);
            *taken += body + IWARP_MPA_CRC_BYTES;
            return judge(rx, p, ulpdu);
        }
        uint32_t n = min_u32(wanted_bytes(rx), plain_bytes(rx));
        n = (uint32_t)min_u64(n, left);
        gather(rx, p, n);
        *taken += n;
        if (is_gathered(rx))
            return judge(rx, rx->bounce, ulpdu);
    }
    return IWARP_FPDU_MORE;
}
