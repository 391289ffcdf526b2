/* SPDX-License-Identifier: BSD-2-Clause */
/* The course of the second act: what is sent when, and what is waited for. The front feeds the sender through
 * a pipe, so that bytes are under way at each step. */
#include "base/base.h"
#include "cli/demo/smc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/node/pattern.h"
#include "cli/report/json.h"
#include "cli/smc/smc.h"
#include "cli/smc/ladder.h"
#include "cli/smc/stat.h"
#include "cli/stop.h"

#define CHUNK_BYTES (64u << 10)
#define LOOK_NS     100000000ull /* so often the ends are asked for their state */
#define PATIENCE_NS (40 * NS_PER_S)
#define COLUMNS     110
#define BAR_COLUMNS 30

enum { CLIENT, SERVER };

struct act {
    const struct demo_smc_plan *plan;
    struct demo_smc_result *result;
    struct demo_smc_end ends[2];
    struct smc_sum *sum;
    uint8_t chunk[CHUNK_BYTES];
    size_t chunk_from, chunk_to; /* of the chunk that the pipe does not have yet */
    uint64_t made_bytes, fed_bytes;
    uint64_t start_ns, next_look_ns, limit_ns;
    struct json_object *seen[2]; /* their state when last asked; NULL: none */
    bool bar_shown;
};

/* --- what is seen --- */

static void clear_bar(struct act *act)
{
    if (act->bar_shown)
        fputs("\r\033[K", act->plan->out);
    act->bar_shown = false;
}

