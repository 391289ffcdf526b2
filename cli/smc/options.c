/* SPDX-License-Identifier: BSD-2-Clause */
/* What `nornic smc listen` and `smc connect` understand. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/impair_rows.h"
#include "cli/option/option.h"
#include "cli/option/value.h"
#include "cli/smc/smc.h"

#define FOREVER    (365 * 86400 * NS_PER_S)
#define AT(member) CLI_SETS(struct smc_options, member)

static int take_device(void *settings, const char *option, char *text)
{
    return smc_take_device(&((struct smc_options *)settings)->sock, option, text);
}

static int take_ueid(void *settings, const char *option, char *text)
{
    return smc_take_ueid(&((struct smc_options *)settings)->sock, option, text);
}

static const struct cli_option common_rows[] = {
    {"device", 'd', "PORT",
     "an interface for RDMA: xdp:IFACE, packet:IFACE or udp:IFACE, with ,pnetid=NAME behind it if it belongs "
     "to a physical network of its own, and options of the device: ,cc,dscp=26,hops=9; once for each link. "
     "Without one the bytes travel by TCP",
     CLI_TAKEN_BY(take_device)},
    {"max-links", 0, "COUNT", "links of a link group, %r (2)", AT(sock.max_links), CLI_TAKES_COUNT(2, 8)},
    {"ueid", 0, "EID",
     "enterprise id, of A-Z 0-9 . and -: SMC-R of version 2 with peers that know it too, such as Linux "
     "(`smcr ueid add`); up to 4 times. Without one, version 1 alone",
     CLI_TAKEN_BY(take_ueid)},
    {"rcvbuf", 0, "BYTES", "receive buffer, to 512K: rounded up, the RMBE (the socket's)", AT(rcvbuf_bytes),
     CLI_TAKES_SIZE(1, 512 << 10)},
    {"sndbuf", 0, "BYTES", "send buffer, to 64M (the socket's)", AT(sndbuf_bytes),
     CLI_TAKES_SIZE(1, 64 << 20)},
    {"require-smc", 0, NULL, "fail, rather than fall back to TCP", AT(require_smc)},
    {"tcp", 0, NULL, "never SMC-R, to compare", AT(tcp_only)},
    {"input", 'i', "FILE", "send it (standard input; with -o alone: nothing)", AT(input), .kind = CLI_FILE},
    {"output", 'o', "FILE", "keep there what comes (standard output)", AT(output), .kind = CLI_FILE},
    {"sum", 0, NULL, "SHA-256 of what passed, each way", AT(say.sum)},
    {"ipv4", '4', NULL, "IPv4 only", AT(family), CLI_MEANS(AF_INET)},
    {"ipv6", '6', NULL, "IPv6 only", AT(family), CLI_MEANS(AF_INET6)},
    {"idle", 0, "TIME", "give up when nothing moves for so long (without end)", AT(idle_ns),
     CLI_TAKES_TIME(10 * NS_PER_MS, FOREVER)},
    {"capture", 0, "FILE", "what crosses the device, as pcapng; of several devices FILE-IFACE each",
     AT(capture), .kind = CLI_FILE},
    {"trace", 0, "FILE", "CLC, LLC and CDC messages, states and moves as lines; -: standard error", AT(trace),
     .kind = CLI_FILE},
    {"loss", 0, "RATE", "lose frames of the devices, such as 1% or 200ppm", AT(impair.loss_ppm),
     .kind = CLI_RATE},
    CLI_IMPAIR_SEED_ROW(AT),
    {"json", 'j', NULL, "report at the end as JSON: on standard output with -o, else on standard error",
     AT(say.json)},
    {"quiet", 'q', NULL, "no word but errors, and what --sum says", AT(say.quiet)},
    {NULL},
};

/* "5000", "192.0.2.1:5000", "[fd00::1]:5000", "name:5000"; cut in place. */
static int split_listen(struct smc_options *o, char *text)
{
    char *colon = strrchr(text, ':'), *close = strrchr(text, ']');
    if (!colon) {
        o->service = text;
        return CLI_OK;
    }
    *colon = 0;
    o->service = colon + 1;
    o->host = text;
    if (text[0] == '[' && close && close[1] == 0) {
        *close = 0;
        o->host = text + 1;
    } else if (strchr(text, ':')) {
        return cli_fail("write an IPv6 address as [ADDRESS]:PORT");
    }
    return *o->host && *o->service ? CLI_OK : cli_fail("give [ADDRESS:]PORT");
}

