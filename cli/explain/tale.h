/* SPDX-License-Identifier: BSD-2-Clause */
/* What the packets add up to: the story in three sentences, and the numbers of each flow. */
#ifndef NORNIC_CLI_EXPLAIN_TALE_H
#define NORNIC_CLI_EXPLAIN_TALE_H

#include "cli/option/option.h"
#include "explain/story/iwarp_numbers.h"
#include "explain/story/story.h"

#define CLI_TALE_DONE_MAX 64

struct cli_tale {
    struct explain_numbers *numbers;
    struct explain_iwarp_numbers iwarp;
    struct explain_story story;
    struct explain_operation done[CLI_TALE_DONE_MAX]; /* that the newest packet completed; further ones are */
    unsigned done_count;                              /* counted, and have no line */
};

/* False: no memory. cli_tale_deinit() after either. */
bool cli_tale_init(struct cli_tale *tale);
void cli_tale_deinit(struct cli_tale *tale);

/* Takes a packet with its meaning. */
void cli_tale_take(struct cli_tale *tale, const struct explain_packet *packet,
                   const struct explain_meaning *meaning);

/* Appends the sentences: as a paragraph of lines of at most `columns`, or as {"story":[...]}. */
void cli_tale_text(struct explain_text *out, const struct cli_tale *tale,
                   const struct explain_analysis *analysis, unsigned columns);
/* A sentence a line; nothing where there is no story. */
void cli_tale_lines(struct explain_text *out, const struct cli_tale *tale,
                    const struct explain_analysis *analysis);
void cli_tale_json(struct explain_text *out, const struct cli_tale *tale,
                   const struct explain_analysis *analysis);

/* How the numbers are written: those of flows and of iWARP connections, or as a table of the former or the
 * latter. */
enum cli_tale_form { CLI_TALE_TEXT, CLI_TALE_JSON, CLI_TALE_CSV, CLI_TALE_CSV_IWARP };
void cli_tale_numbers(struct explain_text *out, const struct cli_tale *tale,
                      const struct explain_analysis *analysis, enum cli_tale_form form);

/* Whether the capture comes through a pipe from one who may be still at it (`tcpdump -U -w - | nornic explain
 * -`). */
bool cli_tale_is_live(const char *path);
/* Whether the sentences may stand above the packets, which they are known behind: not where somebody may be
 * still writing (pipes; "-" where it is one), or where the files are so large that nobody would wait. */
bool cli_tale_may_lead(const struct cli_words *files);
/* What becomes known of the flows behind their first packets: whether their operations have latencies. */
struct cli_foreseen {
    uint32_t count;       /* of flows; 0: the files may not lead, or there was no memory */
    unsigned char *flows; /* one each, by index less 1 */
};
/* Reads the files once ahead, as far as they may lead. cli_foreseen_deinit() after it. */
void cli_tale_foresee(struct cli_foreseen *foreseen, const struct cli_words *files, bool strict);
void cli_foreseen_deinit(struct cli_foreseen *foreseen);
/* Reads the files once ahead, and appends the story that they will turn out to be, if it may lead. */
void cli_tale_ahead(struct explain_text *out, const struct cli_words *files, bool strict, unsigned columns);

/* How many packets the capture holds more than once, as a line or a JSON object; nothing where it holds
 * none. */
void cli_tale_twice(struct explain_text *out, const struct explain_analysis *analysis, bool json);

/* The CSV line of an operation; without a latency where the capture does not tell it: by what is foreseen, or
 * what is known so far. */
void cli_tale_operation(struct explain_text *out, const struct explain_operation *operation,
                        const struct explain_analysis *analysis, const struct cli_foreseen *foreseen);
/* The table of flows. Standard error says how many have no rows: those behind the first
 * EXPLAIN_NUMBERS_FLOWS, and those that were forgotten for room. */
void cli_tale_flows(struct explain_text *out, const struct cli_tale *tale,
                    const struct explain_analysis *analysis);

#endif
