/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic replay: an endpoint of a capture rebuilt with the engine, and its packets compared. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/report/json.h"
#include "cli/option/option.h"
#include "cli/replay/rewrite.h"
#include "cli/replay/diffs.h"
#include "cli/replay/iwarp.h"
#include "cli/replay/smc.h"
#include "cli/sandbox/sandbox.h"
#include "explain/replay/learn/learn.h"
#include "explain/replay/replay.h"
#include "net/port.h"

struct settings {
    const char *file, *as;
    struct nornic_addr addr;
    bool json, all, rewrite, no_sandbox;
    const char *scenario_path;
    struct explain_scenario scenario; /* all zero: none */
    const char *ifname, *out_path;    /* of a rewrite */
    uint64_t speed;
};

/* --- the report of a packet --- */

static uint64_t number_of(const struct explain_compared *c)
{
    return c->recorded ? c->recorded->number : c->cause;
}

/* "RC ACK psn 0x001000", "RC ACK psn 0x001001 NAK remote access error". */
static void print_packet(const struct explain_packet *p)
{
    printf("%s psn 0x%06x", p->roce.op->name ? p->roce.op->name : "reserved opcode", p->roce.bth.psn);
    if (p->roce.op->flags & ROCE_PKT_AETH && roce_syndrome_kind(p->roce.aeth.syndrome) != ROCE_SYN_ACK)
        printf(" %s", roce_syndrome_name(p->roce.aeth.syndrome));
}

static void print_text(const struct explain_compared *c)
{
    const struct explain_packet *p = c->recorded ? c->recorded : c->engine;
    printf("%s#%" PRIu64 "  qp 0x%06x  ", c->recorded ? "" : "after ", number_of(c), c->qpn);
    print_packet(p);
    printf(": %s\n", explain_replay_outcome_of(c->outcome)->words);
    cli_replay_print_diffs(c->diffs, c->diff_count);
}

static void print_json(const struct explain_compared *c)
{
    const struct explain_packet *p = c->recorded ? c->recorded : c->engine;
    struct json_object *o = json_object_new_object();
    if (c->recorded)
        cli_json_add_count(o, "n", c->recorded->number);
    cli_json_add_count(o, "after", c->cause);
    cli_json_add_text(o, "outcome", explain_replay_outcome_of(c->outcome)->key);
    cli_json_add_count(o, "qp", c->qpn);
    cli_json_add_text(o, "opcode", p->roce.op->name);
    cli_json_add_count(o, "psn", p->roce.bth.psn);
    cli_replay_add_diffs(o, c->diffs, c->diff_count);
    cli_json_print(o);
}

static void compared(void *ctx, const struct explain_compared *c)
{
    const struct settings *s = ctx;
    if (c->outcome == EXPLAIN_REPLAY_EQUAL && !s->all)
        return;
    if (s->json)
        print_json(c);
    else
        print_text(c);
}

static void smc_compared(void *ctx, const struct explain_smc_compared *c)
{
    const struct settings *s = ctx;
    if (c->outcome == EXPLAIN_SMC_REPLAY_EQUAL && !s->all)
        return;
    if (s->json)
        cli_replay_smc_json(c);
    else
        cli_replay_smc_text(c);
}

static void iwarp_compared(void *ctx, const struct explain_iwarp_compared *c)
{
    const struct settings *s = ctx;
    if (c->outcome == EXPLAIN_IWARP_REPLAY_EQUAL && !s->all)
        return;
    if (s->json)
        cli_replay_iwarp_json(c);
    else
        cli_replay_iwarp_text(c);
}

/* --- the sum --- */

/* All zero: nothing was compared. */
struct sum {
    struct explain_replay_result roce;
    struct explain_smc_replay_result smc;
    struct explain_iwarp_replay_result iwarp;
};

static uint64_t failures(const struct sum *sum)
{
    const struct explain_replay_result *r = &sum->roce;
    uint64_t n = cli_replay_smc_failures(&sum->smc) + cli_replay_iwarp_failures(&sum->iwarp);
    for (unsigned i = 0; i < EXPLAIN_REPLAY_OUTCOME_COUNT; i++)
        n += explain_replay_outcome_of(i)->fails ? r->outcomes[i] : 0;
    return n;
}

