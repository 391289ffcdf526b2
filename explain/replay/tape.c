/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/replay/tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool room(struct explain_tape *tape)
{
    if (tape->count < tape->cap)
        return true;
    size_t cap = tape->cap ? 2 * tape->cap : 256;
    struct explain_taped *grown = reallocarray(tape->packets, cap, sizeof *grown);
    if (!grown)
        return false;
    tape->packets = grown;
    tape->cap = cap;
    return true;
}

int explain_tape_add(struct explain_tape *tape, const struct net_capture_record *record)
{
    if (!tape->analysis)
        tape->analysis = explain_analysis_create(&(struct explain_analysis_config){0});
    uint8_t *bytes = malloc(record->len_bytes + 1);
    if (!tape->analysis || !bytes || !room(tape)) {
        free(bytes);
        return -ENOMEM;
    }
    memcpy(bytes, record->data, record->len_bytes);
    struct explain_taped *taped = &tape->packets[tape->count++];
    *taped = (struct explain_taped){.bytes = bytes,
                                    .len_bytes = record->len_bytes,
                                    .wire_bytes = record->wire_bytes,
                                    .time_ns = record->time_ns};
    struct explain_packet packet;
    struct explain_meaning meaning;
    explain_tape_packet(tape, tape->count - 1, &packet);
    explain_analysis_next(tape->analysis, &packet, &meaning);
    taped->flow = meaning.flow;
    taped->direction = (uint8_t)meaning.direction;
    return 0;
}

void explain_tape_free(struct explain_tape *tape)
{
    for (size_t i = 0; i < tape->count; i++)
        free(tape->packets[i].bytes);
    free(tape->packets);
    if (tape->analysis)
        explain_analysis_destroy(tape->analysis);
    *tape = (struct explain_tape){0};
}

void explain_tape_packet(const struct explain_tape *tape, size_t i, struct explain_packet *packet)
{
    const struct explain_taped *t = &tape->packets[i];
    struct net_capture_record record = {
        .data = t->bytes, .len_bytes = t->len_bytes, .wire_bytes = t->wire_bytes, .time_ns = t->time_ns};
    explain_dissect(packet, &record, i + 1);
}
