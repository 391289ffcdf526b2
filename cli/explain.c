/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic explain: what the packets of capture files mean. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/explain_html.h"
#include "cli/options.h"
#include "explain/analysis.h"
#include "explain/boxes.h"
#include "explain/filter.h"
#include "explain/json.h"
#include "explain/line.h"

#define OUT_BYTES    65536 /* are gathered before they are written */
#define FINDINGS_MAX 64

struct settings {
    bool json, boxes, all, strict;
    const char *html; /* where the page goes; NULL: none is wanted */
    struct explain_filter *filter;
    struct explain_line_style style;
};

/* What one run keeps: numbers and flows go on over all files. */
struct run {
    const struct settings *settings;
    struct explain_line_style style;
    struct explain_analysis *analysis;
    struct cli_page *page; /* NULL: none is wanted */
    struct explain_text out;
    uint64_t number, findings[3]; /* by severity */
};

static bool flush(struct run *run)
{
    bool written = fwrite(run->out.bytes, 1, run->out.len, stdout) == run->out.len;
    explain_text_clear(&run->out);
    return written;
}

static void count(struct run *run, const struct explain_finding *f)
{
    run->findings[explain_finding_severity(f->kind)]++;
}

static void show(struct run *run, const struct explain_packet *packet, const struct explain_meaning *meaning)
{
    const struct settings *s = run->settings;
    if (!s->all && !s->filter && packet->kind == EXPLAIN_OTHER)
        return;
    if (s->filter && !explain_filter_matches(s->filter, packet, meaning))
        return;
    if (run->page) {
        cli_page_packet(run->page, packet, meaning);
        return;
    }
    if (s->json) {
        explain_json_packet(&run->out, packet, meaning);
        return;
    }
    explain_line(&run->out, packet, meaning, &run->style);
    if (s->boxes)
        explain_boxes_packet(&run->out, packet);
}

static int explain_file(struct run *run, const char *path)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct net_error err;
    int rc = net_capture_open(path, &capture, &err);
    if (rc != 0)
        return cli_fail("%s", err.text);
    if (run->page)
        cli_page_file(run->page, path);
    while ((rc = net_capture_next(capture, &record, &err)) > 0) {
        struct explain_packet packet;
        struct explain_meaning meaning;
        explain_dissect(&packet, &record, ++run->number);
        explain_analysis_next(run->analysis, &packet, &meaning);
        for (unsigned i = 0; i < meaning.remark_count; i++)
            count(run, &meaning.remarks[i]);
        if (run->number == 1)
            run->style.epoch_ns = packet.time_ns;
        show(run, &packet, &meaning);
        if (run->out.len > OUT_BYTES && !flush(run))
            break;
    }
    net_capture_close(capture);
    return rc < 0 ? cli_fail("%s", err.text) : CLI_OK;
}

/* What became known only at the end, and the count of it all. */
static void finish(struct run *run)
{
    struct explain_finding findings[FINDINGS_MAX];
    unsigned n;
    while ((n = explain_analysis_end(run->analysis, findings, FINDINGS_MAX)) > 0)
        for (unsigned i = 0; i < n; i++) {
            count(run, &findings[i]);
            if (run->page) {
                cli_page_finding(run->page, &findings[i]);
            } else if (run->settings->json) {
                explain_put(&run->out, "{\"finding\":");
                explain_json_finding(&run->out, &findings[i]);
                explain_put(&run->out, "}\n");
            } else {
                explain_printf(&run->out, "      #%" PRIu64 ": %s (%s)\n", findings[i].number,
                               findings[i].words, findings[i].rule);
            }
        }
    if (!run->settings->json && (!run->page || strcmp(run->settings->html, "-") != 0))
        explain_printf(&run->out,
                       "%" PRIu64 " packets, %u flows; %" PRIu64 " violations, %" PRIu64 " warnings, %" PRIu64
                       " notes\n",
                       run->number, explain_analysis_flow_count(run->analysis), run->findings[2],
                       run->findings[1], run->findings[0]);
}

