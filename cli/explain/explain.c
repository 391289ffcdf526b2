/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic explain: what the packets of capture files mean. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/explain/html.h"
#include "cli/explain/live.h"
#include "cli/option/color.h"
#include "cli/option/option.h"
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
    const char *filter_text;
    struct explain_filter *filter;
    enum cli_color color;
    struct cli_words files;
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

/* Whether the capture comes through a pipe from one who may be still at it (`tcpdump -U -w - | nornic explain
 * -`): then each packet is told of when it comes. */
static bool is_pipe(const char *path)
{
    struct stat s;
    int err = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &s) : stat(path, &s);
    return !err && !S_ISREG(s.st_mode);
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
    bool is_live = is_pipe(path);
    while ((err = net_capture_next(capture, &record, &why)) > 0)
        if (!take(run, &record) || (is_live && !flush_all(run)))
            break;
    net_capture_close(capture);
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
    for (unsigned i = 0; i < s->files.count && !is_full(run) && !run->write_error; i++)
        if (explain_file(run, s->files.at[i]) != CLI_OK)
            status = CLI_ERROR;
    return status;
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

static void put_conn(struct run *run, const struct explain_smc_conn *c)
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    explain_printf(&run->out, "SMC-R connection %u of group %u: %s port %u > %s port %u", c->id, c->group,
                   nornic_addr_str(&c->addr[0], a), c->port[0], nornic_addr_str(&c->addr[1], b), c->port[1]);
    for (unsigned side = 0; side < 2; side++)
        explain_printf(&run->out, "%s %" PRIu64 " bytes, %" PRIu64 " CDC, %" PRIu64 " wraps, %s",
                       side ? "; back" : "; there", c->bytes[side], c->messages[side], c->wraps[side],
                       c->is_aborted[side]  ? "aborted"
                       : c->is_closed[side] ? "closed"
                       : c->is_done[side]   ? "done sending"
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
                   g->has_ended ? "; ended" : "");
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

static unsigned columns(void)
{
    struct winsize size;
    unsigned n = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 110;
    return n < COLUMNS_LEAST ? COLUMNS_LEAST : n > COLUMNS_MOST ? COLUMNS_MOST : n;
}

static int explain(const struct settings *settings)
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
    else if (status == CLI_OK)
        status = explain_files(&run);
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

/* --- the command --- */

#define AT(member) CLI_SETS(struct settings, member)

static const struct cli_option rows[] = {
    {"verbose", 'v', NULL,
     "every header drawn as the standards draw it, with its bytes, the values of its fields, and the rule "
     "for each (docs/conformance-roce.md)",
     AT(boxes)},
    {"json", 'j', NULL,
     "one object a packet: n, time_ns, len, kind, layers with all fields, payload, icrc, verdict, qp, smc, "
     "message, answers, words, remarks; behind the last one finding, smc_group and smc_connection objects",
     AT(json)},
    {"ladder", 0, NULL,
     "a lifeline for each address, an arrow a packet: --> the first time, ==> sent again, ~~> an answer "
     "that says no (NAK, RNR NAK), xx> a bad packet",
     AT(ladder)},
    {"html", 0, "OUT",
     "all of it as one page for a browser: flows, findings, a ladder, plots, the bytes of each packet; the "
     "page needs no network (docs/explain.md)",
     AT(html), .kind = CLI_FILE},
    {"filter", 'f', "EXPR",
     "only packets that match, for example 'bth.opcode == RC_RDMA_WRITE_FIRST && bth.psn > 100', 'aeth && "
     "aeth.syndrome != ACK', 'ip.src == 10.0.0.1', 'flow == 2', 'connection == 1' (of SMC-R). A layer "
     "alone: it is there. A field alone: it is not 0. && || ! ( ) == != < <= > >=",
     AT(filter_text), .kind = CLI_TEXT},
    {"strict", 0, NULL,
     "name what breaks a rule of the standard, by its requirement; `nornic verify --strict` lists only that",
     AT(strict)},
    {"all", 'a', NULL, "also packets that are not RoCE", AT(all)},
    {"interface", 'i', "IFACE",
     "what goes over an interface, as it comes: RDMA, connection management, and the handshakes of SMC-R; "
     "needs root. Ctrl-C ends it, with the summary",
     AT(ifname), .kind = CLI_IFACE},
    {"count", 'c', "N", "end after N packets that are shown", AT(packets_max),
     CLI_TAKES_COUNT(1, UINT64_MAX)},
    {"time", 0, "TIME", "with -i: end after this time, such as 10 or 1.5m", AT(duration_ns),
     CLI_TAKES_TIME(NS_PER_MS, YEAR_NS), .also = {"duration", "seconds"}},
    CLI_COLOR_ROWS(struct settings, color),
    {NULL},
};

/* What does not go together. */
static int check(void *options)
{
    const struct settings *s = options;
    const char *first_file = s->files.count ? s->files.at[0] : NULL;
    if (s->html && (s->json || s->boxes || s->ladder))
        return cli_fail("--html %s: the page holds it all; leave out -v, --json and --ladder", s->html);
    if (s->ifname && first_file)
        return cli_fail("%s: it is either files or, with -i, an interface", first_file);
    if (!s->ifname && !first_file)
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
    int status = explain(s);
    explain_filter_free(s->filter);
    return status;
}

const struct cli_command explain_command = {
    .name = "explain",
    .summary = "say what the packets of capture files mean",
    .usage = "explain [-v | --json | --ladder | --html OUT] [-f FILTER] FILE... | -i IFACE",
    .about = "Says what the packets of capture files, or of an interface, mean.\n\n"
             "FILE is a pcap or pcapng file of Ethernet frames, - is standard input. A line a packet: its "
             "number, the time since the first one, addresses, destination QP, PSN, and what it means among "
             "those before it: which packet of which message it is, what it answers, whether it was sent "
             "before and why again. What went wrong stands below the packet that shows it, with the "
             "requirement that governs it.",
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
            {CLI_NEEDS, "time", "interface", "a file ends by itself"},
            {.kind = CLI_END_OF_RULES},
        },
    .examples = "Example:\n"
                "  $ nornic explain -f 'n == 2' pcaps/rc_rnr.pcap\n"
                "    2    0.001203  10.77.0.2 > 10.77.0.1  qp 0x00001c psn 0x001000  "
                "RNR NAK for PSN 0x001000: wait 10.24 ms\n",
    .status = {"all was read", NULL, "a file or the interface could not be read, or the page not be written"},
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run_command,
};
