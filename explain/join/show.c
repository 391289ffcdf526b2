/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/join/show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/utf8.h"
#include "explain/join/join.h"
#include "explain/tcp/segment.h"

#define DELAY_TEXT 24

static char name_of(unsigned side)
{
    return side ? 'B' : 'A';
}

static const char *duration(int64_t ns, char text[DELAY_TEXT])
{
    double value = (double)ns;
    if (fabs(value) < 1e6)
        snprintf(text, DELAY_TEXT, "%.1f us", value / 1e3);
    else if (fabs(value) < 1e9)
        snprintf(text, DELAY_TEXT, "%.2f ms", value / 1e6);
    else
        snprintf(text, DELAY_TEXT, "%.3f s", value / 1e9);
    return text;
}

/* --- a line --- */

static const char *fate_text(const struct explain_join_place *place, char text[DELAY_TEXT])
{
    switch (place->fate) {
    case EXPLAIN_FATE_ARRIVED:
        return duration(place->delay_ns, text);
    case EXPLAIN_FATE_DAMAGED:
        return "damaged";
    case EXPLAIN_FATE_LOST:
        return "lost";
    case EXPLAIN_FATE_COPY:
        return "copy";
    case EXPLAIN_FATE_MISSED_THERE:
        return place->from ? "A missed" : "B missed";
    case EXPLAIN_FATE_MISSED_HERE:
        return place->from ? "B missed" : "A missed";
    case EXPLAIN_FATE_OUTSIDE:
        return place->side ? "A was off" : "B was off";
    case EXPLAIN_FATE_UNRELATED:
        return place->side ? "B alone" : "A alone";
    case EXPLAIN_FATE_COUNT:
        break;
    }
    return "";
}

void explain_join_head(struct explain_text *out)
{
    explain_put(out, "    #   at A        at B             took\n");
}

void explain_join_line(struct explain_text *out, const struct explain_join_place *place,
                       const struct explain_packet *packet, const struct explain_meaning *meaning,
                       const struct explain_line_style *style)
{
    char text[DELAY_TEXT];
    const char *doubt = place->sure == EXPLAIN_SURE_UNKNOWN ? "?" : "";
    int severity = explain_line_severity(meaning);
    explain_put(out, explain_line_colour(severity, style));
    explain_put_u64_padded(out, place->number, 5, ' ');
    for (unsigned side = 0; side < 2; side++) {
        explain_put(out, " ");
        if (place->record[side])
            explain_line_time(out, place->time_ns[side], style);
        else
            explain_put(out, "          -");
    }
    const char *fate = fate_text(place, text);
    for (size_t i = strlen(fate) + strlen(doubt); i < 12; i++)
        explain_put(out, " ");
    explain_put(out, fate);
    explain_put(out, doubt);
    explain_put(out, place->is_overtaken ? "*  " : "   ");
    explain_line_rest(out, packet, meaning, style);
}

/* --- JSON --- */

static void put_side(struct explain_text *out, const struct explain_join_place *place, unsigned side)
{
    static const char *const keys[] = {"a", "b"};
    if (place->record[side])
        explain_printf(out, ",\"%s\":{\"n\":%" PRIu64 ",\"own_ns\":%" PRIu64 ",\"time_ns\":%" PRIu64 "}",
                       keys[side], place->record[side], place->own_ns[side], place->time_ns[side]);
}

void explain_join_member(struct explain_text *out, const struct explain_join_place *place)
{
    bool is_known = place->sure != EXPLAIN_SURE_UNKNOWN;
    explain_printf(out, ",\"join\":{\"from\":\"%c\",\"fate\":\"%s\",\"sure\":\"%s\"", place->from ? 'b' : 'a',
                   is_known ? explain_fate_key(place->fate) : "unknown", explain_sure_key(place->sure));
    if (!is_known)
        explain_printf(out, ",\"candidates\":[\"%s\",\"%s\"%s]", explain_fate_key(place->fate),
                       explain_fate_key(place->or_fate), place->may_have_arrived ? ",\"arrived\"" : "");
    put_side(out, place, 0);
    put_side(out, place, 1);
    bool has_delay = place->fate == EXPLAIN_FATE_COPY || (place->record[0] && place->record[1]);
    if (has_delay)
        explain_printf(out, ",\"delay_ns\":%" PRId64, place->delay_ns);
    if (place->is_overtaken)
        explain_put(out, ",\"overtaken\":true");
    if (place->part_bytes)
        explain_printf(out, ",\"part_bytes\":%" PRIu32, place->part_bytes);
    if (place->related)
        explain_printf(out, ",\"related\":%" PRIu64, place->related);
    explain_put(out, "}");
}

