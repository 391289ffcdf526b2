/* SPDX-License-Identifier: BSD-2-Clause */
/* What is made of the rows for people and for shells, letter by letter. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "line.h"

struct settings {
    bool flag;
    uint64_t number, time_ns, bytes;
    const char *file, *iface, *port;
    unsigned shape;
};

#define AT(member) CLI_SETS(struct settings, member)

static const char *const shapes[] = {"round", "square", NULL};

static const struct cli_option rows[] = {
    {"flag", 'f', NULL,
     "a flag of which there is so much to say that one line does not hold it, as it has to be "
     "filled into several",
     AT(flag)},
    {"a-rather-long-name", 0, "NUMBER", "its sentence stands below it", AT(number), CLI_TAKES_COUNT(0, 5),
     .preset = "2"},
    {"every", 'e', "TIME", "again, %r", AT(time_ns), CLI_TAKES_TIME(5 * NS_PER_MS, 120 * NS_PER_S)},
    {"room", 0, "BYTES", "from %r, and no more", AT(bytes), CLI_TAKES_SIZE(1536, 3u << 20), .preset = "2K"},
    {"hidden", 0, NULL, "not to be seen", AT(flag), .is_hidden = true},
    {NULL},
};

static const struct cli_option shared_rows[] = {
    {"iface", 'i', "IFACE", "an interface's name", AT(iface), .kind = CLI_IFACE},
    {"port", 0, "PORT", "a port", AT(port), .kind = CLI_PORT},
    {"out", 0, "FILE", "a file", AT(file), .kind = CLI_FILE},
    {"shape", 0, "SHAPE", "%r", AT(shape), CLI_TAKES_ONE_OF(shapes), .preset = "round"},
    {"maybe", 0, "HOW", "perhaps; or not", AT(number), CLI_TAKES_COUNT(0, 1), .is_optional = true},
    {NULL},
};

static const struct cli_command one = {
    .name = "one",
    .summary = "the first; of two",
    .usage = "one [OPTION...] FILE\none --flag",
    .about = "Does this.\n\n"
             ".And that - it's said in a second paragraph, which is long enough to be filled into two "
             "lines of the screen.",
    .groups = {{.rows = rows}, {.title = "Common", .rows = shared_rows, .is_shared = true}},
    .operands = (const struct cli_operand[]){{.name = "FILE", .kind = CLI_FILE}, {.name = NULL}},
    .notes = "A note\n  as it is\n",
    .examples = "Example:\n  $ nornic one x\n",
    .status = {"good", "not so good", "bad"},
    .settings_bytes = sizeof(struct settings),
};

static const struct cli_command inner = {
    .name = "two in",
    .summary = "within the second",
    .usage = "two in",
    .about = "Is in two.",
    .groups = {{.title = "Common", .rows = shared_rows, .is_shared = true}},
    .examples = "Example: none\n",
    .status = {"good", NULL, "bad"},
    .settings_bytes = sizeof(struct settings),
};

static const struct cli_command two = {
    .name = "two",
    .summary = "the second",
    .usage = "two COMMAND",
    .about = "Has others in it.",
    .commands = (const struct cli_command *const[]){&inner, NULL},
    .examples = "Example: two in\n",
};

static const struct cli_command *const commands[] = {&one, &two, NULL};

static void print_help(FILE *out, const void *command)
{
    cli_help_print(out, command);
}

/* Compares line by line, so that the first that differs is seen. */
static void expect_text(const char *text, const char *wanted)
{
    for (unsigned line = 1; *text || *wanted; line++) {
        size_t a = strcspn(text, "\n"), b = strcspn(wanted, "\n");
        cr_assert(a == b && strncmp(text, wanted, a) == 0, "line %u: '%.*s' instead of '%.*s'", line, (int)a,
                  text, (int)b, wanted);
        text += a + (text[a] == '\n');
        wanted += b + (wanted[b] == '\n');
    }
}

