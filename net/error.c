/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

int net_error_set(struct nornic_error *why, int errno_value, const char *format, ...)
{
    if (why) {
        va_list args;
        va_start(args, format);
        vsnprintf(why->text, sizeof why->text, format, args);
        va_end(args);
        utf8_clean(why->text);
    }
    return -errno_value;
}
