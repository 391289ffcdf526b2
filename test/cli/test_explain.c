/* SPDX-License-Identifier: BSD-2-Clause */
/* The command `nornic explain`, in this process. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include "cli/cli.h"

/* Nothing was gathered, so there is nothing to hand to fwrite(), which takes no NULL (UBSan says so). */
Test(explain, a_file_that_is_not_there_leaves_nothing_to_write)
{
    char name[] = "explain", file[] = "/nowhere/capture.pcap";
    cr_redirect_stderr();
    cr_expect_eq(cli_explain(2, (char *[]){name, file, NULL}), CLI_ERROR);
}
