/* SPDX-License-Identifier: BSD-2-Clause */
/* The words come from the fields' own tables (net/field.h); the notes below from the engine's functions that
 * turn a code into a time or a number, so that the lists say what the engine does. */
#include "explain/show/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/packet/packet.h"
#include "nornic/qp.h"
#include "roce/opcode.h"
#include "roce/wire.h"

#define NOTE_SIZE    96
#define SCANNED_BITS 24 /* of a wider field only the values that a list names are looked at */

/* --- what there is to say besides the word; an empty note: nothing --- */

typedef void note_writer(uint64_t value, char *note);

/* Of the kinds of answers only the ACK brings a number that its word does not tell. */
static void note_syndrome(uint64_t value, char *note)
{
    uint8_t syndrome = (uint8_t)value;
    if (roce_syndrome_kind(syndrome) != ROCE_SYN_ACK)
        return;
    uint32_t credits = roce_credit_count(syndrome);
    if (credits == UINT32_MAX)
        snprintf(note, NOTE_SIZE, "credits are not told");
    else
        snprintf(note, NOTE_SIZE, "%" PRIu32 " credit%s", credits, credits == 1 ? "" : "s");
}

/* The extended headers, in the order in which they follow the BTH (ROCE-HDR-10). */
static void note_opcode(uint64_t value, char *note)
{
    static const struct {
        uint32_t flag;
        const char *name;
    } headers[] = {
        {ROCE_PKT_RDETH, "RDETH"},
        {ROCE_PKT_DETH, "DETH"},
        {ROCE_PKT_XRCETH, "XRCETH"},
        {ROCE_PKT_RETH, "RETH"},
        {ROCE_PKT_ATOMICETH, "AtomicETH"},
        {ROCE_PKT_MASKETH, "masks"},
        {ROCE_PKT_AETH, "AETH"},
        {ROCE_PKT_SACKETH, "SackETH"},
        {ROCE_PKT_ATOMICACKETH, "AtomicAckETH"},
        {ROCE_PKT_IMMDT, "ImmDt"},
        {ROCE_PKT_IETH, "IETH"},
        {ROCE_PKT_CNP, "16 bytes of 0"},
        {ROCE_PKT_PAYLOAD, "data"},
    };
    uint32_t flags = roce_opcodes[(uint8_t)value].flags;
    size_t used = 0;
    for (unsigned i = 0; i < array_len(headers); i++)
        if (flags & headers[i].flag)
            used +=
                (size_t)snprintf(note + used, NOTE_SIZE - used, "%s%s", used ? ", " : "", headers[i].name);
    if (flags & ROCE_PKT_TAKES_RECV)
        snprintf(note + used, NOTE_SIZE - used, "%stakes a receive", used ? "; " : "");
}

/* ROCE-RC-41, CM-33: 4.096 us times 2 to the power of the code. */
static void note_time(uint64_t code, char *note)
{
    static const char *const units[] = {"us", "ms", "s", "h"};
    static const double per_unit[] = {1e3, 1e3, 3600}; /* of the unit before */
    double time = 4.096 * (double)(UINT64_C(1) << code);
    unsigned unit = 0;
    while (unit < array_len(per_unit) && time >= per_unit[unit])
        time /= per_unit[unit++];
    snprintf(note, NOTE_SIZE, "%.4g %s", time, units[unit]);
}

static void note_ack_timeout(uint64_t code, char *note)
{
    note_time(code, note);
    if (code == 0)
        snprintf(note, NOTE_SIZE, "no timer: waits for ever");
}

static void note_path_mtu(uint64_t code, char *note)
{
    uint32_t bytes = nornic_mtu_bytes((enum nornic_mtu)code);
    if (bytes)
        snprintf(note, NOTE_SIZE, "%" PRIu32 " bytes", bytes);
}

static void note_rnr_retry(uint64_t count, char *note)
{
    snprintf(note, NOTE_SIZE, count == 7 ? "for ever" : "%" PRIu64 " time%s", count, count == 1 ? "" : "s");
}

