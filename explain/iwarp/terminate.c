/* SPDX-License-Identifier: BSD-2-Clause */
/* A Terminate, in words: as RFC 5040 lays its control word out, and as Linux siw does, which turns
 * nibbles and flags round (IWARP-AMB-02). Which of the two is meant, what follows it tells. */
#include "explain/iwarp/terminate.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "explain/iwarp/words.h"
#include "iwarp/wire/term.h"

#define READING_BYTES 120

/* What stands behind the control word, in bytes. */
static uint32_t length_behind(const struct iwarp_term *t, const struct iwarp_ctrl *refused)
{
    uint32_t bytes = t->m || t->d ? IWARP_TERM_LENGTH_BYTES : 0;
    if (t->d)
        bytes += refused->t ? IWARP_DDP_TAGGED_BYTES : IWARP_DDP_UNTAGGED_BYTES;
    return bytes + (t->r ? IWARP_READ_REQ_BYTES : 0);
}

/* Whether an error of that kind comes with the header of what was refused (IWARP-RDMAP-31). */
static bool wants_header(const struct iwarp_term *t)
{
    uint16_t value = iwarp_term_value(t);
    bool is_local = t->etype == 0, is_version = value == IWARP_TERM_DDP_TAGGED_VERSION ||
                                                value == IWARP_TERM_DDP_VERSION ||
                                                value == IWARP_TERM_RDMAP_VERSION;
    return t->layer != IWARP_LAYER_MPA && !is_local && !is_version;
}

/* A code of the registry, and as many bytes as its flags say. */
static bool is_possible(const struct iwarp_term *t, const struct iwarp_ctrl *refused, uint32_t behind)
{
    return iwarp_term_code_name(iwarp_term_value(t)) && length_behind(t, refused) == behind;
}

/* What the end of a set-up is told by (RFC 6581 8): no side says so when FPDUs have come and gone. */
static bool is_of_setup(const struct iwarp_term *t)
{
    uint16_t value = iwarp_term_value(t);
    return value == IWARP_TERM_MPA_FRAME || value == IWARP_TERM_MPA_LOCAL || value == IWARP_TERM_MPA_IRD ||
           value == IWARP_TERM_MPA_RTR;
}

enum reading { AS_SAID, AS_TURNED, EITHER };

static enum reading reading_of(const struct iwarp_view *v, const struct iwarp_term *said,
                               const struct iwarp_term *turned, const struct iwarp_ctrl *refused,
                               uint32_t behind)
{
    bool has_header = said->m && said->d, may_be_turned = is_possible(turned, refused, behind) &&
                                                          iwarp_term_value(said) != iwarp_term_value(turned);
    bool is_sound =
        is_possible(said, refused, behind) && (has_header || !wants_header(said)) && !said->resv13;
    bool is_late = is_of_setup(said) && v->conn->shown.fpdus[!v->side];
    if (!is_sound)
        return is_possible(turned, refused, behind) ? AS_TURNED : AS_SAID;
    return !may_be_turned ? AS_SAID : is_late ? AS_TURNED : EITHER;
}

/* "1/2/04 DDP, untagged buffer error, invalid MO" */
static void read_out(const struct iwarp_term *t, char words[READING_BYTES])
{
    const char *layer = iwarp_term_layer_name(t->layer), *type = iwarp_term_type_name(t->layer, t->etype),
               *code = iwarp_term_code_name(iwarp_term_value(t));
    bool has_type = type && t->layer != IWARP_LAYER_MPA && t->etype;
    snprintf(words, READING_BYTES, "%u/%u/%02x %s%s%s, %s", t->layer, t->etype, t->code,
             layer ? layer : "reserved layer", has_type ? ", " : "", has_type ? type : "",
             code ? code : "a code that is not in the registry");
}

