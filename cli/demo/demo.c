/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic demo`: the front, which reads the options, makes the place to play in, runs the passes and tells
 * what happened. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/demo/demo.h"
#include "cli/demo/lab.h"
#include "cli/demo/smc.h"
#include "cli/option/value.h"
#include "cli/stop.h"

#define BUFFER_BYTES   (32u << 20) /* messages under way take at most so much */
#define MAX_SIZE_BYTES (8u << 20)
#define ETH_MTU_BYTES  1500u
#define MAX_FILE_BYTES (4ull << 30)
#define ROCE_OVERHEAD  96u /* between path MTU and interface MTU: nornic_mtu_for_port() */

enum place { PLACE_AUTO, PLACE_XDP, PLACE_PACKET, PLACE_MEMORY };

struct demo {
    enum place place;
    uint32_t loss_ppm, pmtu_bytes;
    uint64_t seed, size_bytes, count, time_ns;
    bool ipv6, no_colour, json, keep;
    uint64_t act, file_bytes; /* 0: both acts */
    const char *output;       /* NULL: the default name */
    /* hidden: a side's process */
    const char *side;
    uint64_t board_fd, peer_fd;
    /* while it runs */
    struct demo_lab lab;
    bool lab_is_up;
    char why_memory[sizeof(struct nornic_error)]; /* why not namespaces; "": not asked for */
    struct demo_screen screen;
    struct demo_board *boards[2];
    unsigned passes;
    struct demo_smc_result smc; /* of the second act */
    bool smc_played;
};

static void print_help(void)
{
    puts("Usage: nornic demo [OPTION...]\n"
         "Shows RDMA between two engines: as root between two network namespaces that it makes, joined by\n"
         "a veth pair, over AF_XDP; without root inside one process. A asks, B is asked: SEND, RDMA WRITE,\n"
         "RDMA READ, COMPARE & SWAP and FETCH & ADD, with the data compared where it arrives and the ICRC\n"
         "of every packet checked. First each of them packet by packet, then as fast as it goes; then all\n"
         "again while packets are thrown away, to see the recovery.\n"
         "The second act, which needs root: a file over SMC-R on two links between the namespaces. One of\n"
         "the two veth pairs is cut on the way and restored; the file arrives whole.\n"
         "What it made it removes, also on Ctrl-C; a capture of each pass of the first act stays behind.\n"
         "\n"
         "      --act NUMBER   only that act: 1 is RDMA, 2 is SMC-R\n"
         "      --file-size N  of the file of the second act (200M)\n"
         "      --loss RATE    thrown away in the second pass (1%); 0%: no second pass\n"
         "      --seed N       of losses, data and first PSNs (1)\n"
         "      --size BYTES   of a message in the measured part, up to 8M (64K)\n"
         "      --count N      operations of each kind, instead of\n"
         "      --time TIME    for all measured parts together (12s)\n"
         "      --port KIND    xdp, packet or memory (xdp as root, else memory)\n"
         "      --mtu BYTES    path MTU: 256, 512, 1024, 2048 or 4096 (1024)\n"
         "      --ipv6         RoCEv2 over IPv6\n"
         "  -o, --output FILE  capture of the first pass (nornic-demo.pcapng); the second: FILE with -loss\n"
         "      --json         one JSON object instead of the show\n"
         "      --no-color     plain text also on a terminal\n"
         "      --keep         leave the namespaces, and say how to look into them\n"
         "      --help         this text\n"
         "\n"
         "Try:\n"
         "  nornic demo                           the whole show, about 30 seconds\n"
         "  nornic demo --act 2                   the failover of SMC-R alone\n"
         "  nornic demo --loss 5% --seed 7        harder weather, the same each time\n"
         "  nornic demo --count 1000 --json | jq '.passes[0].operations[] | [.operation, .gbit_per_s]'\n"
         "  nornic verify nornic-demo.pcapng      recompute every ICRC of what it left behind\n"
         "\n"
         "Exit status: 0 every byte and every ICRC was right, 1 something was not, 2 it could not be run.");
}

static int parse_place(const char *text, enum place *out)
{
    static const char *const names[] = {
        [PLACE_XDP] = "xdp", [PLACE_PACKET] = "packet", [PLACE_MEMORY] = "memory"};

    for (int i = PLACE_XDP; i <= PLACE_MEMORY; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum place)i;
            return 0;
        }
    return cli_fail("--port %s: give xdp, packet or memory; the demo makes its own interfaces", text);
}

enum option_code {
    OPT_LOSS = 256,
    OPT_ACT,
    OPT_FILE_SIZE,
    OPT_SEED,
    OPT_SIZE,
    OPT_COUNT,
    OPT_TIME,
    OPT_PORT,
    OPT_MTU,
    OPT_IPV6,
    OPT_JSON,
    OPT_NO_COLOR,
    OPT_KEEP,
    OPT_HELP,
    OPT_SIDE,
    OPT_BOARD,
    OPT_PEER
};

static const struct option long_options[] = {
    {"loss", required_argument, NULL, OPT_LOSS},
    {"act", required_argument, NULL, OPT_ACT},
    {"file-size", required_argument, NULL, OPT_FILE_SIZE},
    {"seed", required_argument, NULL, OPT_SEED},
    {"size", required_argument, NULL, OPT_SIZE},
    {"count", required_argument, NULL, OPT_COUNT},
    {"time", required_argument, NULL, OPT_TIME},
    {"port", required_argument, NULL, OPT_PORT},
    {"mtu", required_argument, NULL, OPT_MTU},
    {"ipv6", no_argument, NULL, OPT_IPV6},
    {"output", required_argument, NULL, 'o'},
    {"json", no_argument, NULL, OPT_JSON},
    {"no-color", no_argument, NULL, OPT_NO_COLOR},
    {"keep", no_argument, NULL, OPT_KEEP},
    {"help", no_argument, NULL, OPT_HELP},
    {"side", required_argument, NULL, OPT_SIDE},
    {"board", required_argument, NULL, OPT_BOARD},
    {"peer", required_argument, NULL, OPT_PEER},
    {NULL, 0, NULL, 0},
};

static int take_output(struct demo *d, const char *path)
{
    d->output = path;
    if (!*path || strlen(path) + sizeof "-loss" > sizeof d->boards[0]->plan.capture)
        return cli_fail("--output %s: give a file name of 1 to 250 bytes", path);
    return 0;
}

/* 0; or CLI_ERROR, printed. */
static int take_option(struct demo *d, int c, char **argv)
{
    switch (c) {
    case OPT_LOSS:
        return cli_parse_ppm("--loss", optarg, &d->loss_ppm);
    case OPT_ACT:
        return cli_parse_count("--act", optarg, 1, 2, &d->act);
    case OPT_FILE_SIZE:
        return cli_parse_size("--file-size", optarg, 1 << 20, MAX_FILE_BYTES, &d->file_bytes);
    case OPT_SEED:
        return cli_parse_count("--seed", optarg, 0, UINT64_MAX, &d->seed);
    case OPT_SIZE:
        return cli_parse_size("--size", optarg, 1, MAX_SIZE_BYTES, &d->size_bytes);
    case OPT_COUNT:
        return cli_parse_count("--count", optarg, 1, 1000000000, &d->count);
    case OPT_TIME:
        return cli_parse_duration("--time", optarg, NS_PER_S / 10, 3600 * NS_PER_S, &d->time_ns);
    case OPT_PORT:
        return parse_place(optarg, &d->place);
    case OPT_MTU:
        return cli_parse_pmtu("--mtu", optarg, &d->pmtu_bytes);
    case OPT_IPV6:
        d->ipv6 = true;
        return 0;
    case OPT_JSON:
        d->json = true;
        return 0;
    case OPT_NO_COLOR:
        d->no_colour = true;
        return 0;
    case OPT_KEEP:
        d->keep = true;
        return 0;
    case OPT_SIDE:
        d->side = optarg;
        return 0;
    case OPT_BOARD:
        return cli_parse_count("--board", optarg, 0, 1 << 20, &d->board_fd);
    case OPT_PEER:
        return cli_parse_count("--peer", optarg, 0, 1 << 20, &d->peer_fd);
    case 'o':
        return take_output(d, optarg);
    default:
        return cli_option_error(c, argv);
    }
}

/* Plans a pass. The data, losses and PSNs of both passes differ. */
static void plan_pass(const struct demo *d, struct demo_plan *plan, uint32_t loss_ppm)
{
    static const char *const kinds[] = {[PLACE_XDP] = "xdp", [PLACE_PACKET] = "packet"};
    unsigned passes = d->loss_ppm ? 2 : 1;
    uint64_t fit = BUFFER_BYTES / d->size_bytes;

    demo_lab_addrs(d->ipv6, plan->addr);
    for (int i = 0; d->lab_is_up && i < 2; i++) {
        snprintf(plan->netns[i], sizeof plan->netns[i], "%s", d->lab.netns[i]);
        snprintf(plan->port[i], sizeof plan->port[i], "%s:" DEMO_LAB_IFNAME, kinds[d->place]);
    }
    plan->pmtu_bytes = d->pmtu_bytes;
    plan->size_bytes = (uint32_t)d->size_bytes;
    plan->depth = fit > 16 ? 16 : fit < 2 ? 2 : (uint32_t)fit;
    plan->count = d->count;
    plan->op_time_ns = d->time_ns / (passes * DEMO_OP_COUNT);
    plan->loss_ppm = loss_ppm;
    plan->seed = d->seed + (loss_ppm != 0);
}

/* "x.pcapng" and "x-loss.pcapng"; without -o only where the directory lets us. */
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

/* --- where it takes place --- */

static uint32_t mtu_of(const struct demo *d)
{
    return d->pmtu_bytes + ROCE_OVERHEAD > ETH_MTU_BYTES ? d->pmtu_bytes + ROCE_OVERHEAD : ETH_MTU_BYTES;
}

static int prepare_place(struct demo *d)
{
    struct nornic_error why = {""};
    bool is_root = geteuid() == 0;

    if (is_root)
        demo_lab_sweep();
    if (d->place == PLACE_MEMORY)
        return 0;
    if (!is_root)
        net_error_set(&why, EPERM, "it is not run as root");
    else if (demo_lab_up(&d->lab, mtu_of(d), &why) == 0)
        d->lab_is_up = true;
    if (d->lab_is_up) {
        d->place = d->place == PLACE_AUTO ? PLACE_XDP : d->place;
        return 0;
    }
    if (cli_stopped())
        return CLI_NEGATIVE;
    if (d->place != PLACE_AUTO)
        return cli_fail("--port xdp and --port packet need root, to make network namespaces: %s", why.text);
    d->place = PLACE_MEMORY;
    snprintf(d->why_memory, sizeof d->why_memory, "%s", why.text);
    return 0;
}

static void leave_place(struct demo *d)
{
    if (!d->lab_is_up)
        return;
    if (d->keep && !cli_stopped()) {
        printf("\nThe namespaces stay until the next demo. Look into them, and remove them:\n"
               "  ip netns exec %s ip address\n  ip netns del %s; ip netns del %s\n",
               d->lab.netns[0], d->lab.netns[0], d->lab.netns[1]);
        return;
    }
    /* It takes a moment, and is bounded: no second Ctrl-C cuts it short. */
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    demo_lab_down(&d->lab);
    d->lab_is_up = false;
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
    else
        fprintf(out,
                "RDMA between two processes in two network namespaces, joined by a veth pair, over %s.\n",
                d->place == PLACE_XDP ? "AF_XDP" : "AF_PACKET");
    if (d->why_memory[0])
        fprintf(
            out,
            "With root it would run as two processes in two network namespaces over AF_XDP; not here, as\n"
            "%s.\n",
            d->why_memory);
    fprintf(out, "\n  A  %s%s%s\n  B  %s%s%s\n", a, d->lab_is_up ? "  in " : "", plan->netns[0], b,
            d->lab_is_up ? "  in " : "", plan->netns[1]);
}

/* --- passes --- */

/* The first sentence that tells what went wrong; a side that only lost its partner has none. */
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
    demo_pass_run(board, fd, d->lab_is_up, demo_progress, &d->screen);
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

/* Where AF_XDP does not work, the demo still has something to show. */
static int run_first_pass(struct demo *d, bool may_fall_back)
{
    int err = run_pass(d, 0);

    if (err != CLI_ERROR || d->passes == 0)
        return err;
    const char *error = pass_error(d->boards[0]);
    if (!may_fall_back || !d->lab_is_up)
        return cli_fail("%s", error);
    snprintf(d->why_memory, sizeof d->why_memory, "%s", error);
    forget_passes(d);
    demo_lab_down(&d->lab);
    d->lab_is_up = false;
    d->place = PLACE_MEMORY;
    err = run_pass(d, 0);
    return err == CLI_ERROR && d->passes ? cli_fail("%s", pass_error(d->boards[0])) : err;
}

static const char *place_name(const struct demo *d)
{
    return d->place == PLACE_XDP ? "xdp" : d->place == PLACE_PACKET ? "packet" : "memory";
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
    if (!d->lab_is_up && d->act == 2)
        return cli_fail("the second act needs root and two network namespaces%s%s",
                        d->why_memory[0] ? "; not here, as " : "", d->why_memory);
    if (!d->lab_is_up) {
        if (d->screen.out)
            puts("\nThe second act, SMC-R over two links, is left out: it needs two network namespaces, and\n"
                 "so root.");
        return 0;
    }
    struct demo_smc_plan plan = {.lab = &d->lab,
                                 .kind = place_name(d),
                                 .mtu_bytes = mtu_of(d),
                                 .file_bytes = d->file_bytes,
                                 .seed = d->seed,
                                 .ipv6 = d->ipv6,
                                 .out = d->screen.out,
                                 .is_terminal = d->screen.is_terminal,
                                 .colour = d->screen.colour};
    d->smc_played = true;
    return demo_smc_run(&plan, &d->smc);
}

static int run_acts(struct demo *d, bool may_fall_back)
{
    int err = d->act == 2 ? 0 : run_passes(d, may_fall_back);
    if (!err && d->act != 1)
        err = run_second_act(d);
    struct json_object *smc = d->smc_played ? demo_smc_json(&d->smc) : NULL;
    if (d->json && (d->passes || smc) &&
        demo_print_json(stdout, place_name(d), d->boards, d->passes, smc, !err) != 0)
        err = cli_fail("no memory for the JSON text");
    json_object_put(smc);
    demo_smc_forget(&d->smc);
    return err;
}

static int run(struct demo *d)
{
    bool may_fall_back = d->place == PLACE_AUTO;
    bool is_terminal = isatty(STDOUT_FILENO);

    d->screen = (struct demo_screen){
        .out = d->json ? NULL : stdout,
        .is_terminal = is_terminal,
        .colour = is_terminal && !d->no_colour && !getenv("NO_COLOR"),
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
    if (!err && d->screen.out && d->smc_played)
        puts("\nThe file arrived whole, although one of its two links was cut and came back on the way.");
    forget_passes(d);
    return err;
}

int cli_demo(int argc, char **argv)
{
    struct demo d = {.loss_ppm = 10000,
                     .pmtu_bytes = 1024,
                     .seed = 1,
                     .size_bytes = 64 << 10,
                     .time_ns = 12 * NS_PER_S,
                     .file_bytes = 200000000};
    int c, rc;

    opterr = 0;
    while ((c = getopt_long(argc, argv, ":o:", long_options, NULL)) != -1) {
        if (c == OPT_HELP) {
            print_help();
            return CLI_OK;
        }
        rc = take_option(&d, c, argv);
        if (rc)
            return rc;
    }
    if (optind < argc)
        return cli_fail("unexpected word '%s'; see `nornic help demo`", argv[optind]);
    if (d.side)
        return demo_side_main(d.side, (int)d.board_fd, (int)d.peer_fd);
    return run(&d);
}