static void put_way_json(struct explain_text *out, const struct explain_join_way *w)
{
    explain_printf(out, "{\"packets\":%" PRIu64, w->packets);
    for (unsigned i = 0; i < EXPLAIN_FATE_COUNT; i++)
        if (i != EXPLAIN_FATE_UNRELATED)
            explain_printf(out, ",\"%s\":%" PRIu64, explain_fate_key((enum explain_fate)i), w->fates[i]);
    explain_printf(out, ",\"overtaken\":%" PRIu64, w->overtaken);
    if (w->measured)
        explain_printf(out,
                       ",\"delay_ns\":{\"count\":%" PRIu64 ",\"min\":%" PRId64 ",\"median\":%" PRId64
                       ",\"p99\":%" PRId64 ",\"max\":%" PRId64 "}",
                       w->measured, w->min_ns, w->median_ns, w->p99_ns, w->max_ns);
    explain_put(out, "}");
}

static void put_clock_json(struct explain_text *out, const struct explain_clock *c)
{
    explain_printf(out,
                   "{\"ahead_ns\":%" PRId64
                   ",\"error_ns\":%.0f,\"drift_ppm\":%.3f,\"drift_ppm_range\":[%.3f,%.3f],"
                   "\"pieces\":%u,\"left_out\":%zu,\"one_way\":%s,\"inconsistent\":%s}",
                   explain_clock_ahead_ns(c, c->first_ns), c->error_ns, c->pieces[0].drift * 1e6,
                   c->drift_low * 1e6, c->drift_high * 1e6, c->piece_count, c->strays,
                   c->is_one_way ? "true" : "false", c->is_inconsistent ? "true" : "false");
}

void explain_join_sums_json(struct explain_text *out, const struct explain_join_summary *sums,
                            const char *const names[2])
{
    explain_put(out, "{\"join\":{\"captures\":[");
    for (unsigned side = 0; side < 2; side++) {
        explain_put(out, side ? ",{\"file\":" : "{\"file\":");
        explain_put_quoted(out, names[side]);
        explain_printf(out,
                       ",\"records\":%" PRIu64 ",\"packets\":%" PRIu64 ",\"unrelated\":%" PRIu64
                       ",\"twice\":%" PRIu64 "}",
                       sums->records[side], sums->packets[side], sums->unrelated[side], sums->twice[side]);
    }
    explain_put(out, "],\"a_to_b\":");
    put_way_json(out, &sums->way[0]);
    explain_put(out, ",\"b_to_a\":");
    put_way_json(out, &sums->way[1]);
    explain_printf(out, ",\"told_apart_by_icrc\":%s,\"told_apart_by_data\":%s,\"clock\":",
                   sums->has_icrc ? "true" : "false", sums->has_data ? "true" : "false");
    put_clock_json(out, &sums->clock);
    explain_printf(out, ",\"either_way\":%s", sums->is_either_way ? "true" : "false");
    explain_put(out, "}}\n");
}

/* --- the sums as text --- */

static void put_some(struct explain_text *out, uint64_t count, const char *words)
{
    if (count)
        explain_printf(out, ", %" PRIu64 " %s", count, words);
}

static void put_way(struct explain_text *out, const struct explain_join_way *w, unsigned from)
{
    char a[DELAY_TEXT], b[DELAY_TEXT], c[DELAY_TEXT], d[DELAY_TEXT], missed[2][32];
    for (unsigned i = 0; i < 2; i++)
        snprintf(missed[i], sizeof missed[i], "that %c's capture misses", name_of(i ? !from : from));
    explain_printf(out, "%c to %c: %" PRIu64 " packets, %" PRIu64 " came, %" PRIu64 " lost", name_of(from),
                   name_of(!from), w->packets, w->fates[EXPLAIN_FATE_ARRIVED], w->fates[EXPLAIN_FATE_LOST]);
    put_some(out, w->fates[EXPLAIN_FATE_DAMAGED], "damaged");
    put_some(out, w->fates[EXPLAIN_FATE_MISSED_HERE], missed[0]);
    put_some(out, w->fates[EXPLAIN_FATE_MISSED_THERE], missed[1]);
    put_some(out, w->fates[EXPLAIN_FATE_OUTSIDE], "while the other capture was off");
    put_some(out, w->fates[EXPLAIN_FATE_COPY], "copies made by the network");
    put_some(out, w->unknown, "of which that cannot be told (?)");
    put_some(out, w->overtaken, "overtaken (*)");
    explain_put(out, "\n");
    if (w->measured)
        explain_printf(out, "        took %s at the least, %s half of them, %s 99 %%, %s at the most\n",
                       duration(w->min_ns, a), duration(w->median_ns, b), duration(w->p99_ns, c),
                       duration(w->max_ns, d));
}

