/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of faults, read word by word:
 *
 *   rules     = [ rule ] { ( ";" | newline ) [ rule ] }                   "#" begins a comment
 *   rule      = which operation [ "of" qp ] "ends" "with" status
 *             | "allocation" "of" which object "fails" [ "with" errno ]
 *             | "delay" "completions" "by" time
 *             | "port" "down" "after" time [ "for" time ]
 *             | "seed" number
 *   which     = [ "the" ] ordinal | "every" [ ordinal ] | number "%" "of"
 *   qp        = "qp" number | [ "the" ] ordinal "qp"
 *   ordinal   = number ( "st" | "nd" | "rd" | "th" )                      time = number ( "us" | "ms" | "s" )
 *
 * Upper and lower case are the same. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "net/error.h"
#include "verbs/faults/faults.h"

#define WORD_MAX    32
#define TIME_MAX_NS (UINT64_C(86400) * NS_PER_S)

enum token { TOKEN_END, TOKEN_BREAK, TOKEN_NUMBER, TOKEN_WORD, TOKEN_OTHER };

struct reader {
    const char *at; /* behind the token */
    unsigned line, column;
    enum token token;
    char word[WORD_MAX]; /* as it stands, cut */
    uint64_t number;
    unsigned token_line, token_column;
    struct nornic_error *why;
};

/* --- words --- */

static void advance(struct reader *r, size_t n)
{
    for (; n; n--) {
        r->column = *r->at == '\n' ? 1 : r->column + 1;
        r->line += *r->at == '\n';
        r->at++;
    }
}

static void skip_blanks(struct reader *r)
{
    advance(r, strspn(r->at, " \t\r"));
    if (*r->at == '#')
        advance(r, strcspn(r->at, "\n"));
}

