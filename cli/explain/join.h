/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic explain A B --join`: two captures read as one. */
#ifndef NORNIC_CLI_EXPLAIN_JOIN_H
#define NORNIC_CLI_EXPLAIN_JOIN_H

#include "explain/join/join.h"
#include "net/pcap_file.h"

/* Reads both files and lays them together, with progress on a terminal. CLI_OK; or CLI_ERROR after a
 * sentence: *out is then what stands before the place where a file is cut off or broken, or NULL, also when
 * it was stopped (cli/stop.h). explain_join_destroy() is the caller's. */
int cli_join_read(const char *const paths[2], struct explain_join **out);

/* What is to be shown next. Returns false when no more is wanted. The packet is that of the frame as it
 * left, where that was captured, with its number in the joined order and the time of the clock of the first
 * file. */
typedef bool (*cli_join_take)(void *ctx, struct explain_packet *packet,
                              const struct explain_join_place *place);

/* Reads both once more, in step, until it is stopped. CLI_OK, or CLI_ERROR after a sentence. */
int cli_join_walk(const char *const paths[2], struct explain_join *join, cli_join_take take, void *ctx);

#endif
