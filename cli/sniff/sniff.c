/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic sniff: RDMA traffic of an interface into capture files. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/columns.h"
#include "cli/report/json.h"
#include "cli/option/option.h"
#include "cli/sandbox/sandbox.h"
#include "cli/sniff/count.h"
#include "cli/sniff/files.h"
#include "cli/sniff/live.h"
#include "cli/sniff/smc.h"
#include "cli/stop.h"
#include "explain/packet/train.h"

#define FLUSH_NS         NS_PER_S /* gathered bytes are in the file after this time */
#define SHOW_NS          (NS_PER_S / 4)
#define BURST            256  /* packets taken before the clock is read again */
#define LAST_BURST       8192 /* capacity of the kernel's buffer */
#define ROTATE_BYTES_MIN 65536
#define LINE_BYTES       400
#define YEAR_NS          (UINT64_C(366) * 24 * 3600 * NS_PER_S)
#define FINDINGS_MAX     64

struct settings {
    const char *ifname, *path;
    uint64_t rotate_bytes, rotate_count, packets_max, duration_ns;
    bool json, quiet, only_ours, no_sandbox;
};

struct run {
    const struct settings *settings;
    struct sniff_live *live;
    struct sniff_files files;
    struct sniff_count count;
    uint64_t records; /* that were kept: the number of the last */
    struct explain_analysis *analysis;
    uint64_t begin_ns, flush_ns, show_ns; /* when these are due */
    bool shows, is_on_screen;
};

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void show(struct run *run)
{
    char line[LINE_BYTES];
    sniff_count_line(&run->count, line, sizeof line, cli_columns(STDERR_FILENO, 80));
    fprintf(stderr, "\r\033[K%s", line);
    run->is_on_screen = true;
}

static void show_nothing(struct run *run)
{
    if (run->is_on_screen)
        fputs("\r\033[K", stderr);
    run->is_on_screen = false;
}

static bool is_full(const struct run *run)
{
    return run->settings->packets_max && run->count.packets >= run->settings->packets_max;
}

/* Keeps one record, if it is RDMA traffic, and counts the packets in it. */
static int take(struct run *run, const struct net_capture_record *record, struct nornic_error *why)
{
    struct explain_cutter cutter;
    struct explain_packet packet;
    struct explain_meaning meaning;
    bool is_kept = false;
    explain_cutter_begin(&cutter, record, run->records + 1);
    while (explain_cutter_next(&cutter, &packet)) {
        explain_analysis_next(run->analysis, &packet, &meaning);
        if (packet.kind == EXPLAIN_OTHER && !sniff_is_smc_handshake(record->data, record->len_bytes))
            continue;
        sniff_count_add(&run->count, &packet, &meaning);
        is_kept = true;
    }
    run->records += is_kept;
    return is_kept ? sniff_files_add(&run->files, record, why) : 0;
}

/* Takes waiting packets, `max` at most. 0, or a failure. */
static int take_burst(struct run *run, unsigned max, struct nornic_error *why)
{
    struct net_capture_record record;
    int err = 1;
    for (unsigned i = 0; i < max && err > 0 && !is_full(run); i++) {
        err = sniff_live_next(run->live, &record, why);
        if (err > 0 && take(run, &record, why) < 0)
            err = -1;
    }
    return err < 0 ? err : 0;
}

/* Does the work that is due at `now`. */
static int keep_time(struct run *run, uint64_t now, struct nornic_error *why)
{
    if (run->shows && now >= run->show_ns) {
        show(run);
        run->show_ns = now + SHOW_NS;
    }
    if (now < run->flush_ns)
        return 0;
    run->flush_ns = now + FLUSH_NS;
    return sniff_files_flush(&run->files, why);
}

static int wait_ms(const struct run *run, uint64_t now)
{
    uint64_t due_ns = run->shows && run->show_ns < run->flush_ns ? run->show_ns : run->flush_ns;
    if (run->settings->duration_ns && run->begin_ns + run->settings->duration_ns < due_ns)
        due_ns = run->begin_ns + run->settings->duration_ns;
    return due_ns <= now ? 0 : (int)((due_ns - now) / 1000000 + 1);
}

/* Captures until a signal, the count or the time ends it: 0; or a failure. */
static int capture(struct run *run, struct nornic_error *why)
{
    struct pollfd fds[2] = {{.fd = sniff_live_fd(run->live), .events = POLLIN},
                            {.fd = cli_stop_fd(), .events = POLLIN}};
    uint64_t duration_ns = run->settings->duration_ns, now = run->begin_ns;
    while (!cli_stopped() && !is_full(run) && (!duration_ns || now - run->begin_ns < duration_ns)) {
        poll(fds, 2, wait_ms(run, now)); /* its result does not matter: the ring has the packets */
        int err = take_burst(run, BURST, why);
        now = now_ns();
        if (!err)
            err = keep_time(run, now, why);
        if (err)
            return err;
    }
    /* Packets in the kernel at the end were on the wire before. */
    return take_burst(run, LAST_BURST, why);
}

