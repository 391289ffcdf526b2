/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic smc service`: SMC-R connections for the programs of this user. */
#define _GNU_SOURCE
#include "service/service.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/notice.h"
#include "cli/cli.h"
#include "cli/option/option.h"
#include "cli/option/value.h"
#include "cli/sandbox/sandbox.h"
#include "cli/smc/smc.h"
#include "cli/stop.h"
#include "host/port/default.h"

#define AT(member) CLI_SETS(struct service_options, member)
#define OTHER_MS   5000 /* how long one that starts at the same time may take */
#define LOOK_MS    20
#define FOREVER    (365 * 86400 * NS_PER_S)

struct service_options {
    struct service_config config;
    const char *socket, *capture, *trace;
    bool is_foreground, is_on_demand, no_sandbox;
    char path[SERVICE_PATH_BYTES], port[64];
    char socket_path[SERVICE_PATH_BYTES], capture_path[PATH_MAX]; /* absolute: of paths that were not */
};

/* --- in the background --- */

/* Whether the child is ready: CLI_OK; else its exit status, after the sentence that it said itself. */
static int wait_for_child(int ready_fd)
{
    char status = CLI_ERROR;
    ssize_t n;
    do
        n = read(ready_fd, &status, 1);
    while (n < 0 && errno == EINTR);
    return n == 1 ? status : CLI_ERROR;
}

/* Goes on in a child, without a terminal. True in the child, with `*ready_fd`, for tell_parent(). False in
 * the parent, or without a child: `*parent_status` is its exit status. */
static bool go_behind(int *ready_fd, int *parent_status)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) {
        *parent_status = cli_fail("cannot make a pipe: %s", strerror(errno));
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        close(fds[0]);
        *ready_fd = fds[1];
        return true;
    }
    close(fds[1]);
    *parent_status = pid < 0 ? cli_fail("cannot fork: %s", strerror(errno)) : wait_for_child(fds[0]);
    close(fds[0]);
    return false;
}

/* A reader of its parent's output does not wait for the service; and a file system can be
 * unmounted while it runs, unless the socket's path leads there from the working directory alone. */
static void let_go(const struct service_options *o)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (o->config.path[0] == '/' && chdir("/") != 0)
        cli_tell("the working directory stays: %s", strerror(errno));
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
}

static void tell_parent(int ready_fd, int status)
{
    char byte = (char)status;
    if (ready_fd < 0)
        return;
    ssize_t put = write(ready_fd, &byte, 1);
    (void)put; /* it has gone */
    close(ready_fd);
}

/* --- serving --- */

/* The process that holds the lock beside a path (/proc/locks); 0: none is known. */
static int holder_of(const char *path)
{
    char lock[SERVICE_PATH_BYTES + 8], line[256];
    struct stat st;
    int holder = 0;
    snprintf(lock, sizeof lock, "%s.lock", path);
    FILE *from = stat(lock, &st) == 0 ? fopen("/proc/locks", "re") : NULL;
    while (from && !holder && fgets(line, sizeof line, from)) {
        unsigned long long inode;
        int pid;
        if (sscanf(line, "%*s FLOCK %*s %*s %d %*x:%*x:%llu", &pid, &inode) == 2 && inode == st.st_ino)
            holder = pid;
    }
    if (from)
        fclose(from);
    return holder;
}

/* One that runs already may be about to listen. */
static int wait_for_other(const char *path)
{
    for (unsigned tries = OTHER_MS / LOOK_MS; tries > 0; tries--) {
        if (access(path, F_OK) == 0)
            return CLI_OK;
        poll(NULL, 0, LOOK_MS);
    }
    const int pid = holder_of(path);
    if (pid <= 0)
        return cli_fail("a service runs at %s, but does not listen there: end it, and start another", path);
    return cli_fail(
        "a service (process %d%s) holds %s.lock, but does not listen: end it (kill -KILL %d), and "
        "try again",
        pid, base_is_stopped(pid) ? ", which is stopped" : "", path, pid);
}

static void allow(void *ctx, const char *path, enum smcr_file_use use)
{
    static const enum cli_sandbox_use uses[] = {[SMCR_FILE_READ] = CLI_SANDBOX_READS,
                                                [SMCR_FILE_WRITTEN] = CLI_SANDBOX_WRITES,
                                                [SMCR_FILES_MADE] = CLI_SANDBOX_MAKES,
                                                [SMCR_FILES_REMOVED] = CLI_SANDBOX_REMOVES};
    cli_sandbox_allow(ctx, path, uses[use]);
}

/* Returns whether a port is on an interface itself. */
static bool has_raw_port(const struct smcr_sock_config *config)
{
    for (unsigned i = 0; i < config->num_ports; i++)
        if (strncmp(config->ports[i].port, "udp:", 4) != 0)
            return true;
    return false;
}

/* Closes the sandbox. After it the service takes messages of peers and programs. */
static void close_sandbox(const struct service_options *o, const struct service *service)
{
    struct cli_sandbox sandbox;
    cli_sandbox_begin(&sandbox, has_raw_port(&o->config.sock) ? CLI_SANDBOX_RAW : CLI_SANDBOX_SERVICE,
                      o->no_sandbox);
    if (!sandbox.is_off)
        service_files(service, allow, &sandbox);
    cli_sandbox_close(&sandbox);
}

static int serve(struct service_options *o, int ready_fd)
{
    struct service *service;
    struct nornic_error why = {0};
    int err = service_open(&o->config, &service, &why);
    if (err) {
        int status = err != -EADDRINUSE ? cli_fail("%s", why.text)
                     : o->is_on_demand  ? wait_for_other(o->config.path)
                                        : cli_negative("%s", why.text);
        tell_parent(ready_fd, status);
        return status;
    }
    if (why.text[0])
        cli_tell("%s; SMC-R is for configured peers alone (--peers)", why.text);
    close_sandbox(o, service);
    if (o->is_foreground)
        cli_tell("serving at %s", o->config.path);
    else
        let_go(o);
    tell_parent(ready_fd, CLI_OK);
    service_run(service, cli_stop_fd());
    err = service_close(service, &why);
    return err ? cli_fail("%s", why.text) : CLI_OK;
}

/* Without --device: the interface of the default route. */
static int choose_port(struct service_options *o)
{
    struct host_port_default found;
    struct nornic_error why;
    if (o->config.sock.num_ports > 0)
        return CLI_OK;
    if (host_port_default(NULL, NULL, &found, &why) != 0)
        return cli_fail("no device was given, and %s: give one by --device", why.text);
    snprintf(o->port, sizeof o->port, "%s", found.udp);
    o->config.sock.ports[o->config.sock.num_ports++].port = o->port;
    return CLI_OK;
}

static int run(void *settings)
{
    struct service_options *o = settings;
    int ready_fd = -1, status;
    if (!o->is_foreground)
        closefrom(STDERR_FILENO + 1); /* a lock or a pipe of the script that starts it */
    status = choose_port(o);
    if (status == CLI_OK && o->trace)
        status = smc_trace_open(o->trace, &o->config.sock);
    if (status != CLI_OK)
        return status;
    if (!o->is_foreground && !go_behind(&ready_fd, &status))
        return status;
    int err = cli_stop_install();
    status = err ? cli_fail("cannot watch for signals: %s", strerror(-err)) : serve(o, ready_fd);
    return o->trace ? smc_trace_close(status) : status;
}

/* --- options --- */

static int take_device(void *settings, const char *option, char *text)
{
    return smc_take_device(&((struct service_options *)settings)->config.sock, option, text);
}

static int take_ueid(void *settings, const char *option, char *text)
{
    return smc_take_ueid(&((struct service_options *)settings)->config.sock, option, text);
}

/* "192.0.2.0/24", "fd00::1"; `text` is cut at the slash. */
static int take_peers(void *settings, const char *option, char *text)
{
    struct service_config *config = &((struct service_options *)settings)->config;
    struct service_peers *p = &config->peers[config->num_peers];
    char *slash = strchr(text, '/');
    uint64_t bits;
    if (config->num_peers == SERVICE_MAX_PEERS)
        return cli_fail("%s %s: %d are the most", option, text, SERVICE_MAX_PEERS);
    if (slash)
        *slash = 0;
    if (nornic_addr_parse(text, &p->addr) != 0)
        return cli_fail("%s %s: give an address, or a network such as 192.0.2.0/24", option, text);
    unsigned most = nornic_addr_is_v4(&p->addr) ? 32 : 128;
    bits = most;
    if (slash && cli_parse_count(option, slash + 1, 0, most, &bits) != CLI_OK)
        return CLI_ERROR;
    p->prefix_len = (uint8_t)bits;
    config->num_peers++;
    return CLI_OK;
}

static const struct cli_option rows[] = {
    {"device", 'd', "PORT",
     "an interface for RDMA: udp:IFACE, packet:IFACE or xdp:IFACE, "
     "with ,pnetid=NAME behind it if it belongs to a physical network of its own; "
     "once for each link (udp of the default route's interface)",
     CLI_TAKEN_BY(take_device), .also = {"port"}},
    {"max-links", 0, "COUNT", "links of a link group, %r (2)", AT(config.sock.max_links),
     CLI_TAKES_COUNT(2, 8)},
    {"ueid", 0, "EID",
     "enterprise id: SMC-R of version 2 with peers that know it too; up to 4 times. "
     "Without one, version 1 alone",
     CLI_TAKEN_BY(take_ueid)},
    {"peers", 0, "ADDR[/LEN]",
     "peers with whom SMC-R is spoken without asking by the TCP option, where BPF is not allowed: "
     "their services must name this host, too; once for each",
     CLI_TAKEN_BY(take_peers)},
    {"socket", 0, "PATH",
     "where programs find it (in this user's runtime directory, for this network namespace)", AT(socket),
     .kind = CLI_FILE},
    {"foreground", 'f', NULL, "stay, and say what happens; Ctrl-C ends it", AT(is_foreground)},
    {"on-demand", 0, NULL, "one that runs already is as good; end when nobody has used it for --idle",
     AT(is_on_demand)},
    {"idle", 0, "TIME", "end when nobody has used it for so long (without end; with --on-demand 60s)",
     AT(config.idle_ns), CLI_TAKES_TIME(10 * NS_PER_MS, FOREVER)},
    {"capture", 0, "FILE", "what crosses the device, as pcapng; of the first device", AT(capture),
     .kind = CLI_FILE},
    {"trace", 0, "FILE", "CLC, LLC and CDC messages, states and moves as lines; -: standard error", AT(trace),
     .kind = CLI_FILE},
    CLI_SANDBOX_ROW(struct service_options, no_sandbox),
    {NULL},
};

/* `path` from the root on, into `room`, which is as good from every working directory. If that does not
 * fit, or is not known: `path`. NULL stays NULL. */
static const char *absolute(const char *path, char *room, size_t room_bytes)
{
    char here[PATH_MAX];
    if (!path || path[0] == '/' || !getcwd(here, sizeof here))
        return path;
    int n = snprintf(room, room_bytes, "%s/%s", here, path);
    return n > 0 && (size_t)n < room_bytes ? room : path;
}

static int check(void *settings)
{
    struct service_options *o = settings;
    struct nornic_error why;
    if (!o->config.idle_ns)
        o->config.idle_ns = o->is_on_demand ? 60 * NS_PER_S : UINT64_MAX;
    o->config.path = o->socket ? absolute(o->socket, o->socket_path, sizeof o->socket_path) : o->path;
    o->config.sock.ports[0].capture_path = absolute(o->capture, o->capture_path, sizeof o->capture_path);
    return o->socket || service_path(o->path, &why) == 0 ? CLI_OK : cli_fail("%s", why.text);
}

const struct cli_command smc_service_command = {
    .name = "smc service",
    .summary = "lend SMC-R connections to this user's programs, which know nothing of it",
    .usage = "smc service [OPTION...]",
    .about = "Owns the devices, link groups and buffers of SMC-R for all programs of this user on this host, "
             "and lends them connections: a connection then outlives what becomes of its program, "
             "and a pair of hosts needs one link group. `nornic run --smc` starts it when it is needed. "
             "Goes to the background once it is ready.",
    .groups = {{.rows = rows}},
    .examples = "Try, as root on two machines:\n"
                "  # nornic smc service --foreground -d udp:eth0\n"
                "and while it runs:\n"
                "  # nornic smc stat\n",
    .status = {"it was ended, or is ready in the background", "one runs there already",
               "wrong usage, or it could not be started"},
    .settings_bytes = sizeof(struct service_options),
    .check = check,
    .run = run,
};
