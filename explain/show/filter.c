/* SPDX-License-Identifier: BSD-2-Clause */
/* A recursive descent parser into a tree, and its evaluation. */
#include "base/base.h"
#include "explain/show/filter.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/packet/registry.h"
#include "nornic/addr.h"

#define DEPTH_MAX 64 /* of parentheses and negations */

enum node_kind { NODE_AND, NODE_OR, NODE_NOT, NODE_LAYER, NODE_COMPARE };
enum compare { COMPARE_EQ, COMPARE_NE, COMPARE_LE, COMPARE_GE, COMPARE_LT, COMPARE_GT };
enum quantity {
    QUANTITY_FIELD,
    QUANTITY_N,
    QUANTITY_LEN,
    QUANTITY_FLOW,
    QUANTITY_MESSAGE,
    QUANTITY_CONN,
    QUANTITY_FINDING
};

struct explain_filter {
    enum node_kind kind;
    struct explain_filter *left, *right; /* AND, OR; NOT: left */
    const struct explain_layer_kind *layer;
    enum quantity quantity;
    const struct net_field *field;
    enum compare compare;
    bool is_named; /* a comparison stands there, and a value */
    uint64_t value;
    uint8_t bytes[16]; /* of a byte string */
    unsigned byte_count;
    unsigned bit_count; /* of those that are compared: the length of a prefix */
};

struct parser {
    const char *text, *at;
    unsigned depth;
    struct nornic_error *why;
};

static struct explain_filter *parse_or(struct parser *p);

static void skip_blanks(struct parser *p)
{
    while (isspace((unsigned char)*p->at))
        p->at++;
}

static bool accept(struct parser *p, const char *token)
{
    skip_blanks(p);
    size_t n = strlen(token);
    if (strncmp(p->at, token, n) != 0)
        return false;
    p->at += n;
    return true;
}

static struct explain_filter *fail(struct parser *p, struct explain_filter *node, const char *what)
{
    explain_filter_free(node);
    if (p->why->text[0] == '\0')
        net_error_set(p->why, EINVAL, "filter, at character %d (\"%.24s\"): %s", (int)(p->at - p->text) + 1,
                      p->at, what);
    return NULL;
}

static struct explain_filter *new_node(struct parser *p, enum node_kind kind)
{
    struct explain_filter *node = calloc(1, sizeof *node);
    if (!node)
        return fail(p, NULL, "out of memory");
    node->kind = kind;
    return node;
}

/* --- words --- */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == ':' || c == '.';
}

/* The length of the word that begins here. */
static size_t word_length(const struct parser *p)
{
    size_t n = 0;
    while (is_word(p->at[n]))
        n++;
    return n;
}

/* Compares a word with the name of a value: blanks and dashes as _, any case, "RDMA_" as it pleases. */
static bool names_value(const char *word, size_t n, const char *name)
{
    size_t i = 0;
    for (;;) {
        if (n - i >= 5 && strncasecmp(word + i, "RDMA_", 5) == 0)
            i += 5;
        if (strncasecmp(name, "RDMA", 4) == 0 && (name[4] == ' ' || name[4] == '_'))
            name += 5;
        if (i == n || !*name)
            return i == n && !*name;
        char c = isalnum((unsigned char)*name) ? *name : '_';
        if (tolower((unsigned char)word[i]) != tolower((unsigned char)c))
            return false;
        i++;
        name++;
    }
}

static bool parse_number(const char *word, size_t n, uint64_t *value)
{
    char *end;
    if (!isdigit((unsigned char)word[0]))
        return false;
    errno = 0;
    *value = strtoull(word, &end, 0);
    return end == word + n && errno == 0;
}

/* Numbers and names of values of an integer field. */
static bool parse_integer(const struct net_field *field, const char *word, size_t n, uint64_t *value)
{
    if (parse_number(word, n, value))
        return true;
    if (!field || !field->value_name || field->width_bits > 32)
        return false;
    uint64_t last = field->width_bits > 16 ? 0xffff : (UINT64_C(1) << field->width_bits) - 1;
    for (*value = 0; *value <= last; ++*value) {
        const char *name = field->value_name(*value);
        if (name && names_value(word, n, name))
            return true;
    }
    return false;
}

