/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic explain: what the packets of capture files mean. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/explain/html.h"
#include "cli/explain/live.h"
#include "cli/option/value.h"
#include "explain/analysis.h"
#include "explain/show/boxes.h"
#include "explain/show/filter.h"
#include "explain/show/json.h"
#include "explain/show/ladder.h"

#define OUT_BYTES     65536 /* are gathered before they are written */
#define FINDINGS_MAX  64
#define COLUMNS_LEAST 72
#define COLUMNS_MOST  200
#define YEAR_NS       (UINT64_C(366) * 24 * 3600 * 1000000000)

struct settings {
    bool json, boxes, all, strict, ladder;
    const char *ifname;   /* NULL: files */
    uint64_t packets_max; /* end after so many that are shown; 0: no end */
    uint64_t duration_ns;
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
    struct explain_ladder ladder;
    uint64_t number, shown, findings[3]; /* by severity */
    int write_error;                     /* errno of the first write that failed; 0: none */
};

static bool flush(struct run *run)
{
    bool written = !run->out.len || fwrite(run->out.bytes, 1, run->out.len, stdout) == run->out.len;
    if (!written && !run->write_error)
        run->write_error = errno;
    explain_text_clear(&run->out);
    return written;
}

/* What was gathered is seen at once. */
static bool flush_all(void *ctx)
{
    struct run *run = ctx;
    if (flush(run) && fflush(stdout) != 0 && !run->write_error)
        run->write_error = errno;
    return !run->write_error;
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
    run->shown++;
    if (run->page) {
        cli_page_packet(run->page, packet, meaning);
        return;
    }
    if (s->json) {
        explain_json_packet(&run->out, packet, meaning);
        return;
    }
    if (s->ladder)
        explain_ladder(&run->out, &run->ladder, packet, meaning, &run->style);
    else
        explain_line(&run->out, packet, meaning, &run->style);
    if (s->boxes)
        explain_boxes_packet(&run->out, packet);
}

/* One more packet; false: no more are wanted, or the output cannot be written. */
static bool take(void *ctx, const struct net_capture_record *record)
{
    struct run *run = ctx;
    const struct settings *s = run->settings;
    struct explain_packet packet;
    struct explain_meaning meaning;
    explain_dissect(&packet, record, run->number + 1);
    if (s->ifname && !s->all && packet.kind == EXPLAIN_OTHER)
        return true; /* a SYN without the option: the kernel's filter lets it through */
    run->number++;
    explain_analysis_next(run->analysis, &packet, &meaning);
    for (unsigned i = 0; i < meaning.remark_count; i++)
        count(run, &meaning.remarks[i]);
    if (run->number == 1)
        run->style.epoch_ns = packet.time_ns;
    show(run, &packet, &meaning);
    return (!s->packets_max || run->shown < s->packets_max) && (run->out.len <= OUT_BYTES || flush(run));
}

static int explain_file(struct run *run, const char *path)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    int err = net_capture_open(path, &capture, &why);
    if (err)
        return cli_fail("%s", why.text);
    if (run->page)
        cli_page_file(run->page, path);
    while ((err = net_capture_next(capture, &record, &why)) > 0)
        if (!take(run, &record))
            break;
    net_capture_close(capture);
    return err < 0 ? cli_fail("%s", why.text) : CLI_OK;
}

static int explain_interface(struct run *run)
{
    const struct settings *s = run->settings;
    if (run->page)
        cli_page_file(run->page, s->ifname);
    return cli_explain_live(&(struct cli_explain_live){.ifname = s->ifname,
                                                       .duration_ns = s->duration_ns,
                                                       .all = s->all,
                                                       .take = take,
                                                       .pause = flush_all,
                                                       .ctx = run});
}

static bool is_full(const struct run *run)
{
    return run->settings->packets_max && run->shown >= run->settings->packets_max;
}

static void put_conn(struct run *run, const struct explain_smc_conn *c)
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    explain_printf(&run->out, "SMC-R connection %u of group %u: %s port %u > %s port %u", c->id, c->group,
                   nornic_addr_str(&c->addr[0], a), c->port[0], nornic_addr_str(&c->addr[1], b), c->port[1]);
    for (unsigned side = 0; side < 2; side++)
        explain_printf(&run->out, "%s %" PRIu64 " bytes, %" PRIu64 " CDC, %" PRIu64 " wraps, %s",
                       side ? "; back" : "; there", c->bytes[side], c->messages[side], c->wraps[side],
                       c->aborted[side]  ? "aborted"
                       : c->closed[side] ? "closed"
                       : c->done[side]   ? "done sending"
                                         : "open");
    uint64_t moves = c->moves[0] + c->moves[1];
    if (moves)
        explain_printf(&run->out, "; moved %" PRIu64 " times, %" PRIu64 " bytes written again", moves,
                       c->replayed_bytes[0] + c->replayed_bytes[1]);
    explain_put(&run->out, "\n");
}