Test(option_help, of_a_command)
{
    expect_text(
        line_printed(print_help, &one),
        "Usage: nornic one [OPTION...] FILE\n"
        "       nornic one --flag\n"
        "Does this.\n"
        "\n"
        ".And that - it's said in a second paragraph, which is long enough to be filled into two lines of "
        "the\n"
        "screen.\n"
        "\n"
        "  -f, --flag               a flag of which there is so much to say that one line does not hold it,\n"
        "                           as it has to be filled into several\n"
        "      --a-rather-long-name=NUMBER\n"
        "                           its sentence stands below it (2)\n"
        "  -e, --every=TIME         again, 5ms to 2m\n"
        "      --room=BYTES         from 1536 to 3M, and no more (2K)\n"
        "  -h, --help               this text\n"
        "\n"
        "Common:\n"
        "  -i, --iface=IFACE        an interface's name\n"
        "      --port=PORT          a port\n"
        "      --out=FILE           a file\n"
        "      --shape=SHAPE        round or square (round)\n"
        "      --maybe[=HOW]        perhaps; or not\n"
        "\n"
        "A note\n"
        "  as it is\n"
        "\n"
        "Example:\n"
        "  $ nornic one x\n"
        "\n"
        "Exit status: 0 good, 1 not so good, 2 bad, 130 stopped by Ctrl-C before its end.\n");
}

Test(option_help, of_a_command_of_others)
{
    expect_text(line_printed(print_help, &two), "Usage: nornic two COMMAND\n"
                                                "Has others in it.\n"
                                                "\n"
                                                "  in        within the second\n"
                                                "\n"
                                                "`nornic help two COMMAND` teaches one of them.\n"
                                                "\n"
                                                "Example: two in\n");
    expect_text(line_printed(print_help, &inner), "Usage: nornic two in\n"
                                                  "Is in two.\n"
                                                  "\n"
                                                  "  -h, --help               this text\n"
                                                  "\n"
                                                  "Common:\n"
                                                  "  -i, --iface=IFACE        an interface's name\n"
                                                  "      --port=PORT          a port\n"
                                                  "      --out=FILE           a file\n"
                                                  "      --shape=SHAPE        round or square (round)\n"
                                                  "      --maybe[=HOW]        perhaps; or not\n"
                                                  "\n"
                                                  "Example: none\n"
                                                  "\n"
                                                  "Exit status: 0 good, 2 bad.\n");
}

static void print_roff(FILE *out, const void *list)
{
    cli_roff_print(out, list);
}

Test(option_help, of_the_manual)
{
    expect_text(
        line_printed(print_roff, commands),
        ".SH COMMANDS\n"
        ".SS one\n"
        "\\fBnornic one\\fR [OPTION...] FILE\n"
        ".br\n"
        "\\fBnornic one\\fR \\-\\-flag\n"
        ".PP\n"
        "Does this.\n"
        ".PP\n"
        "\\&.And that \\- it's said in a second paragraph, which is long enough to be filled into two lines "
        "of the screen.\n"
        ".TP\n"
        "\\fB\\-f\\fR, \\fB\\-\\-flag\\fR\n"
        "a flag of which there is so much to say that one line does not hold it, as it has to be filled into "
        "several\n"
        ".TP\n"
        "\\fB\\-\\-a\\-rather\\-long\\-name\\fR=\\fINUMBER\\fR\n"
        "its sentence stands below it (2)\n"
        ".TP\n"
        "\\fB\\-e\\fR, \\fB\\-\\-every\\fR=\\fITIME\\fR\n"
        "again, 5ms to 2m\n"
        ".TP\n"
        "\\fB\\-\\-room\\fR=\\fIBYTES\\fR\n"
        "from 1536 to 3M, and no more (2K)\n"
        ".PP\n"
        "It takes the options under\n"
        ".I Common\n"
        "below as well.\n"
        ".PP\n"
        ".nf\n"
        "A note\n"
        "  as it is\n"
        ".fi\n"
        ".PP\n"
        ".nf\n"
        "Example:\n"
        "  $ nornic one x\n"
        ".fi\n"
        ".PP\n"
        "Exit status: 0 good, 1 not so good, 2 bad.\n"
        ".SS two\n"
        "\\fBnornic two\\fR COMMAND\n"
        ".PP\n"
        "Has others in it.\n"
        ".PP\n"
        ".nf\n"
        "Example: two in\n"
        ".fi\n"
        ".SS two in\n"
        "\\fBnornic two in\\fR\n"
        ".PP\n"
        "Is in two.\n"
        ".PP\n"
        "It takes the options under\n"
        ".I Common\n"
        "below as well.\n"
        ".PP\n"
        ".nf\n"
        "Example: none\n"
        ".fi\n"
        ".PP\n"
        "Exit status: 0 good, 2 bad.\n"
        ".SH OPTIONS OF SEVERAL COMMANDS\n"
        ".SS Common\n"
        ".TP\n"
        "\\fB\\-i\\fR, \\fB\\-\\-iface\\fR=\\fIIFACE\\fR\n"
        "an interface's name\n"
        ".TP\n"
        "\\fB\\-\\-port\\fR=\\fIPORT\\fR\n"
        "a port\n"
        ".TP\n"
        "\\fB\\-\\-out\\fR=\\fIFILE\\fR\n"
        "a file\n"
        ".TP\n"
        "\\fB\\-\\-shape\\fR=\\fISHAPE\\fR\n"
        "round or square (round)\n"
        ".TP\n"
        "\\fB\\-\\-maybe\\fR[=\\fIHOW\\fR]\n"
        "perhaps; or not\n");
}

