/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame of the `nornic` command: a sub-command is one row of CLI_COMMANDS and one function. */
#ifndef NORNIC_CLI_CLI_H
#define NORNIC_CLI_CLI_H

/* One row a sub-command: C(id, name, one-line summary). Each row needs `int cli_ID(int argc, char **argv)` in
 * cli/ID.c: argv[0] is the sub-command's name, what is returned is the exit status. It answers --help
 * itself, on standard output, with an example. */
#define CLI_COMMANDS(C)                                                                               \
    C(demo, "demo", "RDMA between two network namespaces over AF_XDP, step by step")                  \
    C(help, "help", "explain a command: nornic help COMMAND")                                         \
    C(pingpong, "pingpong", "bounce a message, checked; speaks with ibv_{rc,uc,ud,srq}_pingpong")     \
    C(rping, "rping", "move a text by RDMA READ and WRITE; speaks with rping")                        \
    C(udaddy, "udaddy", "datagrams to a service that is asked for; speaks with udaddy")               \
    C(cmatose, "cmatose", "messages over many connections; speaks with ucmatose")                     \
    C(rdma_client, "rdma-client", "connect, one message there and one back; speaks with rdma_server") \
    C(rdma_server, "rdma-server", "the other side of rdma-client; speaks with rdma_client")           \
    C(smc, "smc", "bytes over SMC-R, as netcat moves them over TCP; and who uses SMC-R here")         \
    C(explain, "explain", "say what the packets of capture files mean")                               \
    C(header, "header", "draw the headers of the wire format and list their fields")                  \
    C(replay, "replay", "put the engine in the place of an endpoint of a capture, and compare")       \
    C(sniff, "sniff", "capture the RDMA traffic of an interface, and nothing else")                   \
    C(verify, "verify", "recompute the ICRC of every RoCE packet in capture files")                   \
    C(perf, "perf", "measure bandwidth or latency of one operation between two sides")

enum cli_exit {
    CLI_OK = 0,
    CLI_NEGATIVE = 1, /* the command worked and its answer is no: bad data, a failed transfer */
    CLI_ERROR = 2,    /* usage or environment: nothing was tried, or it could not be */
};

#define CLI_COMMAND_DECLARE_(id, name, summary) int cli_##id(int argc, char **argv);
CLI_COMMANDS(CLI_COMMAND_DECLARE_)
#undef CLI_COMMAND_DECLARE_

/* The sub-command that runs, for messages; "" before one was chosen. */
const char *cli_command_name(void);
void cli_command_set(const char *name); /* kept */

/* Prints "nornic COMMAND: sentence" to standard error and returns CLI_ERROR, so that a command can
 * `return cli_fail("no such file %s", path);`. The format has no newline at its end. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, returning CLI_NEGATIVE. */
int cli_negative(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
