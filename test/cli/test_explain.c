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