/* --- completions: what only a table can say; that shells read them is for test/e2e/completion.sh --- */

static void print_completion(FILE *out, const void *shell)
{
    cr_expect(cli_completion_print(out, commands, shell));
}

static void expect_part(const char *text, const char *part)
{
    cr_expect_not_null(strstr(text, part), "'%s' is not in it", part);
}

Test(option_help, completion_of_bash)
{
    const char *text = line_printed(print_completion, "bash");
    expect_part(text, "        _nornic_words 'one two'\n        return\n");
    expect_part(text, "    if [[ $command == two ]]; then\n"
                      "        if ((COMP_CWORD == 2)); then\n"
                      "            _nornic_words 'in'\n");
    expect_part(text, "    \"one --every\" | \"one -e\") ;;\n");
    expect_part(text, "    \"one --iface\" | \"one -i\") _nornic_interfaces ;;\n");
    expect_part(text, "    \"one --port\") _nornic_ports ;;\n");
    expect_part(text, "    \"one --out\") _nornic_files ;;\n");
    expect_part(text, "    \"two in --shape\") _nornic_words 'round square' ;;\n");
    expect_part(text,
                "    \"one \"*)\n"
                "        if [[ $cur == -* ]]; then\n"
                "            _nornic_words ' --flag --a-rather-long-name --every --room --iface --port --out "
                "--shape --maybe --help'\n"
                "        else\n"
                "            _nornic_files\n"
                "        fi ;;\n");
    cr_expect_null(strstr(text, "hidden"));
    cr_expect_null(strstr(text, "\"one --maybe\""),
                   "a value that may be left out stands behind an equal sign");
}

Test(option_help, completion_of_zsh)
{
    const char *text = line_printed(print_completion, "zsh");
    cr_expect_eq(strncmp(text, "#compdef nornic\n", 16), 0);
    expect_part(text, "    'one')\n        _arguments -s -S \\\n");
    expect_part(text,
                "            '(-f --flag)'{-f,--flag}'[a flag of which there is so much to say that one line "
                "does not hold it]' \\\n");
    expect_part(text, "            '(-e --every)'{-e+,--every=}'[again]:TIME:' \\\n");
    expect_part(text,
                "            '(-i --iface)'{-i+,--iface=}'[an interfaces name]:IFACE:_net_interfaces' \\\n");
    expect_part(text, "            '--out=''[a file]:FILE:_files' \\\n");
    expect_part(text, "            '--shape=''[round or square]:SHAPE:(round square)' \\\n");
    expect_part(text, "            '--maybe=-''[perhaps]::HOW:' \\\n");
    expect_part(text, "            '*:: :_files' ;;\n");
    expect_part(text, "    'two in')\n");
    cr_expect_null(strstr(text, "hidden"));
}