static void put_group(struct run *run, const struct explain_smc_group *g)
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    explain_printf(&run->out,
                   "SMC-R group %u, version %u: %s with %s; %u links, %u active, %u gone; %u and %u RMBs; %u "
                   "connections%s\n",
                   g->id, g->version, nornic_addr_str(&g->gid[0], a), nornic_addr_str(&g->gid[1], b),
                   g->links, g->links_active, g->links_gone, g->rmbs[0], g->rmbs[1], g->conns,
                   g->ended ? "; ended" : "");
}

/* The connections and groups of SMC-R; the page has them in its tables. */
static void put_smc(struct run *run)
{
    for (uint32_t i = 1; i <= explain_analysis_smc_group_count(run->analysis); i++) {
        const struct explain_smc_group *g = explain_analysis_smc_group(run->analysis, i);
        if (g && run->settings->json) {
            explain_put(&run->out, "{\"smc_group\":");
            explain_json_smc_group(&run->out, g);
            explain_put(&run->out, "}\n");
        } else if (g) {
            put_group(run, g);
        }
    }
    for (uint32_t i = 1; i <= explain_analysis_smc_conn_count(run->analysis); i++) {
        const struct explain_smc_conn *c = explain_analysis_smc_conn(run->analysis, i);
        if (c && run->settings->json) {
            explain_put(&run->out, "{\"smc_connection\":");
            explain_json_smc_conn(&run->out, c);
            explain_put(&run->out, "}\n");
        } else if (c) {
            put_conn(run, c);
        }
    }
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
    if (!run->page)
        put_smc(run);
    if (!run->settings->json && (!run->page || strcmp(run->settings->html, "-") != 0))
        explain_printf(&run->out,
                       "%" PRIu64 " packets, %u flows; %" PRIu64 " violations, %" PRIu64 " warnings, %" PRIu64
                       " notes\n",
                       run->number, explain_analysis_flow_count(run->analysis), run->findings[2],
                       run->findings[1], run->findings[0]);
}

static const char help[] =
    "Usage: nornic explain [-v | --json | --ladder | --html OUT] [-f FILTER] FILE... | -i IFACE\n"
    "Says what the packets of capture files, or of an interface, mean.\n"
    "\n"
    "FILE is a pcap or pcapng file of Ethernet frames, - is standard input. A line a packet: its number,\n"
    "the time since the first one, addresses, destination QP, PSN, and what it means among those before it:\n"
    "which packet of which message it is, what it answers, whether it was sent before and why again. What\n"
    "went wrong stands below the packet that shows it, with the requirement that governs it.\n"
    "\n"
    "  -v, --verbose      every header drawn as the standards draw it, with its bytes, the values of its\n"
    "                     fields, and the rule for each (docs/conformance-roce.md)\n"
    "  -j, --json         one object a packet: n, time_ns, len, kind, layers with all fields, payload,\n"
    "                     icrc, verdict, qp, smc, message, answers, words, remarks; behind the last one\n"
    "                     finding, smc_group and smc_connection objects\n"
    "      --ladder       a lifeline for each address, an arrow a packet: --> the first time, ==> sent\n"
    "                     again, ~~> an answer that says no (NAK, RNR NAK), xx> a bad packet\n"
    "      --html OUT     all of it as one page for a browser: flows, findings, a ladder, plots, the bytes\n"
    "                     of each packet; the page needs no network (docs/explain.md)\n"
    "  -f, --filter EXPR  only packets that match, for example 'bth.opcode == RC_RDMA_WRITE_FIRST &&\n"
    "                     bth.psn > 100', 'aeth && aeth.syndrome != ACK', 'ip.src == 10.0.0.1',\n"
    "                     'flow == 2', 'connection == 1' (of SMC-R). A layer alone: it is there. A field\n"
    "                     alone: it is not 0.\n"
    "                     && || ! ( ) == != < <= > >=\n"
    "      --strict       name what breaks a rule of the standard, by its requirement; `nornic verify\n"
    "                     --strict lists only that\n"
    "  -a, --all          also packets that are not RoCE\n"
    "  -i, --interface IFACE   what goes over an interface, as it comes: RDMA, connection management, and\n"
    "                     the handshakes of SMC-R; needs root. Ctrl-C ends it, with the summary\n"
    "  -c, --count N      end after N packets that are shown\n"
    "      --duration TIME   with -i: end after this time, such as 10 or 1.5m\n"
    "      --colour WHEN  always, never or auto (the default: on a terminal)\n"
    "\n"
    "Example:\n"
    "  $ nornic explain -f 'n == 2' pcaps/rc_rnr.pcap\n"
    "    2    0.001203  10.77.0.2 > 10.77.0.1  qp 0x00001c psn 0x001000  "
    "RNR NAK for PSN 0x001000: wait 10.24 ms\n"
    "\n"
    "Exit status: 0 all was read, 2 a file or the interface could not be read, or the page not be written.\n";

