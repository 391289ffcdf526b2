/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic explain: the meaning of the packets of capture files. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/explain/flows.h"
#include "cli/explain/html.h"
#include "cli/explain/iwarp.h"
#include "cli/explain/join.h"
#include "cli/explain/live.h"
#include "cli/explain/output.h"
#include "cli/explain/quiz.h"
#include "cli/explain/reading.h"
#include "cli/explain/rule.h"
#include "cli/explain/smc.h"
#include "cli/explain/tale.h"
#include "cli/explain/tours.h"
#include "cli/option/color.h"
#include "cli/option/option.h"
#include "cli/sandbox/sandbox.h"
#include "cli/stop.h"
#include "explain/analysis.h"
#include "explain/join/show.h"
#include "explain/packet/train.h"
#include "explain/show/boxes.h"
#include "explain/show/filter.h"
#include "explain/show/glossary.h"
#include "explain/show/json.h"
#include "explain/show/ladder.h"

#define FINDINGS_MAX 64
#define YEAR_NS      (UINT64_C(366) * 24 * 3600 * 1000000000)

enum csv { CSV_NONE, CSV_OPERATIONS, CSV_FLOWS, CSV_IWARP_OPERATIONS, CSV_IWARP };
static const char *const csv_words[] = {"none", "operations", "flows", "iwarp-operations", "iwarp", NULL};

/* The form of the output; none: a line a packet. */
struct form {
    bool json, boxes, ladder;
};

/* The page for a browser. */
struct page {
    const char *path; /* NULL: none is wanted */
    bool whole;       /* it keeps whole packets */
};

struct settings {
    struct form form;
    struct page page;
    bool all, iwarp, strict, join;
    struct cli_sandbox_options sandbox;
    const char *ifname;   /* NULL: files */
    uint64_t packets_max; /* end after so many that are shown; 0: no end */
    uint64_t duration_ns;
    uint64_t link_gbit; /* 0: not known */
    enum csv csv;
    const char *rule; /* the id of the rule to print; NULL: none */
    struct cli_quiz quiz;
    const char *filter_text;
    struct explain_filter *filter;
    enum cli_color color;
    struct cli_words files;
    struct explain_line_style style;
};

/* The state of one run: numbers and flows go on over all files. */
struct run {
    const struct settings *settings;
    struct explain_line_style style;
    struct explain_analysis *analysis;
    struct cli_page *page;   /* NULL: none is wanted */
    struct explain_text out; /* is gathered, and goes */
    struct cli_output to;    /* there */
    struct explain_ladder ladder;
    struct explain_join *join;              /* NULL: captures are read one after the other */
    const struct explain_join_place *place; /* of the packet at hand, with `join` */
    struct cli_tale tale;
    struct cli_foreseen foreseen;  /* of all of the files */
    bool has_told;                 /* the story stands above */
    struct explain_glossary named; /* the rules that the output named */
    uint64_t frames;               /* that were told of: the number of the last */
    uint64_t packets;              /* in them */
    uint64_t shown, findings[3];   /* by severity */
};

/* Shows at once all that was gathered. */
static bool flush(void *ctx)
{
    struct run *run = ctx;
    return cli_output_flush(&run->to, &run->out);
}

static void count(struct run *run, const struct explain_finding *f)
{
    run->findings[explain_finding_severity(f->kind)]++;
}

static bool is_told(const struct run *run, const struct explain_finding *f)
{
    return run->settings->form.json || explain_finding_severity(f->kind) > 0;
}

static void name_rules(struct run *run, const struct explain_meaning *meaning)
{
    for (unsigned i = 0; i < meaning->remark_count; i++)
        if (is_told(run, &meaning->remarks[i]))
            explain_glossary_add(&run->named, meaning->remarks[i].rule);
}

static void show(struct run *run, const struct explain_packet *packet, const struct explain_meaning *meaning)
{
    const struct settings *s = run->settings;
    if (!s->all && !s->filter && packet->kind == EXPLAIN_OTHER)
        return;
    if (s->filter && !explain_filter_matches(s->filter, packet, meaning))
        return;
    run->shown++;
    if (s->csv)
        return;
    if (run->page) {
        cli_page_packet(run->page, packet, meaning);
        if (run->place)
            cli_page_ends(run->page, run->place);
        return;
    }
    name_rules(run, meaning);
    if (s->form.json) {
        explain_json_packet_open(&run->out, packet, meaning);
        if (run->place)
            explain_join_member(&run->out, run->place);
        explain_put(&run->out, "}\n");
        return;
    }
    if (s->form.ladder)
        explain_ladder(&run->out, &run->ladder, packet, meaning, &run->style);
    else if (run->place)
        explain_join_line(&run->out, run->place, packet, meaning, &run->style);
    else
        explain_line(&run->out, packet, meaning, &run->style);
    if (s->form.boxes)
        explain_boxes_packet(&run->out, packet);
}

