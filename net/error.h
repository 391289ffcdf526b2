/* SPDX-License-Identifier: BSD-2-Clause */
/* How the sentence of a nornic_error is made. */
#ifndef NORNIC_NET_ERROR_H
#define NORNIC_NET_ERROR_H

#include "nornic/decls.h"
#include "nornic/error.h"

NORNIC_BEGIN_DECLS

/* Formats the sentence into `why` (may be NULL) and returns -errno_value, so that a failing open can
 * `return net_error_set(why, ENODEV, "no interface %s: ...", name);`. */
int net_error_set(struct nornic_error *why, int errno_value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

NORNIC_END_DECLS

#endif
