/* SPDX-License-Identifier: BSD-2-Clause */
/* A device that cannot be opened: what is said of it to who has asked for no trace, and of the variables by
 * which that is decided. Criterion runs each test in a process of its own. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test/verbs/pair.h"

/* Of the first device of the list; true: it could not be opened. */
static bool open_first(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    cr_assert_not_null(list[0]);
    errno = 0;
    struct ibv_context *context = ibv_open_device(list[0]);
    int err = errno;
    ibv_free_device_list(list);
    if (context)
        cr_assert_eq(ibv_close_device(context), 0);
    errno = err;
    return !context;
}

/* With `name` = `value` in the environment the device is refused with `err`, and `words` are said. */
static void refused(const char *name, const char *value, int err, const char *words)
{
    bool has_failed;
    setenv(name, value, 1);
    char *said = pair_said_by(open_first, &has_failed);
    int was = errno;
    unsetenv(name);
    cr_assert(has_failed, "%s=%s", name, value);
    cr_expect_eq(was, err, "%s=%s: %s", name, value, strerror(was));
    cr_expect_not_null(strstr(said, words), "%s=%s: %s", name, value, said);
    free(said);
}

Test(open, says_why_also_without_a_trace)
{
    setenv("NORNIC_TRACE", "0", 1);
    refused("NORNIC_PORT", "udp:203.0.113.77", EADDRNOTAVAIL,
            "nornic: nornic0 cannot be opened: 203.0.113.77 is no address of this machine");
    refused("NORNIC_PORT", "udp", EINVAL, "nornic: nornic0 cannot be opened: no port 'udp'");
    setenv("NORNIC_PORT", "udp:127.0.0.1", 1);
    refused("NORNIC_IMPAIR", "loss=1%", EINVAL, "NORNIC_IMPAIR: 'loss=1%'");
}

/* They are read once a process. */
Test(open, says_which_fault_is_no_rule)
{
    setenv("NORNIC_PORT", "udp:127.0.0.1", 1);
    refused("NORNIC_FAULTS", "every SEND fails", EINVAL,
            "cannot be opened: NORNIC_FAULTS, line 1, column 12: 'fails' stands where 'ends' is wanted");
}

Test(open, says_the_same_once)
{
    bool has_failed;
    setenv("NORNIC_PORT", "udp:203.0.113.77", 1);
    char *first = pair_said_by(open_first, &has_failed), *second = pair_said_by(open_first, &has_failed);
    cr_expect_not_null(strstr(first, "203.0.113.77"));
    cr_expect_str_empty(second);
    setenv("NORNIC_TRACE", "1", 1);
    char *traced = pair_said_by(open_first, &has_failed);
    cr_expect_str_eq(traced, first);
    free(first);
    free(second);
    free(traced);
}

Test(open, impairments_are_numbers)
{
    setenv("NORNIC_PORT", "udp:127.0.0.1", 1);
    static const char *const bad[] = {
        "loss=",        "loss=-1", "loss= 1", "seed=-1",      "seed=18446744073709551616",
        "loss=1000001", "los=1",   "loss",    "loss=1,,ecn=1"};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refused("NORNIC_IMPAIR", bad[i], EINVAL, "is none of loss, duplicate, reorder, corrupt, ecn");
}

/* A name that is longer than any port's. */
Test(open, a_name_that_is_too_long_is_named)
{
    char name[256];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    refused("NORNIC_PORT", name, EINVAL, "no port 'xxxx");
}

static bool lists_sixteen(void)
{
    int count;
    struct ibv_device **list = ibv_get_device_list(&count);
    ibv_free_device_list(list);
    return count != 16;
}

Test(open, names_that_are_too_many_are_told)
{
    char names[20 * sizeof "udp:127.0.0.1,"] = "";
    bool is_other;
    for (unsigned i = 0; i < 20; i++)
        strcat(names, "udp:127.0.0.1,");
    setenv("NORNIC_PORT", names, 1);
    char *said = pair_said_by(lists_sixteen, &is_other);
    cr_expect(!is_other);
    cr_expect_str_eq(said, "nornic: NORNIC_PORT names 20 ports: the last 4 are left out, as a process has 16 "
                           "devices at most\n");
    free(said);
}