static void sum_text(const struct settings *s, const struct explain_endpoint *e, const struct sum *sum)
{
    const struct explain_replay_result *r = &sum->roce;
    printf("%s as %s: %u queue pair%s, %" PRIu64 " work request%s, %" PRIu64 " receive%s, %u key%s; %" PRIu64
           " packet%s in; %s\n",
           s->file, s->as, r->qps, plural_s(r->qps), r->work_requests, plural_s(r->work_requests),
           r->receives, plural_s(r->receives), e->region_count, plural_s(e->region_count), r->fed,
           plural_s(r->fed), failures(sum) ? "DIFFERENT" : "equal");
    for (unsigned i = 0; i < EXPLAIN_REPLAY_OUTCOME_COUNT; i++)
        if (r->outcomes[i])
            printf("  %8" PRIu64 "  %s\n", r->outcomes[i], explain_replay_outcome_of(i)->words);
    if (r->changed_memory)
        printf("  %8" PRIu64 "  %s of memory that the recorded program itself had changed\n",
               r->changed_memory, r->changed_memory == 1 ? "READ or atomic" : "READs or atomics");
    if (r->silent_qps)
        printf("  %8u  queue pair%s left out as responder%s: without an answer in the capture\n",
               r->silent_qps, plural_s(r->silent_qps), plural_s(r->silent_qps));
    if (r->late_qps)
        printf("  %8u  queue pair%s whose connection is older than the capture: the MSN was learned\n",
               r->late_qps, plural_s(r->late_qps));
    if (e->gsi_packets)
        printf("  %8" PRIu64 "  packet%s of queue pair 1 left out\n", e->gsi_packets,
               plural_s(e->gsi_packets));
    if (e->bad_packets)
        printf("  %8" PRIu64 "  packet%s left out: broken, cut, or RoCEv1\n", e->bad_packets,
               plural_s(e->bad_packets));
    cli_replay_smc_sum_text(&sum->smc);
    cli_replay_iwarp_sum_text(&sum->iwarp);
}

static void sum_json(const struct settings *s, const struct explain_endpoint *e, const struct sum *sum)
{
    const struct explain_replay_result *r = &sum->roce;
    struct json_object *o = json_object_new_object(), *counts = json_object_new_object();
    cli_json_add_text(o, "file", s->file);
    cli_json_add_text(o, "as", s->as);
    json_object_object_add(o, "equal", json_object_new_boolean(failures(sum) == 0));
    for (unsigned i = 0; i < EXPLAIN_REPLAY_OUTCOME_COUNT; i++)
        cli_json_add_count(counts, explain_replay_outcome_of(i)->key, r->outcomes[i]);
    json_object_object_add(o, "outcomes", counts);
    cli_json_add_count(o, "fed", r->fed);
    cli_json_add_count(o, "queue_pairs", r->qps);
    cli_json_add_count(o, "silent_queue_pairs", r->silent_qps);
    cli_json_add_count(o, "late_queue_pairs", r->late_qps);
    cli_json_add_count(o, "work_requests", r->work_requests);
    cli_json_add_count(o, "receives", r->receives);
    cli_json_add_count(o, "keys", e->region_count);
    cli_json_add_count(o, "changed_memory", r->changed_memory);
    cli_json_add_count(o, "gsi_packets", e->gsi_packets);
    cli_json_add_count(o, "bad_packets", e->bad_packets);
    cli_replay_smc_sum_json(o, &sum->smc);
    cli_replay_iwarp_sum_json(o, &sum->iwarp);
    cli_json_print(o);
}

/* --- the run --- */

static int load_scenario(struct settings *s)
{
    struct nornic_error why;
    if (!s->scenario_path)
        return CLI_OK;
    FILE *file = fopen(s->scenario_path, "re");
    char *text = calloc(1, EXPLAIN_SCENARIO_BYTES + 1);
    size_t n = file && text ? fread(text, 1, EXPLAIN_SCENARIO_BYTES, file) : 0;
    int status = CLI_OK;
    if (!text)
        status = cli_fail("out of memory");
    else if (!file || ferror(file))
        status = cli_fail("--scenario %s: cannot be read: %s", s->scenario_path, strerror(errno));
    else if (n == EXPLAIN_SCENARIO_BYTES)
        status = cli_fail("--scenario %s: more than %d bytes: is it a scenario?", s->scenario_path,
                          EXPLAIN_SCENARIO_BYTES - 1);
    else if (explain_scenario_parse(&s->scenario, text, &why) != 0)
        status = cli_fail("%s: %s", s->scenario_path, why.text);
    if (file)
        fclose(file);
    free(text);
    return status;
}

