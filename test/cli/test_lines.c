/* SPDX-License-Identifier: BSD-2-Clause */
/* Command lines of each command: what the settings are after them, and what is said to those that are
 * wrong. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "cli/peer/peer.h"
#include "cli/perf/perf.h"
#include "cli/pingpong/pingpong.h"
#include "line.h"

static struct perf_options perf;
static struct pingpong_options pingpong;
static struct peer_options peer;
static uint8_t any[65536]; /* settings whose struct only their command knows */

/* --- perf --- */

Test(lines, perf_alone_is_a_server_that_writes)
{
    cr_assert_eq(line_parse("perf --port memory", &perf), CLI_OK);
    cr_expect_eq(perf.test.op, PERF_OP_WRITE);
    cr_expect_eq(perf.test.size_bytes, 65536);
    cr_expect_eq(perf.test.depth, 16);
    cr_expect_eq(perf.test.qps, 1);
    cr_expect_eq(perf.test.pmtu_bytes, 0, "the largest that fits");
    cr_expect_eq(perf.time_ns, 3 * NS_PER_S);
    cr_expect_eq(perf.iters, 0);
    cr_expect_eq(perf.warmup, 100);
    cr_expect_eq(perf.timeout_ns, 10 * NS_PER_S);
    cr_expect_eq(perf.tcp_port, 18516);
    cr_expect_eq(perf.node.impair.seed, 1);
    cr_expect_eq(perf.node.impair.loss_ppm, 0);
    cr_expect_not(perf.node.has_gid_index);
    cr_expect_not(perf.node.cc.on);
    cr_expect_null(perf.host);
}

Test(lines, perf_with_everything)
{
    cr_assert_eq(
        line_parse("perf --port packet:eth0:x --op read -s 8K -n 500 -d 4 -q 2 -W 100 -m 2048 -v -w 7 -p 1 "
                   "-t 2s -j -g 3 -6 --roce-v1 -e --capture f --loss 1% --duplicate 2% --reorder 3% "
                   "--corrupt 4% --ecn 5% --seed 6 --cc=gain=7 10.0.0.1",
                   &perf),
        CLI_OK);
    cr_expect_eq(perf.test.op, PERF_OP_READ);
    cr_expect_eq(perf.test.size_bytes, 8192);
    cr_expect_eq(perf.iters, 500);
    cr_expect_eq(perf.time_ns, 0, "so many, however long it takes");
    cr_expect_eq(perf.test.depth, 4);
    cr_expect_eq(perf.test.qps, 2);
    cr_expect_eq(perf.node.window_pkts, 100);
    cr_expect_eq(perf.test.pmtu_bytes, 2048);
    cr_expect(perf.test.verify);
    cr_expect_eq(perf.warmup, 7);
    cr_expect_eq(perf.tcp_port, 1);
    cr_expect_eq(perf.timeout_ns, 2 * NS_PER_S);
    cr_expect(perf.json);
    cr_expect_str_eq(perf.node.port, "packet:eth0:x");
    cr_expect(perf.node.has_gid_index);
    cr_expect_eq(perf.node.gid_index, 3);
    cr_expect(perf.node.ipv6);
    cr_expect(perf.node.roce_v1);
    cr_expect(perf.node.events);
    cr_expect_str_eq(perf.node.capture, "f");
    cr_expect_eq(perf.node.impair.loss_ppm, 10000);
    cr_expect_eq(perf.node.impair.duplicate_ppm, 20000);
    cr_expect_eq(perf.node.impair.reorder_ppm, 30000);
    cr_expect_eq(perf.node.impair.corrupt_ppm, 40000);
    cr_expect_eq(perf.node.impair.ecn_ppm, 50000);
    cr_expect_eq(perf.node.impair.seed, 6);
    cr_expect(perf.node.cc.on);
    cr_expect_eq(perf.node.cc.gain_1024ths, 7);
    cr_expect_str_eq(perf.host, "10.0.0.1");
}

