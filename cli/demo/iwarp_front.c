/* SPDX-License-Identifier: BSD-2-Clause */
/* The third act's front: starts the two sides, sees to it that both end, and tells what they told. */
#define _GNU_SOURCE
#include "cli/demo/iwarp.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/report/json.h"
#include "cli/stop.h"
#include "host/host.h"

#define LIMIT_NS (60 * NS_PER_S) /* for all of it: each side waits ten seconds for a step */
#define TICK_NS  (10 * NS_PER_MS)
#define COLUMNS  96u
#define INDENT   4u

struct step_words {
    const char *name, *json, *lesson;
};

static const struct step_words steps[] = {
#define STEP_WORDS_(id, name, json, lesson) {name, json, lesson},
    DEMO_IWARP_STEPS(STEP_WORDS_)
#undef STEP_WORDS_
};

/* --- the sides as processes --- */

static struct demo_iwarp_board *make_board(const struct demo_iwarp_plan *plan)
{
    struct demo_iwarp_board *board =
        mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return NULL;
    board->drops_root = geteuid() == 0;
    if (plan->lab) {
        demo_lab_addrs(plan->ipv6, board->addr);
        memcpy(board->netns, plan->lab->netns, sizeof board->netns);
    } else {
        demo_lab_loopback_addrs(plan->ipv6, board->addr);
    }
    return board;
}

void demo_iwarp_forget(struct demo_iwarp_board *board)
{
    if (board)
        munmap(board, sizeof *board);
}

