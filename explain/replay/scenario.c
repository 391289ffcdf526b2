/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/replay/scenario.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "rdma/mr.h"
#include "roce/roce.h"

#define WORDS_MAX  12
#define LINE_BYTES 400
#define MAX_24     0xffffffu

/* One statement, cut into words. */
struct line {
    unsigned number, count;
    char text[LINE_BYTES];
    char *words[WORDS_MAX];
    struct nornic_error *why;
};

static int fail(const struct line *l, const char *what, const char *expected)
{
    return net_error_set(l->why, EINVAL, "line %u of the scenario: %s: %s", l->number, what, expected);
}

static int number(const struct line *l, unsigned i, uint64_t max, uint64_t *out)
{
    char *end;
    if (i >= l->count)
        return fail(l, l->words[l->count - 1], "a number is to follow");
    const char *text = l->words[i];
    errno = 0;
    *out = strtoull(text, &end, 0);
    if (!isdigit((unsigned char)text[0]) || *end || errno || *out > max)
        return fail(l, text, "is no number that may stand here");
    return 0;
}

static int number32(const struct line *l, unsigned i, uint32_t max, uint32_t *out)
{
    uint64_t value = 0;
    int err = number(l, i, max, &value);
    *out = (uint32_t)value;
    return err;
}

static int address(const struct line *l, unsigned i, struct nornic_addr *out)
{
    if (i >= l->count)
        return fail(l, l->words[l->count - 1], "an address is to follow");
    return nornic_addr_parse(l->words[i], out) == 0 ? 0 : fail(l, l->words[i], "is no IPv4 or IPv6 address");
}

/* The word that names a value at place i; false: there is none. */
static bool is(const struct line *l, unsigned i, const char *word)
{
    return i < l->count && strcmp(l->words[i], word) == 0;
}

static int take_qp(struct explain_scenario *s, const struct line *l)
{
    struct explain_scenario_qp q = {.line = l->number};
    uint32_t timer = 0;
    int err = number32(l, 1, MAX_24, &q.qpn);
    for (unsigned i = 2; !err && i < l->count; i += 2) {
        if (is(l, i, "sq-psn") && (q.has_sq_psn = true))
            err = number32(l, i + 1, MAX_24, &q.sq_psn);
        else if (is(l, i, "rq-psn") && (q.has_rq_psn = true))
            err = number32(l, i + 1, MAX_24, &q.rq_psn);
        else if (is(l, i, "mtu") && (q.has_mtu = true))
            err = number32(l, i + 1, 4096, &q.pmtu_bytes);
        else if (is(l, i, "rnr-timer") && (q.has_rnr_timer = true))
            err = number32(l, i + 1, 31, &timer);
        else
            err = fail(l, l->words[i], "after a QP come sq-psn, rq-psn, mtu and rnr-timer");
    }
    if (!err && q.has_mtu && !nornic_mtu_from_bytes(q.pmtu_bytes))
        err = fail(l, "mtu", "a path MTU is 256, 512, 1024, 2048 or 4096");
    q.rnr_timer = (uint8_t)timer;
    s->qps[s->qp_count++] = q;
    return err;
}