Test(lines, perf_settles_what_follows)
{
    cr_assert_eq(line_parse("perf --port memory --op fetch-add", &perf), CLI_OK);
    cr_expect_eq(perf.test.size_bytes, 8);
    cr_assert_eq(line_parse("perf --port memory --op cmp-swap -s 8", &perf), CLI_OK);
    cr_assert_eq(line_parse("perf --port memory --latency", &perf), CLI_OK);
    cr_expect_eq(perf.test.depth, 1);
    cr_assert_eq(line_parse("perf --port memory --cc", &perf), CLI_OK);
    cr_expect(perf.node.cc.on);
    cr_assert_eq(line_parse("perf --port memory --duration 5s --pmtu 512 -o send", &perf), CLI_OK);
    cr_expect_eq(perf.time_ns, 5 * NS_PER_S);
    cr_expect_eq(perf.test.pmtu_bytes, 512);
    cr_expect_eq(perf.test.op, PERF_OP_SEND);
}

/* --- pingpong --- */

Test(lines, pingpong_by_transport)
{
    static const struct {
        const char *line;
        uint32_t size, pmtu, pairs;
    } cases[] = {{"pingpong --port memory", 4096, 1024, 1},
                 {"pingpong --port memory --transport uc", 4096, 1024, 1},
                 {"pingpong --port memory --transport ud", 1024, 1024, 1},
                 {"pingpong --port memory --transport srq", 4096, 1024, 16},
                 {"pingpong --port memory --transport srq -q 256 -s 1 -m 256", 1, 256, 256},
                 {"pingpong --port memory --transport ud -s 7", 7, 1024, 1}};
    for (size_t i = 0; i < array_len(cases); i++) {
        cr_assert_eq(line_parse(cases[i].line, &pingpong), CLI_OK, "%s", cases[i].line);
        cr_expect_eq(pingpong.size_bytes, cases[i].size, "%s", cases[i].line);
        cr_expect_eq(pingpong.pmtu_bytes, cases[i].pmtu, "%s", cases[i].line);
        cr_expect_eq(pingpong.pairs, cases[i].pairs, "%s", cases[i].line);
    }
    cr_assert_eq(line_parse("pingpong --port xdp:eth0 -p 5 -r 6 -n 7 -l 5 -c -t 9s -j host", &pingpong),
                 CLI_OK);
    cr_expect_eq(pingpong.tcp_port, 5);
    cr_expect_eq(pingpong.rx_depth, 6);
    cr_expect_eq(pingpong.iters, 7);
    cr_expect_eq(pingpong.sl, 5);
    cr_expect(pingpong.stock_check);
    cr_expect_eq(pingpong.timeout_ns, 9 * NS_PER_S);
    cr_expect(pingpong.json);
    cr_expect_str_eq(pingpong.host, "host");
}

/* --- the peers of rdmacm-utils --- */

Test(lines, peers_have_the_ports_of_the_stock_programs)
{
    static const struct {
        const char *line;
        uint16_t port;
    } cases[] = {{"udaddy --port xdp:eth0", 7174},
                 {"cmatose --port xdp:eth0", 7471},
                 {"rdma-client -s h --port xdp:eth0", 7471},
                 {"rdma-server --port xdp:eth0", 7471},
                 {"udaddy --port xdp:eth0 -p 9", 9}};
    for (size_t i = 0; i < array_len(cases); i++) {
        cr_assert_eq(line_parse(cases[i].line, &peer), CLI_OK, "%s", cases[i].line);
        cr_expect_eq(peer.service_port, cases[i].port, "%s", cases[i].line);
        cr_expect_eq(peer.timeout_ns, 10 * NS_PER_S);
    }
}

