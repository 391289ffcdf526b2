/* SPDX-License-Identifier: BSD-2-Clause */
/* The arithmetic of one flow: by hand, and against test/roce/dcqcn_model.py. */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "roce/cc/dcqcn.h"

#define US   UINT64_C(1000)
#define MBPS UINT64_C(1000000)
#define GBPS UINT64_C(1000000000)
#define T0   (1000 * US) /* the first CNP */

static struct roce_cc_config config;
static struct roce_dcqcn flow;

/* Line rate 40 Gb/s and the paper's parameters. */
static void setup(void)
{
    config = (struct roce_cc_config){.on = true, .line_rate_bps = 40 * GBPS};
    cr_assert_eq(roce_cc_config_complete(&config), 0);
    roce_dcqcn_init(&flow, &config);
}

static void renew(void)
{
    roce_dcqcn_init(&flow, &config);
}

TestSuite(dcqcn, .init = setup);

#define expect_rates(rate, target)                                            \
    do {                                                                      \
        cr_assert(flow.is_limited);                                           \
        cr_assert_eq(flow.rate_bps, (rate), "%" PRIu64, flow.rate_bps);       \
        cr_assert_eq(flow.target_bps, (target), "%" PRIu64, flow.target_bps); \
    } while (0)

/* covers: ROCE-CC-23, ROCE-CC-24 */
Test(dcqcn, ROCE_CC_23_defaults_are_the_papers_with_steps_scaled_to_the_line_rate)
{
    cr_expect_eq(config.cnp_interval_ns, 50 * US);
    cr_expect_eq(config.gain_1024ths, 4);
    cr_expect_eq(config.initial_alpha_1024ths, 1024);
    cr_expect_eq(config.alpha_period_ns, 55 * US);
    cr_expect_eq(config.increase_period_ns, 55 * US);
    cr_expect_eq(config.increase_bytes, 10000000);
    cr_expect_eq(config.recovery_steps, 5);
    cr_expect_eq(config.additive_bps, 40 * MBPS);
    cr_expect_eq(config.hyper_bps, 400 * MBPS);
    cr_expect_eq(config.min_rate_bps, MBPS);
    cr_expect_eq(config.cnp_dscp, 48);
    cr_expect_eq(config.cnp_priority, 6);
    struct roce_cc_config slower = {.line_rate_bps = 10 * GBPS};
    cr_assert_eq(roce_cc_config_complete(&slower), 0);
    cr_expect_eq(slower.additive_bps, 10 * MBPS);
    cr_expect_eq(slower.hyper_bps, 100 * MBPS);
}

/* covers: ROCE-CC-24 */
Test(dcqcn, ROCE_CC_24_what_is_set_is_kept)
{
    struct roce_cc_config c = {.line_rate_bps = 25 * GBPS,
                               .cnp_interval_ns = 4000,
                               .cnp_dscp = 26,
                               .cnp_priority = 3,
                               .gain_1024ths = 5,
                               .initial_alpha_1024ths = 1023,
                               .alpha_period_ns = 5000,
                               .increase_period_ns = 300000,
                               .increase_bytes = 32767,
                               .recovery_steps = 1,
                               .additive_bps = 5 * MBPS,
                               .hyper_bps = 50 * MBPS,
                               .min_rate_bps = 3 * MBPS};
    struct roce_cc_config before = c;
    cr_assert_eq(roce_cc_config_complete(&c), 0);
    cr_assert_eq(memcmp(&c, &before, sizeof c), 0);
}

