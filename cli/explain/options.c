/* SPDX-License-Identifier: BSD-2-Clause */
/* The options of `nornic explain`. */
#include <stddef.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/explain/output.h"
#include "cli/explain/rule.h"
#include "cli/explain/settings.h"
#include "cli/explain/tours.h"
#include "base/base.h"

#define YEAR_NS (UINT64_C(366) * 24 * 3600 * 1000000000)

static const char *const csv_words[] = {"none", "operations", "flows", "iwarp-operations", "iwarp", NULL};

#define AT(member) CLI_SETS(struct cli_explain_settings, member)

static const struct cli_option rows[] = {
    {"verbose", 'v', NULL,
     "every header drawn as the standards draw it, with its bytes, the values of its fields, and the rule "
     "for each (--rule says what it says)",
     AT(form.boxes)},
    {"json", 'j', NULL,
     "one object a packet: n, time_ns, len, kind, layers with all fields, payload, icrc, verdict, qp, smc, "
     "message, answers, words, remarks; behind the last one finding, smc_group, smc_connection and rule "
     "objects",
     AT(form.json)},
    {"ladder", 0, NULL,
     "a lifeline for each address, an arrow a packet: --> the first time, ==> sent again, ~~> an answer "
     "that says no (NAK, RNR NAK), xx> a bad packet",
     AT(form.ladder)},
    {"html", 0, "OUT",
     "all of it as one page for a browser: flows, findings, a ladder, plots, the bytes of each packet; the "
     "page needs no network (docs/explain.md). Without a capture: lessons about captures of real hosts",
     AT(page.path), .kind = CLI_FILE},
    {"whole", 0, NULL, "with --html: keep whole packets; else the headers, and 16 bytes of the data",
     AT(page.whole)},
    {"filter", 'f', "EXPR",
     "only packets that match, for example 'bth.opcode == RC_RDMA_WRITE_FIRST && bth.psn > 100', 'aeth && "
     "aeth.syndrome != ACK', 'ip.src == 10.0.0.0/8', 'flow == 2', 'connection == 1' "
     "(of SMC-R), 'finding == timeout'. A layer "
     "alone: it is there. A field alone: it is not 0. && || ! ( ) == != < <= > >=",
     AT(filter_text), .kind = CLI_TEXT},
    {"csv", 0, "WHAT",
     "%r: a table for other programs, of each operation that was answered, with its latency, or of each end "
     "of each flow, with its totals; the same of messages and connections of iWARP",
     AT(csv), CLI_TAKES_ONE_OF(csv_words), .preset = "none"},
    {"join", 0, NULL,
     "lay two captures of the same traffic together, one taken at (or near) each end: clocks aligned, each "
     "packet once, with when it left and came, how long it took, and where it was lost, copied or overtaken",
     AT(join)},
    {"rule", 0, "ID",
     "say what a rule says (ROCE-RC-41), all of an area (ROCE-RC), or every one (all), and "
     "where it comes from",
     AT(rule), .kind = CLI_TEXT},
    CLI_QUIZ_ROWS(struct cli_explain_settings, quiz),
    {"link-speed", 0, "GBIT",
     "the link's speed in Gbit/s, by which the quanta of PAUSE and PFC are timed (default: 100, "
     "and said to be assumed)",
     AT(link_gbit), CLI_TAKES_COUNT(1, 10000)},
    {"strict", 0, NULL,
     "name what breaks a rule of the standard, by its requirement; `nornic verify --strict` lists only that",
     AT(strict)},
    {"all", 'a', NULL, "also packets that are not RoCE", AT(all)},
    {"interface", 'i', "IFACE",
     "what goes over an interface, as it comes: RDMA, connection management, and the handshakes of SMC-R; "
     "needs root. Ctrl-C ends it, with the summary",
     AT(ifname), .kind = CLI_IFACE},
    {"iwarp", 0, NULL,
     "with -i: iWARP too, which is looked for in all of TCP, so that the kernel copies all of it", AT(iwarp)},
    {"count", 'c', "N", "end after N packets that are shown", AT(packets_max),
     CLI_TAKES_COUNT(1, UINT64_MAX)},
    {"time", 'T', "TIME", "with -i: end after this time, such as 10 or 1.5m", AT(duration_ns),
     CLI_TAKES_TIME(NS_PER_MS, YEAR_NS), .also = {"duration", "seconds"}},
    CLI_SANDBOX_ROW(struct cli_explain_settings, sandbox.is_off),
    CLI_COLOR_ROWS(struct cli_explain_settings, color),
    {NULL},
};

