/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "cli/option/cc.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/option/value.h"

#define TEXT_MAX     512
#define RATE_MAX_BPS 4e12
#define TIME_MAX_NS  1000000000

enum kind { RATE, TIME, BYTES, COUNT8, COUNT16 };

/* As docs/congestion.md has them. */
static const struct setting {
    const char *name;
    enum kind kind;
    size_t offset; /* of the member that it sets */
    uint64_t min, max;
} settings[] = {
    {"line-rate", RATE, offsetof(struct roce_cc_config, line_rate_bps), 0, 0},
    {"min-rate", RATE, offsetof(struct roce_cc_config, min_rate_bps), 0, 0},
    {"additive", RATE, offsetof(struct roce_cc_config, additive_bps), 0, 0},
    {"hyper", RATE, offsetof(struct roce_cc_config, hyper_bps), 0, 0},
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
#define SETTINGS array_len(settings)

/* Bits per second: a number, with a fraction where wanted, and K, M or G (times 1000 each). */
static int parse_rate(const char *option, const char *text, uint64_t *out)
{
    static const char letters[] = "KMG";
    char *end = NULL;
    double bps = isdigit((unsigned char)text[0]) ? strtod(text, &end) : 0;
    for (const char *l = letters; end && *end && *l; l++) {
        bps *= 1000;
        if (toupper((unsigned char)*end) == *l)
            end++;
    }
    if (!end || *end || bps < 1 || bps > RATE_MAX_BPS)
        return cli_fail("%s %s: give bits per second up to 4000G, such as 10G or 2.5G", option, text);
    *out = (uint64_t)bps;
    return CLI_OK;
}

static int parse_value(const struct setting *s, const char *option, const char *text, uint64_t *out)
{
    switch (s->kind) {
    case RATE:
        return parse_rate(option, text, out);
    case TIME:
        return cli_parse_duration(option, text, s->min, s->max, out);
    case BYTES:
        return cli_parse_size(option, text, s->min, s->max, out);
    case COUNT8:
    case COUNT16:
        return cli_parse_count(option, text, s->min, s->max, out);
    }
    return CLI_ERROR;
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

static int take(const char *text, struct roce_cc_config *c)
{
    const char *equals = strchr(text, '=');
    for (size_t i = 0; equals && i < SETTINGS; i++) {
        const struct setting *s = &settings[i];
        if (strlen(s->name) != (size_t)(equals - text) || strncmp(s->name, text, strlen(s->name)) != 0)
            continue;
        char option[32];
        uint64_t value = 0;
        snprintf(option, sizeof option, "--cc %s", s->name);
        int err = parse_value(s, option, equals + 1, &value);
        if (err == CLI_OK)
            store(s, c, value);
        return err;
    }
    return cli_fail("--cc %s: give NAME=VALUE, where NAME is one of line-rate, min-rate, additive, hyper, "
                    "cnp-interval, alpha-period, increase-period, increase-bytes, gain, initial-alpha, "
                    "recovery-steps, dscp, priority",
                    text);
}

int cli_parse_cc(const char *text, struct roce_cc_config *out)
{
    char copy[TEXT_MAX], *rest = copy;
    struct roce_cc_config c = {.on = true};
    int n = snprintf(copy, sizeof copy, "%s", text ? text : "");
    if (n >= (int)sizeof copy)
        return cli_fail("--cc: the settings are longer than %d characters", TEXT_MAX - 1);
    for (char *one; n > 0 && (one = strsep(&rest, ","));)
        if (take(one, &c) != CLI_OK)
            return CLI_ERROR;
    uint32_t interval_ns = c.cnp_interval_ns ? c.cnp_interval_ns : 50000;
    if ((c.alpha_period_ns ? c.alpha_period_ns : 55000) <= interval_ns)
        return cli_fail("--cc: the alpha-period (55us) must be longer than the cnp-interval (50us)");
    *out = c;
    return CLI_OK;
}
