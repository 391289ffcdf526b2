/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/iwarp/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TOLD_MAX 3

static void append(struct explain_meaning *m, const char *format, va_list args)
{
    size_t used = strlen(m->words);
    vsnprintf(m->words + used, sizeof m->words - used, format, args);
}

void explain_iwarp_say(struct iwarp_view *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    append(v->m, format, args);
    va_end(args);
}

void explain_iwarp_tell(struct iwarp_view *v, const char *format, ...)
{
    va_list args;
    v->is_silent = v->told == TOLD_MAX;
    if (v->is_silent) {
        v->untold++;
        return;
    }
    explain_iwarp_say(v, "%s", v->m->words[0] ? "; " : "");
    v->told++;
    va_start(args, format);
    append(v->m, format, args);
    va_end(args);
}

void explain_iwarp_go_on(struct iwarp_view *v, const char *format, ...)
{
    va_list args;
    if (v->is_silent)
        return;
    va_start(args, format);
    append(v->m, format, args);
    va_end(args);
}

void explain_iwarp_told(struct iwarp_view *v)
{
    if (v->untold)
        explain_iwarp_say(v, "; and %u more FPDU%s", v->untold, v->untold == 1 ? "" : "s");
    v->untold = 0;
}
