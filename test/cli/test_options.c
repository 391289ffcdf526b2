/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/option/value.h"

/* The sentences go to standard error, which the tests keep to themselves. */
#define OPTION_TEST(name) Test(options, name, .init = cr_redirect_stderr)

OPTION_TEST(counts)
{
    uint64_t v;
    cr_assert_eq(cli_parse_count("-n", "0", 0, 9, &v), 0);
    cr_assert_eq(v, 0);
    cr_assert_eq(cli_parse_count("-n", "0x1F", 0, 99, &v), 0);
    cr_assert_eq(v, 31);
    cr_assert_eq(cli_parse_count("-n", "18446744073709551615", 0, UINT64_MAX, &v), 0);
    cr_assert_eq(v, UINT64_MAX);
    static const char *const bad[] = {"",   "-1",  "+1", " 1", "1 ",
                                      "1k", "ten", "0x", "10", "18446744073709551616"};
    for (size_t i = 0; i < array_len(bad); i++)
        cr_assert_eq(cli_parse_count("-n", bad[i], 0, 9, &v), CLI_ERROR, "'%s'", bad[i]);
}

OPTION_TEST(sizes)
{
    uint64_t v;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"1", 1}, {"64K", 65536}, {"64k", 65536}, {"1M", 1 << 20}, {"2G", UINT64_C(2) << 30}};
    for (size_t i = 0; i < array_len(good); i++) {
        cr_assert_eq(cli_parse_size("-s", good[i].text, 1, UINT64_MAX, &v), 0, "%s", good[i].text);
        cr_assert_eq(v, good[i].bytes, "%s is %" PRIu64, good[i].text, v);
    }
    static const char *const bad[] = {"",   "K",   "1KB", "1.5M", "-1K", "0", "18446744073709551615K",
                                      "1T", "1025"};
    for (size_t i = 0; i < array_len(bad); i++)
        cr_assert_eq(cli_parse_size("-s", bad[i], 1, 1024, &v), CLI_ERROR, "'%s'", bad[i]);
}

OPTION_TEST(durations)
{
    uint64_t v;
    static const struct {
        const char *text;
        uint64_t ns;
    } good[] = {{"10", 10000000000},  {"10s", 10000000000}, {"500ms", 500000000}, {"250us", 250000},
                {"1.5s", 1500000000}, {".5s", 500000000},   {"7ns", 7},           {"2m", 120000000000}};
    for (size_t i = 0; i < array_len(good); i++) {
        cr_assert_eq(cli_parse_duration("-t", good[i].text, 1, UINT64_MAX, &v), 0, "%s", good[i].text);
        cr_assert_eq(v, good[i].ns, "%s is %" PRIu64, good[i].text, v);
    }
    static const char *const bad[] = {"", "s", "-1s", "inf", "nan", "1e999s", "5h", "1s2", "0s"};
    for (size_t i = 0; i < array_len(bad); i++)
        cr_assert_eq(cli_parse_duration("-t", bad[i], 1, UINT64_MAX, &v), CLI_ERROR, "'%s'", bad[i]);
}

OPTION_TEST(rates)
{
    uint32_t v;
    cr_assert_eq(cli_parse_ppm("--loss", "1%", &v), 0);
    cr_assert_eq(v, 10000);
    cr_assert_eq(cli_parse_ppm("--loss", "0.5%", &v), 0);
    cr_assert_eq(v, 5000);
    cr_assert_eq(cli_parse_ppm("--loss", "200ppm", &v), 0);
    cr_assert_eq(v, 200);
    cr_assert_eq(cli_parse_ppm("--loss", "100%", &v), 0);
    cr_assert_eq(v, 1000000);
    static const char *const bad[] = {"",           "1",    "%",        "101%",  "-1%",
                                      "1000001ppm", "one%", "0.00001%", "0.4ppm"};
    for (size_t i = 0; i < array_len(bad); i++)
        cr_assert_eq(cli_parse_ppm("--loss", bad[i], &v), CLI_ERROR, "'%s'", bad[i]);
}

OPTION_TEST(path_mtus_and_ports)
{
    uint32_t mtu;
    const char *port;
    for (uint32_t bytes = 0; bytes < 10000; bytes++) {
        char text[8];
        snprintf(text, sizeof text, "%u", bytes);
        bool legal = bytes == 256 || bytes == 512 || bytes == 1024 || bytes == 2048 || bytes == 4096;
        if (legal || bytes % 128 == 0)
            cr_assert_eq(cli_parse_pmtu("-m", text, &mtu), legal ? 0 : CLI_ERROR, "%s", text);
    }
    cr_assert_eq(cli_parse_port("--port", "memory", &port), 0);
    cr_assert_eq(cli_parse_port("--port", "xdp:eth0:generic", &port), 0);
    cr_assert_eq(cli_parse_port("--port", "packet:eth0", &port), 0);
    cr_assert_eq(cli_parse_port("--port", "packet:", &port), CLI_ERROR);
    cr_assert_eq(cli_parse_port("--port", "memory:1", &port), CLI_ERROR);
}
