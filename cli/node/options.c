/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/node/options.h"

#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/impair_rows.h"
#include "cli/option/cc.h"
#include "cli/option/value.h"

#define AT(member) CLI_SETS(struct cli_node_config, member)

static int take_gid_index(void *settings, const char *option, char *text)
{
    struct cli_node_config *config = settings;
    uint64_t index;
    int err = cli_parse_count(option, text, 0, 255, &index);
    if (err)
        return err;
    config->has_gid_index = true;
    config->gid_index = (uint8_t)index;
    return CLI_OK;
}

static int take_cc(void *settings, const char *option, char *text)
{
    struct cli_node_config *config = settings;
    (void)option;
    return cli_parse_cc(text, &config->cc);
}

/* By enum nornic_iwarp_rtr. */
static const char *const rtr_words[] = {"both", "write", "read", "none", NULL};

const struct cli_option cli_node_rows[] = {
    {"port", 0, "PORT",
     "udp:ADDR or udp:IFACE (no privilege needed), xdp:IFACE (or xdp:IFACE:native, xdp:IFACE:generic), "
     "packet:IFACE or memory; iwarp:ADDR or iwarp:IFACE speaks iWARP over TCP; nornic ports lists "
     "them; behind it "
     "options of the device: ,cc,dscp=26,hops=9,pkey=0x8001,apm,masked-atomics,entropy or ,pkey0=0x8001 (xdp "
     "on the way to the peer where that can be, else udp)",
     AT(port), .kind = CLI_PORT},
    {"gid-idx", 'g', "INDEX", "GID to use, by its index (that of the address HOST is reached from)",
     CLI_TAKEN_BY(take_gid_index)},
    {"ipv6", '6', NULL, "prefer an IPv6 GID", AT(ipv6)},
    {"roce-v1", 0, NULL, "speak RoCEv1 (EtherType 0x8915), as the peer must too", AT(roce_v1)},
    {"events", 'e', NULL, "sleep on completion events; else look for completions in a loop", AT(events)},
    {"spin", 0, "TIME",
     "how long to look again for completions before sleeping: 0 sleeps at once, a long time never does",
     AT(spin_ns), CLI_TAKES_TIME(0, 86400 * NS_PER_S), .preset = "50us"},
    {"capture", 0, "FILE", "write what crosses the port to FILE, as pcapng", AT(capture), .kind = CLI_FILE},
    CLI_IMPAIR_ROWS(AT),
    {"cc", 0, "SETTINGS",
     "congestion management: obey and send CNPs; SETTINGS as line-rate=25G,gain=5 "
     "(docs/congestion.md has them all)",
     CLI_TAKEN_BY(take_cc), .is_optional = true},
    {"mpa-rev", 0, "NUMBER",
     "iWARP: revision of MPA to ask for, and the newest to answer, 1 or 2 (2, and 1 of a peer that "
     "ends TCP "
     "instead of answering)",
     AT(iwarp.mpa_rev), CLI_TAKES_COUNT(1, 2)},
    {"no-crc", 0, NULL, "iWARP: do without the CRC, if the peer does too", AT(iwarp.no_crc)},
    {"markers", 0, NULL, "iWARP: want markers in what comes", AT(iwarp.markers)},
    {"rtr", 0, "KIND", "iWARP: ready-to-receive message to offer, %r", AT(iwarp.rtr),
     CLI_TAKES_ONE_OF(rtr_words), .preset = "both"},
    {NULL},
};

bool cli_node_is_memory(const struct cli_node_config *config)
{
    const char memory[] = "memory"; /* perhaps with options */
    return config->port && strcspn(config->port, ",") == strlen(memory) &&
           strncmp(config->port, memory, strlen(memory)) == 0;
}

int cli_node_options_check(const struct cli_node_config *config, const char *host)
{
    if (host && cli_node_is_memory(config))
        return cli_fail("port memory joins two ends in this process: it takes no HOST ('%s')", host);
    return CLI_OK;
}