Test(lines, peers_are_servers_until_they_are_told_of_one)
{
    cr_assert_eq(line_parse("cmatose --port packet:e -b 10.0.0.1 -c 3 -C 4 -S 5 -t 6s -j", &peer), CLI_OK);
    cr_expect_null(peer.host);
    cr_expect_str_eq(peer.bind, "10.0.0.1");
    cr_expect_eq(peer.connections, 3);
    cr_expect_eq(peer.messages, 4);
    cr_expect_eq(peer.size_bytes, 5);
    cr_expect_eq(peer.timeout_ns, 6 * NS_PER_S);
    cr_expect(peer.json);
    cr_assert_eq(line_parse("udaddy --port packet:e --server 10.0.0.2", &peer), CLI_OK);
    cr_expect_str_eq(peer.host, "10.0.0.2");
    cr_expect_eq(peer.connections, 1);
    cr_expect_eq(peer.messages, 10);
    cr_expect_eq(peer.size_bytes, 100);
    cr_assert_eq(line_parse("rdma-server -s 10.0.0.3 --port packet:e", &peer), CLI_OK);
    cr_expect_null(peer.host, "its -s is the address to listen on");
    cr_expect_str_eq(peer.bind, "10.0.0.3");
    cr_expect_eq(peer.messages, 1);
    cr_expect_eq(peer.size_bytes, 16);
    cr_assert_eq(line_parse("rdma-client -s 10.0.0.3 --port packet:e", &peer), CLI_OK);
    cr_expect_str_eq(peer.host, "10.0.0.3");
}

Test(lines, rping_is_one_of_two)
{
    /* its struct begins with that of a peer */
    const struct peer_options *o = (const void *)any;
    cr_assert_eq(line_parse("rping -s -a 10.0.0.1 -P --port packet:e", any), CLI_OK);
    cr_expect_null(o->host);
    cr_expect_str_eq(o->bind, "10.0.0.1");
    cr_expect(o->persistent);
    cr_expect_eq(o->connections, 1);
    cr_expect_eq(o->service_port, 7174);
    cr_assert_eq(line_parse("rping -c -a 10.0.0.1 -I 10.0.0.2 -C 5 -S 23 -v --port packet:e", any), CLI_OK);
    cr_expect_str_eq(o->host, "10.0.0.1");
    cr_expect_str_eq(o->bind, "10.0.0.2");
    cr_expect_eq(o->messages, 5);
    cr_expect_eq(o->size_bytes, 23);
    cr_expect(o->print);
    cr_expect_str_eq(o->node.port, "packet:e");
}

/* --- what is refused, and in which words --- */

