/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of exercises, found in a capture. */
#include "explain/show/exercise.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
#include "explain/show/filter.h"

#define NUMBERS_MAX 64 /* packets that an answer may list; none asks for so many */

enum form { FORM_PACKET, FORM_PACKETS, FORM_COUNT, FORM_FIELD, FORM_TIME };

struct explain_answer {
    enum form form;
    struct explain_filter *filter, *then; /* `then`: of TIME */
    const struct explain_layer_kind *layer;
    const struct net_field *field;
    uint64_t count; /* of packets that matched */
    uint64_t numbers[NUMBERS_MAX];
    bool is_found;
    uint64_t value; /* of FIELD */
    uint64_t from_ns, time_ns;
};

/* --- how it is found --- */

static struct explain_answer *refuse(struct explain_answer *answer, struct nornic_error *why,
                                     const char *spec)
{
    net_error_set(why, EINVAL,
                  "answer \"%.60s\": packet, packets, count, field LAYER.FIELD of, or time, and a filter",
                  spec);
    explain_answer_free(answer);
    return NULL;
}

/* Goes past a word and the blanks behind it; NULL: another one stands there. */
static const char *past(const char *at, const char *word)
{
    size_t n = strlen(word);
    return strncmp(at, word, n) == 0 && at[n] == ' ' ? at + n + strspn(at + n, " ") : NULL;
}

/* "LAYER.FIELD of": what follows, or NULL. */
static const char *parse_field(struct explain_answer *answer, const char *at)
{
    size_t key = strcspn(at, ". "), name = at[key] == '.' ? strcspn(at + key + 1, " ") : 0;
    answer->layer = explain_layer_kind(at, key);
    if (!answer->layer || !name)
        return NULL;
    answer->field = explain_header_field(answer->layer->header, at + key + 1, name);
    at += key + 1 + name;
    return answer->field && !answer->field->is_bytes ? past(at + strspn(at, " "), "of") : NULL;
}

/* "FILTER then FILTER": the second one is taken off. */
static bool parse_then(struct explain_answer *answer, char *text, struct nornic_error *why)
{
    char *then = strstr(text, " then ");
    if (!then)
        return false;
    *then = '\0';
    answer->then = explain_filter_parse(then + strlen(" then "), why);
    return answer->then;
}

struct explain_answer *explain_answer_parse(const char *spec, struct nornic_error *why)
{
    static const char *const words[] = {"packet", "packets", "count", "field", "time"};
    struct explain_answer *answer = calloc(1, sizeof *answer);
    const char *at = NULL;
    char text[sizeof((struct explain_exercise *)0)->answer];
    if (!answer)
        return refuse(NULL, why, "out of memory");
    for (unsigned i = 0; i < array_len(words) && !at; i++) {
        answer->form = (enum form)i;
        at = past(spec, words[i]);
    }
    if (at && answer->form == FORM_FIELD)
        at = parse_field(answer, at);
    if (!at || strlen(at) >= sizeof text)
        return refuse(answer, why, spec);
    memcpy(text, at, strlen(at) + 1);
    why->text[0] = '\0';
    if ((answer->form != FORM_TIME || parse_then(answer, text, why)) &&
        (answer->filter = explain_filter_parse(text, why)))
        return answer;
    if (!why->text[0])
        return refuse(answer, why, spec);
    explain_answer_free(answer);
    return NULL;
}

void explain_answer_free(struct explain_answer *answer)
{
    if (!answer)
        return;
    explain_filter_free(answer->filter);
    explain_filter_free(answer->then);
    free(answer);
}

/* --- finding it --- */

static void take_field(struct explain_answer *answer, const struct explain_packet *packet)
{
    for (unsigned i = 0; i < packet->layer_count && !answer->is_found; i++)
        if (packet->layers[i].kind == answer->layer &&
            explain_layer_holds(&packet->layers[i], answer->field)) {
            answer->value = explain_field_value(packet, i, answer->field);
            answer->is_found = true;
        }
}

void explain_answer_packet(struct explain_answer *answer, const struct explain_packet *packet,
                           const struct explain_meaning *meaning)
{
    if (answer->form == FORM_TIME && answer->count) {
        if (!answer->is_found && explain_filter_matches(answer->then, packet, meaning)) {
            answer->time_ns = packet->time_ns - answer->from_ns;
            answer->is_found = true;
        }
        return;
    }
    if (!explain_filter_matches(answer->filter, packet, meaning))
        return;
    if (answer->count < NUMBERS_MAX)
        answer->numbers[answer->count] = packet->number;
    answer->count++;
    answer->from_ns = packet->time_ns;
    if (answer->form == FORM_FIELD && !answer->is_found)
        take_field(answer, packet);
}

bool explain_answer_is_found(const struct explain_answer *answer)
{
    switch (answer->form) {
    case FORM_COUNT:
        return true;
    case FORM_PACKET:
        return answer->count;
    case FORM_PACKETS:
        return answer->count && answer->count <= NUMBERS_MAX;
    case FORM_FIELD:
    case FORM_TIME:
        break;
    }
    return answer->is_found;
}

static const char *word_for(const struct explain_answer *answer)
{
    return answer->field->value_name ? answer->field->value_name(answer->value) : NULL;
}

