/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/option/value.h"
#include "cli/smc/smc.h"

#define FOREVER (365 * 86400 * NS_PER_S)

#define COMMON_HELP                                                                                      \
    "  -d, --device=PORT      an interface for RDMA: xdp:IFACE or packet:IFACE, with ,pnetid=NAME\n"     \
    "                         behind it if it belongs to a physical network of its own; once for each\n" \
    "                         link. Without one the bytes travel by TCP\n"                               \
    "      --max-links=COUNT  links of a link group, 2 to 8 (2)\n"                                       \
    "      --rcvbuf=BYTES     receive buffer, to 512K: rounded up, the RMBE (the socket's)\n"            \
    "      --sndbuf=BYTES     send buffer (the socket's)\n"                                              \
    "      --require-smc      fail, rather than fall back to TCP\n"                                      \
    "      --tcp              never SMC-R, to compare\n"                                                 \
    "  -i, --input=FILE       send it (standard input; with -o alone: nothing)\n"                        \
    "  -o, --output=FILE      keep there what comes (standard output)\n"                                 \
    "      --sum              SHA-256 of what passed, each way\n"                                        \
    "  -4, -6                 IPv4 only, IPv6 only\n"                                                    \
    "      --idle=TIME        give up when nothing moves for so long (without end)\n"                    \
    "      --capture=FILE     what crosses the device, as pcapng; of several devices FILE-IFACE each\n"  \
    "      --trace=FILE       CLC, LLC and CDC messages, states and moves as lines; -: standard error\n" \
    "      --loss=RATE        lose frames of the devices, such as 1% or 200ppm\n"                        \
    "      --seed=NUMBER      which frames these are (1)\n"                                              \
    "  -j, --json             report at the end as JSON: on standard output with -o, else on standard\n" \
    "                         error\n"                                                                   \
    "  -q, --quiet            no word but errors, and what --sum says\n"                                 \
    "  -h, --help             this text\n"                                                               \
    "\n"

#define TRANSPORT_HELP                                                                                       \
    "A connection begins as TCP. Where both ends have nornic, root and a device, its bytes then go by\n"     \
    "RDMA over the links of all devices, and over the remaining ones when a link dies; else it goes on as\n" \
    "TCP, and standard error says why.\n"                                                                    \
    "\n"

#define STATUS_HELP                                                                                          \
    "\n"                                                                                                     \
    "Exit status: 0 both directions ended well, 1 the connection broke or was refused by --require-smc, 2\n" \
    "it could not be tried.\n"

static const char listen_help[] =
    "Usage: nornic smc listen [OPTION...] [ADDRESS:]PORT\n"
    "Waits for a connection; moves bytes between it and standard input and output, or files.\n" TRANSPORT_HELP
    "  -k, --keep             wait for the next connection after each; Ctrl-C ends it\n" COMMON_HELP
    "Try, on two machines with a second interface between them, as root:\n"
    "  server# nornic smc listen -d xdp:eth0 -d xdp:eth1 --sum -o copy.iso 5000\n"
    "  client# nornic smc connect -d xdp:eth0 -d xdp:eth1 --sum -i file.iso 192.0.2.1 5000\n"
    "and while it runs:\n"
    "  server# nornic smc stat --watch\n"
    "  server# ip link set eth1 down          # the bytes go on over eth0\n" STATUS_HELP;

static const char connect_help[] =
    "Usage: nornic smc connect [OPTION...] HOST PORT\n"
    "Connects; moves bytes between the connection and standard input and output, or files.\n" TRANSPORT_HELP
    "  -w, --wait=TIME        give up when the connection does not stand after so long (10s)\n" COMMON_HELP
    "Try, as root, with `nornic smc listen -d xdp:eth0 5000` at the other end:\n"
    "  client# echo hello | nornic smc connect -d xdp:eth0 192.0.2.1 5000\n"
    "  client# tar c /etc | nornic smc connect -d xdp:eth0 --sum --trace=- 192.0.2.1 5000\n"
    "or without SMC-R at the other end, to see it fall back:\n"
    "  server$ nc -l 5000\n" STATUS_HELP;

