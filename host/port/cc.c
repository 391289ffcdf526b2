/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/port/cc.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"

#define RATE_MAX_BPS UINT64_C(4000000000000)
#define TIME_MAX_NS  1000000000
#define VALUE_BYTES  32

enum kind { RATE, TIME, BYTES, COUNT8, COUNT16 };

/* As docs/congestion.md has them. */
static const struct setting {
    const char *name;
    enum kind kind;
    size_t offset; /* of the member that it sets */
    uint64_t min, max;
} settings[] = {
    {"line-rate", RATE, offsetof(struct roce_cc_config, line_rate_bps), 1, RATE_MAX_BPS},
    {"min-rate", RATE, offsetof(struct roce_cc_config, min_rate_bps), 1, RATE_MAX_BPS},
    {"additive", RATE, offsetof(struct roce_cc_config, additive_bps), 1, RATE_MAX_BPS},
    {"hyper", RATE, offsetof(struct roce_cc_config, hyper_bps), 1, RATE_MAX_BPS},
    {"cnp-interval", TIME, offsetof(struct roce_cc_config, cnp_interval_ns), 1, TIME_MAX_NS},
    {"alpha-period", TIME, offsetof(struct roce_cc_config, alpha_period_ns), 1000, TIME_MAX_NS},
    {"increase-period", TIME, offsetof(struct roce_cc_config, increase_period_ns), 1000, TIME_MAX_NS},
    {"increase-bytes", BYTES, offsetof(struct roce_cc_config, increase_bytes), 1024, UINT32_MAX},
    {"gain", COUNT16, offsetof(struct roce_cc_config, gain_1024ths), 1, 1024},
    {"initial-alpha", COUNT16, offsetof(struct roce_cc_config, initial_alpha_1024ths), 1, 1024},
    {"recovery-steps", COUNT16, offsetof(struct roce_cc_config, recovery_steps), 1, 1024},
    {"dscp", COUNT8, offsetof(struct roce_cc_config, cnp_dscp), 1, 63},
    {"priority", COUNT8, offsetof(struct roce_cc_config, cnp_priority), 1, 7},
};

/* A unit of a kind of value. */
struct unit {
    const char *name;
    double factor;
};
static const struct unit rates[] = {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {NULL, 0}};
static const struct unit times[] = {{"", 1e9}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {NULL, 0}};
static const struct unit sizes[] = {{"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {NULL, 0}};
static const struct unit counts[] = {{"", 1}, {NULL, 0}};

static const struct {
    const struct unit *units;
    bool has_fraction;
    const char *legal; /* of the least and the most */
} kinds[] = {
    [RATE] = {rates, true, "give bits per second from %.0f to %.0f, such as 10G or 2.5G"},
    [TIME] = {times, true, "give a time from %.0f ns to %.0f ns, such as 55us"},
    [BYTES] = {sizes, false, "give a size from %.0f to %.0f bytes, such as 10M"},
    [COUNT8] = {counts, false, "give a whole number from %.0f to %.0f"},
    [COUNT16] = {counts, false, "give a whole number from %.0f to %.0f"},
};

/* Reads `bytes` octets at `text`, a number and a unit. False: it is none, or not from `min` to `max`. */
static bool read_value(const struct setting *s, const char *text, size_t bytes, uint64_t *out)
{
    char copy[VALUE_BYTES], *end = copy;
    if (bytes >= sizeof copy || !isdigit((unsigned char)text[0]))
        return false;
    snprintf(copy, sizeof copy, "%.*s", (int)bytes, text);
    bool is_hex = copy[0] == '0' && (copy[1] == 'x' || copy[1] == 'X');
    double number =
        kinds[s->kind].has_fraction ? strtod(copy, &end) : (double)strtoull(copy, &end, is_hex ? 16 : 10);
    for (const struct unit *unit = kinds[s->kind].units; unit->name; unit++) {
        if (strcasecmp(unit->name, end) != 0)
            continue;
        number *= unit->factor;
        *out = (uint64_t)(number + 0.5);
        return number >= (double)s->min && number <= (double)s->max;
    }
    return false;
}

static void store(const struct setting *s, struct roce_cc_config *c, uint64_t value)
{
    uint8_t *member = (uint8_t *)c + s->offset;
    switch (s->kind) {
    case RATE:
        memcpy(member, &value, sizeof value);
        return;
    case TIME:
    case BYTES:
        memcpy(member, &(uint32_t){(uint32_t)value}, sizeof(uint32_t));
        return;
    case COUNT8:
        *member = (uint8_t)value;
        return;
    case COUNT16:
        memcpy(member, &(uint16_t){(uint16_t)value}, sizeof(uint16_t));
        return;
    }
}

/* Reads NAME=VALUE, `bytes` octets at `text`. */
static int take(const char *text, size_t bytes, struct roce_cc_config *c, struct nornic_error *why)
{
    size_t name_bytes = strcspn(text, "=");
    for (size_t i = 0; name_bytes < bytes && i < array_len(settings); i++) {
        const struct setting *s = &settings[i];
        if (strlen(s->name) != name_bytes || strncmp(s->name, text, name_bytes) != 0)
            continue;
        uint64_t value = 0;
        if (read_value(s, text + name_bytes + 1, bytes - name_bytes - 1, &value)) {
            store(s, c, value);
            return 0;
        }
        char legal[96];
        snprintf(legal, sizeof legal, kinds[s->kind].legal, (double)s->min, (double)s->max);
        return net_error_set(why, EINVAL, "%s %.*s: %s", s->name, (int)(bytes - name_bytes - 1),
                             text + name_bytes + 1, legal);
    }
    return net_error_set(why, EINVAL,
                         "%.*s: give NAME=VALUE, where NAME is one of line-rate, min-rate, additive, hyper, "
                         "cnp-interval, alpha-period, increase-period, increase-bytes, gain, initial-alpha, "
                         "recovery-steps, dscp, priority",
                         (int)bytes, text);
}

int host_port_cc(const char *text, char separator, struct roce_cc_config *out, struct nornic_error *why)
{
    const char separators[] = {separator, 0};
    struct roce_cc_config c = {.on = true};
    for (bool has_more = *text; has_more;) {
        size_t bytes = strcspn(text, separators);
        int err = take(text, bytes, &c, why);
        if (err)
            return err;
        has_more = text[bytes];
        text += bytes + has_more;
    }
    uint32_t interval_ns = c.cnp_interval_ns ? c.cnp_interval_ns : 50000;
    if ((c.alpha_period_ns ? c.alpha_period_ns : 55000) <= interval_ns)
        return net_error_set(why, EINVAL,
                             "the alpha-period (55us) must be longer than the cnp-interval (50us)");
    *out = c;
    return 0;
}
