/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "cli/option/value.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

/* Reads the digits at the front of `text`; false when there are none or they overflow. strtoull() alone would
 * take a sign and leading blanks. */
static bool leading_number(const char *text, char **end, uint64_t *out)
{
    if (!isdigit((unsigned char)text[0]))
        return false;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    errno = 0;
    *out = strtoull(text, end, hex ? 16 : 10);
    return errno == 0;
}

int cli_parse_count(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    char *end;
    if (!leading_number(text, &end, out) || *end || *out < min || *out > max)
        return cli_fail("%s %s: give a whole number from %" PRIu64 " to %" PRIu64, option, text, min, max);
    return 0;
}

/* log2 of what a size suffix multiplies by, or -1. */
static int suffix_shift(const char *suffix)
{
    if (!*suffix)
        return 0;
    static const char letters[] = "KMG";
    const char *letter = strchr(letters, toupper((unsigned char)suffix[0]));
    return letter && !suffix[1] ? 10 * (int)(letter - letters + 1) : -1;
}

/* Names sizes that would do: " such as 4096, 64K or 1M". */
static const char *examples_of(uint64_t min, uint64_t max, char *text, size_t size)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } known[] = {{"4096", 4096}, {"64K", 64 << 10}, {"1M", 1 << 20}, {"1G", 1 << 30}};
    const char *fit[array_len(known)];
    unsigned n = 0;
    for (size_t i = 0; i < array_len(known); i++)
        if (known[i].bytes >= min && known[i].bytes <= max && n < 3)
            fit[n++] = known[i].text;
    size_t len = 0;
    text[0] = 0;
    for (unsigned i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, size - len, "%s%s",
                                i == 0       ? ", such as "
                                : i + 1 == n ? " or "
                                             : ", ",
                                fit[i]);
    return text;
}

int cli_parse_size(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out_bytes)
{
    char *end, examples[48];
    uint64_t number;
    int shift = leading_number(text, &end, &number) ? suffix_shift(end) : -1;
    if (shift < 0 || number > UINT64_MAX >> shift || number << shift < min || number << shift > max)
        return cli_fail("%s %s: give a size from %" PRIu64 " to %" PRIu64 " bytes%s", option, text, min, max,
                        examples_of(min, max, examples, sizeof examples));
    *out_bytes = number << shift;
    return 0;
}

/* Reads a number that may have a fraction; false for signs, words and what is too large for a double. */
static bool leading_real(const char *text, char **end, double *out)
{
    if (!isdigit((unsigned char)text[0]) && text[0] != '.')
        return false;
    *out = strtod(text, end);
    return *end != text && isfinite(*out);
}

static double unit_ns(const char *unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"", NS_PER_S}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", NS_PER_S}, {"m", 60 * NS_PER_S}};
    for (size_t i = 0; i < array_len(units); i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].ns;
    return 0;
}

int cli_parse_duration(const char *option, const char *text, uint64_t min_ns, uint64_t max_ns,
                       uint64_t *out_ns)
{
    char *end;
    double number = 0;
    double unit = leading_real(text, &end, &number) ? unit_ns(end) : 0, ns = number * unit;
    if (unit == 0 || ns < (double)min_ns || ns > (double)max_ns)
        return cli_fail("%s %s: give a time from %.10g s to %.10g s, such as 10s, 500ms or 250us", option,
                        text, (double)min_ns / NS_PER_S, (double)max_ns / NS_PER_S);
    *out_ns = (uint64_t)(ns + 0.5);
    return 0;
}

int cli_parse_ppm(const char *option, const char *text, uint32_t *out_ppm)
{
    char *end;
    double number = 0, scale = 0;
    if (leading_real(text, &end, &number))
        scale = strcmp(end, "%") == 0 ? 1e4 : strcmp(end, "ppm") == 0 ? 1 : 0;
    if (scale == 0 || number * scale > 1e6)
        return cli_fail("%s %s: give a rate from 0%% to 100%%, such as 1%%, 0.5%% or 200ppm", option, text);
    *out_ppm = (uint32_t)(number * scale + 0.5);
    if (number > 0 && *out_ppm == 0)
        return cli_fail("%s %s: the smallest rate is 1ppm (0.0001%%); give 0%% for none", option, text);
    return 0;
}

int cli_parse_pmtu(const char *option, const char *text, uint32_t *out_bytes)
{
    char *end;
    uint64_t bytes;
    bool legal = leading_number(text, &end, &bytes) && !*end && bytes >= 256 && bytes <= 4096 &&
                 (bytes & (bytes - 1)) == 0;
    if (!legal)
        return cli_fail("%s %s: a path MTU is 256, 512, 1024, 2048 or 4096 bytes", option, text);
    *out_bytes = (uint32_t)bytes;
    return 0;
}

int cli_parse_port(const char *option, const char *text, const char **out)
{
    static const char *const kinds[] = {"udp:", "iwarp:", "xdp:", "packet:"};
    bool known = strcmp(text, "memory") == 0 || strncmp(text, "memory,", strlen("memory,")) == 0;
    for (size_t i = 0; i < array_len(kinds); i++)
        known |= strncmp(text, kinds[i], strlen(kinds[i])) == 0 && text[strlen(kinds[i])];
    if (!known)
        return cli_fail("%s %s: give udp:ADDRESS, udp:INTERFACE, iwarp:ADDRESS, iwarp:INTERFACE, "
                        "xdp:INTERFACE, packet:INTERFACE or memory",
                        option, text);
    *out = text;
    return 0;
}

int cli_option_error(int c, char **argv)
{
    /* getopt_long() leaves optopt 0 for an unknown long option; the word itself is the one just passed. A
     * letter among others is found before their word is passed: then the word before it says nothing. */
    const char letter[3] = {'-', (char)optopt, 0}, *word = argv[optind - 1], *next = argv[optind];
    bool in_cluster = next && next[0] == '-' && next[1] != '-' && strchr(next, optopt) && c == '?';
    bool is_long = optopt == 0 || (strncmp(word, "--", 2) == 0 && !in_cluster);
    const char *name = is_long ? word : letter;
    if (c == ':')
        return cli_fail("option %s needs a value; see `nornic help %s`", name, cli_command_name());
    if (is_long && optopt != 0)
        return cli_fail("option %.*s takes no value; see `nornic help %s`", (int)strcspn(name, "="), name,
                        cli_command_name());
    return cli_fail("unknown %soption %s; see `nornic help %s`", is_long ? "or ambiguous " : "", name,
                    cli_command_name());
}