static int take_access(const struct line *l, unsigned i, uint32_t *access)
{
    char *rest, *text = i < l->count ? l->words[i] : "";
    *access = 0;
    for (char *word = strtok_r(text, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        if (strcmp(word, "read") == 0)
            *access |= NORNIC_ACCESS_REMOTE_READ;
        else if (strcmp(word, "write") == 0)
            *access |= NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_LOCAL_WRITE;
        else if (strcmp(word, "atomic") == 0)
            *access |= NORNIC_ACCESS_REMOTE_ATOMIC | NORNIC_ACCESS_LOCAL_WRITE;
        else
            return fail(l, word, "access is of read, write and atomic, with commas between");
    }
    return *access ? 0 : fail(l, "access", "access is of read, write and atomic, with commas between");
}

static int take_key(struct explain_scenario *s, const struct line *l)
{
    struct explain_scenario_key k = {.access = NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE |
                                               NORNIC_ACCESS_LOCAL_WRITE};
    int err = number32(l, 1, UINT32_MAX, &k.rkey);
    for (unsigned i = 2; !err && i < l->count; i += 2) {
        if (is(l, i, "va"))
            err = number(l, i + 1, UINT64_MAX, &k.va);
        else if (is(l, i, "bytes"))
            err = number(l, i + 1, UINT64_MAX, &k.bytes);
        else if (is(l, i, "access"))
            err = take_access(l, i + 1, &k.access);
        else
            err = fail(l, l->words[i], "after a key come va, bytes and access");
    }
    if (!err && k.bytes == 0)
        err = fail(l, "key", "say how large its memory is, as in `key 0x4f0 va 0x1000 bytes 65536`");
    s->keys[s->key_count++] = k;
    return err;
}

static int take_address(struct explain_scenario *s, const struct line *l)
{
    struct explain_scenario_address a = {.has_mac = l->count > 3};
    uint8_t *b = a.mac.b;
    char rest;
    int err = address(l, 1, &a.from);
    if (!err)
        err = address(l, 2, &a.to);
    if (!err && nornic_addr_is_v4(&a.from) != nornic_addr_is_v4(&a.to))
        err = fail(l, l->words[2], "is of the other family: packets keep their IP version");
    if (!err && a.has_mac &&
        sscanf(l->words[3], "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%c", &b[0], &b[1], &b[2], &b[3], &b[4], &b[5],
               &rest) != 6)
        err = fail(l, l->words[3], "is no MAC address");
    s->addresses[s->address_count++] = a;
    return err;
}

static int take_to(struct explain_scenario *s, const struct line *l)
{
    struct explain_scenario_to t = {0};
    int err = address(l, 1, &t.addr);
    if (!err)
        err = number32(l, 2, MAX_24, &t.qpn);
    for (unsigned i = 3; !err && i < l->count; i += 2) {
        if (is(l, i, "qp") && (t.has_qpn = true))
            err = number32(l, i + 1, MAX_24, &t.new_qpn);
        else if (is(l, i, "psn") && (t.has_psn = true))
            err = number32(l, i + 1, MAX_24, &t.first_psn);
        else
            err = fail(l, l->words[i], "after address and QP come qp and psn");
    }
    s->tos[s->to_count++] = t;
    return err;
}

static int take_rkey(struct explain_scenario *s, const struct line *l)
{
    struct explain_scenario_rkey k = {0};
    int err = address(l, 1, &k.addr);
    if (!err)
        err = number32(l, 2, UINT32_MAX, &k.from);
    if (!err)
        err = number32(l, 3, UINT32_MAX, &k.to);
    if (!err && l->count > 4 && !is(l, 4, "va"))
        err = fail(l, l->words[4], "after the keys come va, the old and the new address");
    if (!err && l->count > 4)
        err = number(l, 5, UINT64_MAX, &k.va_from);
    if (!err && l->count > 4)
        err = number(l, 6, UINT64_MAX, &k.va_to);
    s->rkeys[s->rkey_count++] = k;
    return err;
}

static int take_line(struct explain_scenario *s, struct line *l)
{
    const struct {
        const char *word;
        int (*take)(struct explain_scenario *s, const struct line *l);
        unsigned count;
    } statements[] = {
        {"qp", take_qp, s->qp_count},
        {"key", take_key, s->key_count},
        {"address", take_address, s->address_count},
        {"to", take_to, s->to_count},
        {"rkey", take_rkey, s->rkey_count},
    };
    char *rest;
    l->count = 0;
    for (char *word = strtok_r(l->text, " \t\r", &rest); word; word = strtok_r(NULL, " \t\r", &rest)) {
        if (l->count == WORDS_MAX)
            return fail(l, word, "is one word too many");
        l->words[l->count++] = word;
    }
    if (l->count == 0)
        return 0;
    for (unsigned i = 0; i < array_len(statements); i++) {
        if (strcmp(l->words[0], statements[i].word) != 0)
            continue;
        if (statements[i].count == EXPLAIN_SCENARIO_MAX)
            return fail(l, l->words[0], "there are too many of these");
        return l->count > 1 ? statements[i].take(s, l) : fail(l, l->words[0], "something is to follow");
    }
    return fail(l, l->words[0], "a line begins with qp, key, address, to or rkey");
}

int explain_scenario_parse(struct explain_scenario *s, const char *text, struct nornic_error *why)
{
    struct line l = {.why = why};
    memset(s, 0, sizeof *s);
    while (*text) {
        size_t n = strcspn(text, "\n"), used = n;
        l.number++;
        for (size_t i = 0; i < used; i++)
            if (text[i] == '#')
                used = i;
        if (used >= sizeof l.text)
            return fail(&l, "too long", "a statement is one short line");
        memcpy(l.text, text, used);
        l.text[used] = '\0';
        int err = take_line(s, &l);
        if (err)
            return err;
        text += n + (text[n] == '\n');
    }
    return 0;
}
