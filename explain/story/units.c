/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/story/units.h"

#include <inttypes.h>

#include "base/base.h"

/* Three digits that count. */
static void put_three(struct explain_text *out, double value)
{
    explain_printf(out, "%.*f", value < 10 ? 2 : value < 100 ? 1 : 0, value);
}

void explain_put_count(struct explain_text *out, uint64_t count, const char *one, const char *many)
{
    explain_printf(out, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

static void put_scaled(struct explain_text *out, double value, const char *const units[], unsigned n)
{
    unsigned unit = 0;
    while (value >= 999.5 && unit + 1 < n) {
        value /= 1000;
        unit++;
    }
    put_three(out, value);
    explain_put(out, " ");
    explain_put(out, units[unit]);
}

void explain_put_bytes(struct explain_text *out, uint64_t bytes)
{
    static const char *const units[] = {"kB", "MB", "GB", "TB"};
    if (bytes < 1000)
        explain_put_count(out, bytes, "byte", "bytes");
    else
        put_scaled(out, (double)bytes / 1000, units, array_len(units));
}

void explain_put_duration(struct explain_text *out, uint64_t ns)
{
    static const char *const units[] = {"us", "ms", "s"};
    if (ns < 1000)
        explain_printf(out, "%" PRIu64 " ns", ns);
    else
        put_scaled(out, (double)ns / 1000, units, array_len(units));
}

void explain_put_rate(struct explain_text *out, double bits_per_second)
{
    static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s"};
    if (bits_per_second <= 0)
        return;
    explain_put(out, ", ");
    put_scaled(out, bits_per_second, units, array_len(units));
}