static bool parse_mac(const char *word, uint8_t *bytes)
{
    for (unsigned i = 0; i < NORNIC_MAC_BYTES; i++, word += 3) {
        if (!isxdigit((unsigned char)word[0]) || !isxdigit((unsigned char)word[1]))
            return false;
        bytes[i] = (uint8_t)strtoul((char[]){word[0], word[1], '\0'}, NULL, 16);
        if (i + 1 < NORNIC_MAC_BYTES && word[2] != ':')
            return false;
    }
    return true;
}

/* Addresses of a byte string of their length. */
static bool parse_bytes(struct explain_filter *node, const char *word, size_t n)
{
    char text[64];
    struct nornic_addr addr;
    if (n >= sizeof text)
        return false;
    memcpy(text, word, n);
    text[n] = '\0';
    node->byte_count = node->field->width_bits / 8;
    if (node->byte_count == NORNIC_MAC_BYTES)
        return n == 17 && parse_mac(text, node->bytes);
    if ((node->byte_count != 4 && node->byte_count != 16) || nornic_addr_parse(text, &addr) != 0)
        return false;
    if (node->byte_count == 4 && !nornic_addr_is_v4(&addr))
        return false;
    memcpy(node->bytes, addr.b + 16 - node->byte_count, node->byte_count);
    return true;
}

/* "/24" behind an IP address: only so many bits count. */
static bool parse_prefix(struct parser *p, struct explain_filter *node)
{
    node->bit_count = 8 * node->byte_count;
    if (*p->at != '/')
        return true;
    p->at++;
    size_t n = word_length(p);
    uint64_t bits;
    if (n == 0 || node->byte_count == NORNIC_MAC_BYTES || !parse_number(p->at, n, &bits) ||
        bits > node->bit_count)
        return false;
    p->at += n;
    node->bit_count = (unsigned)bits;
    return true;
}

static bool has_prefix(const uint8_t *bytes, const struct explain_filter *f)
{
    unsigned whole = f->bit_count / 8, rest = f->bit_count % 8;
    return memcmp(bytes, f->bytes, whole) == 0 &&
           (!rest || (bytes[whole] ^ f->bytes[whole]) >> (8 - rest) == 0);
}

static bool parse_finding(const char *word, size_t n, uint64_t *value)
{
    for (*value = 0; *value < EXPLAIN_FINDING_COUNT; ++*value) {
        const char *key = explain_finding_key((enum explain_finding_kind) * value);
        if (strlen(key) == n && memcmp(key, word, n) == 0)
            return true;
    }
    return false;
}

/* --- terms --- */

static bool parse_quantity(struct explain_filter *node, const char *word, size_t n)
{
    static const struct {
        const char *name;
        enum quantity quantity;
    } names[] = {{"n", QUANTITY_N},
                 {"len", QUANTITY_LEN},
                 {"flow", QUANTITY_FLOW},
                 {"message", QUANTITY_MESSAGE},
                 {"connection", QUANTITY_CONN},
                 {"finding", QUANTITY_FINDING}};
    for (unsigned i = 0; i < array_len(names); i++)
        if (strlen(names[i].name) == n && memcmp(names[i].name, word, n) == 0) {
            node->quantity = names[i].quantity;
            return true;
        }
    return false;
}

static bool parse_comparison(struct parser *p, enum compare *compare)
{
    static const struct {
        const char *token;
        enum compare compare;
    } tokens[] = {{"==", COMPARE_EQ}, {"!=", COMPARE_NE}, {"<=", COMPARE_LE},
                  {">=", COMPARE_GE}, {"<", COMPARE_LT},  {">", COMPARE_GT}};
    for (unsigned i = 0; i < array_len(tokens); i++)
        if (accept(p, tokens[i].token)) {
            *compare = tokens[i].compare;
            return true;
        }
    return false;
}