/* Refuses options that exclude each other. */
static int check(void *options)
{
    const struct cli_explain_settings *s = options;
    const char *first_file = s->files.count ? s->files.at[0] : NULL;
    if (s->rule && (first_file || s->ifname))
        return cli_fail("--rule %s says what a rule says, and reads no capture: leave out %s", s->rule,
                        first_file ? first_file : s->ifname);
    if (s->rule || s->quiz.topic)
        return CLI_OK;
    if (s->csv && (s->form.json || s->form.boxes || s->form.ladder || s->page.path))
        return cli_fail("--csv %s: the table stands alone; leave out -v, --json, --ladder and --html",
                        csv_words[s->csv]);
    if (s->page.path && (s->form.json || s->form.boxes || s->form.ladder))
        return cli_fail("--html %s: the page holds it all; leave out -v, --json and --ladder", s->page.path);
    if (s->join && (s->ifname || s->files.count != 2))
        return cli_fail("--join takes two capture files, one of each end: A.pcap B.pcap");
    if (s->ifname && first_file)
        return cli_fail("%s: it is either files or, with -i, an interface", first_file);
    if (s->iwarp && !s->ifname)
        return cli_fail("--iwarp is of -i; of a file iWARP is always told");
    if (!s->ifname && !first_file && !s->page.path)
        return cli_fail("name a capture file, - for standard input, or an interface with -i; "
                        "`nornic help explain` has an example");
    return CLI_OK;
}

static int run_command(void *options)
{
    struct cli_explain_settings *s = options;
    struct nornic_error why;
    s->style.colour = cli_color_is_wanted(s->color, stdout);
    if (s->filter_text && !(s->filter = explain_filter_parse(s->filter_text, &why)))
        return cli_fail("%s", why.text);
    if (s->quiz.topic)
        return cli_explain_quiz(&s->quiz, &s->sandbox, s->files.count ? s->files.at[0] : NULL, s->form.json,
                                cli_output_columns());
    int status = s->rule ? cli_explain_rules(s->rule, s->form.json, cli_output_columns())
                 : s->page.path && !s->ifname && !s->files.count
                     ? cli_explain_tours(s->page.path, &s->sandbox)
                     : cli_explain_captures(s);
    explain_filter_free(s->filter);
    return status;
}

const struct cli_command explain_command = {
    .name = "explain",
    .summary = "say what the packets of capture files mean",
    .usage = "explain [OPTION...] FILE... | A B --join | -i IFACE | --rule ID | --quiz TOPIC",
    .about =
        "Says what the packets of capture files, or of an interface, mean.\n\n"
        "FILE is a pcap or pcapng file, packed with gzip or not, - is standard input: of Ethernet, Linux "
        "cooked captures (tcpdump -i any), raw IP or BSD loopback, also of several interfaces. RDMA is read "
        "below VLAN tags and in VXLAN, Geneve, GRE, NVGRE, ERSPAN and IP in IP; PAUSE, PFC and LLDP with "
        "DCBX are read as well. A frame that holds a train of RoCE packets, which had not been cut "
        "when it was captured (UDP_SEGMENT, GRO), is cut here: its packets have its number. Flows take "
        "48 MiB of memory at the most: beyond that those are forgotten, and said to be, that were "
        "silent longest. A line a packet: its "
        "number, the time since the first one, addresses, destination QP, PSN, and what it means among "
        "those before it: which packet of which message it is, what it answers, whether it was sent "
        "before and why again. What went wrong stands below the packet that shows it, with the "
        "requirement that governs it. Above the packets stands the story in three sentences; below them, "
        "where each packet is told of as it comes: from an interface, or a pipe on standard input (of a "
        "file there, as in `explain - < FILE`, it stands above).",
    .groups = {{.rows = rows}},
    .operands = (const struct cli_operand[]){{.name = "FILE",
                                              .kind = CLI_FILE,
                                              .is_optional = true,
                                              .is_many = true,
                                              .offset = offsetof(struct cli_explain_settings, files)},
                                             {NULL}},
    .rules =
        (const struct cli_rule[]){
            {CLI_EXCLUDES, "ladder", "json", "one draws and the other does not"},
            {CLI_NEEDS, "whole", "html", "it says how much a page keeps"},
            {CLI_NEEDS, "answers", "quiz", "it tells the answers of its questions"},
            {CLI_NEEDS, "time", "interface", "a file ends by itself"},
            {.kind = CLI_END_OF_RULES},
        },
    .examples = "Example:\n"
                "  $ nornic explain -f 'n == 2' pcaps/rc_rnr.pcap\n"
                "    2    0.001203  10.77.0.2 > 10.77.0.1  qp 0x00001c psn 0x001000  "
                "RNR NAK for PSN 0x001000: wait 10.24 ms\n",
    .status = {"all was read", "--quiz: not all was answered rightly",
               "a file or the interface could not be read, or the page not be written"},
    .settings_bytes = sizeof(struct cli_explain_settings),
    .check = check,
    .run = run_command,
};
