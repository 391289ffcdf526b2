/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic demo`: the front, which reads the options, makes the place to play in, runs the passes and reports
 * the outcome. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/demo/demo.h"
#include "cli/demo/iwarp.h"
#include "cli/demo/lab.h"
#include "cli/demo/smc.h"
#include "cli/option/color.h"
#include "cli/option/option.h"
#include "cli/stop.h"
#include "host/port/try.h"

#define BUFFER_BYTES   (32u << 20) /* messages under way take at most so much */
#define MAX_SIZE_BYTES (8u << 20)
#define ETH_MTU_BYTES  1500u
#define MAX_FILE_BYTES (4ull << 30)
#define ROCE_OVERHEAD  96u /* between path MTU and interface MTU: nornic_mtu_for_port() */

enum place { PLACE_AUTO, PLACE_XDP, PLACE_PACKET, PLACE_UDP, PLACE_MEMORY };

static const char *const places[] = {
    [PLACE_AUTO] = "auto", [PLACE_XDP] = "xdp",       [PLACE_PACKET] = "packet",
    [PLACE_UDP] = "udp",   [PLACE_MEMORY] = "memory", NULL};

/* The two hosts of the demo. */
struct demo_house {
    struct demo_lab lab;
    bool is_up;
};

/* The second act. */
struct demo_smc_act {
    struct demo_smc_result result;
    bool is_played;
};

struct demo {
    enum place place;
    uint32_t loss_ppm, pmtu_bytes;
    uint64_t seed, size_bytes, count, time_ns;
    bool ipv6, json, keep;
    enum cli_color color;
    uint64_t act, file_bytes; /* 0: all acts */
    const char *output;       /* NULL: the default name */
    /* hidden: a side's process */
    const char *side;
    uint64_t board_fd, peer_fd;
    /* while it runs */
    struct demo_house lab;
    struct demo_plan own_ipv6;                    /* ports and addresses of a demo over udp and IPv6 */
    char why_humble[sizeof(struct nornic_error)]; /* why not namespaces; "": not asked for */
    struct demo_screen screen;
    struct demo_board *boards[2];
    unsigned passes;
    struct demo_smc_act smc;
    struct demo_iwarp_board *iwarp; /* of the third, or NULL */
};

static void plan_loopback(struct demo_plan *plan)
{
    demo_lab_loopback_addrs(false, plan->addr);
    for (int i = 0; i < 2; i++) {
        char text[NORNIC_ADDR_STR_SIZE];
        snprintf(plan->port[i], sizeof plan->port[i], "udp:%s", nornic_addr_str(&plan->addr[i], text));
    }
}

struct pair {
    struct nornic_addr addr[2];
    int found;
};

static void find_pair(void *ctx, const struct host_port_found *port)
{
    struct pair *pair = ctx;
    struct nornic_addr addr;
    if (pair->found < 2 && port->is_usable && strncmp(port->name, "udp:", 4) == 0 &&
        nornic_addr_parse(port->name + 4, &addr) == 0 && !nornic_addr_is_v4(&addr))
        pair->addr[pair->found++] = addr;
}

/* Of IPv6 the loopback interface has one address only: that, and another of the machine's own, which is as
 * near. Whether there are two that nobody else has. */
static bool plan_own_ipv6(struct demo_plan *plan)
{
    struct pair pair = {.found = 0};
    char text[NORNIC_ADDR_STR_SIZE];
    struct nornic_error why;
    if (host_ports_find(find_pair, &pair, &why) != 0 || pair.found < 2)
        return false;
    for (int i = 0; i < 2; i++) {
        plan->addr[i] = pair.addr[i];
        snprintf(plan->port[i], sizeof plan->port[i], "udp:%s", nornic_addr_str(&plan->addr[i], text));
    }
    return true;
}

/* Plans a pass. The data, losses and PSNs of both passes differ. */
static void plan_pass(const struct demo *d, struct demo_plan *plan, uint32_t loss_ppm)
{
    static const char *const kinds[] = {[PLACE_XDP] = "xdp", [PLACE_PACKET] = "packet"};
    unsigned passes = d->loss_ppm ? 2 : 1;
    uint64_t fit = BUFFER_BYTES / d->size_bytes;

    demo_lab_addrs(d->ipv6, plan->addr);
    for (int i = 0; d->lab.is_up && i < 2; i++) {
        snprintf(plan->netns[i], sizeof plan->netns[i], "%s", d->lab.lab.netns[i]);
        snprintf(plan->port[i], sizeof plan->port[i], "%s:" DEMO_LAB_IFNAME, kinds[d->place]);
    }
    if (d->place == PLACE_UDP && !d->ipv6)
        plan_loopback(plan);
    else if (d->place == PLACE_UDP)
        *plan = d->own_ipv6;
    plan->pmtu_bytes = d->pmtu_bytes;
    plan->size_bytes = (uint32_t)d->size_bytes;
    plan->depth = fit > 16 ? 16 : fit < 2 ? 2 : (uint32_t)fit;
    plan->count = d->count;
    plan->op_time_ns = d->time_ns / (passes * DEMO_OP_COUNT);
    plan->loss_ppm = loss_ppm;
    plan->seed = d->seed + (loss_ppm != 0);
}

/* "x.pcapng" and "x-loss.pcapng"; without -o only if the directory can be written. */
static void plan_capture(const struct demo *d, struct demo_plan *plan)
{
    const char *path = d->output ? d->output : "nornic-demo.pcapng";
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    int stem = (int)(dot && dot > (slash ? slash : path) ? (size_t)(dot - path) : strlen(path));

    snprintf(plan->capture, sizeof plan->capture, "%.*s%s%s", stem, path, plan->loss_ppm ? "-loss" : "",
             path + stem);
    bool exists = access(plan->capture, F_OK) == 0;
    if (!d->output && access(exists ? plan->capture : ".", W_OK) != 0) {
        plan->capture[0] = 0;
        if (d->screen.out)
            fprintf(d->screen.out,
                    "\nNo capture is written: the current directory does not allow it; see -o.\n");
    }
}

/* --- its place --- */

static uint32_t mtu_of(const struct demo *d)
{
    return d->pmtu_bytes + ROCE_OVERHEAD > ETH_MTU_BYTES ? d->pmtu_bytes + ROCE_OVERHEAD : ETH_MTU_BYTES;
}

/* Without namespaces: two processes still, if there are two addresses for them. */
static void fall_back(struct demo *d, const char *why)
{
    bool has_addrs = !d->ipv6 || plan_own_ipv6(&d->own_ipv6);
    d->place = !has_addrs || d->place == PLACE_UDP ? PLACE_MEMORY : PLACE_UDP;
    snprintf(d->why_humble, sizeof d->why_humble, "%s", why);
}

static int prepare_place(struct demo *d)
{
    struct nornic_error why = {""};
    bool is_root = geteuid() == 0;

    if (is_root)
        demo_lab_sweep();
    if (d->place == PLACE_UDP && d->ipv6 && !plan_own_ipv6(&d->own_ipv6))
        return cli_fail(
            "--port udp --ipv6: two IPv6 addresses are needed, beside link-local ones, and this machine has "
            "no two that are free; `nornic ports` lists them");
    if (d->place == PLACE_MEMORY || d->place == PLACE_UDP)
        return 0;
    if (!is_root)
        net_error_set(&why, EPERM, "it is not run as root");
    else if (demo_lab_up(&d->lab.lab, mtu_of(d), &why) == 0)
        d->lab.is_up = true;
    if (d->lab.is_up) {
        d->place = d->place == PLACE_AUTO ? PLACE_XDP : d->place;
        return 0;
    }
    if (cli_stopped())
        return CLI_NEGATIVE;
    if (d->place != PLACE_AUTO)
        return cli_fail("--port xdp and --port packet need root, to make network namespaces: %s", why.text);
    fall_back(d, why.text);
    return 0;
}

static void leave_place(struct demo *d)
{
    if (!d->lab.is_up)
        return;
    if (d->keep && !cli_stopped()) {
        printf("\nThe namespaces stay until the next demo. Look into them, and remove them:\n"
               "  ip netns exec %s ip address\n  ip netns del %s; ip netns del %s\n",
               d->lab.lab.netns[0], d->lab.lab.netns[0], d->lab.lab.netns[1]);
        return;
    }
    /* It takes a moment, and is bounded: no second Ctrl-C cuts it short. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    demo_lab_down(&d->lab.lab);
    d->lab.is_up = false;
}

static void introduce(const struct demo *d, const struct demo_plan *plan)
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    FILE *out = d->screen.out;

    if (!out)
        return;
    nornic_addr_str(&plan->addr[0], a);
    nornic_addr_str(&plan->addr[1], b);
    if (d->place == PLACE_MEMORY)
        fprintf(out, "RDMA between two engines in one process, over the memory port.\n");
    else if (d->place == PLACE_UDP)
        fprintf(out, "RDMA between two processes, over ordinary UDP sockets within this machine.\n");
    else
        fprintf(out,
                "RDMA between two processes in two network namespaces, joined by a veth pair, over %s.\n",
                d->place == PLACE_XDP ? "AF_XDP" : "AF_PACKET");
    if (d->why_humble[0])
        fprintf(
            out,
            "With root it would run as two processes in two network namespaces over AF_XDP; not here, as\n"
            "%s.\n",
            d->why_humble);
    fprintf(out, "\n  A  %s%s%s\n  B  %s%s%s\n", a, d->lab.is_up ? "  in " : "", plan->netns[0], b,
            d->lab.is_up ? "  in " : "", plan->netns[1]);
}

/* --- passes --- */

/* Returns the first sentence that tells the failure; a side that only lost its partner has none. */
static const char *pass_error(const struct demo_board *board)
{
    for (int i = 0; i < 2; i++)
        if (board->sides[i].error.text[0])
            return board->sides[i].error.text;
    for (int i = 0; i < 2; i++)
        if (!board->sides[i].ok)
            return "the two sides lost each other";
    return NULL;
}

/* Whether a pass ended before the sides met: the environment is at fault, not the transfer. */
static bool never_met(const struct demo_board *board)
{
    return !board->sides[DEMO_A].mode[0] || !board->sides[DEMO_B].mode[0];
}

static int run_pass(struct demo *d, uint32_t loss_ppm)
{
    char rate[64];
    int fd;
    struct demo_board *board = demo_board_create(&fd);

    if (!board)
        return cli_fail("no memory for the demo's board: %s", strerror(errno));
    d->boards[d->passes++] = board;
    plan_pass(d, &board->plan, loss_ppm);
    if (loss_ppm == 0)
        introduce(d, &board->plan);
    plan_capture(d, &board->plan);
    snprintf(rate, sizeof rate, "%g %% of all frames lost", loss_ppm / 1e4);
    if (d->screen.out)
        fprintf(d->screen.out, "\n%s--- Pass %u: %s ---%s\n", d->screen.colour ? "\033[1m" : "", d->passes,
                loss_ppm ? rate : "a clean line", d->screen.colour ? "\033[0m" : "");
    d->screen.running = -1;
    d->screen.ladder_shown = false;
    if (d->screen.out)
        fflush(d->screen.out);
    demo_pass_run(board, fd, d->place != PLACE_MEMORY, demo_progress, &d->screen);
    close(fd);
    const char *error = pass_error(board);
    if (cli_stopped())
        return cli_negative("interrupted");
    if (error)
        return never_met(board) ? CLI_ERROR : cli_negative("%s", error);
    if (d->screen.out)
        demo_report(&d->screen, board);
    return demo_is_right(board) ? 0 : cli_negative("data or checksums were wrong");
}

static void forget_passes(struct demo *d)
{
    while (d->passes)
        demo_board_unmap(d->boards[--d->passes]);
}

/* Without AF_XDP the demo still has something to show. */
static int run_first_pass(struct demo *d, bool may_fall_back)
{
    int err = run_pass(d, 0);

    if (err != CLI_ERROR || d->passes == 0)
        return err;
    if (!may_fall_back || d->place == PLACE_MEMORY)
        return cli_fail("%s", pass_error(d->boards[0]));
    fall_back(d, pass_error(d->boards[0]));
    forget_passes(d);
    if (d->lab.is_up)
        demo_lab_down(&d->lab.lab);
    d->lab.is_up = false;
    return run_first_pass(d, may_fall_back);
}

static const char *place_name(const struct demo *d)
{
    return places[d->place];
}

static int run_passes(struct demo *d, bool may_fall_back)
{
    int err = run_first_pass(d, may_fall_back);
    if (!err && d->loss_ppm)
        err = run_pass(d, d->loss_ppm);
    return err;
}

/* SMC-R begins as TCP between two stacks, so there is none in one process. */
static int run_second_act(struct demo *d)
{
    if (!d->lab.is_up && d->act == 2)
        return cli_fail("the second act needs root and two network namespaces%s%s",
                        d->why_humble[0] ? "; not here, as " : "", d->why_humble);
    if (!d->lab.is_up) {
        if (d->screen.out)
            puts("\nThe second act, SMC-R over two links, is left out: it needs two network namespaces, and\n"
                 "so root.");
        return 0;
    }
    struct demo_smc_plan plan = {.lab = &d->lab.lab,
                                 .kind = place_name(d),
                                 .mtu_bytes = mtu_of(d),
                                 .file_bytes = d->file_bytes,
                                 .seed = d->seed,
                                 .ipv6 = d->ipv6,
                                 .out = d->screen.out,
                                 .is_terminal = d->screen.is_terminal,
                                 .colour = d->screen.colour};
    d->smc.is_played = true;
    return demo_smc_run(&plan, &d->smc.result);
}

/* iWARP needs no more than TCP: between the namespaces if there are some, else over loopback. */
static int run_third_act(struct demo *d)
{
    const struct demo_iwarp_plan plan = {.lab = d->lab.is_up ? &d->lab.lab : NULL,
                                         .ipv6 = d->ipv6,
                                         .out = d->screen.out,
                                         .colour = d->screen.colour};
    int err;
    d->iwarp = demo_iwarp_run(&plan, &err);
    return err;
}

static bool plays(const struct demo *d, uint64_t act)
{
    return d->act == 0 || d->act == act;
}

static int run_acts(struct demo *d, bool may_fall_back)
{
    int err = plays(d, 1) ? run_passes(d, may_fall_back) : 0;
    if (!err && plays(d, 2))
        err = run_second_act(d);
    if (!err && plays(d, 3))
        err = run_third_act(d);
    struct json_object *smc = d->smc.is_played ? demo_smc_json(&d->smc.result) : NULL;
    struct json_object *iwarp = d->iwarp ? demo_iwarp_json(d->iwarp) : NULL;
    if (d->json && (d->passes || smc || iwarp) &&
        demo_print_json(stdout, place_name(d), d->boards, d->passes, smc, iwarp, !err) != 0)
        err = cli_fail("no memory for the JSON text");
    json_object_put(smc);
    json_object_put(iwarp);
    demo_smc_forget(&d->smc.result);
    return err;
}

static int run(struct demo *d)
{
    bool may_fall_back = d->place == PLACE_AUTO;
    bool is_terminal = isatty(STDOUT_FILENO);

    d->screen = (struct demo_screen){
        .out = d->json ? NULL : stdout,
        .is_terminal = is_terminal,
        .colour = cli_color_is_wanted(d->color, stdout),
        .names = {"A", "B"},
    };
    if (cli_stop_install() != 0)
        return cli_fail("cannot catch signals: %s", strerror(errno));
    int err = prepare_place(d);
    if (!err)
        err = run_acts(d, may_fall_back);
    leave_place(d);
    if (!err && d->screen.out && d->passes)
        puts("\nEvery byte arrived right, and every ICRC was good.");
    if (!err && d->screen.out && d->smc.is_played)
        puts("\nThe file arrived whole, although one of its two links was cut and came back on the way.");
    if (!err && d->screen.out && d->iwarp)
        puts("\nOver TCP each byte is where it should be, and the mistake cost B nothing.");
    demo_iwarp_forget(d->iwarp);
    forget_passes(d);
    return err;
}

/* --- the command --- */

static int check(void *settings)
{
    struct demo *d = settings;
    if (d->output && (!*d->output || strlen(d->output) + sizeof "-loss" > sizeof d->boards[0]->plan.capture))
        return cli_fail("--output %s: give a file name of 1 to 250 bytes", d->output);
    if (d->output && d->act > 1)
        return cli_fail("--output names the captures of act 1, and --act %d leaves that out", (int)d->act);
    return CLI_OK;
}

static int run_command(void *settings)
{
    struct demo *d = settings;
    return d->side ? demo_side_main(d->side, (int)d->board_fd, (int)d->peer_fd) : run(d);
}

#define AT(member) CLI_SETS(struct demo, member)

static const struct cli_option rows[] = {
    {"act", 0, "NUMBER", "only that act: 1 is RDMA, 2 is SMC-R, 3 is iWARP", AT(act), CLI_TAKES_COUNT(1, 3)},
    {"file-size", 0, "BYTES", "of the file of the second act, %r", AT(file_bytes),
     CLI_TAKES_SIZE(1 << 20, MAX_FILE_BYTES), .preset = "200M"},
    {"loss", 0, "RATE", "thrown away in the second pass; 0%: no second pass", AT(loss_ppm), .kind = CLI_RATE,
     .preset = "1%"},
    {"seed", 0, "NUMBER", "of losses, data and first PSNs", AT(seed), CLI_TAKES_COUNT(0, UINT64_MAX),
     .preset = "1"},
    {"size", 0, "BYTES", "of a message in the measured part, %r", AT(size_bytes),
     CLI_TAKES_SIZE(1, MAX_SIZE_BYTES), .preset = "64K"},
    {"count", 0, "COUNT", "operations of each kind, instead of", AT(count), CLI_TAKES_COUNT(1, 1000000000)},
    {"time", 'T', "TIME", "for all measured parts together", AT(time_ns),
     CLI_TAKES_TIME(100 * NS_PER_MS, 3600 * NS_PER_S), .preset = "12s", .also = {"duration"}},
    {"port", 0, "KIND", "%r: xdp as root, else udp. The demo makes its own interfaces", AT(place),
     CLI_TAKES_ONE_OF(places), .preset = "auto"},
    {"mtu", 0, "BYTES", "path MTU: %r", AT(pmtu_bytes), .kind = CLI_PMTU, .preset = "1024"},
    {"ipv6", '6', NULL, "RoCEv2 over IPv6", AT(ipv6)},
    {"output", 'o', "FILE", "capture of the first pass (nornic-demo.pcapng); the second: FILE with -loss",
     AT(output), .kind = CLI_FILE},
    {"json", 'j', NULL, "one JSON object instead of the show", AT(json)},
    CLI_COLOR_ROWS(struct demo, color),
    {"keep", 'k', NULL, "leave the namespaces, and say how to look into them", AT(keep)},
    /* a side's process, which the front starts */
    {"side", 0, "ROLE", "which", AT(side), .kind = CLI_TEXT, .is_hidden = true},
    {"board", 0, "FD", "its board", AT(board_fd), CLI_TAKES_COUNT(0, 1 << 20), .is_hidden = true},
    {"peer", 0, "FD", "the socket to the other side", AT(peer_fd), CLI_TAKES_COUNT(0, 1 << 20),
     .is_hidden = true},
    {NULL},
};

const struct cli_command demo_command = {
    .name = "demo",
    .summary = "RDMA between two processes, step by step: over AF_XDP as root, else over UDP",
    .usage = "demo [OPTION...]",
    .about =
        "Shows RDMA between two engines: as root between two network namespaces that it makes, joined "
        "by a veth pair, over AF_XDP; without root between two processes, over UDP sockets. A asks, "
        "B is asked: SEND, RDMA WRITE, RDMA READ, COMPARE & SWAP and FETCH & ADD, with the data compared "
        "where it arrives and the ICRC of every packet checked. First each of them packet by packet, "
        "then as fast as it goes; then all again while packets are thrown away, to see the recovery.\n\n"
        "The second act, which needs root: a file over SMC-R on two links between the namespaces. One "
        "of the two veth pairs is cut on the way and restored; the file arrives whole.\n\n"
        "The third act, which needs no privilege: iWARP between two processes over ordinary TCP, with SEND, "
        "RDMA WRITE and READ, atomics, immediate data and an invalidated STag; at the end a mistake, and the "
        "Terminate that it brings, in words.\n\n"
        "What it made it removes, also on Ctrl-C; a capture of each pass of the first act stays "
        "behind.",
    .groups = {{.rows = rows}},
    .rules = (const struct cli_rule[]){{CLI_EXCLUDES, "count", "time", NULL}, {.kind = CLI_END_OF_RULES}},
    .examples =
        "Try:\n"
        "  nornic demo                           the whole show, about 50 seconds\n"
        "  nornic demo --act 2                   the failover of SMC-R alone\n"
        "  nornic demo --act 3                   iWARP alone, as any user\n"
        "  nornic demo --loss 5% --seed 7        harder weather, the same each time\n"
        "  nornic demo --count 1000 --json | jq '.passes[0].operations[] | [.operation, .gbit_per_s]'\n"
        "  nornic verify nornic-demo.pcapng      recompute every ICRC of what it left behind\n",
    .status = {"every byte and every ICRC was right", "something was not", "it could not be run"},
    .settings_bytes = sizeof(struct demo),
    .check = check,
    .run = run_command,
};
