/* SPDX-License-Identifier: BSD-2-Clause */
/* The command `nornic explain`, in this process. */
#include <criterion/criterion.h>

#include "line.h"

/* Nothing was gathered, so there is nothing to hand to fwrite(), which takes no NULL (UBSan says so). */
Test(explain, a_file_that_is_not_there_leaves_nothing_to_write)
{
    cr_expect_eq(line_run("explain /nowhere/capture.pcap")->status, CLI_ERROR);
}
