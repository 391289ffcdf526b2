/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* CPU_SET() */
#include "test/support/cpu.h"

#include <criterion/criterion.h>
#include <sched.h>

void cpu_stay_on_first(void)
{
    cpu_set_t allowed, one;
    unsigned cpu = 0;
    cr_assert_eq(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    while (!CPU_ISSET(cpu, &allowed))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
}