/* Findings that only the end shows: answers that never came. */
static void count_end(struct run *run)
{
    struct explain_finding findings[FINDINGS_MAX];
    unsigned n;
    while ((n = explain_analysis_end(run->analysis, findings, FINDINGS_MAX)) > 0)
        for (unsigned i = 0; i < n; i++)
            run->count.findings[findings[i].kind]++;
}

static struct json_object *file_list(const struct run *run)
{
    char name[4096];
    struct json_object *list = json_object_new_array();
    for (uint64_t i = run->files.removed + 1; i <= run->files.number; i++)
        if (sniff_files_name(&run->files, i, name, sizeof name))
            json_object_array_add(list, json_object_new_string(name));
    return list;
}

static void report(struct run *run, double seconds)
{
    const struct settings *s = run->settings;
    uint64_t lost = sniff_live_dropped(run->live);
    uint32_t flows = explain_analysis_flow_total(run->analysis);
    if (s->json) {
        struct json_object *object = json_object_new_object();
        cli_json_add_text(object, "interface", s->ifname);
        json_object_object_add(object, "files", file_list(run));
        sniff_count_json(&run->count, object);
        cli_json_add_count(object, "flows", flows);
        cli_json_add_count(object, "lost", lost);
        cli_json_add_real(object, "seconds", seconds);
        cli_json_print(object);
        return;
    }
    printf("%s: %" PRIu64 " packets, %" PRIu64 " bytes in %.1f s, %" PRIu32 " flow%s, %" PRIu64 " lost\n",
           s->path, run->count.packets, run->count.bytes, seconds, flows, flows == 1 ? "" : "s", lost);
    sniff_count_print(&run->count, stdout);
    if (s->rotate_bytes)
        printf("%" PRIu64 " files, %" PRIu64 " removed\n", run->files.number, run->files.removed);
}

/* Everything is open. */
static int sniff(struct run *run)
{
    struct nornic_error why, close_err;
    run->begin_ns = now_ns();
    run->flush_ns = run->begin_ns + FLUSH_NS;
    run->shows = !run->settings->quiet && isatty(STDERR_FILENO);
    int err = capture(run, &why);
    int close_rc = sniff_files_close(&run->files, &close_err);
    if (!err && close_rc != 0)
        why = close_err;
    show_nothing(run);
    count_end(run);
    report(run, (double)(now_ns() - run->begin_ns) / (double)NS_PER_S);
    return err || close_rc ? cli_fail("%s", why.text) : CLI_OK;
}

/* Files that begin later are made in the directory of the first. */
static void close_sandbox(const struct settings *settings)
{
    bool makes_files = settings->rotate_bytes != 0;
    const char *slash = strrchr(settings->path, '/');
    size_t dir_bytes = slash ? (size_t)(slash - settings->path) + 1 : 0;
    char *dir = slash ? strndup(settings->path, dir_bytes) : strdup(".");
    struct cli_sandbox sandbox;
    cli_sandbox_begin(&sandbox, makes_files ? CLI_SANDBOX_ROTATE : CLI_SANDBOX_CAPTURE, settings->no_sandbox);
    if (dir && makes_files)
        cli_sandbox_allow(&sandbox, dir, CLI_SANDBOX_MAKES);
    cli_sandbox_close(&sandbox);
    free(dir);
}

static int open_and_sniff(const struct settings *settings)
{
    struct nornic_error why;
    struct run run = {.settings = settings,
                      .files = {.path = settings->path,
                                .ifname = settings->ifname,
                                .rotate_bytes = settings->rotate_bytes,
                                .rotate_count = settings->rotate_count},
                      .analysis = explain_analysis_create(
                          &(struct explain_analysis_config){.copies = EXPLAIN_COPIES_NONE})};
    if (!run.analysis)
        return cli_fail("out of memory");
    int status = CLI_ERROR, rc = cli_stop_install();
    if (rc) {
        cli_fail("cannot catch signals: %s", strerror(-rc));
        goto destroy_analysis;
    }
    if (sniff_live_open(settings->ifname, !settings->only_ours, sniff_live_filter, SNIFF_SNAP_BYTES,
                        &run.live, &why) != 0) {
        cli_fail("%s", why.text);
        goto destroy_analysis;
    }
    if (sniff_files_open(&run.files, &why) !=
        0) /* only now: a wrong interface leaves the old file as it was */
        cli_fail("%s", why.text);
    else {
        close_sandbox(settings);
        status = sniff(&run);
    }
    sniff_live_close(run.live);
destroy_analysis:
    explain_analysis_destroy(run.analysis);
    return status;
}

