/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of a TCP socket that act on bytes that go by TCP, and on those alone: with them a socket stays with
 * TCP, and a connection that goes by SMC-R refuses them. */
#ifndef NORNIC_BASE_TCP_ONLY_H
#define NORNIC_BASE_TCP_ONLY_H

#include <stdbool.h>

/* Whether the option `name` of `level` is one, where it is switched on. */
bool tcp_only_option(int level, int name);
/* Whether `value`, the number that such an option is set to, switches it off: what is off acts on nothing.
 * Those whose value is no number are never off. */
bool tcp_only_is_off(int level, int name, int value);

#endif
