/* SPDX-License-Identifier: BSD-2-Clause */
/* The second act of the demo: a file over SMC-R between the two namespaces, on two links, one of which is cut
 * and restored meanwhile. Its two ends are `nornic smc listen` and `nornic smc connect`. */
#ifndef NORNIC_CLI_DEMO_SMC_H
#define NORNIC_CLI_DEMO_SMC_H

#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/demo/lab.h"
#include "cli/smc/sum.h"

struct demo_smc_plan {
    const struct demo_lab *lab;
    const char *kind; /* "xdp" or "packet" */
    uint32_t mtu_bytes;
    uint64_t file_bytes, seed;
    bool ipv6;
    FILE *out; /* NULL: print nothing */
    bool is_terminal, colour;
};

struct demo_smc_result {
    uint64_t arrived_bytes;
    char sent_sum[SMC_SUM_TEXT], file_sum[SMC_SUM_TEXT]; /* of what was sent, and of the file that came */
    double seconds, failover_ms, regain_ms; /* from the cut, and from the restoring, until it was seen */
    char cut[64];                           /* the interface */
    struct json_object *client, *server;    /* their reports; NULL: none */
};

/* Runs the act. CLI_OK: the bytes are whole, the group failed over and regained its second link; else a
 * sentence was said. demo_smc_forget() in any case. */
int demo_smc_run(const struct demo_smc_plan *plan, struct demo_smc_result *result);
void demo_smc_forget(struct demo_smc_result *result);

/* Of the result, for --json. */
struct json_object *demo_smc_json(const struct demo_smc_result *result);

/* --- an end as a process: smc_end.c --- */

struct demo_smc_end {
    int pid;                 /* 0: none, or reaped */
    int status;              /* of waitpid() */
    int in_fd;               /* its standard input's other end; -1: closed */
    int out_fd, err_fd;      /* what it printed: memory files */
    int trace_fd, output_fd; /* memory files that it writes by their names */
};

/* Starts `nornic smc listen` (end 1) or `smc connect` (end 0) in its namespace. CLI_OK or CLI_ERROR. */
int demo_smc_end_start(struct demo_smc_end *end, const struct demo_smc_plan *plan, int which);
/* Whether it still runs; reaps it. */
bool demo_smc_end_runs(struct demo_smc_end *end);
/* Ends it, by SIGTERM and after some seconds by SIGKILL, if it runs, and closes what it had. */
void demo_smc_end_stop(struct demo_smc_end *end);
/* Its last line on standard error, or why it ended; for a sentence. `text` has `size`. */
const char *demo_smc_end_words(const struct demo_smc_end *end, char *text, size_t size);
/* The last JSON object that it printed; NULL: none. */
struct json_object *demo_smc_end_report(const struct demo_smc_end *end);
/* Whether it has printed anything on standard output. */
bool demo_smc_end_spoke(const struct demo_smc_end *end);

#endif
