/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* A limit that was reached, and how to raise it. */
static const char *remedy_of(int errno_value)
{
    return errno_value == EMFILE   ? "; close some, or raise the limit of this process (ulimit -n)"
           : errno_value == ENFILE ? "; close some, or raise the limit of this machine (sysctl fs.file-max)"
                                   : "";
}

int net_error_set(struct nornic_error *why, int errno_value, const char *format, ...)
{
    if (why) {
        va_list args;
        va_start(args, format);
        vsnprintf(why->text, sizeof why->text, format, args);
        va_end(args);
        size_t used = strlen(why->text);
        if (!strstr(why->text, "ulimit"))
            snprintf(why->text + used, sizeof why->text - used, "%s", remedy_of(errno_value));
        utf8_clean(why->text);
    }
    return -errno_value;
}
