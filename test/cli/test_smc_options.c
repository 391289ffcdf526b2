/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/option/option.h"
#include "cli/smc/smc.h"

#define MAX_WORDS 16

static struct smc_options o;
static char copies[MAX_WORDS][64];

/* Parses "listen a b c"; the first word is the sub-command. */
static int parse(const char *line)
{
    char *argv[MAX_WORDS + 1];
    int argc = 0;
    char text[256];
    snprintf(text, sizeof text, "%s", line);
    for (char *word = strtok(text, " "); word; word = strtok(NULL, " ")) {
        snprintf(copies[argc], sizeof copies[argc], "%s", word);
        argv[argc] = copies[argc];
        argc++;
    }
    argv[argc] = NULL;
    return cli_parse(strcmp(argv[0], "listen") == 0 ? &smc_listen_command : &smc_connect_command, argc, argv,
                     &o);
}

Test(smc_options, where_to_listen)
{
    cr_assert_eq(parse("listen 5000"), CLI_OK);
    cr_assert_null(o.host);
    cr_assert_str_eq(o.service, "5000");
    cr_assert_eq(parse("listen 192.0.2.1:5000"), CLI_OK);
    cr_assert_str_eq(o.host, "192.0.2.1");
    cr_assert_eq(parse("listen [fd00::1]:5000"), CLI_OK);
    cr_assert_str_eq(o.host, "fd00::1");
    cr_assert_str_eq(o.service, "5000");
    cr_assert_eq(parse("listen 0"), CLI_OK); /* any free port */
    cr_assert_eq(parse("listen 65535"), CLI_OK);
    cr_assert_eq(parse("listen http"), CLI_OK);
}

Test(smc_options, devices_have_networks_and_captures)
{
    cr_assert_eq(parse("connect -d xdp:eth0 -d packet:eth1,pnetid=NET2 --capture d.x/c.pcapng h 1"), CLI_OK);
    cr_assert_eq(o.sock.num_ports, 2);
    cr_assert_str_eq(o.sock.ports[0].port, "xdp:eth0");
    cr_assert_null(o.sock.ports[0].pnetid);
    cr_assert_str_eq(o.sock.ports[1].port, "packet:eth1");
    cr_assert_str_eq(o.sock.ports[1].pnetid, "NET2");
    cr_assert_str_eq(o.sock.ports[0].capture_path, "d.x/c-eth0.pcapng");
    cr_assert_str_eq(o.sock.ports[1].capture_path, "d.x/c-eth1.pcapng");
    cr_assert_eq(parse("connect -d xdp:eth0 -d xdp:eth01 h 1"), CLI_OK);
    cr_assert_eq(parse("connect -d xdp:eth0 --capture d.x/c h 1"), CLI_OK);
    cr_assert_str_eq(o.sock.ports[0].capture_path, "d.x/c");
}

Test(smc_options, what_is_refused, .init = cr_redirect_stderr)
{
    static const char *const lines[] = {
        "listen",
        "listen 1 2",
        "listen fd00::1:5000",
        "listen :5000",
        "connect h",
        "connect h 1 2",
        "connect -k h 1",
        "connect -d memory h 1",
        "connect -d eth0 h 1",
        "connect -d xdp:eth0,net=1 h 1",
        "connect -d xdp:eth0,pnetid= h 1",
        "connect -d xdp:eth0,pnetid=12345678901234567 h 1",
        "connect --max-links 1 h 1",
        "connect --max-links 9 h 1",
        "connect --rcvbuf 1M h 1",
        "connect --require-smc h 1",
        "connect --require-smc --tcp -d xdp:eth0 h 1",
        "connect --trace x h 1",
        "connect --capture x h 1",
        "connect --loss 1% h 1",
        /* not cut to 16 bits, as getaddrinfo() does */
        "connect h 0",
        "connect h 65536",
        "connect h 99999",
        "listen 65536",
        "listen h:99999",
        /* of the other command */
        "listen --wait 1s 1",
        "connect --keep h 1",
        /* one port an interface */
        "connect -d xdp: h 1",
        "connect -d xdp:eth0 -d xdp:eth0 h 1",
        "connect -d xdp:eth0 -d packet:eth0,pnetid=A h 1",
        "connect -d xdp:eth0:native -d xdp:eth0 h 1",
        /* files, before anything stands */
        "connect -i / h 1",
        "connect -o / h 1",
        "connect -o /nonexistent/x h 1",
    };
    for (size_t i = 0; i < array_len(lines); i++)
        cr_assert_eq(parse(lines[i]), CLI_ERROR, "%s", lines[i]);
}
