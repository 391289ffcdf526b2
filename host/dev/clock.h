/* SPDX-License-Identifier: BSD-2-Clause */
/* Deadlines, and waiting for one descriptor until one. The time itself is host_now_ns() of host/host.h.
 * Internal to host/ and sock/. */
#ifndef NORNIC_HOST_CLOCK_H
#define NORNIC_HOST_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* When a wait of `timeout_ns` that begins now ends; UINT64_MAX: never. */
uint64_t host_deadline_ns(uint64_t timeout_ns);

/* How long it is until then; UINT64_MAX: it never ends. */
uint64_t host_left_ns(uint64_t end_ns);

/* Sleeps until `fd` is readable, or a signal came: true; or until `end_ns`: false. */
bool host_poll_readable(int fd, uint64_t end_ns);

#endif
