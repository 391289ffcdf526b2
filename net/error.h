/* SPDX-License-Identifier: BSD-2-Clause */
/* Why something could not be opened, as one plain sentence that names the value and the remedy. */
#ifndef NORNIC_NET_ERROR_H
#define NORNIC_NET_ERROR_H

struct net_error {
    char text[320];
};

/* Formats the sentence into `why` (may be NULL) and returns -errno_value, so that a failing open can
 * `return net_error_set(err, ENODEV, "no interface %s: ...", name);`. */
int net_error_set(struct net_error *why, int errno_value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
