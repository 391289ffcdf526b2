/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic sniff: RDMA traffic of an interface into capture files. */
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/report/json.h"
#include "cli/option/value.h"
#include "cli/sniff/count.h"
#include "cli/sniff/files.h"
#include "cli/sniff/live.h"
#include "cli/sniff/smc.h"
#include "cli/stop.h"

#define FLUSH_NS         NS_PER_S /* what is gathered is in the file after this time */
#define SHOW_NS          (NS_PER_S / 4)
#define BURST            256  /* packets taken before the clock is read again */
#define LAST_BURST       8192 /* what the kernel's buffer holds at most */
#define ROTATE_BYTES_MIN 65536
#define LINE_BYTES       400
#define YEAR_NS          (UINT64_C(366) * 24 * 3600 * NS_PER_S)
#define FINDINGS_MAX     64

struct settings {
    const char *ifname, *path;
    uint64_t rotate_bytes, rotate_count, packets_max, duration_ns;
    bool json, quiet, promiscuous;
};

struct run {
    const struct settings *settings;
    struct sniff_live *live;
    struct sniff_files files;
    struct sniff_count count;
    struct explain_analysis *analysis;
    uint64_t begin_ns, flush_ns, show_ns; /* when these are due */
    bool shows, is_on_screen;
};

static const char help[] =
    "Usage: nornic sniff -i IFACE -w FILE [OPTION...]\n"
    "Captures the RDMA traffic of an interface, and nothing else, into pcapng files.\n"
    "\n"
    "What it takes, of both directions: RoCEv2 (UDP port 4791, which connection management uses, too),\n"
    "RoCEv1 (EtherType 0x8915), and of TCP the handshakes of SMC-R: SYNs with the SMC-R option, and what\n"
    "begins with a CLC message (of one that is cut in several segments, the first). The kernel throws\n"
    "the rest away before it is copied. What was lost because this program was too slow is counted.\n"
    "\n"
    "  -i, --interface IFACE    where to listen; `ip link` lists them\n"
    "  -w, --write FILE         where to write; the file is replaced\n"
    "  -c, --count N            end after N packets\n"
    "      --seconds TIME       end after this time, such as 10 or 1.5m\n"
    "      --rotate-size SIZE   begin a new file before one grows beyond SIZE (64K at least; K, M or G):\n"
    "                           run.pcapng becomes run-00001.pcapng, run-00002.pcapng, ...\n"
    "      --rotate-count N     keep the N newest of these files, and remove older ones\n"
    "  -p, --no-promiscuous     only what is for this host, or from it\n"
    "  -q, --quiet              no live counters (they go to standard error when it is a terminal)\n"
    "  -j, --json               the count at the end as one JSON object: interface, files, packets, bytes,\n"
    "                           kinds, retransmissions, naks, rnr_naks, icrc_bad, findings, flows, lost,\n"
    "                           seconds\n"
    "\n"
    "Ctrl-C ends it; the file is whole then. \"Sent again\" are packets with a PSN that was there before,\n"
    "\"bad ICRC\" those whose bytes give another one. `nornic explain FILE` shows which they are, and why.\n"
    "\n"
    "Example:\n"
    "  # nornic sniff -i eth0 -w run.pcapng --seconds 10\n"
    "  run.pcapng: 4132 packets, 3391244 bytes in 10.0 s, 1 flow, 0 lost\n"
    "        3098  SEND\n"
    "        1034  ACK\n"
    "  sent again 0, NAKs 0, RNR NAKs 0, bad ICRC 0\n"
    "\n"
    "Exit status: 0 captured until the end, 2 it could not begin or had to stop (the file holds what came\n"
    "before).\n";

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static unsigned terminal_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
}

static void show(struct run *run)
{
    char line[LINE_BYTES];
    sniff_count_line(&run->count, line, sizeof line, terminal_columns());
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

/* Keeps one record, if it is what is looked for. */
static int take(struct run *run, const struct net_capture_record *record, struct nornic_error *why)
{
    struct explain_packet packet;
    struct explain_meaning meaning;
    explain_dissect(&packet, record, run->count.packets + 1);
    if (packet.kind == EXPLAIN_OTHER && !sniff_is_smc_handshake(record->data, record->len_bytes))
        return 0;
    explain_analysis_next(run->analysis, &packet, &meaning);
    sniff_count_add(&run->count, &packet, &meaning);
    return sniff_files_add(&run->files, record, why);
}

/* Takes what is there, `max` packets at most. 0, or a failure. */
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

/* What is due at `now`. */
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
        poll(fds, 2, wait_ms(run, now)); /* what it returns does not matter: the ring says what is there */
        int err = take_burst(run, BURST, why);
        now = now_ns();
        if (!err)
            err = keep_time(run, now, why);
        if (err)
            return err;
    }
    /* What the kernel held when the end came was on the wire before. */
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
    uint32_t flows = explain_analysis_flow_count(run->analysis);
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

