/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of fields as texts. */
#include <inttypes.h>
#include <stdio.h>

#include "explain/packet.h"
#include "net/addr.h"

uint64_t explain_field_value(const struct explain_packet *packet, unsigned layer,
                             const struct net_field *field)
{
    if (field->is_bytes)
        return 0;
    return net_bits_get(packet->frame + packet->layers[layer].offset, field->first_bit, field->width_bits);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return n >= m && strcmp(name + n - m, ending) == 0;
}

/* Lengths, counts and ports are read in decimal; keys, addresses and sequence numbers in hex. */
static bool is_decimal(const struct net_field *field)
{
    static const char *const endings[] = {"len",     "length",  "port",      "ttl",   "hop_limit", "count",
                                          "retries", "retry",   "timeout",   "msn",   "wrap",      "cursor",
                                          "ihl",     "version", "resources", "depth", "vid",       "links"};
    if (field->width_bits <= 8)
        return true;
    for (unsigned i = 0; i < sizeof endings / sizeof endings[0]; i++)
        if (ends_with(field->name, endings[i]))
            return true;
    return false;
}

static void bytes_text(const uint8_t *bytes, unsigned n, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < n && used + 3 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%02x", bytes[i]);
}

static void byte_string_text(const uint8_t *bytes, unsigned n, char *text, size_t size)
{
    struct net_mac mac;
    struct net_addr addr;
    char buf[NET_ADDR_STR_SIZE];
    if (n == sizeof mac.b) {
        memcpy(mac.b, bytes, n);
        snprintf(text, size, "%s", net_mac_str(&mac, buf));
    } else if (n == sizeof addr.b) {
        memcpy(addr.b, bytes, n);
        snprintf(text, size, "%s", net_addr_str(&addr, buf));
    } else {
        bytes_text(bytes, n, text, size);
    }
}

static bool is_ipv4_address(const struct explain_layer *layer, const struct net_field *field)
{
    return field->is_bytes && field->width_bits == 32 && strcmp(layer->key, "ip") == 0;
}

const char *explain_field_text(const struct explain_packet *packet, unsigned layer,
                               const struct net_field *field, char *text, size_t size)
{
    const struct explain_layer *l = &packet->layers[layer];
    const uint8_t *at = packet->frame + l->offset + field->first_bit / 8;
    if (is_ipv4_address(l, field)) {
        snprintf(text, size, "%u.%u.%u.%u", at[0], at[1], at[2], at[3]);
        return text;
    }
    if (field->is_bytes) {
        byte_string_text(at, field->width_bits / 8, text, size);
        return text;
    }
    uint64_t value = explain_field_value(packet, layer, field);
    const char *word = field->value_name ? field->value_name(value) : NULL;
    int digits = (field->width_bits + 3) / 4;
    if (word)
        snprintf(text, size, "%s (0x%0*" PRIx64 ")", word, digits, value);
    else if (is_decimal(field))
        snprintf(text, size, "%" PRIu64, value);
    else
        snprintf(text, size, "0x%0*" PRIx64, digits, value);
    return text;
}