/* What stands behind a comparison. */
static struct explain_filter *parse_value(struct parser *p, struct explain_filter *node)
{
    skip_blanks(p);
    size_t n = word_length(p);
    bool is_bytes = node->quantity == QUANTITY_FIELD && node->field->is_bytes;
    if (is_bytes && node->compare != COMPARE_EQ && node->compare != COMPARE_NE)
        return fail(p, node, "an address can only be compared with == and !=");
    bool is_finding = node->quantity == QUANTITY_FINDING;
    if (is_finding && node->compare != COMPARE_EQ && node->compare != COMPARE_NE)
        return fail(p, node, "a finding can only be compared with == and !=");
    bool fine = n > 0 && (is_finding ? parse_finding(p->at, n, &node->value)
                          : is_bytes ? parse_bytes(node, p->at, n)
                                     : parse_integer(node->field, p->at, n, &node->value));
    if (!fine)
        return fail(p, node,
                    is_finding ? "the key of a finding is expected here, such as timeout"
                    : is_bytes ? "an address is expected here"
                               : "a number or the name of a value of this field is expected here");
    p->at += n;
    return is_bytes && !parse_prefix(p, node) ? fail(p, node, "a prefix has no such length") : node;
}

static struct explain_filter *parse_term(struct parser *p)
{
    skip_blanks(p);
    size_t n = word_length(p);
    if (n == 0)
        return fail(p, NULL, "a layer or a field is expected here");
    const char *dot = memchr(p->at, '.', n);
    size_t key = dot ? (size_t)(dot - p->at) : n;
    struct explain_filter *node = new_node(p, NODE_COMPARE);
    if (!node)
        return NULL;
    if (!dot && parse_quantity(node, p->at, n)) {
        p->at += n;
    } else {
        node->layer = explain_layer_kind(p->at, key);
        if (!node->layer)
            return fail(p, node, "no layer has this name");
        if (!dot) {
            p->at += n;
            node->kind = NODE_LAYER;
            return node;
        }
        node->field = explain_header_field(node->layer->header, dot + 1, n - key - 1);
        if (!node->field)
            return fail(p, node, "the layer has no field of this name");
        p->at += n;
    }
    node->is_named = parse_comparison(p, &node->compare);
    if (node->is_named)
        return parse_value(p, node);
    if (node->quantity == QUANTITY_FIELD && node->field->is_bytes)
        return fail(p, node, "== or != is expected here");
    node->compare = COMPARE_NE; /* a field alone: not 0 */
    return node;
}

static struct explain_filter *parse_unary(struct parser *p)
{
    if (++p->depth > DEPTH_MAX)
        return fail(p, NULL, "nested too deeply");
    struct explain_filter *node;
    if (accept(p, "!")) {
        struct explain_filter *inner = parse_unary(p);
        node = inner ? new_node(p, NODE_NOT) : NULL;
        if (node)
            node->left = inner;
        else
            explain_filter_free(inner);
    } else if (accept(p, "(")) {
        node = parse_or(p);
        if (node && !accept(p, ")"))
            node = fail(p, node, "a ) is missing here");
    } else {
        node = parse_term(p);
    }
    p->depth--;
    return node;
}

/* operand (token operand)* */
static struct explain_filter *parse_chain(struct parser *p, const char *token, enum node_kind kind,
                                          struct explain_filter *(*operand)(struct parser *))
{
    struct explain_filter *left = operand(p);
    while (left && accept(p, token)) {
        struct explain_filter *right = operand(p), *node = right ? new_node(p, kind) : NULL;
        if (!node) {
            explain_filter_free(left);
            explain_filter_free(right);
            return NULL;
        }
        node->left = left;
        node->right = right;
        left = node;
    }
    return left;
}

static struct explain_filter *parse_and(struct parser *p)
{
    return parse_chain(p, "&&", NODE_AND, parse_unary);
}