static int run_command(void *options)
{
    return open_and_sniff(options);
}

/* --- the command --- */

#define AT(member) CLI_SETS(struct settings, member)

static const struct cli_option rows[] = {
    {"interface", 'i', "IFACE", "where to listen; `ip link` lists them", AT(ifname), .kind = CLI_IFACE},
    {"output", 'o', "FILE", "where to write, also as -w; the file is replaced", AT(path), .kind = CLI_FILE,
     .also = {"w", "write"}},
    {"count", 'c', "N", "end after N packets", AT(packets_max), CLI_TAKES_COUNT(1, UINT64_MAX)},
    {"time", 'T', "TIME", "end after this time, such as 10 or 1.5m", AT(duration_ns),
     CLI_TAKES_TIME(NS_PER_MS, YEAR_NS), .also = {"seconds", "duration"}},
    {"rotate-size", 0, "SIZE",
     "begin a new file before one grows beyond SIZE (64K at least; K, M or G): run.pcapng becomes "
     "run-00001.pcapng, run-00002.pcapng and so on",
     AT(rotate_bytes), CLI_TAKES_SIZE(ROTATE_BYTES_MIN, UINT64_MAX / 2)},
    {"rotate-count", 0, "N", "keep the N newest of these files, and remove older ones", AT(rotate_count),
     CLI_TAKES_COUNT(1, 99999)},
    {"no-promiscuous", 'p', NULL, "only what is for this host, or from it", AT(only_ours)},
    {"quiet", 'q', NULL, "no live counters (they go to standard error when it is a terminal)", AT(quiet)},
    {"json", 'j', NULL,
     "the count at the end as one JSON object: interface, files, packets, bytes, kinds, retransmissions, "
     "naks, rnr_naks, roce, icrc_ok, icrc_bad, malformed, cut (of malformed), "
     "udp_checksum_bad (of icrc_ok), findings, flows, lost, seconds",
     AT(json)},
    CLI_SANDBOX_ROW(struct settings, no_sandbox),
    {NULL},
};

static int check(void *options)
{
    const struct settings *s = options;
    if (!s->ifname)
        return cli_fail("name the interface with -i; `ip link` lists them");
    if (!s->path)
        return cli_fail("name the file to write with -o, such as -o run.pcapng");
    return CLI_OK;
}

const struct cli_command sniff_command = {
    .name = "sniff",
    .summary = "capture the RDMA traffic of an interface, and nothing else",
    .usage = "sniff -i IFACE -o FILE [OPTION...]",
    .about = "Captures the RDMA traffic of an interface, and nothing else, into pcapng files. Needs root "
             "(CAP_NET_RAW).\n\n"
             "What it takes, of both directions: RoCEv2 (UDP port 4791, which connection management uses, "
             "too), RoCEv1 (EtherType 0x8915), and of TCP the handshakes of SMC-R: SYNs with the SMC-R "
             "option, and what begins with a CLC message (of one that is cut in several segments, the "
             "first). The kernel throws the rest away before it is copied. What was lost because this "
             "program was too slow is counted.\n\n"
             "Ctrl-C ends it; the file is whole then. Each packet counts as often as the interface "
             "shows it, however soon an equal one follows. The file has them all, and `nornic "
             "verify` counts the same. Loopback shows each packet once; a mirror of two ports "
             "shows it twice. \"Bad ICRC\" are packets whose bytes give another ICRC. "
             "\"Malformed\" are packets too broken, or cut too short, to have one. \"Bad packet\" "
             "are all that are damaged in any way. \"Sent again\" are requests whose PSN was there "
             "before, and requests that fill a gap as a NAK or a timer asked. A copy that its IPv4 "
             "identification gives away is none. `nornic explain FILE` shows which they are, and "
             "why. Of a frame that holds a train of packets, which had not been cut when it was "
             "captured, each packet is counted; the file has the frame as it was.",
    .groups = {{.rows = rows}},
    .rules =
        (const struct cli_rule[]){
            {CLI_NEEDS, "rotate-count", "rotate-size", "when does a file end?"},
            {.kind = CLI_END_OF_RULES},
        },
    .examples = "Example:\n"
                "  # nornic sniff -i eth0 -o run.pcapng --time 10\n"
                "  run.pcapng: 4132 packets, 3391244 bytes in 10.0 s, 1 flow, 0 lost\n"
                "        3098  SEND\n"
                "        1034  ACK\n"
                "  sent again 0, NAKs 0, RNR NAKs 0, bad ICRC 0\n",
    .status = {"captured until the end, also by Ctrl-C", NULL,
               "it could not begin or had to stop (the file holds what came before)"},
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run_command,
};