/* getaddrinfo() would take the last 16 bits of any number. 0 to listen: a free port. */
static int check_service(const struct smc_options *o)
{
    uint64_t port;
    size_t digits = strspn(o->service, "0123456789");
    if (o->service[0] && digits < strlen(o->service))
        return CLI_OK; /* a name */
    return cli_parse_count("port", o->service, o->listen ? 0 : 1, 65535, &port);
}

/* Names a capture for each device: FILE; of several "x-eth0.pcapng" and "x-eth1.pcapng". */
static int name_captures(struct smc_options *o)
{
    const char *slash = o->capture ? strrchr(o->capture, '/') : NULL;
    const char *dot = o->capture ? strrchr(o->capture, '.') : NULL;
    size_t stem = !o->capture                                 ? 0
                  : dot && dot > (slash ? slash : o->capture) ? (size_t)(dot - o->capture)
                                                              : strlen(o->capture);
    for (unsigned i = 0; o->capture && i < o->sock.num_ports; i++) {
        int name_len;
        const char *name = smc_interface_of(o->sock.ports[i].port, &name_len);
        int len = o->sock.num_ports == 1 ? snprintf(o->captures[i], sizeof o->captures[i], "%s", o->capture)
                                         : snprintf(o->captures[i], sizeof o->captures[i], "%.*s-%.*s%s",
                                                    (int)stem, o->capture, name_len, name, o->capture + stem);
        if (len < 0 || (size_t)len >= sizeof o->captures[i])
            return cli_fail("--capture %s: the name is too long", o->capture);
        o->sock.ports[i].capture_path = o->captures[i];
    }
    return CLI_OK;
}

/* Said now, not when the connection stands already. */
static int check_files(const struct smc_options *o)
{
    struct stat st;
    if (o->input && access(o->input, R_OK) != 0)
        return cli_fail("cannot read %s: %s", o->input, strerror(errno));
    if (o->input && stat(o->input, &st) == 0 && S_ISDIR(st.st_mode))
        return cli_fail("cannot read %s: %s", o->input, strerror(EISDIR));
    if (!o->output)
        return CLI_OK;
    if (stat(o->output, &st) == 0)
        errno = S_ISDIR(st.st_mode) ? EISDIR : access(o->output, W_OK) != 0 ? errno : 0;
    else {
        const char *slash = strrchr(o->output, '/');
        char dir[PATH_MAX];
        snprintf(dir, sizeof dir, "%.*s", slash ? (int)(slash - o->output) + 1 : 1, slash ? o->output : ".");
        errno = access(dir, W_OK) != 0 ? errno : 0;
    }
    return errno == 0 ? CLI_OK : cli_fail("cannot create %s: %s", o->output, strerror(errno));
}

static int check_devices(const struct smc_options *o)
{
    if (o->sock.num_ports > 0)
        return CLI_OK;
    if (o->require_smc)
        return cli_fail("--require-smc needs a --device");
    if (o->capture || o->trace)
        return cli_fail("%s shows what a --device does: give one", o->capture ? "--capture" : "--trace");
    return o->impair.loss_ppm ? cli_fail("--loss loses frames of a --device: give one") : CLI_OK;
}

/* What both commands make of their options. */
static int check(struct smc_options *o)
{
    int status = check_service(o);
    if (status == CLI_OK)
        status = check_devices(o);
    if (status == CLI_OK)
        status = check_files(o);
    if (!o->idle_ns)
        o->idle_ns = UINT64_MAX;
    for (unsigned i = 0; i < o->sock.num_ports; i++)
        o->sock.ports[i].impair = o->impair;
    return status == CLI_OK ? name_captures(o) : status;
}

static int check_listen(void *settings)
{
    struct smc_options *o = settings;
    o->listen = true;
    int status = split_listen(o, o->where);
    return status == CLI_OK ? check(o) : status;
}