enum option_code {
    OPT_MAX_LINKS = 256,
    OPT_RCVBUF,
    OPT_SNDBUF,
    OPT_REQUIRE,
    OPT_TCP,
    OPT_SUM,
    OPT_IDLE,
    OPT_CAPTURE,
    OPT_TRACE,
    OPT_LOSS,
    OPT_SEED,
};

static const struct option long_options[] = {
    {"device", required_argument, NULL, 'd'},
    {"max-links", required_argument, NULL, OPT_MAX_LINKS},
    {"rcvbuf", required_argument, NULL, OPT_RCVBUF},
    {"sndbuf", required_argument, NULL, OPT_SNDBUF},
    {"require-smc", no_argument, NULL, OPT_REQUIRE},
    {"tcp", no_argument, NULL, OPT_TCP},
    {"input", required_argument, NULL, 'i'},
    {"output", required_argument, NULL, 'o'},
    {"sum", no_argument, NULL, OPT_SUM},
    {"ipv4", no_argument, NULL, '4'},
    {"ipv6", no_argument, NULL, '6'},
    {"wait", required_argument, NULL, 'w'},
    {"idle", required_argument, NULL, OPT_IDLE},
    {"capture", required_argument, NULL, OPT_CAPTURE},
    {"trace", required_argument, NULL, OPT_TRACE},
    {"loss", required_argument, NULL, OPT_LOSS},
    {"seed", required_argument, NULL, OPT_SEED},
    {"keep", no_argument, NULL, 'k'},
    {"json", no_argument, NULL, 'j'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* The interface of "xdp:eth0:native"; `*len` letters. */
static const char *interface_of(const char *port, int *len)
{
    const char *colon = strchr(port, ':'), *name = colon ? colon + 1 : "";
    *len = (int)strcspn(name, ":");
    return name;
}

/* A second port on an interface would find the first one's XDP program there. */
static bool has_interface(const struct smc_options *o, const char *port)
{
    int len, other_len;
    const char *name = interface_of(port, &len);
    for (unsigned i = 0; i < o->sock.num_ports; i++) {
        const char *other = interface_of(o->sock.ports[i].port, &other_len);
        if (len == other_len && strncmp(name, other, (size_t)len) == 0)
            return true;
    }
    return false;
}

/* "xdp:eth0" or "xdp:eth0,pnetid=NET"; `text` is the user's argument and is cut at the comma. */
static int take_device(struct smc_options *o, char *text)
{
    struct smcr_sock_port *port = &o->sock.ports[o->sock.num_ports];
    static const char key[] = ",pnetid=";
    char *comma = strchr(text, ',');
    if (o->sock.num_ports == SMCR_SOCK_MAX_PORTS)
        return cli_fail("--device %s: %d devices are the most", text, SMCR_SOCK_MAX_PORTS);
    if (comma && (strncmp(comma, key, sizeof key - 1) != 0 || strlen(comma) < sizeof key ||
                  strlen(comma) > sizeof key - 1 + 16))
        return cli_fail("--device %s: behind the comma goes pnetid=NAME, of 1 to 16 letters", text);
    if (comma) {
        port->pnetid = comma + sizeof key - 1;
        *comma = 0;
    }
    if ((strncmp(text, "xdp:", 4) != 0 || !text[4]) && (strncmp(text, "packet:", 7) != 0 || !text[7]))
        return cli_fail("--device %s: give xdp:INTERFACE or packet:INTERFACE", text);
    if (has_interface(o, text))
        return cli_fail("--device %s: its interface is given already; give each once", text);
    port->port = text;
    o->sock.num_ports++;
    return CLI_OK;
}

static int take_size(const char *option, const char *text, uint64_t min, uint64_t max, uint32_t *out)
{
    uint64_t value = 0;
    int err = cli_parse_size(option, text, min, max, &value);
    *out = (uint32_t)value;
    return err;
}

static int take_links(struct smc_options *o, const char *text)
{
    uint64_t value = 0;
    int err = cli_parse_count("--max-links", text, 2, 8, &value);
    o->sock.max_links = (uint8_t)value;
    return err;
}

static int take_flag(struct smc_options *o, int c)
{
    if (c == 'k' && !o->listen)
        return cli_fail("--keep is for `nornic smc listen`");
    o->require_smc |= c == OPT_REQUIRE;
    o->tcp_only |= c == OPT_TCP;
    o->sum |= c == OPT_SUM;
    o->keep |= c == 'k';
    o->json |= c == 'j';
    o->quiet |= c == 'q';
    if (c == '4' || c == '6')
        o->family = c == '4' ? AF_INET : AF_INET6;
    return CLI_OK;
}

static int take(struct smc_options *o, int c, char *text)
{
    switch (c) {
    case 'd':
        return take_device(o, text);
    case OPT_MAX_LINKS:
        return take_links(o, text);
    case OPT_RCVBUF:
        return take_size("--rcvbuf", text, 1, 512 << 10, &o->rcvbuf_bytes);
    case OPT_SNDBUF:
        return take_size("--sndbuf", text, 1, 64 << 20, &o->sndbuf_bytes);
    case 'i':
        o->input = text;
        return CLI_OK;
    case 'o':
        o->output = text;
        return CLI_OK;
    case 'w':
        if (o->listen)
            return cli_fail("--wait is for `nornic smc connect`; listening ends by Ctrl-C");
        return cli_parse_duration("--wait", text, NS_PER_S / 100, FOREVER, &o->connect_ns);
    case OPT_IDLE:
        return cli_parse_duration("--idle", text, NS_PER_S / 100, FOREVER, &o->idle_ns);
    case OPT_CAPTURE:
        o->capture = text;
        return CLI_OK;
    case OPT_TRACE:
        o->trace = text;
        return CLI_OK;
    case OPT_LOSS:
        return cli_parse_ppm("--loss", text, &o->impair.loss_ppm);
    case OPT_SEED:
        return cli_parse_count("--seed", text, 0, UINT64_MAX, &o->impair.seed);
    }
    return take_flag(o, c);
}

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

static int take_operands(struct smc_options *o, int n, char **operands)
{
    if (o->listen && n == 1) {
        int err = split_listen(o, operands[0]);
        return err == CLI_OK ? check_service(o) : err;
    }
    if (o->listen || n != 2)
        return cli_fail("give %s; see `nornic smc %s --help`",
                        o->listen ? "one [ADDRESS:]PORT" : "HOST and PORT", o->listen ? "listen" : "connect");
    o->host = operands[0];
    o->service = operands[1];
    return check_service(o);
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
        const char *name = interface_of(o->sock.ports[i].port, &name_len);
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

static int settle(struct smc_options *o)
{
    if (o->tcp_only && o->require_smc)
        return cli_fail("--tcp and --require-smc exclude each other");
    if (o->require_smc && o->sock.num_ports == 0)
        return cli_fail("--require-smc needs a --device");
    if ((o->capture || o->trace) && o->sock.num_ports == 0)
        return cli_fail("%s shows what a --device does: give one", o->capture ? "--capture" : "--trace");
    if (o->impair.loss_ppm && o->sock.num_ports == 0)
        return cli_fail("--loss loses frames of a --device: give one");
    int err = check_files(o);
    if (err != CLI_OK)
        return err;
    for (unsigned i = 0; i < o->sock.num_ports; i++)
        o->sock.ports[i].impair = o->impair;
    return name_captures(o);
}

int smc_parse(int argc, char **argv, bool listen, struct smc_options *o)
{
    *o = (struct smc_options){.listen = listen,
                              .family = AF_UNSPEC,
                              .impair = {.seed = 1},
                              .connect_ns = 10 * NS_PER_S,
                              .idle_ns = UINT64_MAX};
    const char *letters = listen ? ":d:i:o:46kjqh" : ":d:i:o:46w:jqh";
    opterr = 0;
    int c;
    while ((c = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        if (c == 'h') {
            fputs(listen ? listen_help : connect_help, stdout);
            return -1;
        }
        int err = c == '?' || c == ':' ? cli_option_error(c, argv) : take(o, c, optarg);
        if (err != CLI_OK)
            return err;
    }
    int err = take_operands(o, argc - optind, argv + optind);
    return err == CLI_OK ? settle(o) : err;
}