/* The word that only this value has: "ACK" is that of 32 syndromes, and no answer. */
static const char *own_word_for(const struct explain_answer *answer)
{
    const char *word = word_for(answer);
    for (unsigned i = 0; word && i < 2; i++) {
        const char *other = answer->field->value_name(i ? answer->value + 1 : answer->value - 1);
        if (other && strcmp(other, word) == 0)
            return NULL;
    }
    return word;
}

static void put_field(const struct explain_answer *answer, struct explain_text *out)
{
    const char *word = word_for(answer);
    if (explain_field_form(answer->layer->id, answer->field) == EXPLAIN_FORM_DECIMAL && !word)
        explain_printf(out, "%" PRIu64, answer->value);
    else
        explain_printf(out, "0x%" PRIx64, answer->value);
    if (word)
        explain_printf(out, " (%s)", word);
}

void explain_answer_text(const struct explain_answer *answer, struct explain_text *out)
{
    switch (answer->form) {
    case FORM_PACKET:
        explain_printf(out, "%" PRIu64, answer->numbers[0]);
        break;
    case FORM_PACKETS:
        for (unsigned i = 0; i < answer->count && i < NUMBERS_MAX; i++)
            explain_printf(out, "%s%" PRIu64, i ? " " : "", answer->numbers[i]);
        break;
    case FORM_COUNT:
        explain_printf(out, "%" PRIu64, answer->count);
        break;
    case FORM_FIELD:
        put_field(answer, out);
        break;
    case FORM_TIME:
        explain_printf(out, "%.3g ms", (double)answer->time_ns / 1e6);
        break;
    }
}

/* --- what was typed --- */

/* Reads the number at *at and goes past it, and past what may stand between numbers. */
static bool read_number(const char **at, uint64_t *number)
{
    char *end;
    *at += strspn(*at, " \t\r\n,#");
    if (!isdigit((unsigned char)**at))
        return false;
    *number = strtoull(*at, &end, strncasecmp(*at, "0x", 2) == 0 ? 16 : 10); /* 015 is 15 */
    *at = end + strspn(end, " \t\r\n,#");
    return true;
}

/* Units, and how many nanoseconds one of time has. Those of data that are more than a byte are none that an
 * answer has. */
static const struct {
    const char *word;
    double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"kb", 0}, {"kib", 0}, {"mb", 0}, {"mib", 0}};

/* Whether all of what follows is blank. */
static bool is_end(const char *typed)
{
    return typed[strspn(typed, " \t\r\n")] == '\0';
}

/* "bytes" behind a number, or "packets": a word of what is counted, and no unit. */
static bool is_thing(const char *typed)
{
    size_t n = 0;
    while (isalpha((unsigned char)typed[n]))
        n++;
    for (unsigned i = 0; i < array_len(units); i++)
        if (strlen(units[i].word) == n && strncasecmp(typed, units[i].word, n) == 0)
            return false;
    return n && is_end(typed + n);
}

static bool is_number(const char *typed, uint64_t wanted)
{
    uint64_t number;
    if (!read_number(&typed, &number) || number != wanted)
        return false;
    return !*typed || (strchr(" \t", typed[-1]) && is_thing(typed));
}

/* The same numbers, each once. */
static bool are_numbers(const struct explain_answer *answer, const char *typed)
{
    bool is_named[NUMBERS_MAX] = {false};
    uint64_t number, count = 0;
    while (read_number(&typed, &number)) {
        unsigned i = 0;
        while (i < answer->count && (answer->numbers[i] != number || is_named[i]))
            i++;
        if (i == answer->count)
            return false;
        is_named[i] = true;
        count++;
    }
    return count == answer->count && !*typed;
}

/* As explain_filter_parse() reads the names of values: blanks as _, in any case. */
static bool is_word(const char *typed, const char *word)
{
    typed += strspn(typed, " \t");
    size_t n = strlen(word);
    for (size_t i = 0; i < n; i++) {
        int a = isalnum((unsigned char)typed[i]) ? tolower((unsigned char)typed[i]) : '_';
        int b = isalnum((unsigned char)word[i]) ? tolower((unsigned char)word[i]) : '_';
        if (a != b || !typed[i])
            return false;
    }
    return typed[n + strspn(typed + n, " \t\r\n")] == '\0';
}

static bool is_time(const char *typed, uint64_t time_ns)
{
    char *end;
    double number = strtod(typed, &end), wanted_ns = (double)time_ns, unit_ns = is_end(end) ? 1e6 : 0;
    if (end == typed)
        return false;
    end += strspn(end, " \t");
    for (unsigned i = 0; i < array_len(units); i++)
        if (strncasecmp(end, units[i].word, strlen(units[i].word)) == 0 &&
            is_end(end + strlen(units[i].word)))
            unit_ns = units[i].ns;
    return unit_ns > 0 && fabs(number * unit_ns - wanted_ns) <= wanted_ns * 0.05;
}

bool explain_answer_is_right(const struct explain_answer *answer, const char *typed)
{
    if (!explain_answer_is_found(answer))
        return false;
    switch (answer->form) {
    case FORM_PACKET:
        return is_number(typed, answer->numbers[0]);
    case FORM_PACKETS:
        return are_numbers(answer, typed);
    case FORM_COUNT:
        return is_number(typed, answer->count);
    case FORM_FIELD:
        return is_number(typed, answer->value) ||
               (own_word_for(answer) && is_word(typed, own_word_for(answer)));
    case FORM_TIME:
        return is_time(typed, answer->time_ns);
    }
    return false;
}
