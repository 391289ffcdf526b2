/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes of a capture, from a file, a pipe or standard input, unpacked where they are packed with gzip. */
#ifndef NORNIC_NET_CAPTURE_STREAM_H
#define NORNIC_NET_CAPTURE_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "net/error.h"

struct net_capture_stream;

/* Opens a file; "-" is standard input, which stays open behind net_capture_stream_close(). Waits for the
 * first bytes; a signal whose handler restarts no calls ends that, and each later read, as an error does. 0
 * or -errno with a sentence in `why`. */
int net_capture_stream_open(const char *path, struct net_capture_stream **out, struct nornic_error *why);

/* The first up to `max` unpacked bytes, without taking them; how many they are. Before anything was read. */
size_t net_capture_stream_peek(struct net_capture_stream *stream, uint8_t *bytes, size_t max);

/* The same bytes as a stream of stdio: a read gives what has come so far, so that what is in a pipe is read
 * at once. Lives as long as `stream`, and is closed with it, if it was not before. */
FILE *net_capture_stream_file(struct net_capture_stream *stream);

/* Why the bytes ended early, in words ("the gzip data is damaged"); NULL: they did not. */
const char *net_capture_stream_failure(const struct net_capture_stream *stream);

void net_capture_stream_close(struct net_capture_stream *stream);

#endif
