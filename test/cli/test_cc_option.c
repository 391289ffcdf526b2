/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include "base/base.h"
#include "cli/option/cc.h"
#include "cli/cli.h"

/* The sentences go to standard error, which the tests keep to themselves. */
TestSuite(cc_option, .init = cr_redirect_stderr);

static struct roce_cc_config c;

Test(cc_option, alone_it_is_on_with_every_default)
{
    cr_assert_eq(cli_parse_cc(NULL, &c), CLI_OK);
    cr_assert(c.on);
    struct roce_cc_config want = {.on = true};
    cr_assert_eq(memcmp(&c, &want, sizeof c), 0);
}

/* covers: ROCE-CC-24 */
Test(cc_option, ROCE_CC_24_every_parameter)
{
    cr_assert_eq(cli_parse_cc("line-rate=2.5G,min-rate=3M,additive=40000K,hyper=12345,cnp-interval=4us,"
                              "alpha-period=5us,increase-period=0.3ms,increase-bytes=32767,gain=5,"
                              "initial-alpha=1023,recovery-steps=1,dscp=26,priority=3",
                              &c),
                 CLI_OK);
    cr_expect_eq(c.line_rate_bps, UINT64_C(2500000000));
    cr_expect_eq(c.min_rate_bps, 3000000);
    cr_expect_eq(c.additive_bps, 40000000);
    cr_expect_eq(c.hyper_bps, 12345);
    cr_expect_eq(c.cnp_interval_ns, 4000);
    cr_expect_eq(c.alpha_period_ns, 5000);
    cr_expect_eq(c.increase_period_ns, 300000);
    cr_expect_eq(c.increase_bytes, 32767);
    cr_expect_eq(c.gain_1024ths, 5);
    cr_expect_eq(c.initial_alpha_1024ths, 1023);
    cr_expect_eq(c.recovery_steps, 1);
    cr_expect_eq(c.cnp_dscp, 26);
    cr_expect_eq(c.cnp_priority, 3);
}

Test(cc_option, what_is_refused)
{
    static const char *const bad[] = {"off",
                                      "gain",
                                      "gain=",
                                      "gain=0",
                                      "gain=1025",
                                      "gains=4",
                                      "gai=4",
                                      "gain=4,",
                                      ",gain=4",
                                      "line-rate=0",
                                      "line-rate=-1G",
                                      "line-rate=1T",
                                      "line-rate=5000G",
                                      "line-rate=G",
                                      "priority=8",
                                      "dscp=64",
                                      "increase-bytes=1023",
                                      "increase-bytes=4G",
                                      "alpha-period=2",
                                      "alpha-period=50us",
                                      "cnp-interval=60us"};
    for (size_t i = 0; i < array_len(bad); i++)
        cr_expect_eq(cli_parse_cc(bad[i], &c), CLI_ERROR, "%s", bad[i]);
}
