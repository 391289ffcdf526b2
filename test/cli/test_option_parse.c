/* SPDX-License-Identifier: BSD-2-Clause */
/* How a command line is read: one command with a row of each kind. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/option/color.h"
#include "line.h"

enum shape { ROUND, SQUARE, OTHER };

struct inner {
    uint32_t loss_ppm;
    uint16_t small;
};

struct settings {
    bool loud, checked;
    uint8_t level;
    int family;
    uint64_t bytes, time_ns, count;
    uint32_t pmtu;
    enum shape shape;
    enum cli_color color;
    const char *text, *file, *port;
    char own[32];
    unsigned own_calls;
    struct inner inner;
    const char *host;
    struct cli_words rest;
};

static int take_own(void *settings, const char *option, char *text)
{
    struct settings *s = settings;
    s->own_calls++;
    snprintf(s->own, sizeof s->own, "%s %s", option, text ? text : "nothing");
    return text && strcmp(text, "bad") == 0 ? cli_fail("%s %s: it is bad", option, text) : CLI_OK;
}

static int check(void *settings)
{
    struct settings *s = settings;
    s->checked = true;
    return s->level == 7 ? cli_fail("level 7 is not for you") : CLI_OK;
}

#define AT(member) CLI_SETS(struct settings, member)

static const char *const shapes[] = {"round", "square", "other", NULL};

static const struct cli_option rows[] = {
    {"loud", 'l', NULL, "loudly", AT(loud)},
    {"level", 'L', "N", "how much, %r", AT(level), CLI_TAKES_COUNT(0, 9), .preset = "3"},
    {"ipv4", '4', NULL, "IPv4", AT(family), CLI_MEANS(4)},
    {"ipv6", '6', NULL, "IPv6", AT(family), CLI_MEANS(6)},
    {"bytes", 'b', "BYTES", "how many", AT(bytes), CLI_TAKES_SIZE(1, 1 << 20), .also = {"size", "B"}},
    {"time", 0, "TIME", "how long", AT(time_ns), CLI_TAKES_TIME(NS_PER_MS, NS_PER_S), .preset = "20ms"},
    {"count", 'c', "N", "how often", AT(count), CLI_TAKES_COUNT(1, UINT64_MAX)},
    {"mtu", 0, "BYTES", "path MTU", AT(pmtu), .kind = CLI_PMTU, .preset = "1024"},
    {"shape", 0, "SHAPE", "%r", AT(shape), CLI_TAKES_ONE_OF(shapes), .preset = "square"},
    {"text", 't', "TEXT", "a text", AT(text), .kind = CLI_TEXT},
    {"file", 'f', "FILE", "a file", AT(file), .kind = CLI_FILE},
    {"port", 0, "PORT", "a port", AT(port), .kind = CLI_PORT},
    {"own", 'o', "WHAT", "as it likes", CLI_TAKEN_BY(take_own), .is_optional = true},
    {"secret", 0, NULL, "hidden", AT(loud), .is_hidden = true},
    CLI_COLOR_ROWS(struct settings, color),
    {NULL},
};

static const struct cli_option inner_rows[] = {
    {"loss", 0, "RATE", "frames", CLI_SETS(struct inner, loss_ppm), .kind = CLI_RATE},
    {"small", 0, "N", "small", CLI_SETS(struct inner, small), CLI_TAKES_COUNT(0, 65535), .preset = "77"},
    {NULL},
};

static const struct cli_operand operands[] = {
    {.name = "HOST", .kind = CLI_TEXT, .offset = offsetof(struct settings, host)},
    {.name = "MORE",
     .kind = CLI_TEXT,
     .is_optional = true,
     .is_many = true,
     .offset = offsetof(struct settings, rest)},
    {.name = NULL}};

static const struct cli_rule rules[] = {{CLI_EXCLUDES, "ipv4", "ipv6", NULL},
                                        {CLI_EXCLUDES, "bytes", "count", "one or the other"},
                                        {CLI_NEEDS, "small", "loss", "of what?"},
                                        {.kind = CLI_END_OF_RULES}};

static const struct cli_command command = {
    .name = "test",
    .summary = "a test",
    .usage = "test [OPTION...] HOST [MORE...]",
    .about = "Tests.",
    .groups = {{.rows = rows},
               {.title = "Inner", .rows = inner_rows, .offset = offsetof(struct settings, inner)}},
    .operands = operands,
    .operands_missing = "give HOST",
    .rules = rules,
    .status = {"good", NULL, "bad"},
    .settings_bytes = sizeof(struct settings),
    .check = check,
};

static struct settings s;
static char sentence[4096];

/* Reads the words; what was said is in `sentence`. */
static int parse(const char *const *words)
{
    static char copies[16][64];
    static char *argv[17] = {copies[0]};
    int argc = 1;
    snprintf(copies[0], sizeof copies[0], "test");
    for (; *words; words++, argc++) {
        snprintf(copies[argc], sizeof copies[argc], "%s", *words);
        argv[argc] = copies[argc];
    }
    argv[argc] = NULL;
    cli_command_set("test");
    FILE *kept = stderr;
    stderr = fmemopen(sentence, sizeof sentence, "w");
    memset(&s, 0xa5, sizeof s);
    int status = cli_parse(&command, argc, argv, &s);
    fclose(stderr);
    stderr = kept;
    sentence[strcspn(sentence, "\n")] = 0;
    return status;
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

static void refused(const char *wanted, int status)
{
    cr_expect_eq(status, CLI_ERROR);
    cr_expect_str_eq(sentence, wanted);
}

Test(option_parse, presets_hold_and_the_rest_is_zero)
{
    cr_assert_eq(PARSE("h"), CLI_OK);
    cr_expect_eq(s.level, 3);
    cr_expect_eq(s.time_ns, 20 * NS_PER_MS);
    cr_expect_eq(s.pmtu, 1024);
    cr_expect_eq(s.shape, SQUARE);
    cr_expect_eq(s.color, CLI_COLOR_AUTO);
    cr_expect_eq(s.inner.small, 77);
    cr_expect_not(s.loud);
    cr_expect_eq(s.family, 0);
    cr_expect_eq(s.bytes, 0);
    cr_expect_eq(s.count, 0);
    cr_expect_eq(s.inner.loss_ppm, 0);
    cr_expect_null(s.text);
    cr_expect_null(s.port);
    cr_expect_eq(s.own_calls, 0);
    cr_expect(s.checked);
    cr_expect_str_eq(s.host, "h");
    cr_expect_eq(s.rest.count, 0);
}

Test(option_parse, each_way_of_writing_an_option)
{
    cr_assert_eq(PARSE("-l", "-L", "9", "-b64K", "--time=1s", "h"), CLI_OK);
    cr_expect(s.loud);
    cr_expect_eq(s.level, 9);
    cr_expect_eq(s.bytes, 65536);
    cr_expect_eq(s.time_ns, NS_PER_S);
    cr_assert_eq(PARSE("-lL2", "h", "--by", "7"), CLI_OK); /* letters in one word; a name's beginning */
    cr_expect(s.loud);
    cr_expect_eq(s.level, 2);
    cr_expect_eq(s.bytes, 7);
    cr_assert_eq(PARSE("h", "--loud", "--shape", "other", "-4"), CLI_OK); /* behind an operand */
    cr_expect(s.loud);
    cr_expect_eq(s.shape, OTHER);
    cr_expect_eq(s.family, 4);
    cr_assert_eq(PARSE("--level", "1", "--level", "8", "h"), CLI_OK);
    cr_expect_eq(s.level, 8, "the last one holds");
    cr_assert_eq(PARSE("--secret", "h"), CLI_OK);
    cr_expect(s.loud);
}

Test(option_parse, older_names_work)
{
    cr_assert_eq(PARSE("--size", "5", "h"), CLI_OK);
    cr_expect_eq(s.bytes, 5);
    cr_assert_eq(PARSE("-B", "6", "h"), CLI_OK);
    cr_expect_eq(s.bytes, 6);
    cr_assert_eq(PARSE("--colour", "always", "h"), CLI_OK);
    cr_expect_eq(s.color, CLI_COLOR_ALWAYS);
    cr_assert_eq(PARSE("--no-color", "h"), CLI_OK);
    cr_expect_eq(s.color, CLI_COLOR_NEVER);
}

Test(option_parse, a_group_has_a_struct_of_its_own)
{
    cr_assert_eq(PARSE("--loss", "5%", "--small", "65535", "h"), CLI_OK);
    cr_expect_eq(s.inner.loss_ppm, 50000);
    cr_expect_eq(s.inner.small, 65535);
}

Test(option_parse, a_row_may_read_its_value_itself)
{
    cr_assert_eq(PARSE("--own", "h"), CLI_OK);
    cr_expect_str_eq(s.own, "--own nothing");
    cr_expect_str_eq(s.host, "h", "an optional value stands behind an equal sign");
    cr_assert_eq(PARSE("--own=some", "h"), CLI_OK);
    cr_expect_str_eq(s.own, "--own some");
    cr_assert_eq(PARSE("-oother", "h"), CLI_OK);
    cr_expect_str_eq(s.own, "--own other");
    refused("nornic test: --own bad: it is bad", PARSE("--own=bad", "h"));
}

Test(option_parse, operands_and_what_looks_like_an_option)
{
    cr_assert_eq(PARSE("a", "b", "c"), CLI_OK);
    cr_expect_str_eq(s.host, "a");
    cr_assert_eq(s.rest.count, 2);
    cr_expect_str_eq(s.rest.at[0], "b");
    cr_expect_str_eq(s.rest.at[1], "c");
    cr_assert_eq(PARSE("-l", "--", "-l", "--loud"), CLI_OK);
    cr_expect_str_eq(s.host, "-l");
    cr_expect_str_eq(s.rest.at[0], "--loud");
    cr_assert_eq(PARSE("-", "-t", "--level"), CLI_OK); /* a value is taken as it is */
    cr_expect_str_eq(s.host, "-");
    cr_expect_str_eq(s.text, "--level");
    cr_expect_eq(s.level, 3);
    refused("nornic test: give HOST; see `nornic help test`", PARSE("-l"));
}

Test(option_parse, mistakes_name_the_option_the_value_and_the_remedy)
{
    refused("nornic test: --level 10: give a whole number from 0 to 9", PARSE("-L", "10", "h"));
    refused("nornic test: --bytes 2M: give a size from 1 to 1048576 bytes, such as 4096, 64K or 1M",
            PARSE("-b", "2M", "h"));
    refused("nornic test: --size 2M: give a size from 1 to 1048576 bytes, such as 4096, 64K or 1M",
            PARSE("--size", "2M", "h"));
    refused("nornic test: --time 2s: give a time from 0.001 s to 1 s, such as 10s, 500ms or 250us",
            PARSE("--time", "2s", "h"));
    refused("nornic test: --mtu 1000: a path MTU is 256, 512, 1024, 2048 or 4096 bytes",
            PARSE("--mtu", "1000", "h"));
    refused("nornic test: --shape flat: give round, square or other", PARSE("--shape", "flat", "h"));
    refused("nornic test: --colour red: give auto, always or never", PARSE("--colour", "red", "h"));
    refused("nornic test: --port eth0: give udp:ADDRESS, udp:INTERFACE, iwarp:ADDRESS, iwarp:INTERFACE, "
            "xdp:INTERFACE, packet:INTERFACE "
            "or memory",
            PARSE("--port", "eth0", "h"));
    refused("nornic test: --loss 0.00001%: the smallest rate is 1ppm (0.0001%); give 0% for none",
            PARSE("--loss", "0.00001%", "h"));
    refused("nornic test: option -L needs a value; see `nornic help test`", PARSE("h", "-L"));
    refused("nornic test: option --level needs a value; see `nornic help test`", PARSE("h", "--level"));
    refused("nornic test: option --loud takes no value; see `nornic help test`", PARSE("--loud=1", "h"));
    refused("nornic test: unknown option -x; see `nornic help test`", PARSE("-lx", "h"));
    refused("nornic test: unknown or ambiguous option --frob; see `nornic help test`", PARSE("--frob", "h"));
    refused("nornic test: unknown or ambiguous option --lo; see `nornic help test`", PARSE("--lo", "h"));
    refused("nornic test: level 7 is not for you", PARSE("-L7", "h"));
}

Test(option_parse, the_first_mistake_is_the_one_that_is_told)
{
    refused("nornic test: --level x: give a whole number from 0 to 9", PARSE("-L", "x", "--shape", "y"));
    cr_expect_neq(s.checked, 1, "nothing is checked after a mistake");
}

Test(option_parse, what_excludes_and_what_needs)
{
    refused("nornic test: --ipv4 and --ipv6 exclude each other", PARSE("-6", "-4", "h"));
    refused("nornic test: --bytes and --count exclude each other: one or the other",
            PARSE("-b1", "-c1", "h"));
    refused("nornic test: --size and --count exclude each other: one or the other",
            PARSE("--size=1", "-c1", "h"));
    refused("nornic test: --small goes with --loss: of what?", PARSE("--small", "1", "h"));
    cr_expect_eq(PARSE("--small", "1", "--loss", "0%", "h"), CLI_OK, "given is given, also with 0");
    cr_expect_eq(PARSE("--loss", "1%", "h"), CLI_OK);
}

/* Reads words, and returns what was printed. */
static const char *help_of(const char *const *words, int *status)
{
    static char text[8192];
    FILE *kept = stdout;
    stdout = fmemopen(text, sizeof text, "w");
    *status = parse(words);
    fclose(stdout);
    stdout = kept;
    return text;
}

Test(option_parse, help_is_heard_wherever_it_stands)
{
    static const char *const lines[][5] = {
        {"--help"},          {"-h"}, {"h", "-l", "--help"}, {"--frob", "--help"}, {"-L", "99", "-h"},
        {"a", "b", "--hel"}, {"-lh"}};
    char first[8192];
    int status;
    snprintf(first, sizeof first, "%s", help_of(lines[0], &status));
    cr_expect_eq(strncmp(first, "Usage: nornic test ", 19), 0);
    for (size_t i = 0; i < array_len(lines); i++) {
        cr_expect_str_eq(help_of(lines[i], &status), first, "line %zu", i);
        cr_expect_eq(status, CLI_HELP, "line %zu", i);
        cr_expect_str_empty(sentence, "line %zu", i);
    }
    cr_expect_eq(PARSE("-t", "--help", "h"), CLI_OK);
    cr_expect_str_eq(s.text, "--help", "here it is a value");
    cr_expect_eq(PARSE("--", "--help"), CLI_OK);
    cr_expect_str_eq(s.host, "--help", "and here an operand");
}

Test(option_parse, colours_are_for_terminals)
{
    FILE *file = tmpfile();
    cr_assert_not_null(file);
    cr_expect(cli_color_is_wanted(CLI_COLOR_ALWAYS, file));
    cr_expect_not(cli_color_is_wanted(CLI_COLOR_AUTO, file));
    cr_expect_not(cli_color_is_wanted(CLI_COLOR_NEVER, file));
    fclose(file);
}
