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
#include "cli/explain/reading.h"
#include "cli/explain/rule.h"
#include "cli/explain/settings.h"
#include "cli/explain/smc.h"
#include "cli/explain/tale.h"
#include "cli/stop.h"
#include "explain/analysis.h"
#include "explain/join/show.h"
#include "explain/packet/train.h"
#include "explain/show/boxes.h"
#include "explain/show/glossary.h"
#include "explain/show/json.h"
#include "explain/show/ladder.h"

#define FINDINGS_MAX 64

/* The state of one run: numbers and flows go on over all files. */
struct run {
    const struct cli_explain_settings *settings;
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
    const struct cli_explain_settings *s = run->settings;
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
    const struct cli_explain_settings *s = run->settings;
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
        else if (s->csv == CLI_CSV_OPERATIONS)
            cli_tale_operation(&run->out, &run->tale.done[i], run->analysis, &run->foreseen);
    if (s->csv == CLI_CSV_IWARP_OPERATIONS)
        explain_iwarp_operations_csv(&run->out, packet, meaning);
    return (!s->packets_max || run->shown < s->packets_max) && cli_output_pass(&run->to, &run->out);
}

/* Takes one more frame of an interface or a file. */
static bool take(void *ctx, const struct net_capture_record *record)
{
    struct run *run = ctx;
    const struct cli_explain_settings *s = run->settings;
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
    const struct cli_explain_settings *s = run->settings;
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
    const struct cli_explain_settings *s = run->settings;
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
    const struct cli_explain_settings *s = run->settings;
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
    const struct cli_explain_settings *s = run->settings;
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
    if (run->settings->csv == CLI_CSV_FLOWS)
        cli_tale_flows(&run->out, &run->tale, run->analysis);
    else if (run->settings->csv == CLI_CSV_IWARP)
        cli_tale_numbers(&run->out, &run->tale, run->analysis, CLI_TALE_CSV_IWARP);
    if (!run->page && !run->settings->csv)
        put_sums(run);
    if (!run->settings->csv && !run->settings->form.json &&
        (!run->page || strcmp(run->settings->page.path, "-") != 0))
        cli_flows_count(&run->out, run->packets, run->analysis, run->findings, run->settings->strict);
}

/* The story stands first, if nothing is left out of it and it can be waited for. */
static bool is_told_first(const struct cli_explain_settings *s)
{
    return !s->csv && !s->form.json && !s->page.path && !s->ifname && !s->filter && !s->packets_max &&
           !s->join;
}

/* Opens what is written to, and closes the sandbox: all after this may read bytes of strangers. */
static bool open_outputs(struct run *run)
{
    const struct cli_explain_settings *s = run->settings;
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
    const struct cli_explain_settings *s = run->settings;
    if (s->csv == CLI_CSV_OPERATIONS && !s->ifname && !s->join)
        cli_tale_foresee(&run->foreseen, &s->files, s->strict);
    if (s->csv == CLI_CSV_OPERATIONS)
        explain_operations_csv_head(&run->out);
    else if (s->csv == CLI_CSV_FLOWS)
        explain_flows_csv_head(&run->out);
    else if (s->csv == CLI_CSV_IWARP_OPERATIONS)
        explain_iwarp_operations_csv_head(&run->out);
    else if (s->csv == CLI_CSV_IWARP)
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

int cli_explain_captures(const struct cli_explain_settings *settings)
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
