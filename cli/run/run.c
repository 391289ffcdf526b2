/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic run`: a program of others, whose libibverbs and librdmacm are nornic's, or whose TCP sockets go by
 * SMC-R (cli/run/smc.h). What it is told goes by the environment, so that its children have it, too; what it
 * looks for in files, a view of them has (docs/verbs.md). */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/impair_rows.h"
#include "cli/option/option.h"
#include "cli/run/smc.h"
#include "cli/run/view.h"
#include "nornic/device.h"

struct settings {
    const char *port;
    const char *capture;
    struct nornic_impair impair;
    char *faults;
    bool trace, stat;
    enum { FILES_AUTO, FILES_ALWAYS, FILES_NEVER } files;
    bool is_smc;
    const char *service, *ueid, *peers;
    struct cli_words program;
};

/* The folders that may hold the libraries, from the command's own folder: the build directory, then `libdir`
 * of an installation, also where its name has an architecture (lib64, lib/x86_64-linux-gnu). Each is a
 * pattern of glob(). */
static const char *const places[] = {"lib", "../lib*/nornic", "../lib*/*/nornic"};

/* Copies `path` to `out` as a pattern of glob() that matches this path alone. */
static void quote_path(const char *path, char out[2 * PATH_MAX])
{
    for (; *path; path++) {
        if (strchr("*?[\\", *path))
            *out++ = '\\';
        *out++ = *path;
    }
    *out = '\0';
}

/* Finds the first folder that matches `pattern` below `self` and holds libibverbs.so.1. `out` gets its
 * absolute path. Returns false where there is none. */
static bool find_below(const char *self, const char *pattern, char out[PATH_MAX])
{
    char quoted[2 * PATH_MAX], file[3 * PATH_MAX];
    glob_t found;
    quote_path(self, quoted);
    snprintf(file, sizeof file, "%s/%s/libibverbs.so.1", quoted, pattern);
    bool is_here = glob(file, 0, NULL, &found) == 0;
    if (is_here) {
        char *name = found.gl_pathv[0];
        *strrchr(name, '/') = '\0';
        is_here = realpath(name, out) != NULL;
    }
    globfree(&found);
    return is_here;
}

/* Finds the folder with the libraries. `out` gets its absolute path. Returns CLI_OK or CLI_ERROR. */
static int find_libraries(char out[PATH_MAX])
{
    char self[PATH_MAX - 64];
    ssize_t bytes = readlink("/proc/self/exe", self, sizeof self - 1);
    if (bytes < 0)
        return cli_fail("cannot find out where this command is: %s", strerror(errno));
    self[bytes] = '\0';
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = '\0';
    for (unsigned i = 0; i < array_len(places); i++)
        if (find_below(self, places[i], out))
            return CLI_OK;
    return cli_fail("no libibverbs.so.1 is below %s in %s, %s or %s: build it (make), or install it (make "
                    "install)",
                    self, places[0], places[1], places[2]);
}

/* Before what is there already. */
static void put_first(const char *name, const char *path)
{
    const char *before = getenv(name);
    char value[2 * PATH_MAX];
    snprintf(value, sizeof value, "%s%s%s", path, before && *before ? ":" : "", before ? before : "");
    setenv(name, value, 1);
}

static void set_impair(const struct nornic_impair *impair)
{
    char value[256];
    if (!(impair->loss_ppm | impair->duplicate_ppm | impair->reorder_ppm | impair->corrupt_ppm |
          impair->ecn_ppm))
        return;
    snprintf(value, sizeof value, "loss=%u,duplicate=%u,reorder=%u,corrupt=%u,ecn=%u,seed=%llu",
             impair->loss_ppm, impair->duplicate_ppm, impair->reorder_ppm, impair->corrupt_ppm,
             impair->ecn_ppm, (unsigned long long)impair->seed);
    setenv("NORNIC_IMPAIR", value, 1);
}

/* By the whole path: the program may be in another directory when it opens its device. */
static int set_faults(const char *file)
{
    char path[PATH_MAX], value[PATH_MAX + 1];
    if (!realpath(file, path) || access(path, R_OK) != 0)
        return cli_fail("cannot read the rules of faults in %s: %s", file, strerror(errno));
    snprintf(value, sizeof value, "@%s", path);
    setenv("NORNIC_FAULTS", value, 1);
    return CLI_OK;
}

/* Shows the program the files that an adapter has. CLI_OK also where that cannot be and need not. */
static int show_files(const struct settings *s)
{
    static struct run_device devices[HOST_PORT_NAMES_MAX];
    struct host_port_names ports;
    struct nornic_error why;
    if (s->files == FILES_NEVER)
        return CLI_OK;
    host_port_names(getenv("NORNIC_PORT"), &ports);
    run_devices(&ports, devices);
    if (run_view_try(devices, ports.count, &why) == 0)
        return run_view_enter(devices, ports.count, &why) == 0 ? CLI_OK : cli_fail("%s", why.text);
    if (s->files == FILES_ALWAYS)
        return cli_fail("cannot show /dev/infiniband and /sys/class/infiniband: %s", why.text);
    cli_tell("/dev/infiniband and /sys/class/infiniband are not shown (%s): programs that use libibverbs and "
             "librdmacm alone run all the same; UCX finds no device (docs/ci.md; --files=never: not told)",
             why.text);
    return CLI_OK;
}

static int prepare_smc(const struct settings *s, const char *libraries)
{
    struct run_smc smc = {
        .ports = s->port, .socket = s->service, .ueid = s->ueid, .peers = s->peers, .capture = s->capture};
    char library[PATH_MAX + sizeof "/libnornic-sockets.so"];
    snprintf(library, sizeof library, "%s/libnornic-sockets.so", libraries);
    return run_smc_prepare(&smc, library);
}

static int prepare_verbs(const struct settings *s, const char *libraries)
{
    put_first("LD_LIBRARY_PATH", libraries);
    if (s->port)
        setenv("NORNIC_PORT", s->port, 1);
    if (s->capture)
        setenv("NORNIC_CAPTURE", s->capture, 1);
    if (s->stat)
        setenv("NORNIC_STAT", "1", 1);
    if (s->faults && set_faults(s->faults) != CLI_OK)
        return CLI_ERROR;
    set_impair(&s->impair);
    return show_files(s);
}

static int run(void *options)
{
    const struct settings *s = options;
    char path[PATH_MAX];
    if (find_libraries(path) != CLI_OK)
        return CLI_ERROR;
    if (s->trace)
        setenv("NORNIC_TRACE", "1", 1);
    if ((s->is_smc ? prepare_smc : prepare_verbs)(s, path) != CLI_OK)
        return CLI_ERROR;
    /* As a list that ends: the words are the last of this process's own. */
    execvp(s->program.at[0], s->program.at);
    return cli_fail("cannot run %s: %s", s->program.at[0], strerror(errno));
}

static const char *const files_words[] = {"auto", "always", "never", NULL};

#define AT(member) CLI_SETS(struct settings, member)

static bool has_impair(const struct nornic_impair *i)
{
    return i->loss_ppm | i->duplicate_ppm | i->reorder_ppm | i->corrupt_ppm | i->ecn_ppm;
}

static int check(void *options)
{
    const struct settings *s = options;
    if (!s->is_smc && (s->service || s->ueid || s->peers))
        return cli_fail("%s is for programs with TCP sockets: say --smc, too", s->service ? "--service"
                                                                               : s->ueid  ? "--ueid"
                                                                                          : "--peers");
    if (s->is_smc && has_impair(&s->impair))
        return cli_fail("--smc: the devices are the service's, which loses no frames on purpose");
    return CLI_OK;
}

static const struct cli_option smc_rows[] = {
    {"smc", 0, NULL,
     "the program's TCP connections go by SMC-R where the peer does so, too, and are plain TCP where not",
     AT(is_smc)},
    {"service", 0, "PATH",
     "the UNIX socket of the service that they go by (this user's in this network namespace; it is started "
     "where it does not run, with --port, --capture, --ueid and --peers)",
     AT(service), .kind = CLI_FILE},
    {"ueid", 0, "EID", "enterprise id, for SMC-R of version 2", AT(ueid), .kind = CLI_TEXT},
    {"peers", 0, "ADDR[/LEN],...", "peers with whom SMC-R is spoken without asking by the TCP option",
     AT(peers), .kind = CLI_TEXT},
    {NULL},
};

static const struct cli_option rows[] = {
    {"port", 0, "PORT",
     "the ports of its devices, separated by commas: udp:ADDR or udp:IFACE (no privilege needed), "
     "packet:IFACE, xdp:IFACE; behind each options of the device: "
     ",cc,dscp=26,hops=9,pkey=0x8001,apm,masked-atomics,entropy or ,pkey0=0x8001 "
     "(udp of the default route's interface)",
     AT(port), .kind = CLI_PORT},
    {"capture", 0, "FILE",
     "write what crosses them to FILE, as pcapng; %p in the name is the number of the process", AT(capture),
     .kind = CLI_FILE},
    {"files", 0, "WHEN",
     "show the program the files /dev/infiniband and /sys/class/infiniband, which UCX and pyverbs look at: "
     "%r; always: or else do not run it",
     AT(files), CLI_TAKES_ONE_OF(files_words), .preset = "auto"},
    {"trace", 0, NULL, "say on stderr of each call and each completion that fails, why", AT(trace)},
    {"stat", 0, NULL, "say on stderr what each device has counted, when the program closes it or ends",
     AT(stat)},
    {"faults", 0, "FILE",
     "make calls, requests, completions and ports fail by the rules in FILE, such as \"the 50th WRITE ends "
     "with RETRY_EXC_ERR\" (docs/verbs.md)",
     AT(faults), .kind = CLI_FILE},
    CLI_IMPAIR_ROWS(AT),
    {NULL},
};

const struct cli_command run_command = {
    .name = "run",
    .summary = "run a program for libibverbs and librdmacm, or one for TCP, over nornic",
    .usage = "run [OPTION...] -- PROGRAM [ARGUMENT...]",
    .about = "Runs a program that was built for RDMA, with libibverbs.so.1 and librdmacm.so.1 of nornic in "
             "the place of the distribution's: no adapter, no kernel module, no privilege, and nothing is "
             "built again. The program finds devices nornic0, nornic1, ... which speak RoCEv2 with whoever "
             "does. Its children have them, too.\n\n"
             "What it does is to set LD_LIBRARY_PATH, NORNIC_PORT, NORNIC_CAPTURE, NORNIC_TRACE, "
             "NORNIC_STAT, NORNIC_FAULTS and NORNIC_IMPAIR, which work without it, too, and to show the "
             "program, where this user may, the files that an adapter has: in namespaces of its own, so "
             "that nothing changes for others. Then it becomes the program, which keeps the process, its "
             "user, its signals and its exit status. docs/verbs.md has "
             "more, and which programs were tried.\n\n"
             "With --smc it runs a program for TCP sockets, which knows nothing of RDMA: nornic's library "
             "is loaded before the C library (LD_PRELOAD), and the connections that the program makes and "
             "accepts are lent to it by `nornic smc service`. docs/smc.md has more.",
    .groups = {{.rows = rows}, {.title = "For programs with TCP sockets", .rows = smc_rows}},
    .operands = (const struct cli_operand[]){{.name = "PROGRAM",
                                              .kind = CLI_TEXT,
                                              .is_many = true,
                                              .offset = offsetof(struct settings, program)},
                                             {NULL}},
    .operands_missing = "say which program to run: nornic run -- ibv_devinfo",
    .examples = "Example:\n"
                "  $ nornic run -- ibv_devinfo\n"
                "  $ nornic run --port udp:127.0.0.1 -- ibv_rc_pingpong -g 0 &\n"
                "  $ nornic run --port udp:127.0.0.1 --loss 1% -- ibv_rc_pingpong -g 0 127.0.0.1\n"
                "and, as root on two machines, TCP programs by SMC-R:\n"
                "  # nornic run --smc --port udp:eth0 -- iperf3 -s\n"
                "  # nornic run --smc --port udp:eth0 -- iperf3 -c 192.0.2.1\n",
    .status = {"and others: that of the program", NULL, "also: nothing was run"},
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};