#define expect_refused(...)                                                               \
    do {                                                                                  \
        struct roce_cc_config c = {.line_rate_bps = 10 * GBPS, __VA_ARGS__};              \
        cr_expect_eq(roce_cc_config_complete(&c), -EINVAL, #__VA_ARGS__ " was accepted"); \
    } while (0)

/* K must exceed N, else alpha would fall between two CNPs of one congestion.
 * covers: ROCE-CC-23 */
Test(dcqcn, parameters_out_of_range_are_refused)
{
    expect_refused(.cnp_interval_ns = 60000, .alpha_period_ns = 60000);
    expect_refused(.cnp_interval_ns = 1, .alpha_period_ns = 999);
    expect_refused(.increase_period_ns = 999);
    expect_refused(.gain_1024ths = 1025);
    expect_refused(.initial_alpha_1024ths = 1025);
    expect_refused(.cnp_dscp = 64);
    expect_refused(.cnp_priority = 8);
    expect_refused(.recovery_steps = 1025);
    expect_refused(.increase_bytes = 1023);
    expect_refused(.additive_bps = 1);
    expect_refused(.hyper_bps = 1);
    expect_refused(.min_rate_bps = 11 * GBPS);
    struct roce_cc_config c = {.line_rate_bps = UINT64_C(1) << 42};
    cr_expect_eq(roce_cc_config_complete(&c), -EINVAL);
}

Test(dcqcn, a_flow_begins_at_line_rate_without_a_limiter)
{
    cr_assert_not(flow.is_limited);
    cr_assert_eq(flow.rate_bps, 40 * GBPS);
    roce_dcqcn_sent(&flow, &config, 100000000);
    roce_dcqcn_advance(&flow, &config, 1000000 * US);
    cr_assert_not(flow.is_limited);
    cr_assert_eq(flow.alpha, ROCE_DCQCN_ONE);
}

/* covers: ROCE-CC-20, CA17-45 */
Test(dcqcn, ROCE_CC_20_a_CNP_cuts_by_half_of_alpha)
{
    roce_dcqcn_cnp(&flow, &config, T0);
    expect_rates(20 * GBPS, 40 * GBPS);
    cr_assert_eq(flow.alpha, ROCE_DCQCN_ONE); /* (1 - g) 1 + g */
    roce_dcqcn_cnp(&flow, &config, T0 + 50 * US);
    expect_rates(10 * GBPS, 20 * GBPS);
}

/* After one K: alpha 255/256; the cut is 20 Gb/s * 255/512, and alpha then 255/256 * 255/256 + 1/256.
 * T is as long as K here and ends with it, so that Rc is first (40 + 20) / 2.
 * covers: ROCE-CC-20, ROCE-CC-21 */
Test(dcqcn, ROCE_CC_21_alpha_falls_every_K_without_a_CNP)
{
    roce_dcqcn_cnp(&flow, &config, T0);
    roce_dcqcn_advance(&flow, &config, T0 + 55 * US - 1);
    cr_assert_eq(flow.alpha, ROCE_DCQCN_ONE);
    roce_dcqcn_advance(&flow, &config, T0 + 55 * US);
    cr_assert_eq(flow.alpha, ROCE_DCQCN_ONE / 256 * 255);
    expect_rates(30 * GBPS, 40 * GBPS);
    roce_dcqcn_cnp(&flow, &config, T0 + 60 * US);
    expect_rates(30 * GBPS - 14941406250, 30 * GBPS);
    cr_assert_eq(flow.alpha, ROCE_DCQCN_ONE / 256 * 255 / 256 * 255 + ROCE_DCQCN_ONE / 256);
    /* the CNP began a new K */
    roce_dcqcn_advance(&flow, &config, T0 + 115 * US - 1);
    cr_assert_eq(flow.alpha, ROCE_DCQCN_ONE / 256 * 255 / 256 * 255 + ROCE_DCQCN_ONE / 256);
}

/* Two CNPs: Rc 10, Rt 20 Gb/s. Four steps of fast recovery, then Rt grows by 40 Mb/s each.
 * covers: ROCE-CC-22, ROCE-CC-6, CA17-46 */
Test(dcqcn, ROCE_CC_22_recovery_by_time)
{
    roce_dcqcn_cnp(&flow, &config, T0);
    roce_dcqcn_cnp(&flow, &config, T0);
    static const uint64_t fast[] = {15000000000, 17500000000, 18750000000, 19375000000};
    for (unsigned i = 0; i < 4; i++) {
        roce_dcqcn_advance(&flow, &config, T0 + (i + 1) * 55 * US - 1);
        cr_assert_eq(flow.time_stage, i);
        roce_dcqcn_advance(&flow, &config, T0 + (i + 1) * 55 * US);
        expect_rates(fast[i], 20 * GBPS);
    }
    roce_dcqcn_advance(&flow, &config, T0 + 5 * 55 * US);
    expect_rates(UINT64_C(19707500000), UINT64_C(20040000000));
    roce_dcqcn_advance(&flow, &config, T0 + 6 * 55 * US);
    expect_rates(UINT64_C(19893750000), UINT64_C(20080000000));
    /* time alone never hurries */
    roce_dcqcn_advance(&flow, &config, T0 + 100 * 55 * US);
    cr_assert_eq(flow.target_bps, 20 * GBPS + 96 * 40 * MBPS);
}

/* covers: ROCE-CC-22, ROCE-CC-6, CA17-46 */
Test(dcqcn, ROCE_CC_22_recovery_by_bytes)
{
    roce_dcqcn_cnp(&flow, &config, T0);
    roce_dcqcn_cnp(&flow, &config, T0);
    roce_dcqcn_sent(&flow, &config, 9999999);
    expect_rates(10 * GBPS, 20 * GBPS);
    roce_dcqcn_sent(&flow, &config, 1);
    expect_rates(15 * GBPS, 20 * GBPS);
    roce_dcqcn_sent(&flow, &config, 30000000);
    expect_rates(UINT64_C(19375000000), 20 * GBPS);
    roce_dcqcn_sent(&flow, &config, 10000000);
    expect_rates(UINT64_C(19707500000), UINT64_C(20040000000));
    /* a CNP counts the bytes anew */
    roce_dcqcn_sent(&flow, &config, 9999999);
    roce_dcqcn_cnp(&flow, &config, T0);
    cr_assert_eq(flow.byte_stage, 0);
    roce_dcqcn_sent(&flow, &config, 9999999);
    cr_assert_eq(flow.byte_stage, 0);
}

/* Both counters above F: the i-th hyper step adds i * 400 Mb/s.
 * covers: ROCE-CC-22 */
Test(dcqcn, ROCE_CC_22_hyper_increase_when_time_and_bytes_agree)
{
    for (unsigned i = 0; i < 5; i++)
        roce_dcqcn_cnp(&flow, &config, T0);
    expect_rates(1250 * MBPS, 2500 * MBPS);
    roce_dcqcn_advance(&flow, &config, T0 + 7 * 55 * US); /* i_T 7: three additive steps */
    cr_assert_eq(flow.target_bps, 2500 * MBPS + 3 * 40 * MBPS);
    roce_dcqcn_sent(&flow, &config, 50000000); /* i_B 5: five more, min(7, 5) is not above F */
    cr_assert_eq(flow.target_bps, 2500 * MBPS + 8 * 40 * MBPS);
    roce_dcqcn_sent(&flow, &config, 10000000); /* min(7, 6) - 5 = 1 */
    cr_assert_eq(flow.target_bps, 2820 * MBPS + 400 * MBPS);
    roce_dcqcn_sent(&flow, &config, 10000000); /* min(7, 7) - 5 = 2 */
    cr_assert_eq(flow.target_bps, 3220 * MBPS + 800 * MBPS);
    roce_dcqcn_sent(&flow, &config, 10000000); /* min(7, 8) - 5 = 2 */
    cr_assert_eq(flow.target_bps, 4020 * MBPS + 800 * MBPS);
}

/* covers: ROCE-CC-22 */
Test(dcqcn, ROCE_CC_22_rates_end_at_line_rate_and_the_limiter_goes)
{
    roce_dcqcn_cnp(&flow, &config, T0);
    unsigned steps = 0;
    for (; flow.is_limited && steps < 100; steps++) {
        cr_assert_leq(flow.target_bps, 40 * GBPS);
        cr_assert_lt(flow.rate_bps, 40 * GBPS);
        roce_dcqcn_advance(&flow, &config, T0 + (steps + 1) * 55 * US);
    }
    cr_assert_not(flow.is_limited);
    cr_assert_eq(flow.rate_bps, 40 * GBPS);
    cr_assert_eq(steps, 35); /* 20 Gb/s halved until less than one bit per second is left */
    /* however long it was calm, the next CNP reduces the rate */
    roce_dcqcn_cnp(&flow, &config, T0 + 3600000000 * US);
    cr_assert_eq(flow.rate_bps, 20 * GBPS);
}

/* covers: ROCE-CC-23 */
Test(dcqcn, no_rate_below_the_floor_and_no_cut_above_half)
{
    for (unsigned i = 0; i < 100; i++) {
        uint64_t before = flow.rate_bps;
        roce_dcqcn_cnp(&flow, &config, T0 + i * 50 * US);
        cr_assert_geq(flow.rate_bps, before / 2);
    }
    cr_assert_eq(flow.rate_bps, MBPS);
    roce_dcqcn_advance(&flow, &config, T0 + 3600000000 * US);
    cr_assert_not(flow.is_limited, "an hour of calm does not free it");
}

/* An idle flow is looked at late: all that it missed at once must come to the same as step by step. */
Test(dcqcn, steps_made_up_for_are_the_steps_that_were_missed)
{
    static const uint32_t bytes[] = {0, 30000000, 70000000, 120000000};
    for (unsigned b = 0; b < 4; b++)
        for (uint64_t n = 1; n < 1200; n += n < 20 ? 1 : 37) {
            struct roce_dcqcn at_once;
            renew();
            for (unsigned i = 0; i < 8; i++)
                roce_dcqcn_cnp(&flow, &config, T0);
            roce_dcqcn_sent(&flow, &config, bytes[b]);
            at_once = flow;
            roce_dcqcn_advance(&at_once, &config, T0 + n * 55 * US);
            for (uint64_t i = 1; i <= n; i++)
                roce_dcqcn_advance(&flow, &config, T0 + i * 55 * US);
            cr_assert_eq(at_once.is_limited, flow.is_limited, "%" PRIu64 " steps", n);
            cr_assert_eq(at_once.rate_bps, flow.rate_bps, "%" PRIu64 " steps", n);
            cr_assert_eq(at_once.target_bps, flow.target_bps, "%" PRIu64 " steps", n);
            cr_assert_eq(at_once.time_stage, flow.time_stage, "%" PRIu64 " steps", n);
            /* rounding: a step loses less than one unit of alpha */
            cr_assert_leq(at_once.alpha - flow.alpha, 256, "%" PRIu64 " steps", n);
        }
}

/* --- against the model --- */

static bool is_near(double a, double b, double relative)
{
    double difference = a > b ? a - b : b - a;
    return difference <= relative * (a > b ? a : b);
}

static void compare(unsigned line, const char *rest)
{
    int limited;
    unsigned time_stage, byte_stage;
    double rate, target, alpha;
    cr_assert_eq(
        sscanf(rest, "%d %lf %lf %lf %u %u", &limited, &rate, &target, &alpha, &time_stage, &byte_stage), 6,
        "line %u", line);
    cr_expect(is_near((double)flow.rate_bps, rate, 3e-4), "line %u: Rc %" PRIu64, line, flow.rate_bps);
    cr_expect(is_near((double)flow.target_bps, target, 3e-4), "line %u: Rt %" PRIu64, line, flow.target_bps);
    cr_expect_eq(flow.is_limited, limited, "line %u: limited %d", line, flow.is_limited);
    cr_expect_eq(flow.time_stage, time_stage, "line %u: i_T %u", line, flow.time_stage);
    cr_expect_eq(flow.byte_stage, byte_stage, "line %u: i_B %u", line, flow.byte_stage);
    double alpha_error = (double)flow.alpha / ROCE_DCQCN_ONE - alpha;
    cr_expect(alpha_error < 1e-4 && alpha_error > -1e-4, "line %u: alpha %u", line, flow.alpha);
}

static void take_config(unsigned line, const char *text)
{
    config = (struct roce_cc_config){.cnp_interval_ns = 1000};
    cr_assert_eq(sscanf(text,
                        "config %" SCNu64 " %" SCNu16 " %" SCNu32 " %" SCNu16 " %" SCNu32 " %" SCNu32
                        " %" SCNu64 " %" SCNu64 " %" SCNu64,
                        &config.line_rate_bps, &config.gain_1024ths, &config.alpha_period_ns,
                        &config.recovery_steps, &config.increase_period_ns, &config.increase_bytes,
                        &config.additive_bps, &config.hyper_bps, &config.min_rate_bps),
                 9, "line %u", line);
    cr_assert_eq(roce_cc_config_complete(&config), 0, "line %u", line);
    renew();
}

/* covers: ROCE-CC-20, ROCE-CC-21, ROCE-CC-22 */
Test(dcqcn, every_step_is_that_of_the_model)
{
    FILE *file = fopen("test/roce/dcqcn_vectors.txt", "r");
    cr_assert_not_null(file, "run me in the root of the repository");
    char text[200];
    unsigned line = 0;
    while (fgets(text, sizeof text, file)) {
        uint64_t at_ns;
        uint32_t bytes;
        int used = 0;
        line++;
        if (sscanf(text, "cnp %" SCNu64 "%n", &at_ns, &used) == 1)
            roce_dcqcn_cnp(&flow, &config, at_ns);
        else if (sscanf(text, "look %" SCNu64 "%n", &at_ns, &used) == 1)
            roce_dcqcn_advance(&flow, &config, at_ns);
        else if (sscanf(text, "sent %" SCNu64 " %" SCNu32 "%n", &at_ns, &bytes, &used) == 2) {
            roce_dcqcn_advance(&flow, &config, at_ns);
            roce_dcqcn_sent(&flow, &config, bytes);
        } else
            take_config(line, text);
        if (used > 0)
            compare(line, text + used);
    }
    fclose(file);
    cr_assert_eq(line, 244);
}
