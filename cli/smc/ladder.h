/* SPDX-License-Identifier: BSD-2-Clause */
/* The traces of two ends (cli/smc/trace.c) side by side: who said what on which link, and what changed. */
#ifndef NORNIC_CLI_SMC_LADDER_H
#define NORNIC_CLI_SMC_LADDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum smc_side { SMC_LEFT, SMC_RIGHT };

struct smc_row {
    uint64_t time_us;
    enum smc_side side; /* where it was seen */
    char mark;          /* of struct smcr_trace_line */
    char where[24], text[192];
    uint32_t order;   /* of its line in its file */
    bool has_arrived; /* '>': the other side has it; '<': this row is that of the sender */
};

struct smc_ladder {
    struct smc_row *rows; /* by time */
    size_t count, room;
};

/* Reads two traces, matches what was sent with what was received, and leaves out the rows of the receipts.
 * Lines of another form are skipped. 0, or -errno with the file that could not be read in `*which`. */
int smc_ladder_read(const char *left, const char *right, struct smc_ladder *out, const char **which);
/* Of memory, for tests: `text` are lines. 0 or -ENOMEM. */
int smc_ladder_add(struct smc_ladder *ladder, enum smc_side side, FILE *from);
void smc_ladder_match(struct smc_ladder *ladder);
void smc_ladder_free(struct smc_ladder *ladder);

/* From a little before the first link went down to when the group had its redundancy back, or to the end.
 * False: no link went down. */
bool smc_ladder_find_failover(const struct smc_ladder *ladder, size_t *first, size_t *count);

struct smc_ladder_style {
    const char *left, *right; /* names of the sides */
    unsigned width;           /* columns, at least 72 */
    bool fold;                /* of runs of CDC messages that only move data print the first and the last */
};

/* Prints rows first .. first + count - 1, times from the first of them on. */
void smc_ladder_print(FILE *out, const struct smc_ladder *ladder, size_t first, size_t count,
                      const struct smc_ladder_style *style);

#endif
