/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of fields as texts. */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "base/digits.h"
#include "explain/packet/packet.h"
#include "nornic/addr.h"

/* As net_bits_get(), which is made for constants: of a field that is read by a table. */
static uint64_t value_at(const uint8_t *p, unsigned first_bit, unsigned width_bits)
{
    unsigned end = first_bit + width_bits, at = first_bit / 8, last = (end - 1) / 8;
    if (last - at >= sizeof(uint64_t))
        return net_bits_get(p, first_bit, width_bits);
    uint64_t value = p[at] & 0xffu >> first_bit % 8;
    while (at < last)
        value = value << 8 | p[++at];
    return value >> (8 - end % 8) % 8;
}

bool explain_layer_has(const struct explain_layer *layer, const char *field)
{
    const struct net_field *f = explain_header_field(layer->kind->header, field, strlen(field));
    return f && explain_layer_holds(layer, f);
}

const uint8_t *explain_layer_bytes(const struct explain_packet *packet, const struct explain_layer *layer,
                                   uint8_t room[EXPLAIN_LAYER_BYTES_MAX])
{
    if (explain_layer_is_whole(layer))
        return packet->frame + layer->offset;
    memset(room, 0, EXPLAIN_LAYER_BYTES_MAX);
    memcpy(room, packet->frame + layer->offset, layer->len_bytes);
    return room;
}

uint64_t explain_field_value(const struct explain_packet *packet, unsigned layer,
                             const struct net_field *field)
{
    if (field->is_bytes)
        return 0;
    return value_at(packet->frame + packet->layers[layer].offset, field->first_bit, field->width_bits);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && strcmp(name + n - m, ending) == 0;
}

/* Lengths, counts and ports are read in decimal; keys, addresses and sequence numbers in hex. */
static bool is_decimal(const struct net_field *field)
{
    static const char *const endings[] = {
        "len",  "length", "port", "ttl",     "hop_limit", "count", "retries", "retry", "timeout", "msn",
        "wrap", "cursor", "ihl",  "version", "resources", "depth", "vid",     "links", "_ptr",    "ird"};
    static const char *const names[] = {"mo", "ord", "size"};
    if (field->width_bits <= 8)
        return true;
    for (unsigned i = 0; i < array_len(endings); i++)
        if (ends_with(field->name, endings[i]))
            return true;
    for (unsigned i = 0; i < array_len(names); i++)
        if (strcmp(field->name, names[i]) == 0)
            return true;
    return false;
}

static void bytes_text(const uint8_t *bytes, unsigned n, char *text, size_t size)
{
    size_t used = 0;
    for (unsigned i = 0; i < n && used + 3 < size; i++)
        used = (size_t)(digits_put_hex(text + used, bytes[i], 2) - text);
    text[used] = '\0';
}

/* Names and ids of SMC-R that people gave, and the key of MPA. */
static bool is_text(enum explain_layer_id layer, const struct net_field *field)
{
    static const char *const names[] = {"eid", "seid", "host_name"};
    for (unsigned i = 0; i < array_len(names); i++)
        if (explain_layer_is_clc(layer) && strcmp(field->name, names[i]) == 0)
            return true;
    return layer == EXPLAIN_LAYER_MPA_FRAME;
}

static void text_of(const uint8_t *bytes, unsigned n, char *text, size_t size)
{
    unsigned used = n;
    for (unsigned i = 0; i < n; i++)
        if (bytes[i] < 0x20 || bytes[i] > 0x7e) {
            bytes_text(bytes, n, text, size);
            return;
        }
    while (used && bytes[used - 1] == ' ')
        used--;
    snprintf(text, size, "%.*s", (int)used, (const char *)bytes);
}

enum explain_form explain_field_form(enum explain_layer_id layer, const struct net_field *field)
{
    if (!field->is_bytes)
        return is_decimal(field) ? EXPLAIN_FORM_DECIMAL : EXPLAIN_FORM_HEX;
    if (is_text(layer, field))
        return EXPLAIN_FORM_TEXT;
    switch (field->width_bits / 8) {
    case sizeof(struct nornic_mac):
        return EXPLAIN_FORM_MAC;
    case sizeof(struct nornic_addr):
        return EXPLAIN_FORM_ADDR;
    case 4:
        return layer == EXPLAIN_LAYER_IP ? EXPLAIN_FORM_IPV4 : EXPLAIN_FORM_BYTES;
    }
    return EXPLAIN_FORM_BYTES;
}

static void integer_text(const struct net_field *field, bool decimal, uint64_t value, char *text, size_t size)
{
    const char *word = field->value_name ? field->value_name(value) : NULL;
    int digits = (field->width_bits + 3) / 4;
    if (word)
        snprintf(text, size, "%s (0x%0*" PRIx64 ")", word, digits, value);
    else if (decimal)
        snprintf(text, size, "%" PRIu64, value);
    else
        snprintf(text, size, "0x%0*" PRIx64, digits, value);
}

const char *explain_field_text(const struct explain_packet *packet, unsigned layer,
                               const struct net_field *field, char *text, size_t size)
{
    const struct explain_layer *l = &packet->layers[layer];
    const uint8_t *at = packet->frame + l->offset + field->first_bit / 8;
    enum explain_form form = explain_field_form(l->kind->id, field);
    struct nornic_mac mac;
    struct nornic_addr addr;
    assert(size >= NORNIC_ADDR_STR_SIZE);
    switch (form) {
    case EXPLAIN_FORM_DECIMAL:
    case EXPLAIN_FORM_HEX:
        integer_text(field, form == EXPLAIN_FORM_DECIMAL, explain_field_value(packet, layer, field), text,
                     size);
        break;
    case EXPLAIN_FORM_MAC:
        memcpy(mac.b, at, sizeof mac.b);
        nornic_mac_str(&mac, text);
        break;
    case EXPLAIN_FORM_IPV4:
        addr = nornic_addr_from_v4(at);
        nornic_addr_str(&addr, text);
        break;
    case EXPLAIN_FORM_ADDR:
        memcpy(addr.b, at, sizeof addr.b);
        nornic_addr_str(&addr, text);
        break;
    case EXPLAIN_FORM_TEXT:
        text_of(at, field->width_bits / 8, text, size);
        break;
    case EXPLAIN_FORM_BYTES:
        bytes_text(at, field->width_bits / 8, text, size);
        break;
    }
    return text;
}