static int load(const char *path, struct explain_tape *tape)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    int err = net_capture_open(path, &capture, &why);
    if (err)
        return cli_fail("%s", why.text);
    int more;
    while ((more = net_capture_next(capture, &record, &why)) > 0)
        if (explain_tape_add(tape, &record) != 0) {
            net_capture_close(capture);
            return cli_fail("%s: no memory to keep %zu packets", path, tape->count);
        }
    net_capture_close(capture);
    return more < 0 ? cli_fail("%s", why.text) : CLI_OK;
}

/* A capture with iWARP alone has no queue pair of RoCE. */
static int compare_roce(struct settings *s, const struct explain_tape *tape,
                        struct explain_endpoint *endpoint, struct sum *sum, struct nornic_error *why)
{
    struct explain_replay_config config = {.compared = compared, .ctx = s};
    struct explain_smc_replay_config smc_config = {.compared = smc_compared, .ctx = s};
    int err = explain_learn(tape, &s->addr, &s->scenario, endpoint, why);
    if (err == -ENOENT && explain_iwarp_replay_is_there(tape, &s->addr))
        return 0;
    err = err ? err : explain_replay(tape, endpoint, &config, &sum->roce, why);
    return err ? err : explain_smc_replay(tape, &s->addr, &smc_config, &sum->smc, why);
}

static int run(struct settings *s, const struct explain_tape *tape, struct explain_endpoint *endpoint)
{
    struct sum sum = {0};
    struct explain_iwarp_replay_config iwarp_config = {.compared = iwarp_compared, .ctx = s};
    struct nornic_error why = {"out of memory"};
    if (compare_roce(s, tape, endpoint, &sum, &why) != 0 ||
        explain_iwarp_replay(tape, &s->addr, &iwarp_config, &sum.iwarp, &why) != 0)
        return cli_fail("%s", why.text);
    if (s->json)
        sum_json(s, endpoint, &sum);
    else
        sum_text(s, endpoint, &sum);
    return failures(&sum) ? CLI_NEGATIVE : CLI_OK;
}

static int rewrite(const struct settings *s, const struct explain_tape *tape, struct net_port *port)
{
    return cli_replay_rewrite(&(struct cli_replay_rewrite){.tape = tape,
                                                           .scenario = &s->scenario,
                                                           .from = s->as ? &s->addr : NULL,
                                                           .port = port,
                                                           .ifname = s->ifname,
                                                           .out_path = s->out_path,
                                                           .speed = s->speed,
                                                           .json = s->json});
}

/* The file to write keeps its bytes until the capture has been read. A missing file is made here, since a
 * rule of the sandbox needs a file. */
static void close_sandbox(const struct settings *s)
{
    struct cli_sandbox sandbox;
    cli_sandbox_begin(&sandbox, s->ifname ? CLI_SANDBOX_CAPTURE : CLI_SANDBOX_READER, s->no_sandbox);
    bool is_there = strcmp(s->file, "-") == 0 || access(s->file, R_OK) == 0;
    if (!sandbox.is_off && s->out_path && is_there) {
        int fd = open(s->out_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0)
            close(fd);
    }
    cli_sandbox_allow(&sandbox, s->file, CLI_SANDBOX_READS);
    if (s->scenario_path)
        cli_sandbox_allow(&sandbox, s->scenario_path, CLI_SANDBOX_READS);
    if (s->out_path)
        cli_sandbox_allow(&sandbox, s->out_path, CLI_SANDBOX_WRITES);
    cli_sandbox_close(&sandbox);
}

static int replay(void *options)
{
    struct settings *settings = options;
    struct explain_tape tape = {0};
    struct explain_endpoint endpoint = {0};
    struct net_port *port = NULL;
    int status = settings->rewrite ? cli_replay_port_open(settings->ifname, &port) : CLI_OK;
    if (status != CLI_OK)
        return status;
    close_sandbox(settings);
    status = load_scenario(settings);
    if (status == CLI_OK)
        status = load(settings->file, &tape);
    if (status == CLI_OK)
        status = settings->rewrite ? rewrite(settings, &tape, port) : run(settings, &tape, &endpoint);
    explain_endpoint_free(&endpoint);
    explain_tape_free(&tape);
    if (port)
        net_port_close(port);
    return status;
}

/* --- the command --- */

#define AT(member) CLI_SETS(struct settings, member)

static int take_as(void *options, const char *option, char *text)
{
    struct settings *s = options;
    s->as = text;
    return nornic_addr_parse(text, &s->addr) == 0
               ? CLI_OK
               : cli_fail("%s %s: it is an IPv4 or IPv6 address", option, text);
}