static const struct {
    enum explain_layer_id layer;
    const char *field;
    note_writer *write;
} notes[] = {
    {EXPLAIN_LAYER_AETH, "syndrome", note_syndrome},
    {EXPLAIN_LAYER_BTH, "opcode", note_opcode},
    {EXPLAIN_LAYER_CM_REQ, "remote_resp_timeout", note_time},
    {EXPLAIN_LAYER_CM_REQ, "local_resp_timeout", note_time},
    {EXPLAIN_LAYER_CM_REQ, "path_mtu", note_path_mtu},
    {EXPLAIN_LAYER_CM_REQ, "rnr_retry_count", note_rnr_retry},
    {EXPLAIN_LAYER_CM_PATH, "ack_timeout", note_ack_timeout},
    {EXPLAIN_LAYER_CM_ALT_PATH, "ack_timeout", note_ack_timeout},
    {EXPLAIN_LAYER_CM_REP, "target_ack_delay", note_time},
    {EXPLAIN_LAYER_CM_REP, "rnr_retry_count", note_rnr_retry},
    {EXPLAIN_LAYER_CM_MRA, "service_timeout", note_time},
};

static note_writer *note_writer_of(const struct explain_layer_kind *kind, const struct net_field *field)
{
    for (unsigned i = 0; i < array_len(notes); i++)
        if (notes[i].layer == kind->id && strcmp(notes[i].field, field->name) == 0)
            return notes[i].write;
    return NULL;
}

bool explain_has_values(const struct explain_layer_kind *kind, const struct net_field *field)
{
    return !field->is_bytes && (field->value_name || note_writer_of(kind, field));
}

/* --- the list --- */

/* What was found for one value, or for a run of them. */
struct meaning {
    uint64_t from, to;
    const char *word; /* NULL: none */
    char note[NOTE_SIZE];
};

static bool is_said(const struct meaning *m)
{
    return m->word || m->note[0];
}

static bool is_same(const struct meaning *a, const struct meaning *b)
{
    return (a->word == b->word || (a->word && b->word && strcmp(a->word, b->word) == 0)) &&
           strcmp(a->note, b->note) == 0;
}

static void put_meaning(struct explain_text *out, const struct meaning *m, unsigned digits)
{
    char values[48];
    int used = snprintf(values, sizeof values, "0x%0*" PRIx64, digits, m->from);
    if (m->to != m->from)
        snprintf(values + used, sizeof values - (size_t)used, "-0x%0*" PRIx64, digits, m->to);
    explain_printf(out, "    %-13s ", values);
    if (m->word && m->note[0])
        explain_printf(out, "%-28s  %s\n", m->word, m->note);
    else
        explain_printf(out, "%s\n", m->word ? m->word : m->note);
}

/* The list so far: the run that the next value may go on. */
struct list {
    struct explain_text *out;
    const struct net_field *field;
    note_writer *note;
    struct meaning run;
};

static void end_run(struct list *list)
{
    if (is_said(&list->run))
        put_meaning(list->out, &list->run, (list->field->width_bits + 3u) / 4);
    list->run = (struct meaning){0};
}

static void add_value(struct list *list, uint64_t value)
{
    struct meaning next = {.from = value, .to = value};
    next.word = list->field->value_name ? list->field->value_name(value) : NULL;
    if (list->note)
        list->note(value, next.note);
    if (is_said(&next) && is_same(&list->run, &next) && list->run.to + 1 == value) {
        list->run.to = value;
        return;
    }
    end_run(list);
    list->run = next;
}

/* Values of fields that are too wide to be tried one by one: the low half of a code is small (SMCR-CLC-43,
 * SMCR-LLC-40). */
static void add_codes(struct list *list)
{
    for (uint64_t high = 0; high <= UINT16_MAX; high++)
        for (uint64_t low = 0; low <= 3; low++)
            if (list->field->value_name && list->field->value_name(high << 16 | low))
                add_value(list, high << 16 | low);
}

void explain_values(struct explain_text *out, const struct explain_layer_kind *kind,
                    const struct net_field *field)
{
    struct list list = {.out = out, .field = field, .note = note_writer_of(kind, field)};
    const char *rule = explain_field_rule(kind->id, field);
    explain_printf(out, "%s.%s: %s, %u bits%s%s\n", kind->key, field->name, kind->words, field->width_bits,
                   rule ? ", " : "", rule ? rule : "");
    if (field->width_bits > SCANNED_BITS)
        add_codes(&list);
    else
        for (uint64_t value = 0; value >> field->width_bits == 0; value++)
            add_value(&list, value);
    end_run(&list);
}