/* Takes one more packet; false: no more are wanted, or the output cannot be written. */
static bool tell(struct run *run, const struct explain_packet *packet, const struct explain_meaning *meaning)
{
    const struct settings *s = run->settings;
    run->packets++;
    for (unsigned i = 0; i < meaning->remark_count; i++)
        count(run, &meaning->remarks[i]);
    cli_tale_take(&run->tale, packet, meaning);
    if (run->packets == 1)
        run->style.epoch_ns = packet->time_ns;
    show(run, packet, meaning);
    for (unsigned i = 0; i < run->tale.done_count; i++)
        if (run->page)
            cli_page_operation(run->page, &run->tale.done[i]);
        else if (s->csv == CSV_OPERATIONS)
            cli_tale_operation(&run->out, &run->tale.done[i], run->analysis, &run->foreseen);
    if (s->csv == CSV_IWARP_OPERATIONS)
        explain_iwarp_operations_csv(&run->out, packet, meaning);
    return (!s->packets_max || run->shown < s->packets_max) && cli_output_pass(&run->to, &run->out);
}

/* Takes one more frame of an interface or a file. */
static bool take(void *ctx, const struct net_capture_record *record)
{
    struct run *run = ctx;
    const struct settings *s = run->settings;
    struct explain_cutter cutter;
    struct explain_packet packet;
    struct explain_meaning meaning;
    bool goes_on = true;
    explain_cutter_begin(&cutter, record, run->frames + 1);
    while (goes_on && explain_cutter_next(&cutter, &packet)) {
        explain_analysis_next(run->analysis, &packet, &meaning);
        if (s->ifname && !s->all && packet.kind == EXPLAIN_OTHER && !meaning.iwarp.done)
            continue; /* other TCP, which the kernel's filter lets through */
        run->frames = packet.number;
        goes_on = tell(run, &packet, &meaning);
    }
    explain_cutter_end(&cutter);
    return goes_on;
}

/* Takes one more packet of two captures. The analysis is not shown the copies of the network, which no sender
 * sent. */
static bool take_joined(void *ctx, struct explain_packet *packet, const struct explain_join_place *place)
{
    struct run *run = ctx;
    struct explain_meaning meaning;
    if (place->fate == EXPLAIN_FATE_COPY)
        explain_join_copy_meaning(&meaning, place);
    else
        explain_analysis_next(run->analysis, packet, &meaning);
    explain_join_name_segment(&meaning, packet);
    explain_join_remark(&meaning, run->join, place);
    if (run->page || run->settings->form.ladder)
        explain_join_add_delay(&meaning, place);
    run->place = place;
    return tell(run, packet, &meaning);
}

static int explain_file(struct run *run, const char *path)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    int err = net_capture_open(path, &capture, &why);
    if (err)
        return cli_stopped() ? cli_explain_stopped(run->frames) : cli_fail("%s", why.text);
    if (run->page)
        cli_page_file(run->page, path);
    bool is_live = cli_tale_is_live(path); /* each packet is told of when it comes */
    while ((err = net_capture_next(capture, &record, &why)) > 0)
        if (!take(run, &record) || (is_live && !flush(run)) || cli_stopped())
            break;
    net_capture_close(capture);
    if (err && cli_stopped())
        return cli_explain_stopped(run->frames);
    return err < 0 ? cli_fail("%s", why.text) : CLI_OK;
}

static bool is_full(const struct run *run)
{
    return run->settings->packets_max && run->shown >= run->settings->packets_max;
}

/* One that cannot be read does not keep the others from being read. */
static int explain_files(struct run *run)
{
    const struct settings *s = run->settings;
    int status = CLI_OK;
    for (unsigned i = 0; i < s->files.count && !is_full(run) && !run->to.error; i++) {
        if (cli_stopped())
            return status == CLI_OK ? cli_explain_stopped(run->frames) : status;
        if (explain_file(run, s->files.at[i]) != CLI_OK)
            status = CLI_ERROR;
    }
    return status;
}