static const struct {
    const char *line, *words;
} wrong[] = {
    {"perf --port memory 10.0.0.1", "it takes no HOST ('10.0.0.1')"},
    {"perf --port xdp:e a b", "'b' is one word too many"},
    {"perf --port memory -n 5 -T 5s", "--iters and --time exclude each other"},
    {"perf --port memory -n 5 --duration 5s", "--iters and --duration exclude each other"},
    {"perf --port memory --op fetch-add -s 16", "--size 16: fetch-add works on 8 bytes"},
    {"perf --port memory --op jump",
     "send, write, write-imm, read, fetch-add, cmp-swap, masked-fetch-add or masked-cmp-swap"},
    {"perf --port memory -L -d 2", "exclude each other: it has one operation under way"},
    {"perf --port memory -q 2 -L", "--latency and --qps exclude each other"},
    {"perf --port memory -s 2G", "--size 2G: give a size from 1 to 1073741824 bytes"},
    {"perf --port memory -n 0", "--iters 0: give a whole number from 1"},
    {"perf --port memory -m 1500", "a path MTU is 256, 512, 1024, 2048 or 4096 bytes"},
    {"perf --port memory -p 0", "--tcp-port 0"},
    {"perf --port memory -g 256", "--gid-idx 256: give a whole number from 0 to 255"},
    {"perf --port memory --cc=gain=0", "--cc gain 0"},
    {"perf --port memory --cc=frob=1", "give NAME=VALUE, where NAME is one of line-rate"},
    {"perf --port eth0",
     "--port eth0: give udp:ADDRESS, udp:INTERFACE, iwarp:ADDRESS, iwarp:INTERFACE, xdp:INTERFACE, "
     "packet:INTERFACE or memory"},
    {"pingpong --port memory --transport ud -m 1024", "a datagram has no path MTU"},
    {"pingpong --port memory -q 2", "--num-qp 2 goes with --transport srq only"},
    {"pingpong --port memory --transport srq -q 257", "1 to 256"},
    {"pingpong --port memory --transport tcp", "give rc, uc, ud or srq"},
    {"pingpong --port memory -l 8", "--sl 8: give a whole number from 0 to 7"},
    {"pingpong --port memory h", "it takes no HOST"},
    {"udaddy --port memory", "port memory has no connection manager to talk to"},
    {"udaddy --port xdp:e -S 4097", "--size 4097: give a size from 1 to 4096 bytes"},
    {"udaddy --port xdp:e word", "'word' is one word too many"},
    {"cmatose --port xdp:e -c 1025", "--connections 1025"},
    {"cmatose --port xdp:e -C 16385", "--count 16385"},
    {"rdma-client --port xdp:e", "say which server: -s ADDRESS"},
    {"rdma-client --port xdp:e -s h -C 5", "unknown option -C"},
    {"rping --port xdp:e", "say -s to be the server, or -c to be the client"},
    {"rping --port xdp:e -s -c", "say -s to be the server, or -c to be the client"},
    {"rping --port xdp:e -c", "the client needs the server's address: -a ADDRESS"},
    {"rping --port xdp:e -c -a h -S 22", "--size 22: give a size from 23 to 65535 bytes, such as 4096"},
    {"rping --port xdp:e -c -a h -P", "exclude each other: that is for the server"},
    {"demo --port eth0", "--port eth0: give auto, xdp, packet, udp or memory"},
    {"demo --act 4", "--act 4: give a whole number from 1 to 3"},
    {"demo --size 9M", "--size 9M: give a size from 1 to 8388608 bytes"},
    {"demo --count 5 --time 5s", "--count and --time exclude each other"},
    {"demo --act 2 -o x", "--output names the captures of act 1, and --act 2 leaves that out"},
    {"demo -o ''", "--output : give a file name of 1 to 250 bytes"},
    {"demo word", "'word' is one word too many"},
    {"sniff", "name the interface with -i"},
    {"sniff -i lo", "name the file to write with -o"},
    {"sniff -i lo -o f --rotate-count 3", "--rotate-count goes with --rotate-size: when does a file end?"},
    {"sniff -i lo -o f --rotate-size 1000", "--rotate-size 1000: give a size from 65536"},
    {"sniff -i lo -o f --seconds soon", "--seconds soon: give a time"},
    {"sniff -i lo -w f word", "'word' is one word too many"},
    {"explain", "name a capture file, - for standard input, or an interface with -i"},
    {"explain -i lo f", "f: it is either files or, with -i, an interface"},
    {"explain --ladder --json f", "--ladder and --json exclude each other"},
    {"explain --html o -v f", "--html o: the page holds it all"},
    {"explain --html o --ladder f", "--html o: the page holds it all"},
    {"explain --time 5 f", "--time goes with --interface: a file ends by itself"},
    {"explain --color sometimes f", "--color sometimes: give auto, always or never"},
    {"verify", "name a capture file, or - for standard input; see `nornic help verify`"},
    {"verify --frob f", "unknown or ambiguous option --frob"},
    {"replay", "name one capture file"},
    {"replay a b", "'b' is one word too many"},
    {"replay f", "--as ADDR is needed"},
    {"replay f --as nobody", "--as nobody: it is an IPv4 or IPv6 address"},
    {"replay f --rewrite", "say where the packets go, with -i IFACE or -o FILE"},
    {"replay f --as 10.0.0.1 -o x", "--output goes with --rewrite: packets are written with it"},
    {"replay f --as 10.0.0.1 -i lo", "--interface goes with --rewrite"},
    {"replay f --as 10.0.0.1 --scenario /nonexistent/x", "--scenario /nonexistent/x: cannot be read"},
    {"smc stat word", "'word' is one word too many"},
    {"smc stat --pid 0", "--pid 0: give a whole number from 1"},
    {"smc stat --watch=1ms", "--watch 1ms: give a time from 0.1 s"},
    {"smc ladder", "give two traces, the client's and the server's"},
    {"smc ladder a", "give two traces, the client's and the server's"},
    {"smc ladder a b c", "give two traces, the client's and the server's"},
    {"smc listen", "say where to listen: [ADDRESS:]PORT"},
    {"smc listen fd00::1:5000", "write an IPv6 address as [ADDRESS]:PORT"},
    {"smc listen :5000", "give [ADDRESS:]PORT"},
    {"smc listen 99999", "port 99999: give a whole number from 0 to 65535"},
    {"smc connect h", "give HOST and PORT"},
    {"smc connect h 0", "port 0: give a whole number from 1 to 65535"},
    {"smc connect h 1 2", "'2' is one word too many"},
    {"smc connect -4 -6 h 1", "--ipv4 and --ipv6 exclude each other"},
    {"smc connect --tcp --require-smc h 1", "--tcp and --require-smc exclude each other"},
    {"smc connect --require-smc h 1", "--require-smc needs a --device"},
    {"smc connect --capture f h 1", "--capture shows what a --device does: give one"},
    {"smc connect --trace f h 1", "--trace shows what a --device does: give one"},
    {"smc connect --loss 1% h 1", "--loss loses frames of a --device: give one"},
    {"smc connect -d eth0 h 1", "--device eth0: give xdp:INTERFACE, packet:INTERFACE or udp:INTERFACE"},
    {"smc connect -d xdp:e -d packet:e h 1", "its interface is given already"},
    {"smc connect -d xdp:e,net=1 h 1", "no option 'net=1'"},
    {"smc connect -d xdp:a -d xdp:b -d xdp:c -d xdp:d -d xdp:e -d xdp:f -d xdp:g -d xdp:h -d xdp:i h 1",
     "devices are the most"},
    {"smc connect --rcvbuf 1M h 1", "--rcvbuf 1M: give a size from 1 to 524288 bytes, such as 4096 or 64K"},
    {"smc connect --max-links 9 h 1", "--max-links 9: give a whole number from 2 to 8"},
    {"smc connect -i /nonexistent/x h 1", "cannot read /nonexistent/x: No such file"},
    {"smc connect -o / h 1", "cannot create /: Is a directory"},
    {"help frob", "there is no command 'frob'"},
    {"help smc frob", "there is no command 'smc frob'"},
    {"help --completion tcsh", "--completion tcsh: give bash, zsh or fish"},
};