/* Of what was refused, what its DDP header names. */
static void say_refused(struct iwarp_view *v, const struct iwarp_fpdu *f, uint32_t behind)
{
    const uint8_t *at = f->plain + f->header_at + IWARP_TERM_BYTES + IWARP_TERM_LENGTH_BYTES;
    struct iwarp_ctrl ctrl;
    struct iwarp_tagged tagged;
    struct iwarp_untagged untagged;
    if (behind < IWARP_TERM_LENGTH_BYTES + IWARP_DDP_TAGGED_BYTES ||
        f->known < f->header_at + IWARP_TERM_BYTES + behind)
        return;
    at = iwarp_ctrl_get(&ctrl, at);
    const char *name = iwarp_opcode_name(ctrl.opcode);
    if (ctrl.t) {
        iwarp_tagged_get(&tagged, at);
        explain_iwarp_go_on(v, "; refused: %s to STag 0x%08" PRIx32 ", TO 0x%" PRIx64, name, tagged.stag,
                            tagged.to);
    } else if (behind >= IWARP_TERM_LENGTH_BYTES + IWARP_DDP_UNTAGGED_BYTES) {
        iwarp_untagged_get(&untagged, at);
        explain_iwarp_go_on(v, "; refused: %s, MSN %" PRIu32, name, untagged.msn);
    }
}

/* The other side's Read that the Terminate brings back, if it waits: by where its data were to go, as
 * siw writes the size into the MSN. */
static uint64_t number_of_refused(const struct iwarp_view *v, const struct iwarp_fpdu *f, uint32_t behind)
{
    const struct iwarp_half *asker = iwarp_other_half(v);
    uint32_t before = IWARP_TERM_BYTES + IWARP_TERM_LENGTH_BYTES + IWARP_DDP_UNTAGGED_BYTES;
    struct iwarp_read_req read;
    if (behind < before - IWARP_TERM_BYTES + IWARP_READ_REQ_BYTES ||
        f->known < f->header_at + IWARP_TERM_BYTES + behind)
        return 0;
    iwarp_read_req_get(&read, f->plain + f->header_at + before);
    for (uint32_t i = 0; i < asker->asked.count; i++) {
        const struct iwarp_asked *a = &asker->asked.list[(asker->asked.first + i) % IWARP_ASKED_MAX];
        if (!a->is_atomic && a->stag == read.sink_stag && a->to == read.sink_to)
            return a->number;
    }
    return 0;
}

void explain_iwarp_terminate(struct iwarp_view *v, struct iwarp_fpdu *f)
{
    struct iwarp_half *h = iwarp_half_of(v);
    struct iwarp_term said, turned;
    struct iwarp_ctrl refused = {0};
    char as_said[READING_BYTES], as_turned[READING_BYTES];
    uint32_t behind = f->payload - IWARP_TERM_BYTES;
    const uint8_t *at = iwarp_term_get(&said, f->plain + f->header_at);
    if (behind >= IWARP_TERM_LENGTH_BYTES + IWARP_CTRL_BYTES &&
        f->known >= f->header_at + IWARP_TERM_BYTES + IWARP_TERM_LENGTH_BYTES + IWARP_CTRL_BYTES)
        iwarp_ctrl_get(&refused, at + IWARP_TERM_LENGTH_BYTES);
    iwarp_term_is_turned(&said, &turned);
    enum reading reading = reading_of(v, &said, &turned, &refused, behind);
    read_out(&said, as_said);
    read_out(&turned, as_turned);
    uint64_t number = number_of_refused(v, f, behind);
    explain_iwarp_tell(v, "Terminate: %s%s%s%s", reading == AS_TURNED ? as_turned : as_said,
                       reading == AS_TURNED ? ", as siw means it" : "",
                       reading == EITHER ? ", or from siw " : "", reading == EITHER ? as_turned : "");
    if (reading == AS_SAID)
        explain_remark(v->m, EXPLAIN_FIND_IWARP_TERMINATE, "IWARP-RDMAP-29", 0, number, "the stream ends: %s",
                       as_said);
    else
        explain_remark(
            v->m, EXPLAIN_FIND_IWARP_TERMINATE, "IWARP-RDMAP-29", 0, number,
            "the stream ends: as RFC 5040 reads it %s; as siw means it, with nibbles and flags turned "
            "round, %s",
            as_said, as_turned);
    say_refused(v, f, behind);
    if (number)
        v->m->answers = number;
    h->asked.count = iwarp_other_half(v)->asked.count = 0; /* nothing more is answered */
    h->terminate_number = v->packet->number;
    v->conn->shown.end[v->side].has_terminate = true;
}
