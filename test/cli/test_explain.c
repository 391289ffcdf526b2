/* SPDX-License-Identifier: BSD-2-Clause */
/* The command `nornic explain`, in this process. */
#include <criterion/criterion.h>
#include <string.h>

#include "line.h"

#define CAPTURE "pcaps/rc_rnr.pcap"

/* Nothing was gathered, so there is nothing to hand to fwrite(), which takes no NULL (UBSan says so). */
Test(explain, a_file_that_is_not_there_leaves_nothing_to_write)
{
    cr_expect_eq(line_run("explain /nowhere/capture.pcap")->status, CLI_ERROR);
}

Test(explain, a_file_that_cannot_be_read_does_not_hide_those_behind_it)
{
    const struct line_result *r = line_run("explain /nowhere/capture.pcap " CAPTURE);
    cr_expect_eq(r->status, CLI_ERROR);
    cr_expect_not_null(strstr(r->out, "RNR NAK for PSN 0x001000"), "%s", r->out);
    cr_expect_not_null(strstr(r->out, " packets, "), "the sum of what was read");
}

Test(explain, a_rule_is_told_alone_an_area_whole)
{
    cr_expect_str_eq(
        line_run("explain --rule ROCE-GEN-2")->out,
        "ROCE-GEN-2  IPv4 and IPv6 together\n"
        "    IPv4 and IPv6 work side by side on one port; a connection uses the one its addresses are of.\n"
        "    [CA17-1]\n");
    const struct line_result *r = line_run("explain --json --rule smcr-urg");
    unsigned n = 0;
    for (const char *at = r->out; (at = strstr(at, "{\"rule\":\"SMCR-URG-0")); at++)
        n++;
    cr_expect_eq(n, 7);
    cr_expect_eq(line_run("explain --rule ROCE-RC-4")->status, CLI_OK, "not also ROCE-RC-40");
    cr_expect_null(strstr(line_run("explain --rule ROCE-RC-4")->out, "ROCE-RC-40"));
}

Test(explain, a_rule_that_does_not_exist_and_one_with_a_file_are_refused)
{
    cr_expect_eq(line_run("explain --rule ROCE-NO-1")->status, CLI_ERROR);
    cr_expect_eq(line_run("explain --rule ROCE-GEN-2 " CAPTURE)->status, CLI_ERROR);
}

Test(explain, the_rules_that_findings_name_are_told_once_behind_them)
{
    const struct line_result *r = line_run("explain " CAPTURE);
    const char *first = strstr(r->out, "\nROCE-RS-11  RNR NAK\n");
    cr_assert_not_null(first, "%s", r->out);
    cr_expect_null(strstr(first + 1, "\nROCE-RS-11  "));
}