static bool is_of_word(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

/* Decimal, or hexadecimal with 0x; too large a number stays at the largest. */
static size_t read_number(const char *at, uint64_t *out)
{
    bool is_hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && isxdigit((unsigned char)at[2]);
    size_t n = is_hex ? 2 : 0;
    const unsigned base = is_hex ? 16 : 10;
    *out = 0;
    for (; is_hex ? isxdigit((unsigned char)at[n]) : isdigit((unsigned char)at[n]); n++) {
        int c = tolower((unsigned char)at[n]);
        unsigned digit = (unsigned)(isdigit(c) ? c - '0' : c - 'a' + 10);
        *out = *out > (UINT64_MAX - digit) / base ? UINT64_MAX : *out * base + digit;
    }
    return n;
}

/* Goes on to the next token. */
static void next(struct reader *r)
{
    size_t n = 1;
    skip_blanks(r);
    r->token_line = r->line;
    r->token_column = r->column;
    if (!*r->at) {
        r->token = TOKEN_END;
        n = 0;
    } else if (*r->at == ';' || *r->at == '\n') {
        r->token = TOKEN_BREAK;
    } else if (isdigit((unsigned char)*r->at)) {
        r->token = TOKEN_NUMBER;
        n = read_number(r->at, &r->number);
    } else if (is_of_word(*r->at)) {
        r->token = TOKEN_WORD;
        while (is_of_word(r->at[n]))
            n++;
    } else {
        r->token = TOKEN_OTHER;
    }
    snprintf(r->word, sizeof r->word, "%.*s", (int)min_u64(n, WORD_MAX), r->at);
    advance(r, n);
}

/* -EINVAL: `wanted` should have stood where the token is. */
static int wrong(const struct reader *r, const char *wanted)
{
    const char *what = r->token == TOKEN_END || r->token == TOKEN_BREAK ? "the end of the rule" : r->word;
    const char *quote = what == r->word ? "'" : "";
    return net_error_set(r->why, EINVAL,
                         "NORNIC_FAULTS, line %u, column %u: %s%s%s stands where %s is wanted", r->token_line,
                         r->token_column, quote, what, quote, wanted);
}

static bool is_word(const struct reader *r, const char *word)
{
    return (r->token == TOKEN_WORD || r->token == TOKEN_OTHER) && strcasecmp(r->word, word) == 0;
}

/* Takes the word if it is there. */
static bool take(struct reader *r, const char *word)
{
    bool is_there = is_word(r, word);
    if (is_there)
        next(r);
    return is_there;
}

static int need(struct reader *r, const char *word)
{
    char quoted[WORD_MAX + 2];
    snprintf(quoted, sizeof quoted, "'%s'", word);
    return take(r, word) ? 0 : wrong(r, quoted);
}

static int need_number(struct reader *r, uint64_t most, const char *wanted, uint64_t *out)
{
    if (r->token != TOKEN_NUMBER || r->number > most)
        return wrong(r, wanted);
    *out = r->number;
    next(r);
    return 0;
}

/* One of a list: its index into *out. */
static int need_one_of(struct reader *r, const char *const *names, unsigned count, const char *wanted,
                       unsigned *out)
{
    for (*out = 0; *out < count; ++*out)
        if (names[*out] && take(r, names[*out]))
            return 0;
    return wrong(r, wanted);
}

/* --- parts of rules --- */

static int need_ordinal(struct reader *r, uint64_t *out)
{
    const char *const wanted = "a number from 1, as in 1st, 2nd or 1000th,";
    if (r->token != TOKEN_NUMBER || r->number == 0)
        return wrong(r, wanted);
    *out = r->number;
    next(r);
    return take(r, "st") || take(r, "nd") || take(r, "rd") || take(r, "th")
               ? 0
               : wrong(r, "'st', 'nd', 'rd' or 'th' of an ordinal");
}

static int need_which(struct reader *r, struct verbs_fault_rule *rule)
{
    (void)take(r, "the");
    if (take(r, "every")) {
        rule->is_every = true;
        rule->nth = 1;
        return r->token == TOKEN_NUMBER ? need_ordinal(r, &rule->nth) : 0;
    }
    if (r->token != TOKEN_NUMBER)
        return wrong(r, "which one ('1000th', 'every', 'every 10th', '5% of')");
    const struct reader before = *r;
    next(r);
    if (!is_word(r, "%")) {
        *r = before;
        return need_ordinal(r, &rule->nth);
    }
    if (before.number > 100)
        return wrong(&before, "a percentage up to 100");
    rule->ppm = (uint32_t)before.number * 10000;
    next(r);
    return need(r, "of");
}

static int need_time(struct reader *r, uint64_t *out_ns)
{
    uint64_t unit_ns, number = 0;
    int err = need_number(r, TIME_MAX_NS, "a time ('500us', '3ms', '2s')", &number);
    if (err)
        return err;
    if (take(r, "us"))
        unit_ns = 1000;
    else if (take(r, "ms"))
        unit_ns = NS_PER_MS;
    else if (take(r, "s"))
        unit_ns = NS_PER_S;
    else
        return wrong(r, "'us', 'ms' or 's'");
    *out_ns = number > TIME_MAX_NS / unit_ns ? TIME_MAX_NS : number * unit_ns;
    return 0;
}

static int take_qp(struct reader *r, struct verbs_fault_rule *rule)
{
    uint64_t number = 0;
    if (!take(r, "of"))
        return 0;
    if (take(r, "qp")) {
        rule->has_qp_num = true;
        int err = need_number(r, 0xffffff, "the number of a queue pair", &number);
        rule->qp_num = (uint32_t)number;
        return err;
    }
    (void)take(r, "the");
    int err = need_ordinal(r, &rule->qp_nth);
    return err ? err : need(r, "qp");
}

static int need_status(struct reader *r, enum nornic_wc_status *out)
{
    static const char prefix[] = "IBV_WC_";
    const char *word = r->word;
    if (r->token == TOKEN_WORD && strncasecmp(word, prefix, sizeof prefix - 1) == 0)
        word += sizeof prefix - 1;
    for (unsigned i = NORNIC_WC_SUCCESS + 1; i <= NORNIC_WC_GENERAL_ERR; i++)
        if (r->token == TOKEN_WORD && strcasecmp(word, nornic_wc_status_name(i)) == 0) {
            *out = (enum nornic_wc_status)i;
            next(r);
            return 0;
        }
    return wrong(r, "the status of a failed completion (as RETRY_EXC_ERR)");
}

static int need_errno(struct reader *r, int *out)
{
    static const struct {
        const char *name;
        int value;
    } known[] = {{"ENOMEM", ENOMEM}, {"EAGAIN", EAGAIN}, {"EINVAL", EINVAL}, {"EBUSY", EBUSY},
                 {"ENOSPC", ENOSPC}, {"EPERM", EPERM},   {"EACCES", EACCES}, {"EFAULT", EFAULT},
                 {"EMFILE", EMFILE}, {"EIO", EIO},       {"ENODEV", ENODEV}};
    for (unsigned i = 0; i < array_len(known); i++)
        if (take(r, known[i].name)) {
            *out = known[i].value;
            return 0;
        }
    return wrong(r, "ENOMEM, EAGAIN, EINVAL, EBUSY, ENOSPC, EPERM, EACCES, EFAULT, EMFILE, EIO or ENODEV");
}

/* --- rules --- */

#define NAME_(name) #name,

static int need_request(struct reader *r, struct verbs_fault_rule *rule)
{
    static const char *const names[] = {VERBS_FAULT_OPERATIONS(NAME_)};
    unsigned operation;
    rule->kind = VERBS_FAULT_REQUEST;
    int err = need_which(r, rule);
    if (!err)
        err = need_one_of(r, names, array_len(names),
                          "REQUEST, SEND, WRITE, READ, ATOMIC, BIND, INVALIDATE or RECV", &operation);
    if (err)
        return err;
    rule->operation = (enum verbs_fault_operation)operation;
    err = take_qp(r, rule);
    if (!err)
        err = need(r, "ends");
    if (!err)
        err = need(r, "with");
    return err ? err : need_status(r, &rule->status);
}

static int need_alloc(struct reader *r, struct verbs_fault_rule *rule)
{
    static const char *const names[] = {VERBS_FAULT_OBJECTS(NAME_)};
    unsigned object;
    rule->kind = VERBS_FAULT_ALLOC;
    rule->err = ENOMEM;
    int err = need(r, "of");
    if (!err)
        err = need_which(r, rule);
    if (!err)
        err = need_one_of(r, names, array_len(names), "DEVICE, PD, MR, MW, CQ, QP, SRQ, AH or CHANNEL",
                          &object);
    if (err)
        return err;
    rule->object = (enum verbs_fault_object)object;
    err = need(r, "fails");
    return err || !take(r, "with") ? err : need_errno(r, &rule->err);
}

static int need_delay(struct reader *r, struct verbs_fault_rule *rule)
{
    rule->kind = VERBS_FAULT_DELAY;
    int err = need(r, "completions");
    if (!err)
        err = need(r, "by");
    return err ? err : need_time(r, &rule->delay_ns);
}

static int need_port(struct reader *r, struct verbs_fault_rule *rule)
{
    rule->kind = VERBS_FAULT_PORT;
    int err = need(r, "down");
    if (!err)
        err = need(r, "after");
    if (!err)
        err = need_time(r, &rule->after_ns);
    return err || !take(r, "for") ? err : need_time(r, &rule->for_ns);
}

static int read_rule(struct reader *r, struct verbs_faults *out)
{
    if (take(r, "seed"))
        return need_number(r, UINT64_MAX, "a number", &out->seed);
    if (out->count == VERBS_FAULT_RULES_MAX)
        return net_error_set(r->why, EINVAL, "NORNIC_FAULTS, line %u: there are more than %u rules",
                             r->token_line, VERBS_FAULT_RULES_MAX);
    struct verbs_fault_rule *rule = &out->rules[out->count++];
    rule->line = r->token_line;
    if (take(r, "allocation"))
        return need_alloc(r, rule);
    if (take(r, "delay"))
        return need_delay(r, rule);
    return take(r, "port") ? need_port(r, rule) : need_request(r, rule);
}

int verbs_faults_parse(const char *text, struct verbs_faults *out, struct nornic_error *why)
{
    struct reader r = {.at = text, .line = 1, .column = 1, .why = why};
    memset(out, 0, sizeof *out);
    out->seed = 1;
    next(&r);
    while (r.token != TOKEN_END) {
        int err = r.token == TOKEN_BREAK ? 0 : read_rule(&r, out);
        if (!err && r.token != TOKEN_BREAK && r.token != TOKEN_END)
            err = wrong(&r, "the end of the rule (';' or a new line)");
        if (err)
            return err;
        if (r.token == TOKEN_BREAK)
            next(&r);
    }
    return 0;
}