static int open_and_sniff(const struct settings *settings)
{
    struct nornic_error why;
    struct run run = {.settings = settings,
                      .files = {.path = settings->path,
                                .ifname = settings->ifname,
                                .rotate_bytes = settings->rotate_bytes,
                                .rotate_count = settings->rotate_count},
                      .analysis = explain_analysis_create(&(struct explain_analysis_config){0})};
    if (!run.analysis)
        return cli_fail("out of memory");
    int status = CLI_ERROR, rc = cli_stop_install();
    if (rc) {
        cli_fail("cannot catch signals: %s", strerror(-rc));
        goto destroy_analysis;
    }
    if (sniff_live_open(settings->ifname, settings->promiscuous, sniff_live_filter, &run.live, &why) != 0) {
        cli_fail("%s", why.text);
        goto destroy_analysis;
    }
    if (sniff_files_open(&run.files, &why) !=
        0) /* only now: what was there is not lost to a wrong interface */
        cli_fail("%s", why.text);
    else
        status = sniff(&run);
    sniff_live_close(run.live);
destroy_analysis:
    explain_analysis_destroy(run.analysis);
    return status;
}

enum long_option { OPT_SECONDS = 256, OPT_ROTATE_SIZE, OPT_ROTATE_COUNT };

static const struct option options[] = {{"interface", required_argument, NULL, 'i'},
                                        {"write", required_argument, NULL, 'w'},
                                        {"count", required_argument, NULL, 'c'},
                                        {"seconds", required_argument, NULL, OPT_SECONDS},
                                        {"rotate-size", required_argument, NULL, OPT_ROTATE_SIZE},
                                        {"rotate-count", required_argument, NULL, OPT_ROTATE_COUNT},
                                        {"no-promiscuous", no_argument, NULL, 'p'},
                                        {"quiet", no_argument, NULL, 'q'},
                                        {"json", no_argument, NULL, 'j'},
                                        {NULL, 0, NULL, 0}};

static int take_option(struct settings *s, int c, char **argv)
{
    switch (c) {
    case 'i':
        s->ifname = optarg;
        return 0;
    case 'w':
        s->path = optarg;
        return 0;
    case 'c':
        return cli_parse_count("--count", optarg, 1, UINT64_MAX, &s->packets_max);
    case OPT_SECONDS:
        return cli_parse_duration("--seconds", optarg, 1000000, YEAR_NS, &s->duration_ns);
    case OPT_ROTATE_SIZE:
        return cli_parse_size("--rotate-size", optarg, ROTATE_BYTES_MIN, UINT64_MAX / 2, &s->rotate_bytes);
    case OPT_ROTATE_COUNT:
        return cli_parse_count("--rotate-count", optarg, 1, 99999, &s->rotate_count);
    case 'p':
        s->promiscuous = false;
        return 0;
    case 'q':
        s->quiet = true;
        return 0;
    case 'j':
        s->json = true;
        return 0;
    default:
        return cli_option_error(c, argv);
    }
}

int cli_sniff(int argc, char **argv)
{
    struct settings s = {.promiscuous = true};
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return CLI_OK;
    }
    int c;
    opterr = 0;
    optind = 1;
    while ((c = getopt_long(argc, argv, ":i:w:c:pqj", options, NULL)) != -1)
        if (take_option(&s, c, argv) != 0)
            return CLI_ERROR;
    if (optind < argc)
        return cli_fail("%s: give the interface with -i and the file with -w", argv[optind]);
    if (!s.ifname)
        return cli_fail("name the interface with -i; `ip link` lists them");
    if (!s.path)
        return cli_fail("name the file to write with -w, such as -w run.pcapng");
    if (s.rotate_count && !s.rotate_bytes)
        return cli_fail("--rotate-count %" PRIu64 " goes with --rotate-size: when does a file end?",
                        s.rotate_count);
    return open_and_sniff(&s);
}
