/* SPDX-License-Identifier: BSD-2-Clause */
/* Kinds of sandboxes, and uses of files. */
#ifndef NORNIC_CLI_SANDBOX_KIND_H
#define NORNIC_CLI_SANDBOX_KIND_H

/* The process, by the calls that it makes. */
enum cli_sandbox_kind {
    CLI_SANDBOX_READER,  /* files alone */
    CLI_SANDBOX_CAPTURE, /* and packets of sockets that are open */
    CLI_SANDBOX_ROTATE,  /* as CAPTURE, and files that are removed */
    CLI_SANDBOX_SERVICE, /* `nornic smc service` over UDP sockets */
    CLI_SANDBOX_RAW,     /* and over packet or xdp ports, which are opened again with their interface */
};

/* Use of a file, or of the files in a directory, after the sandbox is closed. */
enum cli_sandbox_use {
    CLI_SANDBOX_READS,   /* reads the file, or each file below the directory */
    CLI_SANDBOX_WRITES,  /* reads, writes and cuts the file, or each file below the directory */
    CLI_SANDBOX_MAKES,   /* makes, reads, writes and removes files in the directory */
    CLI_SANDBOX_REMOVES, /* removes names in the directory */
};

#endif