/* The process, or -1. It never outlives the front, whose word about Ctrl-C decides. */
static pid_t start_side(struct demo_iwarp_board *board, int role)
{
    pid_t parent = getpid(), pid = fork();
    if (pid != 0)
        return pid;
    signal(SIGINT, SIG_IGN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(CLI_ERROR);
    _exit(demo_iwarp_side(board, role));
}

/* Where one has failed, time is up or the user stops it, both end; they have nothing but sockets and
 * memory. */
static void end_sides(const pid_t pids[2])
{
    for (int i = 0; i < 2; i++)
        if (pids[i] > 0)
            kill(pids[i], SIGKILL);
}

/* Reaps what has ended. The worst exit status so far. */
static int reap_sides(pid_t pids[2], int worst)
{
    for (int i = 0; i < 2; i++) {
        int status;
        if (pids[i] <= 0 || waitpid(pids[i], &status, WNOHANG) != pids[i])
            continue;
        pids[i] = 0;
        int exited = WIFEXITED(status) ? WEXITSTATUS(status) : CLI_NEGATIVE;
        worst = exited > worst ? exited : worst;
    }
    return worst;
}

static int run_sides(struct demo_iwarp_board *board)
{
    const struct timespec tick = {.tv_nsec = (long)TICK_NS};
    pid_t pids[2] = {start_side(board, 0), start_side(board, 1)};
    uint64_t until_ns = host_now_ns() + LIMIT_NS;
    bool has_begun = pids[0] > 0 && pids[1] > 0, is_ended = !has_begun;
    int worst = has_begun ? CLI_OK : cli_fail("cannot start a process: %s", strerror(errno));
    if (is_ended)
        end_sides(pids);
    while (pids[0] > 0 || pids[1] > 0) {
        worst = reap_sides(pids, worst);
        bool ends = worst != CLI_OK || cli_stopped() || host_now_ns() > until_ns;
        if (ends && !is_ended) {
            if (worst == CLI_OK && !cli_stopped())
                worst = cli_negative("the two sides were still at work after %" PRIu64 " seconds",
                                     (uint64_t)(LIMIT_NS / NS_PER_S));
            end_sides(pids);
        }
        is_ended |= ends;
        nanosleep(&tick, NULL);
    }
    return worst;
}

/* --- telling --- */

/* Words from column `at` on, in lines of COLUMNS, of which those that follow begin at `indent`. */
static void print_words(FILE *out, unsigned at, unsigned indent, const char *words)
{
    for (bool is_first = true; *words; is_first = false) {
        unsigned len = (unsigned)strcspn(words, " ");
        bool is_full = !is_first && at + 1 + len > COLUMNS;
        if (is_full)
            fprintf(out, "\n%*s", (int)indent, "");
        else if (!is_first)
            fputc(' ', out);
        at = (is_full ? indent : at + !is_first) + len;
        fprintf(out, "%.*s", (int)len, words);
        words += len + strspn(words + len, " ");
    }
    fputc('\n', out);
}

static void introduce(const struct demo_iwarp_plan *plan, const struct demo_iwarp_board *board)
{
    char text[NORNIC_ADDR_STR_SIZE];
    fprintf(plan->out, "\n%s--- Act 3: iWARP, RDMA over ordinary TCP ---%s\n", plan->colour ? "\033[1m" : "",
            plan->colour ? "\033[0m" : "");
    fputs("Between two processes that have no privilege, over sockets of the kernel's TCP: what goes\n"
          "through NAT and congested networks. MPA revision 2, with a CRC in each FPDU.\n\n",
          plan->out);
    for (int i = 0; i < 2; i++) {
        const char *where = board->netns[i];
        fprintf(plan->out, "  %c  %s%s%s, user %u\n", "AB"[i], nornic_addr_str(&board->addr[i], text),
                where[0] ? "  in " : "", where, (unsigned)board->uid[i]);
    }
}

static void print_step(const struct demo_iwarp_plan *plan, const struct demo_iwarp_board *board,
                       unsigned step)
{
    char words[256];
    const struct demo_iwarp_told *told = board->told[step];
    fprintf(plan->out, "\n%s%s%s: ", plan->colour ? "\033[1m" : "", steps[step].name,
            plan->colour ? "\033[0m" : "");
    int len = snprintf(words, sizeof words, "%s", steps[step].lesson);
    if (board->took_ns[step])
        snprintf(words + len, sizeof words - (size_t)len, " %.1f us.",
                 (double)board->took_ns[step] / (double)NS_PER_US);
    print_words(plan->out, (unsigned)strlen(steps[step].name) + 2, 0, words);
    for (int i = 0; i < 2; i++) {
        if (!told[i].says[0])
            continue;
        fprintf(plan->out, "%*s%c  ", (int)INDENT, "", "AB"[i]);
        print_words(plan->out, INDENT + 3, INDENT + 3, told[i].says);
    }
}

static void print_end(const struct demo_iwarp_plan *plan)
{
    fprintf(plan->out, "\n%*s", (int)INDENT, "");
    print_words(plan->out, INDENT, INDENT,
                "What the Terminate says: layer 1 is DDP, which places data; error type 1 is that of tagged "
                "data, of WRITEs and the answers to READs; code 00: no such STag. It carries the header that "
                "was refused. There is no way back: both queue pairs are in error, and TCP is closed. A's "
                "WRITE had been complete all the same, since that says only that TCP has it.");
}

/* Whether each step went well on each side that tells of it; A tells of all. */
static bool is_right(const struct demo_iwarp_board *board)
{
    for (int step = 0; step < DEMO_IWARP_STEP_COUNT; step++)
        for (int i = 0; i < 2; i++)
            if (!board->told[step][i].is_right && (i == 0 || board->told[step][i].says[0]))
                return false;
    return true;
}

struct demo_iwarp_board *demo_iwarp_run(const struct demo_iwarp_plan *plan, int *status)
{
    struct demo_iwarp_board *board = make_board(plan);
    if (!board) {
        *status = cli_fail("no memory for the third act: %s", strerror(errno));
        return NULL;
    }
    fflush(NULL); /* the sides have copies of what is buffered */
    *status = run_sides(board);
    if (cli_stopped())
        *status = cli_negative("interrupted");
    if (plan->out && !cli_stopped()) {
        introduce(plan, board);
        for (unsigned step = 0; step < DEMO_IWARP_STEP_COUNT; step++)
            if (board->told[step][0].says[0] || board->told[step][1].says[0])
                print_step(plan, board, step);
        if (*status == CLI_OK)
            print_end(plan);
    }
    if (*status == CLI_OK && !is_right(board))
        *status = cli_negative("a step of the third act did not go as it should");
    return board;
}

/* --- for scripts --- */

struct json_object *demo_iwarp_json(const struct demo_iwarp_board *board)
{
    char text[NORNIC_ADDR_STR_SIZE];
    struct json_object *o = json_object_new_object(), *list = json_object_new_array();
    struct json_object *sides = json_object_new_array();
    for (int i = 0; i < 2; i++) {
        struct json_object *side = json_object_new_object();
        cli_json_add_text(side, "address", nornic_addr_str(&board->addr[i], text));
        cli_json_add_count(side, "uid", board->uid[i]);
        json_object_array_add(sides, side);
    }
    for (int step = 0; step < DEMO_IWARP_STEP_COUNT; step++) {
        struct json_object *row = json_object_new_object();
        const struct demo_iwarp_told *told = board->told[step];
        bool ok = told[0].is_right && (told[1].is_right || !told[1].says[0]);
        cli_json_add_text(row, "step", steps[step].json);
        json_object_object_add(row, "ok", json_object_new_boolean(ok));
        cli_json_add_count(row, "ns", board->took_ns[step]);
        cli_json_add_text(row, "a", told[0].says);
        cli_json_add_text(row, "b", told[1].says);
        json_object_array_add(list, row);
    }
    json_object_object_add(o, "sides", sides);
    cli_json_add_count(o, "tcp_port", atomic_load(&board->port));
    json_object_object_add(o, "steps", list);
    return o;
}
