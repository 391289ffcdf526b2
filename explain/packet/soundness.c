/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/packet/soundness.h"

/* The parser refuses these after it found the ICRC right. */
static bool is_refused_behind_icrc(enum roce_rx_verdict verdict)
{
    return verdict == ROCE_RX_DROP_TVER || verdict == ROCE_RX_DROP_GID;
}

enum explain_soundness explain_soundness_of(const struct explain_packet *p)
{
    bool is_icrc_right = p->roce.icrc_found == p->roce.icrc_expected;
    if (p->verdict == ROCE_RX_NOT_ROCE)
        return EXPLAIN_SOUND_NOT_ROCE;
    if (p->cut.is_end)
        return EXPLAIN_SOUND_CUT;
    if (p->verdict == ROCE_RX_TAKEN || is_refused_behind_icrc(p->verdict))
        return EXPLAIN_SOUND_GOOD;
    if (p->verdict == ROCE_RX_DROP_ICRC)
        return EXPLAIN_SOUND_ICRC;
    if (p->checksum.is_only_udp)
        return is_icrc_right ? EXPLAIN_SOUND_CHECKSUM : EXPLAIN_SOUND_ICRC;
    return p->wire_bytes > p->len_bytes ? EXPLAIN_SOUND_CUT : EXPLAIN_SOUND_MALFORMED;
}

void explain_sound_add(struct explain_sound_count *count, enum explain_soundness soundness)
{
    count->roce += soundness != EXPLAIN_SOUND_NOT_ROCE;
    count->icrc_ok += soundness == EXPLAIN_SOUND_GOOD || soundness == EXPLAIN_SOUND_CHECKSUM;
    count->checksum_bad += soundness == EXPLAIN_SOUND_CHECKSUM;
    count->icrc_bad += soundness == EXPLAIN_SOUND_ICRC;
    count->malformed += soundness == EXPLAIN_SOUND_MALFORMED || soundness == EXPLAIN_SOUND_CUT;
    count->cut += soundness == EXPLAIN_SOUND_CUT;
}

void explain_sound_sum(struct explain_sound_count *total, const struct explain_sound_count *file)
{
    total->roce += file->roce;
    total->icrc_ok += file->icrc_ok;
    total->checksum_bad += file->checksum_bad;
    total->icrc_bad += file->icrc_bad;
    total->malformed += file->malformed;
    total->cut += file->cut;
}