static void put_drift(struct explain_text *out, const struct explain_clock *c)
{
    if (c->piece_count > 1)
        explain_printf(out, "; it was set or ran unevenly, in %u pieces", c->piece_count);
    else if (!explain_clock_has_drift(c))
        explain_put(out, "; too short a time for their drift");
    else
        explain_printf(out, ", and gains %.2f us a second (%.2f to %.2f)", c->pieces[0].drift * 1e6,
                       c->drift_low * 1e6, c->drift_high * 1e6);
    if (c->strays)
        explain_printf(out, ". %zu pair%s of equal packets would have come before %s left: not the same",
                       c->strays, c->strays == 1 ? "" : "s", c->strays == 1 ? "it" : "they");
}

static void put_clock(struct explain_text *out, const struct explain_clock *c)
{
    char error[DELAY_TEXT];
    int64_t ahead_ns = explain_clock_ahead_ns(c, c->first_ns);
    explain_printf(out, "B's clock is %.6f s %s A's", fabs((double)ahead_ns) / 1e9,
                   ahead_ns < 0 ? "behind" : "ahead of");
    if (c->is_one_way) {
        explain_put(out, ", if the quickest packet took no time: packets went one way only\n");
        return;
    }
    put_drift(out, c);
    if (c->is_inconsistent)
        explain_put(out, ". No clocks explain all times: some packets seem to come before they left\n");
    else
        explain_printf(out,
                       "\n        delays are right to +- %s: a slower way and a clock ahead look alike\n",
                       duration((int64_t)c->error_ns, error));
}

void explain_join_sums(struct explain_text *out, const struct explain_join_summary *sums,
                       const char *const names[2])
{
    for (unsigned side = 0; side < 2; side++) {
        char name[4096];
        explain_printf(out, "%c: %s, %" PRIu64 " packets", name_of(side),
                       utf8_copy(names[side], name, sizeof name), sums->packets[side]);
        put_some(out, sums->unrelated[side], "between addresses that the other does not have");
        put_some(out, sums->twice[side], "once more, which are left out");
        explain_put(out, "\n");
    }
    put_way(out, &sums->way[0], 0);
    put_way(out, &sums->way[1], 1);
    put_clock(out, &sums->clock);
    if (sums->is_either_way)
        explain_put(out,
                    "Which end is which is the better guess: packets went one way, then the other, and a "
                    "clock that runs unevenly explains either\n");
    if (!sums->has_icrc)
        explain_put(out, "Packets are cut: equal ones are told apart without their ICRC\n");
    if (!sums->has_data)
        explain_put(out, "Segments of TCP are cut: equal ones are told apart without their data\n");
}

/* --- findings --- */

void explain_join_copy_meaning(struct explain_meaning *m, const struct explain_join_place *place)
{
    explain_meaning_clear(m);
    snprintf(m->words, sizeof m->words, "a copy of #%" PRIu64 " that the network made", place->related);
}

void explain_join_name_segment(struct explain_meaning *m, struct explain_packet *packet)
{
    struct explain_segment s;
    if (packet->kind != EXPLAIN_OTHER || !explain_segment_get(&s, packet))
        return;
    packet->kind = EXPLAIN_IWARP;
    if (m->words[0])
        return;
    if (s.len_bytes)
        snprintf(m->words, sizeof m->words, "%" PRIu32 " bytes of TCP, not read as iWARP", s.len_bytes);
    else
        snprintf(m->words, sizeof m->words, "TCP %s%s",
                 s.control.syn   ? "SYN"
                 : s.control.fin ? "FIN"
                 : s.control.rst ? "RST"
                                 : "",
                 !s.control.ack                                    ? ""
                 : s.control.syn || s.control.fin || s.control.rst ? ", ACK"
                                                                   : "ACK, without data");
}