static int check_connect(void *settings)
{
    return check(settings);
}

static int run(void *settings)
{
    return smc_session(settings);
}

#define TRANSPORT                                                                                            \
    "A connection begins as TCP. Where both ends have nornic, root and a device, its bytes then go by RDMA " \
    "over the links of all devices, and over the remaining ones when a link dies; else it goes on as TCP, "  \
    "and standard error says why."
#define RULES                                                                             \
    (const struct cli_rule[])                                                             \
    {                                                                                     \
        {CLI_EXCLUDES, "tcp", "require-smc", NULL}, {CLI_EXCLUDES, "ipv4", "ipv6", NULL}, \
            {.kind = CLI_END_OF_RULES},                                                   \
    }
#define STATUS                                                                                \
    {                                                                                         \
        "both directions ended well", "the connection broke or was refused by --require-smc", \
            "wrong usage, or it could not be tried"                                           \
    }

const struct cli_command smc_listen_command = {
    .name = "smc listen",
    .summary = "wait for a connection; its bytes to standard output or a file, and back",
    .usage = "smc listen [OPTION...] [ADDRESS:]PORT",
    .about =
        "Waits for a connection; moves bytes between it and standard input and output, or files, as netcat "
        "does.\n\n" TRANSPORT,
    .groups = {{.rows =
                    (const struct cli_option[]){
                        {"keep", 'k', NULL, "wait for the next connection after each; Ctrl-C ends it",
                         AT(keep)},
                        {NULL},
                    }},
               {.title = "Connection", .rows = common_rows, .is_shared = true}},
    .operands =
        (const struct cli_operand[]){
            {.name = "[ADDRESS:]PORT", .kind = CLI_TEXT, .offset = offsetof(struct smc_options, where)},
            {NULL}},
    .operands_missing = "say where to listen: [ADDRESS:]PORT",
    .rules = RULES,
    .examples = "Try, on two machines with a second interface between them, as root:\n"
                "  server# nornic smc listen -d xdp:eth0 -d xdp:eth1 --sum -o copy.iso 5000\n"
                "  client# nornic smc connect -d xdp:eth0 -d xdp:eth1 --sum -i file.iso 192.0.2.1 5000\n"
                "and while it runs:\n"
                "  server# nornic smc stat --watch\n"
                "  server# ip link set eth1 down          # the bytes go on over eth0\n",
    .status = STATUS,
    .settings_bytes = sizeof(struct smc_options),
    .check = check_listen,
    .run = run,
};

const struct cli_command smc_connect_command = {
    .name = "smc connect",
    .summary = "connect; standard input or a file to the other end, and back",
    .usage = "smc connect [OPTION...] HOST PORT",
    .about =
        "Connects; moves bytes between the connection and standard input and output, or files, as netcat "
        "does.\n\n" TRANSPORT,
    .groups = {{.rows =
                    (const struct cli_option[]){
                        {"wait", 'w', "TIME", "give up when the connection does not stand after so long",
                         AT(connect_ns), CLI_TAKES_TIME(10 * NS_PER_MS, FOREVER), .preset = "10s"},
                        {NULL},
                    }},
               {.title = "Connection", .rows = common_rows, .is_shared = true}},
    .operands =
        (const struct cli_operand[]){
            {.name = "HOST", .kind = CLI_TEXT, .offset = offsetof(struct smc_options, host)},
            {.name = "PORT", .kind = CLI_TEXT, .offset = offsetof(struct smc_options, service)},
            {NULL}},
    .operands_missing = "give HOST and PORT",
    .rules = RULES,
    .examples = "Try, as root, with `nornic smc listen -d xdp:eth0 5000` at the other end:\n"
                "  client# echo hello | nornic smc connect -d xdp:eth0 192.0.2.1 5000\n"
                "  client# tar c /etc | nornic smc connect -d xdp:eth0 --sum --trace=- 192.0.2.1 5000\n"
                "or without SMC-R at the other end, to see it fall back:\n"
                "  server$ nc -l 5000\n",
    .status = STATUS,
    .settings_bytes = sizeof(struct smc_options),
    .check = check_connect,
    .run = run,
};