static struct explain_filter *parse_or(struct parser *p)
{
    return parse_chain(p, "||", NODE_OR, parse_and);
}

struct explain_filter *explain_filter_parse(const char *expression, struct nornic_error *why)
{
    struct parser p = {.text = expression, .at = expression, .why = why};
    why->text[0] = '\0';
    struct explain_filter *filter = parse_or(&p);
    skip_blanks(&p);
    /* cppcheck-suppress returnDanglingLifetime ; the tree does not point into the parser */
    return filter && *p.at ? fail(&p, filter, "&& or || is expected here") : filter;
}

void explain_filter_free(struct explain_filter *filter)
{
    if (!filter)
        return;
    explain_filter_free(filter->left);
    explain_filter_free(filter->right);
    free(filter);
}

/* --- evaluation --- */

static bool holds(enum compare compare, uint64_t a, uint64_t b)
{
    switch (compare) {
    case COMPARE_EQ:
        return a == b;
    case COMPARE_NE:
        return a != b;
    case COMPARE_LE:
        return a <= b;
    case COMPARE_GE:
        return a >= b;
    case COMPARE_LT:
        return a < b;
    case COMPARE_GT:
        return a > b;
    }
    return false;
}

static bool layer_matches(const struct explain_filter *f, const struct explain_packet *packet, unsigned layer)
{
    if (f->kind == NODE_LAYER)
        return true;
    if (!explain_layer_holds(&packet->layers[layer], f->field))
        return false;
    if (!f->field->is_bytes)
        return holds(f->compare, explain_field_value(packet, layer, f->field), f->value);
    const uint8_t *at = packet->frame + packet->layers[layer].offset + f->field->first_bit / 8;
    return has_prefix(at, f) == (f->compare == COMPARE_EQ);
}

static bool any_layer_matches(const struct explain_filter *f, const struct explain_packet *packet)
{
    for (unsigned i = 0; i < packet->layer_count; i++)
        if (packet->layers[i].kind == f->layer && layer_matches(f, packet, i))
            return true;
    return false;
}

/* `finding` alone: any. */
static bool finding_matches(const struct explain_filter *f, const struct explain_meaning *meaning)
{
    bool found = false;
    for (unsigned i = 0; meaning && i < meaning->remark_count; i++)
        found |= !f->is_named || meaning->remarks[i].kind == f->value;
    return found == (f->compare == COMPARE_EQ || !f->is_named);
}

static bool quantity_matches(const struct explain_filter *f, const struct explain_packet *packet,
                             const struct explain_meaning *meaning)
{
    switch (f->quantity) {
    case QUANTITY_FIELD:
        return any_layer_matches(f, packet);
    case QUANTITY_N:
        return holds(f->compare, packet->number, f->value);
    case QUANTITY_LEN:
        return holds(f->compare, packet->wire_bytes, f->value);
    case QUANTITY_FLOW:
        return holds(f->compare, meaning ? meaning->flow : 0, f->value);
    case QUANTITY_MESSAGE:
        return holds(f->compare, meaning ? meaning->message : 0, f->value);
    case QUANTITY_CONN:
        return holds(f->compare, meaning ? meaning->smc.conn : 0, f->value);
    case QUANTITY_FINDING:
        return finding_matches(f, meaning);
    }
    return false;
}

bool explain_filter_matches(const struct explain_filter *f, const struct explain_packet *packet,
                            const struct explain_meaning *meaning)
{
    switch (f->kind) {
    case NODE_AND:
        return explain_filter_matches(f->left, packet, meaning) &&
               explain_filter_matches(f->right, packet, meaning);
    case NODE_OR:
        return explain_filter_matches(f->left, packet, meaning) ||
               explain_filter_matches(f->right, packet, meaning);
    case NODE_NOT:
        return !explain_filter_matches(f->left, packet, meaning);
    case NODE_LAYER:
        return any_layer_matches(f, packet);
    case NODE_COMPARE:
        return quantity_matches(f, packet, meaning);
    }
    return false;
}