/* A line with the time since the start. */
static void tell(struct act *act, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(struct act *act, const char *format, ...)
{
    va_list args;
    if (!act->plan->out)
        return;
    clear_bar(act);
    fprintf(act->plan->out, "  %6.2f s  ", (double)(host_now_ns() - act->start_ns) / 1e9);
    va_start(args, format);
    vfprintf(act->plan->out, format, args);
    va_end(args);
    fputc('\n', act->plan->out);
    fflush(act->plan->out);
}

static void show_bar(struct act *act)
{
    char done[32], size[32];
    if (!act->plan->out || !act->plan->is_terminal)
        return;
    unsigned full = (unsigned)(act->fed_bytes * BAR_COLUMNS / act->plan->file_bytes);
    fprintf(act->plan->out, "\r\033[K            [%.*s%*s] %s of %s", (int)full,
            "##############################", (int)(BAR_COLUMNS - full), "",
            smc_bytes_text((double)act->fed_bytes, done),
            smc_bytes_text((double)act->plan->file_bytes, size));
    fflush(act->plan->out);
    act->bar_shown = true;
}

/* The only member of an array of an end's state. */
static struct json_object *first_of(struct json_object *state, const char *key)
{
    struct json_object *array;
    if (!state || !json_object_object_get_ex(state, key, &array) || json_object_array_length(array) == 0)
        return NULL;
    return json_object_array_get_idx(array, 0);
}

static const char *redundancy(const struct act *act, int end)
{
    struct json_object *group = first_of(act->seen[end], "groups");
    return group ? cli_json_plain(group, "redundancy") : "";
}

/* The interface of the link that an end sends over; "": none. */
static void sending_interface(const struct act *act, int end, char *ifname, size_t size)
{
    struct json_object *conn = first_of(act->seen[end], "conns"), *links;
    *ifname = 0;
    if (!conn || !json_object_object_get_ex(act->seen[end], "links", &links))
        return;
    for (size_t i = 0; i < json_object_array_length(links); i++) {
        struct json_object *link = json_object_array_get_idx(links, i);
        const char *port = cli_json_plain(link, "port");
        const char *colon = strchr(port, ':');
        if (cli_json_count(link, "number") == cli_json_count(conn, "link"))
            snprintf(ifname, size, "%s", colon ? colon + 1 : port);
    }
}

static uint64_t counter(const struct act *act, int end, const char *name)
{
    struct json_object *counters;
    if (!act->seen[end] || !json_object_object_get_ex(act->seen[end], "counters", &counters))
        return 0;
    return cli_json_count(counters, name);
}

static bool has_two_links(const struct act *act)
{
    return strcmp(redundancy(act, CLIENT), "SYMMETRIC") == 0 &&
           strcmp(redundancy(act, SERVER), "SYMMETRIC") == 0;
}

static bool has_failed_over(const struct act *act)
{
    return counter(act, CLIENT, "failovers") > 0 && strcmp(redundancy(act, CLIENT), "SYMMETRIC") != 0 &&
           strcmp(redundancy(act, SERVER), "SYMMETRIC") != 0;
}

static void look(struct act *act)
{
    const char *why;
    for (int i = 0; i < 2; i++) {
        struct json_object *now = smc_stat_ask((unsigned)act->ends[i].pid, &why);
        if (!now)
            continue;
        json_object_put(act->seen[i]);
        act->seen[i] = now;
    }
    act->next_look_ns = host_now_ns() + LOOK_NS;
    show_bar(act);
}

/* --- what is sent --- */

static void make_chunk(struct act *act)
{
    uint64_t left = act->plan->file_bytes - act->made_bytes;
    size_t n = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
    cli_pattern_fill(act->plan->seed << 40 | act->made_bytes / CHUNK_BYTES, act->chunk, n);
    smc_sum_add(act->sum, act->chunk, n);
    act->made_bytes += n;
    act->chunk_from = 0;
    act->chunk_to = n;
}

/* Gives the sender what its pipe takes, up to `limit` bytes in all. False: it has gone. */
static bool feed(struct act *act, uint64_t limit_bytes)
{
    struct pollfd p = {.fd = act->ends[CLIENT].in_fd, .events = POLLOUT};
    if (act->chunk_from == act->chunk_to && act->made_bytes < limit_bytes)
        make_chunk(act);
    if (act->chunk_from == act->chunk_to)
        p.fd = -1; /* enough for now */
    poll(&p, 1, 10);
    if (p.fd < 0 || !p.revents)
        return true;
    ssize_t n = write(p.fd, act->chunk + act->chunk_from, act->chunk_to - act->chunk_from);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    act->chunk_from += (size_t)n;
    act->fed_bytes += (size_t)n;
    return true;
}

/* --- the steps --- */

static int failed(struct act *act, int end, const char *when)
{
    char words[512];
    clear_bar(act);
    return cli_negative("the %s of the second act ended %s: %s", end == SERVER ? "server" : "client", when,
                        demo_smc_end_words(&act->ends[end], words, sizeof words));
}

/* Feeds up to a share of the file (in percent) and beyond that until `done` says so. Patience is for what
 * does not move: a large file on a slow machine takes its time. */
static int until(struct act *act, unsigned percent, bool (*done)(const struct act *act), const char *what)
{
    uint64_t limit = act->plan->file_bytes * percent / 100, end_ns = host_now_ns() + PATIENCE_NS;
    while (act->fed_bytes < limit || (done && !done(act))) {
        if (cli_stopped())
            return cli_negative("interrupted");
        for (int i = 0; i < 2; i++)
            if (!demo_smc_end_runs(&act->ends[i]))
                return failed(act, i, "too early");
        uint64_t fed_before = act->fed_bytes;
        if (!feed(act, limit))
            return failed(act, CLIENT, "too early");
        if (act->fed_bytes != fed_before)
            end_ns = host_now_ns() + PATIENCE_NS;
        if (host_now_ns() >= act->next_look_ns)
            look(act);
        if (host_now_ns() >= end_ns) {
            clear_bar(act);
            return cli_negative("%s within %d s", what, (int)(PATIENCE_NS / NS_PER_S));
        }
    }
    return CLI_OK;
}

static int wait_for_server(struct act *act)
{
    uint64_t end_ns = host_now_ns() + PATIENCE_NS;
    struct timespec t = {.tv_nsec = 10000000};
    while (!demo_smc_end_spoke(&act->ends[SERVER])) {
        if (!demo_smc_end_runs(&act->ends[SERVER]))
            return failed(act, SERVER, "before it listened");
        if (cli_stopped())
            return cli_negative("interrupted");
        if (host_now_ns() > end_ns)
            return cli_negative("the server did not listen within %d s", (int)(PATIENCE_NS / NS_PER_S));
        nanosleep(&t, NULL);
    }
    return CLI_OK;
}

/* Makes the sender's input non-blocking, so that a sender that waits does not make us wait. */
static int start_ends(struct act *act)
{
    int err = demo_smc_end_start(&act->ends[SERVER], act->plan, SERVER);
    if (err == CLI_OK)
        err = wait_for_server(act);
    if (err == CLI_OK)
        err = demo_smc_end_start(&act->ends[CLIENT], act->plan, CLIENT);
    if (err == CLI_OK)
        fcntl(act->ends[CLIENT].in_fd, F_SETFL, O_NONBLOCK);
    return err;
}

/* The link that the client sends over is cut, and restored when the other one carries everything. */
static int cut_and_restore(struct act *act)
{
    struct nornic_error why;
    char now[64];
    struct demo_smc_result *r = act->result;
    sending_interface(act, CLIENT, r->cut, sizeof r->cut);
    if (!r->cut[0])
        return cli_negative("the client does not say which link it sends over");
    tell(act, "%s carries the bytes; now it is cut: ip link set %s down", r->cut, r->cut);
    uint64_t cut_ns = host_now_ns();
    if (demo_lab_set_link(act->plan->lab, CLIENT, r->cut, false, &why) != 0)
        return cli_fail("%s", why.text);
    int err = until(act, 60, has_failed_over, "the group did not fail over");
    if (err != CLI_OK)
        return err;
    r->failover_ms = (double)(host_now_ns() - cut_ns) / 1e6;
    sending_interface(act, CLIENT, now, sizeof now);
    tell(act, "the group is %s, the bytes go on over %s; %s is restored", redundancy(act, CLIENT), now,
         r->cut);
    uint64_t up_ns = host_now_ns();
    if (demo_lab_set_link(act->plan->lab, CLIENT, r->cut, true, &why) != 0)
        return cli_fail("%s", why.text);
    err = until(act, 80, has_two_links, "the group did not regain its second link");
    if (err != CLI_OK)
        return err;
    r->regain_ms = (double)(host_now_ns() - up_ns) / 1e6;
    tell(act, "the group has its second link again: %s", redundancy(act, CLIENT));
    return CLI_OK;
}

/* The rest, and both ends come to their own. */
static int end_well(struct act *act)
{
    uint64_t end_ns = host_now_ns() + PATIENCE_NS;
    struct timespec t = {.tv_nsec = 10000000};
    int err = until(act, 100, NULL, "the bytes did not go");
    if (err != CLI_OK)
        return err;
    close(act->ends[CLIENT].in_fd);
    act->ends[CLIENT].in_fd = -1;
    while (demo_smc_end_runs(&act->ends[CLIENT]) || demo_smc_end_runs(&act->ends[SERVER])) {
        if (cli_stopped())
            return cli_negative("interrupted");
        if (host_now_ns() > end_ns)
            return cli_negative("the connection of the second act did not end");
        nanosleep(&t, NULL);
    }
    for (int i = 0; i < 2; i++)
        if (act->ends[i].status != 0)
            return failed(act, i, "badly");
    return CLI_OK;
}

/* --- the end --- */

/* SHA-256 of the file that arrived. */
static int sum_file(struct act *act)
{
    struct demo_smc_result *r = act->result;
    struct smc_sum *sum = smc_sum_create();
    ssize_t n;
    if (!sum)
        return cli_fail("no memory for SHA-256");
    while ((n = pread(act->ends[SERVER].output_fd, act->chunk, CHUNK_BYTES, (off_t)r->arrived_bytes)) > 0) {
        smc_sum_add(sum, act->chunk, (size_t)n);
        r->arrived_bytes += (uint64_t)n;
    }
    smc_sum_text(sum, r->file_sum);
    smc_sum_text(act->sum, r->sent_sum);
    smc_sum_destroy(sum);
    return strcmp(r->file_sum, r->sent_sum) == 0
               ? CLI_OK
               : cli_negative("the file that arrived has %" PRIu64 " bytes and SHA-256 %s instead of %" PRIu64
                              " and %s",
                              r->arrived_bytes, r->file_sum, act->plan->file_bytes, r->sent_sum);
}

static void print_sums(struct act *act)
{
    char size[32], rate[32];
    const struct demo_smc_result *r = act->result;
    if (!act->plan->out)
        return;
    fprintf(act->plan->out,
            "\n  sent     sha256 %s\n  arrived  sha256 %s\n  %s in %.1f s, %s/s with the pauses\n",
            r->sent_sum, r->file_sum, smc_bytes_text((double)r->arrived_bytes, size), r->seconds,
            smc_bytes_text((double)r->arrived_bytes / r->seconds, rate));
}

static int print_ladder(struct act *act)
{
    char client[32], server[32];
    const char *which;
    struct smc_ladder ladder;
    struct smc_ladder_style style = {.left = "client", .right = "server", .width = COLUMNS, .fold = true};
    size_t first, count;
    snprintf(client, sizeof client, "/proc/self/fd/%d", act->ends[CLIENT].trace_fd);
    snprintf(server, sizeof server, "/proc/self/fd/%d", act->ends[SERVER].trace_fd);
    if (smc_ladder_read(client, server, &ladder, &which) != 0)
        return cli_fail("no memory for the ladder");
    int err = smc_ladder_find_failover(&ladder, &first, &count)
                  ? CLI_OK
                  : cli_negative("the traces of the second act show no link that went down");
    if (err == CLI_OK && act->plan->out) {
        fputs("\nThe failover and the recovery as both ends traced them, in milliseconds. CDC messages move\n"
              "the cursors of the connection; F, \"failover validation\", is the first on the new link.\n\n",
              act->plan->out);
        smc_ladder_print(act->plan->out, &ladder, first, count, &style);
    }
    smc_ladder_free(&ladder);
    return err;
}

static void introduce(const struct act *act)
{
    const struct demo_smc_plan *p = act->plan;
    char size[32];
    if (!p->out)
        return;
    fprintf(
        p->out,
        "\n%s--- Second act: SMC-R ---%s\nA file of %s over a TCP connection whose bytes go by RDMA, on two "
        "links (nn0 and nn1),\none of which is cut on the way. The two ends are these commands:\n\n"
        "  A  nornic smc connect -d %s:nn0 -d %s:nn1 -i FILE %s 5000\n"
        "  B  nornic smc listen  -d %s:nn0 -d %s:nn1 -o COPY 5000\n\n",
        p->colour ? "\033[1m" : "", p->colour ? "\033[0m" : "", smc_bytes_text((double)p->file_bytes, size),
        p->kind, p->kind, p->ipv6 ? "fd77::2" : "10.77.0.2", p->kind, p->kind);
    fflush(p->out);
}

static int play(struct act *act)
{
    struct nornic_error why;
    if (demo_lab_add_pair(act->plan->lab, act->plan->mtu_bytes, &why) != 0)
        return cli_fail("%s", why.text);
    introduce(act);
    int err = start_ends(act);
    act->start_ns = host_now_ns();
    if (err == CLI_OK)
        err = until(act, 30, has_two_links, "the group did not have two links");
    if (err == CLI_OK) {
        tell(act, "the group has two links and is %s", redundancy(act, CLIENT));
        err = cut_and_restore(act);
    }
    if (err == CLI_OK)
        err = end_well(act);
    act->result->seconds = (double)(host_now_ns() - act->start_ns) / 1e9;
    clear_bar(act);
    for (int i = 0; i < 2 && err == CLI_OK; i++)
        *(i ? &act->result->server : &act->result->client) = demo_smc_end_report(&act->ends[i]);
    if (err == CLI_OK)
        err = sum_file(act);
    if (err == CLI_OK) {
        print_sums(act);
        err = print_ladder(act);
    }
    return err;
}

int demo_smc_run(const struct demo_smc_plan *plan, struct demo_smc_result *result)
{
    static const struct demo_smc_end none = {
        .in_fd = -1, .out_fd = -1, .err_fd = -1, .trace_fd = -1, .output_fd = -1};
    *result = (struct demo_smc_result){0};
    struct act *act = calloc(1, sizeof *act);
    if (!act)
        return cli_fail("no memory for the second act");
    *act = (struct act){.plan = plan, .result = result, .ends = {none, none}, .sum = smc_sum_create()};
    int err = act->sum ? play(act) : cli_fail("no memory for SHA-256");
    for (int i = 0; i < 2; i++) {
        demo_smc_end_stop(&act->ends[i]);
        json_object_put(act->seen[i]);
    }
    smc_sum_destroy(act->sum);
    free(act);
    return err;
}

void demo_smc_forget(struct demo_smc_result *result)
{
    json_object_put(result->client);
    json_object_put(result->server);
    result->client = result->server = NULL;
}