static const char help[] =
    "Usage: nornic explain [-v | --json | --html OUT] [-f FILTER] FILE...\n"
    "Says what the packets of capture files mean.\n"
    "\n"
    "FILE is a pcap or pcapng file of Ethernet frames, - is standard input. A line a packet: its number,\n"
    "the time since the first one, addresses, destination QP, PSN, and what it means among those before it:\n"
    "which packet of which message it is, what it answers, whether it was sent before and why again. What\n"
    "went wrong stands below the packet that shows it, with the requirement that governs it.\n"
    "\n"
    "  -v, --verbose      every header drawn as the standards draw it, with its bytes, the values of its\n"
    "                     fields, and the rule for each (docs/conformance-roce.md)\n"
    "  -j, --json         one object a packet: n, time_ns, len, kind, layers with all fields, payload,\n"
    "                     icrc, verdict, qp, message, answers, words, remarks\n"
    "      --html OUT     all of it as one page for a browser: flows, findings, a ladder, plots, the bytes\n"
    "                     of each packet; the page needs no network (docs/explain.md)\n"
    "  -f, --filter EXPR  only packets that match, for example 'bth.opcode == RC_RDMA_WRITE_FIRST &&\n"
    "                     bth.psn > 100', 'aeth && aeth.syndrome != ACK', 'ip.src == 10.0.0.1',\n"
    "                     'flow == 2'. A layer alone: it is there. A field alone: it is not 0.\n"
    "                     && || ! ( ) == != < <= > >=\n"
    "      --strict       name what breaks a rule of the standard, by its requirement; `nornic verify\n"
    "                     --strict lists only that\n"
    "  -a, --all          also packets that are not RoCE\n"
    "      --colour WHEN  always, never or auto (the default: on a terminal)\n"
    "\n"
    "Example:\n"
    "  $ nornic explain -f 'n == 2' pcaps/rc_rnr.pcap\n"
    "    2    0.001203  10.77.0.2 > 10.77.0.1  qp 0x00001c psn 0x001000  "
    "RNR NAK for PSN 0x001000: wait 10.24 ms\n"
    "\n"
    "Exit status: 0 every file was read, 2 one could not be read, or the page not be written.\n";

static int parse_colour(const char *text, bool *colour)
{
    if (strcmp(text, "auto") != 0 && strcmp(text, "always") != 0 && strcmp(text, "never") != 0)
        return cli_fail("--colour %s: it is always, never or auto", text);
    *colour = strcmp(text, "always") == 0 || (strcmp(text, "auto") == 0 && isatty(STDOUT_FILENO));
    return 0;
}

/* 0; or the exit status with which the command ends, plus 1. */
static int parse(int argc, char **argv, struct settings *s)
{
    static const struct option options[] = {{"verbose", no_argument, NULL, 'v'},
                                            {"json", no_argument, NULL, 'j'},
                                            {"filter", required_argument, NULL, 'f'},
                                            {"all", no_argument, NULL, 'a'},
                                            {"strict", no_argument, NULL, 's'},
                                            {"colour", required_argument, NULL, 'c'},
                                            {"html", required_argument, NULL, 'H'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    const char *colour = "auto";
    struct net_error err;
    int c;
    opterr = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, ":vjf:ah", options, NULL)) != -1) {
        if (c == 'h') {
            fputs(help, stdout);
            return CLI_OK + 1;
        }
        if (c == 'v')
            s->boxes = true;
        else if (c == 'j')
            s->json = true;
        else if (c == 's')
            s->strict = true;
        else if (c == 'a')
            s->all = true;
        else if (c == 'c')
            colour = optarg;
        else if (c == 'H')
            s->html = optarg;
        else if (c != 'f')
            return cli_option_error(c, argv) + 1;
        if (c != 'f')
            continue;
        explain_filter_free(s->filter);
        s->filter = explain_filter_parse(optarg, &err);
        if (!s->filter)
            return cli_fail("%s", err.text) + 1;
    }
    if (s->html && (s->json || s->boxes))
        return cli_fail("--html %s: the page holds it all; leave out -v and --json", s->html) + 1;
    if (optind == argc)
        return cli_fail(
                   "name a capture file, or - for standard input; `nornic explain --help` has an example") +
               1;
    return parse_colour(colour, &s->style.colour) ? CLI_ERROR + 1 : 0;
}

int cli_explain(int argc, char **argv)
{
    struct settings settings = {0};
    int status = parse(argc, argv, &settings);
    if (status) {
        explain_filter_free(settings.filter);
        return status - 1;
    }
    struct run run = {
        .settings = &settings,
        .style = settings.style,
        .analysis = explain_analysis_create(&(struct explain_analysis_config){.strict = settings.strict})};
    if (!run.analysis)
        return cli_fail("out of memory");
    if (settings.html)
        run.page = cli_page_open(settings.html);
    if (settings.html && !run.page)
        status = CLI_ERROR;
    for (int i = optind; i < argc && status == CLI_OK; i++)
        status = explain_file(&run, argv[i]);
    if (run.page || !settings.html)
        finish(&run);
    if (run.page && cli_page_close(run.page, run.number, run.analysis) != CLI_OK)
        status = CLI_ERROR;
    if (!flush(&run) && status == CLI_OK)
        status = cli_fail("cannot write the output: %m");
    explain_text_free(&run.out);
    explain_analysis_destroy(run.analysis);
    explain_filter_free(settings.filter);
    return status;
}