static int explain_joined(struct run *run)
{
    const struct settings *s = run->settings;
    const char *const paths[2] = {s->files.at[0], s->files.at[1]};
    int status = cli_join_read(paths, &run->join);
    if (!run->join)
        return status;
    const struct explain_join_summary *sums = explain_join_summary(run->join);
    for (unsigned i = 0; i < 2 && run->page; i++)
        cli_page_file(run->page, paths[i]);
    if (s->form.json) {
        explain_join_sums_json(&run->out, sums, paths);
    } else if (!run->page && !s->csv) {
        explain_join_sums(&run->out, sums, paths);
        explain_put(&run->out, "\n");
    }
    if (!s->form.json && !run->page && !s->csv && !s->form.ladder)
        explain_join_head(&run->out);
    return cli_join_walk(paths, run->join, take_joined, run) == CLI_OK ? status : CLI_ERROR;
}

static int explain_interface(struct run *run)
{
    const struct settings *s = run->settings;
    if (run->page)
        cli_page_file(run->page, s->ifname);
    return cli_explain_live(&(struct cli_explain_live){.ifname = s->ifname,
                                                       .duration_ns = s->duration_ns,
                                                       .all = s->all,
                                                       .iwarp = s->iwarp,
                                                       .sandbox = s->sandbox,
                                                       .take = take,
                                                       .pause = flush,
                                                       .ctx = run});
}

/* Prints the story, and below it all that waited for it. */
static void put_story(struct run *run)
{
    struct explain_text story = {0};
    cli_tale_text(&story, &run->tale, run->analysis, cli_output_columns());
    explain_put(&story, story.len ? "\n" : "");
    run->has_told = story.len;
    cli_output_release(&run->to, &story);
    explain_text_free(&story);
}

/* Prints the sums of flows, connections and rules. */
static void put_sums(struct run *run)
{
    const struct settings *s = run->settings;
    cli_flows(&run->to, &run->out, run->analysis, s->form.json);
    cli_smc_sums(&run->out, run->analysis, s->form.json);
    cli_iwarp_sums(&run->out, run->analysis, s->form.json);
    cli_flows_forgotten(&run->out, run->analysis, s->form.json);
    cli_tale_twice(&run->out, run->analysis, s->form.json);
    cli_tale_numbers(&run->out, &run->tale, run->analysis, s->form.json ? CLI_TALE_JSON : CLI_TALE_TEXT);
    if (s->form.json)
        cli_tale_json(&run->out, &run->tale, run->analysis);
    cli_explain_named_rules(&run->out, &run->named, s->form.json);
    if (!s->form.json && !run->has_told)
        cli_tale_text(&run->out, &run->tale, run->analysis, cli_output_columns());
}

/* Prints the findings that became known only at the end, and the count of it all. */
static void finish(struct run *run)
{
    struct explain_finding findings[FINDINGS_MAX];
    unsigned n;
    while ((n = explain_analysis_end(run->analysis, findings, FINDINGS_MAX)) > 0)
        /* with -c the answer may be among the packets that were left */
        for (unsigned i = 0; i < n && !is_full(run); i++) {
            count(run, &findings[i]);
            explain_story_finding(&run->tale.story, &findings[i]);
            if (run->settings->csv)
                continue;
            explain_glossary_add(&run->named, findings[i].rule);
            if (run->page) {
                cli_page_finding(run->page, &findings[i]);
            } else if (run->settings->form.json) {
                explain_put(&run->out, "{\"finding\":");
                explain_json_finding(&run->out, &findings[i]);
                explain_put(&run->out, "}\n");
            } else {
                explain_printf(&run->out, "      #%" PRIu64 ": %s (%s)\n", findings[i].number,
                               findings[i].words, findings[i].rule);
            }
        }
    if (run->to.is_held)
        put_story(run);
    if (run->settings->csv == CSV_FLOWS)
        cli_tale_flows(&run->out, &run->tale, run->analysis);
    else if (run->settings->csv == CSV_IWARP)
        cli_tale_numbers(&run->out, &run->tale, run->analysis, CLI_TALE_CSV_IWARP);
    if (!run->page && !run->settings->csv)
        put_sums(run);
    if (!run->settings->csv && !run->settings->form.json &&
        (!run->page || strcmp(run->settings->page.path, "-") != 0))
        cli_flows_count(&run->out, run->packets, run->analysis, run->findings, run->settings->strict);
}