/* The cause that a fate is told as. */
static enum explain_cause cause_of(enum explain_fate fate)
{
    switch (fate) {
    case EXPLAIN_FATE_LOST:
        return EXPLAIN_CAUSE_LOST_AFTER;
    case EXPLAIN_FATE_DAMAGED:
        return EXPLAIN_CAUSE_DAMAGED;
    case EXPLAIN_FATE_COPY:
        return EXPLAIN_CAUSE_COPIED;
    case EXPLAIN_FATE_MISSED_THERE:
    case EXPLAIN_FATE_MISSED_HERE:
        return EXPLAIN_CAUSE_CAPTURE_DROPPED;
    case EXPLAIN_FATE_OUTSIDE:
    case EXPLAIN_FATE_ARRIVED:
        return EXPLAIN_CAUSE_SENT_AGAIN;
    case EXPLAIN_FATE_UNRELATED:
    case EXPLAIN_FATE_COUNT:
        break;
    }
    return EXPLAIN_CAUSE_NONE;
}

static struct explain_finding *remark(struct explain_meaning *m, const struct explain_join_place *place,
                                      enum explain_finding_kind kind, enum explain_cause cause,
                                      const char *words)
{
    struct explain_why why = {.cause = cause, .sure = place->sure};
    if (place->sure == EXPLAIN_SURE_UNKNOWN)
        explain_why_doubt(&why, cause, cause_of(place->or_fate),
                          place->may_have_arrived && place->or_fate != EXPLAIN_FATE_OUTSIDE
                              ? cause_of(EXPLAIN_FATE_ARRIVED)
                              : EXPLAIN_CAUSE_NONE);
    explain_why_prove(&why, place->related, place->evidence);
    struct explain_finding *f = explain_remark(m, kind, "", place->number, place->related, "%s", words);
    explain_because(f, &why);
    return f;
}

/* The words of a place in the making. */
struct told {
    char words[256];
    char from, to;            /* the names of the captures at its ends */
    const char *perhaps;      /* how sure it is, with a blank behind it */
    char proof[64], part[40]; /* the packet that shows it, and the part of it that came; or empty */
    bool has_equal;           /* it may be one with the same bytes */
};

static struct told tell_place(const struct explain_join_place *place)
{
    struct told t = {.from = name_of(place->from), .to = name_of(!place->from)};
    t.has_equal = place->sure == EXPLAIN_SURE_UNKNOWN &&
                  (place->or_fate == EXPLAIN_FATE_ARRIVED || place->may_have_arrived);
    t.perhaps = place->sure == EXPLAIN_SURE_SHOWN    ? ""
                : place->sure == EXPLAIN_SURE_LIKELY ? "probably "
                                                     : "perhaps ";
    if (place->related && place->evidence[0])
        snprintf(t.proof, sizeof t.proof, ": #%" PRIu64 " %s", place->related, place->evidence);
    if (place->part_bytes)
        snprintf(t.part, sizeof t.part, ", but for %" PRIu32 " bytes of it", place->part_bytes);
    return t;
}

static void tell_lost(struct told *t, const struct explain_join_place *place)
{
    snprintf(t->words, sizeof t->words, "left %c and never came to %c%s%s%s", t->from, t->to, t->part,
             t->proof,
             place->may_have_arrived
                 ? " (or the capture there missed it, or it came, and one with the same bytes did not)"
             : t->has_equal ? " (or it came, and one with the same bytes did not)"
             : *t->perhaps  ? " (or the capture there missed it)"
                            : "");
}

static void tell_damaged(struct told *t, const struct explain_join_place *place)
{
    snprintf(t->words, sizeof t->words, "%swas damaged on its way from %c to %c",
             place->sure == EXPLAIN_SURE_UNKNOWN ? t->perhaps : "", t->from, t->to);
}

static void tell_missed_there(struct told *t, const struct explain_join_place *place)
{
    (void)place;
    snprintf(t->words, sizeof t->words, "%scame to %c, whose capture misses it%s%s", t->perhaps, t->to,
             t->part, t->proof);
}

/* Returns the words that are added if equal packets leave it open which one it is. */
static const char *equal_words(const struct told *t)
{
    return t->has_equal ? " (or it is one with the same bytes that both have)" : "";
}

