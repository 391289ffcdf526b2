/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic smc stat`. */
#include "base/base.h"
#include "cli/smc/stat.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/option/option.h"
#include "cli/option/value.h"
#include "cli/report/json.h"
#include "cli/smc/smc.h"
#include "cli/stop.h"

struct stat_options {
    uint64_t pid, watch_ns; /* 0: all; once */
    bool json;
};

static void print_json(struct json_object *all, unsigned hidden)
{
    struct json_object *o = json_object_new_object();
    json_object_object_add(o, "processes", json_object_get(all));
    json_object_object_add(o, "hidden", json_object_new_int64(hidden));
    cli_json_print(o);
}

static struct json_object *same_process(struct json_object *all, uint64_t pid)
{
    for (size_t i = 0; all && i < json_object_array_length(all); i++) {
        struct json_object *o = json_object_array_get_idx(all, i);
        if (cli_json_count(o, "pid") == pid)
            return o;
    }
    return NULL;
}

static void print_text(struct json_object *all, struct json_object *before, double seconds, unsigned hidden)
{
    size_t n = json_object_array_length(all);
    if (n == 0)
        puts(hidden ? "No process of this user uses SMC-R." : "No process uses SMC-R.");
    for (size_t i = 0; i < n; i++) {
        struct json_object *o = json_object_array_get_idx(all, i);
        if (i > 0)
            putchar('\n');
        smc_stat_print(stdout, o, same_process(before, cli_json_count(o, "pid")), seconds);
    }
    if (hidden)
        printf("Not shown, of other users: %u (ask as root).\n", hidden);
}

static void sleep_until(uint64_t end_ns)
{
    struct pollfd stop = {.fd = cli_stop_fd(), .events = POLLIN};
    uint64_t now_ns = host_now_ns();
    if (now_ns < end_ns)
        poll(&stop, 1, (int)((end_ns - now_ns) / NS_PER_MS));
}

static int watch(const struct stat_options *o)
{
    struct json_object *before = NULL;
    uint64_t last_ns = 0;
    unsigned hidden;
    int err = cli_stop_install();
    if (err)
        return cli_fail("cannot watch for signals: %s", strerror(-err));
    while (!cli_stopped()) {
        uint64_t now_ns = host_now_ns();
        struct json_object *all = smc_stat_collect((unsigned)o->pid, &hidden);
        if (!o->json && isatty(STDOUT_FILENO))
            fputs("\033[H\033[J", stdout);
        if (o->json)
            print_json(all, hidden);
        else
            print_text(all, before, (double)(now_ns - last_ns) / NS_PER_S, hidden);
        json_object_put(before);
        before = all;
        if (fflush(stdout) != 0)
            break; /* the pager has gone */
        last_ns = now_ns;
        sleep_until(now_ns + o->watch_ns);
    }
    json_object_put(before);
    return CLI_OK;
}

/* One process was asked for: why it says nothing. */
static int say_why(unsigned pid)
{
    const char *why;
    struct json_object *o = smc_stat_ask(pid, &why);
    json_object_put(o);
    return o ? CLI_OK : cli_negative("process %u: %s", pid, why);
}

static int run(void *settings)
{
    const struct stat_options *o = settings;
    if (o->watch_ns)
        return watch(o);
    unsigned hidden;
    struct json_object *all = smc_stat_collect((unsigned)o->pid, &hidden);
    bool none = json_object_array_length(all) == 0;
    if (o->json)
        print_json(all, hidden);
    else if (!none || !o->pid)
        print_text(all, NULL, 0, hidden);
    json_object_put(all);
    if (none && o->pid)
        return say_why((unsigned)o->pid);
    return none ? CLI_NEGATIVE : CLI_OK;
}

static int take_watch(void *settings, const char *option, char *text)
{
    struct stat_options *o = settings;
    o->watch_ns = NS_PER_S;
    return text ? cli_parse_duration(option, text, NS_PER_S / 10, 3600 * NS_PER_S, &o->watch_ns) : CLI_OK;
}

static const struct cli_option rows[] = {
    {"pid", 0, "PID", "that process only", CLI_SETS(struct stat_options, pid), CLI_TAKES_COUNT(1, 1u << 30)},
    {"watch", 'w', "TIME", "again and again (1s); Ctrl-C ends it", CLI_TAKEN_BY(take_watch),
     .is_optional = true},
    {"json", 'j', NULL, "{\"processes\": [...], \"hidden\": those of other users}, a line each time",
     CLI_SETS(struct stat_options, json)},
    {NULL},
};

const struct cli_command smc_stat_command = {
    .name = "smc stat",
    .summary = "what the processes of this machine do by SMC-R: groups, links, connections, counters",
    .usage = "smc stat [OPTION...]",
    .about = "What the processes of this machine do by SMC-R: link groups, links, RMBs and connections, "
             "counters that are not 0, and why connections became plain TCP. Sees the processes of all "
             "network namespaces.",
    .groups = {{.rows = rows}},
    .examples = "Try:\n"
                "  nornic smc stat --watch\n"
                "  nornic smc stat --json | jq '.processes[].links[] | [.group, .number, .state, .conns]'\n",
    .status = {"some process uses SMC-R", "none does", "wrong usage"},
    .settings_bytes = sizeof(struct stat_options),
    .run = run,
};