/* The story stands first, if nothing is left out of it and it can be waited for. */
static bool is_told_first(const struct settings *s)
{
    return !s->csv && !s->form.json && !s->page.path && !s->ifname && !s->filter && !s->packets_max &&
           !s->join;
}

/* Opens what is written to, and closes the sandbox: all after this may read bytes of strangers. */
static bool open_outputs(struct run *run)
{
    const struct settings *s = run->settings;
    bool is_open = true;
    if (is_told_first(s) && !s->form.boxes && cli_tale_may_lead(&s->files))
        cli_output_hold(&run->to);
    if (s->page.path)
        is_open = (run->page = cli_page_open(s->page.path, s->page.whole));
    if (!s->ifname)
        cli_reading_confine(&s->sandbox, s->files.at, s->files.count);
    return is_open;
}

/* Drawn headers are many times as long as their packets: rather than let these wait, the command reads the
 * files twice. */
static void begin(struct run *run)
{
    const struct settings *s = run->settings;
    if (s->csv == CSV_OPERATIONS && !s->ifname && !s->join)
        cli_tale_foresee(&run->foreseen, &s->files, s->strict);
    if (s->csv == CSV_OPERATIONS)
        explain_operations_csv_head(&run->out);
    else if (s->csv == CSV_FLOWS)
        explain_flows_csv_head(&run->out);
    else if (s->csv == CSV_IWARP_OPERATIONS)
        explain_iwarp_operations_csv_head(&run->out);
    else if (s->csv == CSV_IWARP)
        explain_iwarp_csv_head(&run->out);
    else if (is_told_first(s) && s->form.boxes)
        cli_tale_ahead(&run->out, &s->files, s->strict, cli_output_columns());
    run->has_told = run->out.len && !s->csv;
    if (run->page)
        cli_page_capture(run->page, NULL);
}

static void end_page(struct run *run)
{
    struct explain_text story = {0};
    cli_tale_lines(&story, &run->tale, run->analysis);
    cli_page_capture_end(run->page, run->packets, run->analysis, story.bytes ? story.bytes : "");
    explain_text_free(&story);
}

static int explain(const struct settings *settings)
{
    int status = settings->ifname ? CLI_OK : cli_explain_catch(false);
    struct run run = {
        .settings = settings,
        .style = settings->style,
        .ladder = {.columns = cli_output_columns()},
        .analysis = explain_analysis_create(&(struct explain_analysis_config){
            .strict = settings->strict, .link_bps = settings->link_gbit * UINT64_C(1000000000)})};
    if (!run.analysis || !cli_tale_init(&run.tale)) {
        if (run.analysis)
            explain_analysis_destroy(run.analysis);
        return cli_fail("out of memory");
    }
    if (!open_outputs(&run))
        status = CLI_ERROR;
    begin(&run);
    if (settings->ifname && status == CLI_OK)
        status = explain_interface(&run);
    else if (settings->join && status == CLI_OK)
        status = explain_joined(&run);
    else if (status == CLI_OK)
        status = explain_files(&run);
    /* A file that could not be read at all has nothing to sum up. */
    if (run.page || (!settings->page.path && (status == CLI_OK || run.packets > 0)))
        finish(&run);
    if (run.page)
        end_page(&run);
    if (run.page && cli_page_close(run.page) != CLI_OK)
        status = CLI_ERROR;
    if (!flush(&run) && status == CLI_OK)
        status = cli_fail("cannot write the output: %s", strerror(run.to.error));
    explain_text_free(&run.out);
    cli_output_deinit(&run.to);
    cli_tale_deinit(&run.tale);
    if (run.join)
        explain_join_destroy(run.join);
    explain_analysis_destroy(run.analysis);
    cli_foreseen_deinit(&run.foreseen);
    return status;
}

/* --- the command --- */

#define AT(member) CLI_SETS(struct settings, member)

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
    CLI_QUIZ_ROWS(struct settings, quiz),
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
    CLI_SANDBOX_ROW(struct settings, sandbox.is_off),
    CLI_COLOR_ROWS(struct settings, color),
    {NULL},
};

/* Refuses options that exclude each other. */
static int check(void *options)
{
    const struct settings *s = options;
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
    struct settings *s = options;
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
                     : explain(s);
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
                                              .offset = offsetof(struct settings, files)},
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
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run_command,
};