static void tell_missed_here(struct told *t, const struct explain_join_place *place)
{
    (void)place;
    snprintf(t->words, sizeof t->words, "came to %c, and %sthe capture at %c misses it%s", t->to, t->perhaps,
             t->from, equal_words(t));
}

static void tell_copy(struct told *t, const struct explain_join_place *place)
{
    snprintf(t->words, sizeof t->words, "%sthe network made a copy of #%" PRIu64 "%s", t->perhaps,
             place->related, equal_words(t));
}

/* Remarks "left A and never came to B", and how sure that is. Fates without a row need no remark. */
static void remark_fate(struct explain_meaning *m, const struct explain_join_place *place)
{
    static const struct {
        void (*tell)(struct told *t, const struct explain_join_place *place);
        enum explain_finding_kind kind;
        enum explain_cause cause;
    } rows[EXPLAIN_FATE_COUNT] = {
        [EXPLAIN_FATE_LOST] = {tell_lost, EXPLAIN_FIND_LOST_ON_WAY, EXPLAIN_CAUSE_LOST_AFTER},
        [EXPLAIN_FATE_DAMAGED] = {tell_damaged, EXPLAIN_FIND_DAMAGED_ON_WAY, EXPLAIN_CAUSE_LOST_AFTER},
        [EXPLAIN_FATE_MISSED_THERE] = {tell_missed_there, EXPLAIN_FIND_CAPTURE_GAP,
                                       EXPLAIN_CAUSE_CAPTURE_DROPPED},
        [EXPLAIN_FATE_MISSED_HERE] = {tell_missed_here, EXPLAIN_FIND_CAPTURE_GAP,
                                      EXPLAIN_CAUSE_CAPTURE_DROPPED},
        [EXPLAIN_FATE_COPY] = {tell_copy, EXPLAIN_FIND_DUPLICATE, EXPLAIN_CAUSE_COPIED},
    };
    struct told t = tell_place(place);
    if (rows[place->fate].tell) {
        rows[place->fate].tell(&t, place);
        remark(m, place, rows[place->fate].kind, rows[place->fate].cause, t.words);
    }
    if (!place->is_overtaken)
        return;
    snprintf(t.words, sizeof t.words, "came to %c behind packets that left later", t.to);
    remark(m, place, EXPLAIN_FIND_REORDERED, EXPLAIN_CAUSE_OVERTAKEN, t.words);
}

/* Corrects the fate of the copy before: it is seen, and need not be concluded. */
static void correct_way(struct explain_why *why, uint64_t before, const struct explain_join *join)
{
    enum explain_fate fate;
    enum explain_sure sure;
    if (why->way == EXPLAIN_CAUSE_NONE || !before || !explain_join_fate(join, before, &fate, &sure))
        return;
    bool is_lost = fate == EXPLAIN_FATE_LOST || fate == EXPLAIN_FATE_DAMAGED;
    bool has_arrived = fate == EXPLAIN_FATE_ARRIVED || fate == EXPLAIN_FATE_MISSED_THERE;
    bool is_said_lost = why->way == EXPLAIN_CAUSE_LOST_AFTER || why->way == EXPLAIN_CAUSE_LOST_BEFORE;
    if (is_lost && sure != EXPLAIN_SURE_UNKNOWN) {
        why->way = EXPLAIN_CAUSE_LOST_AFTER;
        why->way_sure = sure;
    } else if ((is_lost || has_arrived) && is_said_lost) {
        why->way = EXPLAIN_CAUSE_UNKNOWN;
        why->way_sure = EXPLAIN_SURE_UNKNOWN;
    }
}

void explain_join_remark(struct explain_meaning *m, const struct explain_join *join,
                         const struct explain_join_place *place)
{
    for (unsigned i = 0; i < m->remark_count; i++)
        correct_way(&m->remarks[i].why, m->remarks[i].related, join);
    remark_fate(m, place);
}

void explain_join_add_delay(struct explain_meaning *m, const struct explain_join_place *place)
{
    char text[DELAY_TEXT];
    size_t len = strlen(m->words);
    if (place->fate == EXPLAIN_FATE_ARRIVED)
        snprintf(m->words + len, sizeof m->words - len, "; at %c after %s", name_of(!place->from),
                 duration(place->delay_ns, text));
}