static int parse_colour(const char *text, bool *colour)
{
    if (strcmp(text, "auto") != 0 && strcmp(text, "always") != 0 && strcmp(text, "never") != 0)
        return cli_fail("--colour %s: it is always, never or auto", text);
    *colour = strcmp(text, "always") == 0 || (strcmp(text, "auto") == 0 && isatty(STDOUT_FILENO));
    return 0;
}

enum long_option { OPT_STRICT = 256, OPT_COLOUR, OPT_HTML, OPT_LADDER, OPT_DURATION };

static const struct option options[] = {{"verbose", no_argument, NULL, 'v'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"filter", required_argument, NULL, 'f'},
                                        {"all", no_argument, NULL, 'a'},
                                        {"interface", required_argument, NULL, 'i'},
                                        {"count", required_argument, NULL, 'c'},
                                        {"duration", required_argument, NULL, OPT_DURATION},
                                        {"strict", no_argument, NULL, OPT_STRICT},
                                        {"colour", required_argument, NULL, OPT_COLOUR},
                                        {"html", required_argument, NULL, OPT_HTML},
                                        {"ladder", no_argument, NULL, OPT_LADDER},
                                        {NULL, 0, NULL, 0}};

static int take_filter(struct settings *s)
{
    struct nornic_error why;
    explain_filter_free(s->filter);
    s->filter = explain_filter_parse(optarg, &why);
    return s->filter ? 0 : cli_fail("%s", why.text);
}

static int take_option(struct settings *s, int c, char **argv)
{
    switch (c) {
    case 'v':
        s->boxes = true;
        return 0;
    case 'j':
        s->json = true;
        return 0;
    case 'f':
        return take_filter(s);
    case 'a':
        s->all = true;
        return 0;
    case 'i':
        s->ifname = optarg;
        return 0;
    case 'c':
        return cli_parse_count("--count", optarg, 1, UINT64_MAX, &s->packets_max);
    case OPT_DURATION:
        return cli_parse_duration("--duration", optarg, 1000000, YEAR_NS, &s->duration_ns);
    case OPT_STRICT:
        s->strict = true;
        return 0;
    case OPT_COLOUR:
        return parse_colour(optarg, &s->style.colour);
    case OPT_HTML:
        s->html = optarg;
        return 0;
    case OPT_LADDER:
        s->ladder = true;
        return 0;
    default:
        return cli_option_error(c, argv);
    }
}

/* What does not go together. */
static int judge(const struct settings *s, const char *first_file)
{
    if (s->html && (s->json || s->boxes || s->ladder))
        return cli_fail("--html %s: the page holds it all; leave out -v, --json and --ladder", s->html);
    if (s->ladder && s->json)
        return cli_fail("--ladder draws and --json does not: choose one");
    if (s->ifname && first_file)
        return cli_fail("%s: it is either files or, with -i, an interface", first_file);
    if (!s->ifname && s->duration_ns)
        return cli_fail("--duration goes with -i IFACE: a file ends by itself");
    if (!s->ifname && !first_file)
        return cli_fail("name a capture file, - for standard input, or an interface with -i; "
                        "`nornic explain --help` has an example");
    return 0;
}

static int parse(int argc, char **argv, struct settings *s)
{
    int c;
    s->style.colour = isatty(STDOUT_FILENO);
    opterr = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, ":vjf:ai:c:", options, NULL)) != -1)
        if (take_option(s, c, argv) != 0)
            return CLI_ERROR;
    return judge(s, argv[optind]);
}

static unsigned columns(void)
{
    struct winsize size;
    unsigned n = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 110;
    return n < COLUMNS_LEAST ? COLUMNS_LEAST : n > COLUMNS_MOST ? COLUMNS_MOST : n;
}

static int explain(const struct settings *settings, char **files)
{
    int status = CLI_OK;
    struct run run = {
        .settings = settings,
        .style = settings->style,
        .ladder = {.columns = columns()},
        .analysis = explain_analysis_create(&(struct explain_analysis_config){.strict = settings->strict})};
    if (!run.analysis)
        return cli_fail("out of memory");
    if (settings->html)
        run.page = cli_page_open(settings->html);
    if (settings->html && !run.page)
        status = CLI_ERROR;
    if (settings->ifname && status == CLI_OK)
        status = explain_interface(&run);
    for (; *files && status == CLI_OK && !is_full(&run); files++)
        status = explain_file(&run, *files);
    /* Of what could not be read at all there is nothing to sum up. */
    if (run.page || (!settings->html && (status == CLI_OK || run.number > 0)))
        finish(&run);
    if (run.page && cli_page_close(run.page, run.number, run.analysis) != CLI_OK)
        status = CLI_ERROR;
    if (!flush_all(&run) && status == CLI_OK)
        status = cli_fail("cannot write the output: %s", strerror(run.write_error));
    explain_text_free(&run.out);
    explain_analysis_destroy(run.analysis);
    return status;
}

int cli_explain(int argc, char **argv)
{
    struct settings settings = {0};
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return CLI_OK;
    }
    int status = parse(argc, argv, &settings);
    if (status == 0)
        status = explain(&settings, argv + optind);
    explain_filter_free(settings.filter);
    return status;
}