Test(option_help, completion_of_fish)
{
    const char *text = line_printed(print_completion, "fish");
    expect_part(text, "complete -c nornic -n __fish_use_subcommand -a one -d 'the first'\n");
    expect_part(text,
                "complete -c nornic -f -n '__fish_seen_subcommand_from two' -a in -d 'within the second'\n");
    expect_part(text, "complete -c nornic -F -n '__fish_seen_subcommand_from one'\n");
    expect_part(text,
                "complete -c nornic -n '__fish_seen_subcommand_from one' -l every -s e -x -d 'again'\n");
    expect_part(text,
                "complete -c nornic -n '__fish_seen_subcommand_from two; and __fish_seen_subcommand_from in' "
                "-l out -r -F -d 'a file'\n");
    expect_part(text, "-l shape -x -a 'round square' -d 'round or square'\n");
    expect_part(text, "-l iface -s i -x -a '(ls /sys/class/net)' -d 'an interfaces name'\n");
    expect_part(text, "-l maybe -d 'perhaps'\n");
    cr_expect_null(strstr(text, "hidden"));
}

Test(option_help, completion_of_another_shell)
{
    cr_expect_not(cli_completion_print(stdout, commands, "tcsh"));
    cr_expect_not(cli_completion_print(stdout, commands, ""));
}

/* --- pieces --- */

Test(option_help, limits_as_users_write_them)
{
    static const struct {
        struct cli_option row;
        const char *text;
    } cases[] = {
        {{"x", 0, "N", "x", CLI_TAKES_COUNT(1, 256)}, "1 to 256"},
        {{"x", 0, "N", "x", CLI_TAKES_COUNT(0, 1024)}, "0 to 1024"},
        {{"x", 0, "N", "x", CLI_TAKES_SIZE(1, 8 << 20)}, "1 to 8M"},
        {{"x", 0, "N", "x", CLI_TAKES_SIZE(1 << 20, UINT64_C(4) << 30)}, "1M to 4G"},
        {{"x", 0, "N", "x", CLI_TAKES_SIZE(0, 65535)}, "0 to 65535"},
        {{"x", 0, "N", "x", CLI_TAKES_TIME(1, 1000)}, "1ns to 1us"},
        {{"x", 0, "N", "x", CLI_TAKES_TIME(10 * NS_PER_MS, 3600 * NS_PER_S)}, "10ms to 60m"},
        {{"x", 0, "N", "x", CLI_TAKES_TIME(1500 * NS_PER_US, 90 * NS_PER_S)}, "1500us to 90s"},
        {{"x", 0, "N", "x", .kind = CLI_PMTU}, "256, 512, 1024, 2048 or 4096"},
        {{"x", 0, "N", "x", CLI_TAKES_ONE_OF(shapes)}, "round or square"},
        {{"x", 0, "N", "x", .kind = CLI_TEXT}, ""},
        {{"x", 0, NULL, "x", .kind = CLI_FLAG}, ""},
    };
    char text[CLI_RANGE_BYTES];
    for (size_t i = 0; i < array_len(cases); i++)
        cr_expect_str_eq(cli_range_text(&cases[i].row, text), cases[i].text);
}

Test(option_help, heads_and_sentences)
{
    char head[CLI_HEAD_BYTES], sentence[CLI_SENTENCE_BYTES];
    cr_expect_str_eq(cli_option_head(&rows[0], head), "-f, --flag");
    cr_expect_str_eq(cli_option_head(&rows[1], head), "    --a-rather-long-name=NUMBER");
    cr_expect_str_eq(cli_option_head(&shared_rows[4], head), "    --maybe[=HOW]");
    cr_expect_str_eq(cli_option_sentence(&rows[1], sentence), "its sentence stands below it (2)");
    cr_expect_str_eq(cli_option_sentence(&rows[3], sentence), "from 1536 to 3M, and no more (2K)");
    cr_expect_str_eq(cli_option_sentence(&shared_rows[0], sentence), "an interface's name");
}