Test(lines, what_is_wrong_is_said_in_one_sentence)
{
    for (size_t i = 0; i < array_len(wrong); i++) {
        const struct line_result *r =
            strncmp(wrong[i].line, "help", 4) == 0 ? line_run(wrong[i].line) : line_try(wrong[i].line, any);
        cr_expect_eq(r->status, CLI_ERROR, "%s", wrong[i].line);
        cr_expect_not_null(strstr(r->err, wrong[i].words), "%s: %s", wrong[i].line, r->err);
        cr_expect_eq(strncmp(r->err, "nornic ", 7), 0, "%s: %s", wrong[i].line, r->err);
        const char *end = strchr(r->err, '\n');
        cr_expect(end && !end[1], "%s: one line: %s", wrong[i].line, r->err);
        cr_expect_str_empty(r->out, "%s", wrong[i].line);
    }
}

/* What of these lines is right is taken. */
static const char *const right[] = {
    "sniff -i lo -w f",
    "sniff -i lo -o f -c 5 --time 1m --rotate-size 64K --rotate-count 2 -p -q -j",
    "sniff --interface lo --write f --seconds 3 --no-promiscuous",
    "explain -v -f bth -c 1 --strict -a --color always f g",
    "explain -i lo --duration 3 --json",
    "explain --colour never --html out f",
    "verify --strict --json a b c",
    "verify -",
    "replay f --as fe80::1 -a -j",
    "replay f --rewrite -w out --speed 0",
    "smc stat --watch",
    "smc stat -w5s -j --pid 77",
    "smc ladder --all --failover a b",
    "demo --act 1 --loss 0% --seed 0 --size 1 --time 100ms --port memory --mtu 256 --ipv6 -o x --json "
    "--no-color --keep",
    "help smc listen",
    "help --completion fish",
    "header",
    "header bth aeth",
};

Test(lines, what_is_right_is_taken)
{
    for (size_t i = 0; i < array_len(right); i++) {
        const struct line_result *r = line_try(right[i], any);
        cr_expect_eq(r->status, CLI_OK, "%s: %s", right[i], r->err);
    }
}
