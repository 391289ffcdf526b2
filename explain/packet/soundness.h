/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a RoCE packet is whole, by its own bytes alone. `nornic verify` and `nornic sniff` count by
 * this one judgement, so that their numbers agree. Neither its time nor any other packet matters. */
#ifndef NORNIC_EXPLAIN_PACKET_SOUNDNESS_H
#define NORNIC_EXPLAIN_PACKET_SOUNDNESS_H

#include "explain/packet/packet.h"

enum explain_soundness {
    EXPLAIN_SOUND_NOT_ROCE,
    EXPLAIN_SOUND_GOOD,      /* the ICRC is right (ROCE-ICRC-7) */
    EXPLAIN_SOUND_CHECKSUM,  /* the ICRC is right, the UDP checksum is wrong (ROCE-FRM-43) */
    EXPLAIN_SOUND_ICRC,      /* the ICRC is wrong */
    EXPLAIN_SOUND_CUT,       /* the capture holds too little of the packet to judge its ICRC */
    EXPLAIN_SOUND_MALFORMED, /* the packet is too broken to have an ICRC */
};

/* Judges one packet as explain_dissect() left it. */
enum explain_soundness explain_soundness_of(const struct explain_packet *packet);

/* Counts of packets by soundness. All zero: none was seen. */
struct explain_sound_count {
    uint64_t roce;         /* icrc_ok + icrc_bad + malformed */
    uint64_t icrc_ok;      /* GOOD and CHECKSUM */
    uint64_t checksum_bad; /* of icrc_ok: CHECKSUM */
    uint64_t icrc_bad;
    uint64_t malformed; /* MALFORMED and CUT */
    uint64_t cut;       /* of malformed: CUT */
};

void explain_sound_add(struct explain_sound_count *count, enum explain_soundness soundness);
/* Adds the counts of one file to those of all files. */
void explain_sound_sum(struct explain_sound_count *total, const struct explain_sound_count *file);

#endif