static const struct cli_option rows[] = {
    {"as", 0, "ADDR", "the IPv4 or IPv6 address of the endpoint to be", CLI_TAKEN_BY(take_as)},
    {"scenario", 0, "TEXT", "a file that says what the packets do not tell, see below", AT(scenario_path),
     .kind = CLI_FILE},
    {"all", 'a', NULL, "tell of every packet, not only of those that are not equal", AT(all)},
    {"json", 'j', NULL, "one object a packet told of, and a last one that sums up", AT(json)},
    CLI_SANDBOX_ROW(struct settings, no_sandbox),
    {NULL},
};

static const struct cli_option rewrite_rows[] = {
    {"rewrite", 0, NULL, "send the packets, rather than compare", AT(rewrite)},
    {"interface", 'i', "IFACE", "where to send them; with --as, the source MAC is that of IFACE", AT(ifname),
     .kind = CLI_IFACE},
    {"output", 'o', "FILE", "into this pcapng file, also as -w", AT(out_path), .kind = CLI_FILE,
     .also = {"w", "write"}},
    {"speed", 0, "N", "N times as fast as recorded; 0: without waiting", AT(speed),
     CLI_TAKES_COUNT(0, 1000000), .preset = "1"},
    {NULL},
};

static const char notes[] =
    "Not compared, as they are free: IPv4 identification, checksums and ICRC (which must be good), TTL and\n"
    "hop limit, the ECN bits, UDP source port, the M bit, AckReq within a message, and times: a timer of\n"
    "the engine fires when that of the recorded endpoint did. Credits are not waited for before the first\n"
    "ACK. Told of, but no failure:\n"
    "  ack_only_recorded, ack_only_engine   an ACK that other answers imply (coalescing)\n"
    "  network_copy      a frame that the network doubled: the same IPv4 identification\n"
    "  crossed           a packet that met the answer which made it unneeded\n"
    "  nak_behind_rnr    Linux sends a NAK behind its RNR NAK (ROCE-INT-12)\n"
    "  nak_code          Linux has another NAK code for a SEND that is too long (ROCE-INT-15)\n"
    "  read_suffix       Linux goes on within a READ that it answers again (ROCE-INT-19)\n"
    "  not_compared      of a message of which the capture lacks a part\n"
    "A capture must hold what the endpoint sent and what reached it: best is one taken at its own\n"
    "interface, or over a link that lost nothing on the way to it. What it sent and the\n"
    "capture lacks is told of as only_engine. Queue pair 1 (connection management) is left out.\n"
    "\n"
    "Of SMC-R, version 1 (RFC 7609) and 2 (as Linux speaks it), the peer at ADDR is rebuilt as a whole: it\n"
    "makes its link groups, links and connections with what the other peer sent, and each CLC, LLC and CDC\n"
    "message of its is compared. Its program writes, reads and closes what the recorded CDC messages show;\n"
    "its connections take their turns, and its RMBs go back, when the recorded ones do. Not compared: QPNs,\n"
    "PSNs, R_Keys, addresses, alert tokens, link user ids, TEST LINK's data; how writes are cut; which of\n"
    "an LLC and a CDC message goes first; of version 2 feature masks, the keys in an answer to DELETE RKEY,\n"
    "the orderly flag of DELETE LINK. Told of, but no failure:\n"
    "  smc_update_only_recorded   a consumer cursor that the engine would have told later\n"
    "  smc_update_only_engine     a CDC that the recorded end merged with a later one\n"
    "  smc_cut           the stream is cut in other places, or a cursor told at another time\n"
    "  smc_crossed       an LLC request that met the peer's of the same kind\n"
    "  smc_end_again     a DELETE LINK of all links, which the peer has deleted before: Linux's habit\n"
    "  smc_test          a TEST LINK request: when to test is free\n"
    "  smc_declined      a Decline: the capture does not tell why\n"
    "  smc_not_compared  its data is not in the capture\n"
    "  smc_after_end     what the engine says to the last packet that it got\n"
    "Left out and counted: connections of link groups that are older than the capture.\n"
    "\n"
    "Of iWARP the end at ADDR of each TCP connection is rebuilt, and each of its MPA frames and RDMAP\n"
    "messages is compared. Not compared: STags and offsets of its own memory; which of a request and an\n"
    "answer goes first. Told of, but no failure:\n"
    "  iwarp_cut         the same message in other segments\n"
    "  iwarp_crc         the same message, whose CRC is bad in the capture\n"
    "  iwarp_terminate   a Terminate as Linux siw writes it, its nibbles turned round (IWARP-AMB-02)\n"
    "  iwarp_code        a Terminate about the same segment with another code\n"
    "  iwarp_owed        an answer that was owed when the peer's FIN came\n"
    "  iwarp_early       a responder's Terminate before it had a good FPDU (IWARP-MPA-03)\n"
    "  iwarp_not_compared   a message that is not whole in the capture\n"
    "Left out and counted: connections with markers, and without an MPA frame of this end.\n"
    "\n"
    "With --rewrite the RoCE packets of FILE (with --as: those that ADDR sent) go out again, at the pace at\n"
    "which they were recorded, and addresses, QPNs, PSNs and keys as the scenario says. Checksums and\n"
    "ICRC are made anew; one that was bad stays bad. What connection management says in its messages stays.\n"
    "\n"
    "A scenario is a text, a statement a line; # begins a comment, numbers are decimal or 0x...:\n"
    "  qp QPN [sq-psn N] [rq-psn N] [mtu BYTES] [rnr-timer CODE]   of the endpoint to be\n"
    "  key RKEY va VA bytes N [access read,write,atomic]           memory that it has registered\n"
    "  address OLD NEW [MAC]                rewrite: an address, and the MAC behind it\n"
    "  to ADDR QPN [qp NEW] [psn FIRST]     rewrite: packets to that QP; answers to them follow\n"
    "  rkey ADDR OLD NEW [va OLD NEW]       rewrite: the memory of ADDR\n"
    "Addresses, QPNs and keys are those of the capture, but where NEW stands.\n";

