/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for one descriptor. Internal to host/. */
#ifndef NORNIC_HOST_POLL_H
#define NORNIC_HOST_POLL_H

#include <stdbool.h>
#include <stdint.h>

/* When a wait of `timeout_ns` that begins now ends; UINT64_MAX: never. */
uint64_t host_deadline_ns(uint64_t timeout_ns);

/* Sleeps until `fd` is readable, or a signal came: true; or until `end_ns`: false. */
bool host_poll_readable(int fd, uint64_t end_ns);

#endif