static int check(void *options)
{
    struct settings *s = options;
    if (s->rewrite && !s->ifname && !s->out_path)
        return cli_fail("--rewrite: say where the packets go, with -i IFACE or -o FILE");
    if (!s->rewrite && !s->as)
        return cli_fail("--as ADDR is needed: the address of the endpoint to be; `nornic explain %s` lists "
                        "who speaks",
                        s->file);
    if (s->scenario_path && access(s->scenario_path, R_OK) != 0)
        return cli_fail("--scenario %s: cannot be read: %s", s->scenario_path, strerror(errno));
    return CLI_OK;
}

const struct cli_command replay_command = {
    .name = "replay",
    .summary = "put the engine in the place of an endpoint of a capture, and compare",
    .usage = "replay FILE --as ADDR [--scenario TEXT] [--all] [--json]\n"
             "replay FILE --rewrite [-i IFACE] [-o FILE] [--as ADDR] [--scenario TEXT] [--speed N]",
    .about =
        "Puts the engine in the place of one endpoint of a capture, and compares; or sends a capture's "
        "packets to another place.\n\n"
        "FILE is a pcap or pcapng file, packed with gzip or not, - is standard input; what came in a tunnel "
        "is replayed without it. At most 1024 queue pairs are replayed at once. The endpoint with "
        "address ADDR is rebuilt from what the packets tell: its queue pairs (RC, UC, UD), PSNs, path "
        "MTU, memory and the keys that its peers used, what was in that memory, the receives and the "
        "work requests that its program must have posted. Then it gets what the other side sent, in "
        "the recorded order and at the recorded times, and each packet that it sends is compared, "
        "field by field, with the one that the recorded endpoint sent.",
    .groups = {{.rows = rows}, {.title = "Rewriting", .rows = rewrite_rows}},
    .operands =
        (const struct cli_operand[]){
            {.name = "FILE", .kind = CLI_FILE, .offset = offsetof(struct settings, file)}, {NULL}},
    .operands_missing = "name one capture file, or - for standard input",
    .rules =
        (const struct cli_rule[]){
            {CLI_NEEDS, "interface", "rewrite", "packets are sent with it"},
            {CLI_NEEDS, "output", "rewrite", "packets are written with it"},
            {.kind = CLI_END_OF_RULES},
        },
    .notes = notes,
    .examples =
        "Example:\n"
        "  $ nornic replay pcaps/rc_write_1024.pcap --as 10.77.0.1\n"
        "  pcaps/rc_write_1024.pcap as 10.77.0.1: 1 queue pair, 27 work requests, 0 receives, 0 keys; "
        "27 packets in; equal\n"
        "        38  equal\n",
    .status = {"equal but for the freedoms, or sent", "different", "it could not be tried"},
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = replay,
};
