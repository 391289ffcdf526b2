/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/histogram.h"
#include "test/support/random.h"

static struct histogram h; /* zero in each test: each is a process of its own */

Test(histogram, an_empty_one_has_no_quantiles)
{
    cr_assert_eq(histogram_quantile(&h, 0.5), 0);
}

Test(histogram, small_values_are_exact)
{
    for (uint64_t v = 1; v <= 100; v++)
        histogram_add(&h, v);
    cr_assert_eq(h.count, 100);
    cr_assert_eq(histogram_quantile(&h, 0), 1);
    cr_assert_eq(histogram_quantile(&h, 0.5), 50);
    cr_assert_eq(histogram_quantile(&h, 0.99), 99);
    cr_assert_eq(histogram_quantile(&h, 0.991), 100);
    cr_assert_eq(histogram_quantile(&h, 1), 100);
}

/* Every bit length, with the ends of its range: the answer is within 1/64 of it. */
Test(histogram, one_value_comes_back_within_a_sixtyfourth)
{
    for (int bits = 0; bits < 64; bits++) {
        uint64_t ends[] = {UINT64_C(1) << bits, (UINT64_C(1) << bits) - 1 + (UINT64_C(1) << bits)};
        for (int i = 0; i < 2; i++) {
            h = (struct histogram){0};
            histogram_add(&h, ends[i] / 2);
            histogram_add(&h, ends[i]);
            histogram_add(&h, UINT64_MAX);
            uint64_t got = histogram_quantile(&h, 0.6);
            double off = fabs((double)got - (double)ends[i]);
            cr_assert_leq(off, (double)ends[i] / 64, "%" PRIu64 " came back as %" PRIu64, ends[i], got);
            cr_assert_eq(h.max, UINT64_MAX);
            cr_assert_eq(h.min, ends[i] / 2);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

Test(histogram, quantiles_agree_with_sorting)
{
    static uint64_t values[10000];
    struct test_random random = {.state = 5};
    for (int i = 0; i < 10000; i++) {
        values[i] = test_random_next(&random) >> (20 + test_random_below(&random, 40));
        histogram_add(&h, values[i]);
    }
    qsort(values, 10000, sizeof values[0], by_value);
    static const double fractions[] = {0.0001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    for (size_t i = 0; i < array_len(fractions); i++) {
        uint64_t want = values[(int)ceil(fractions[i] * 10000) - 1];
        uint64_t got = histogram_quantile(&h, fractions[i]);
        cr_assert_leq(fabs((double)got - (double)want), (double)want / 64 + 1,
                      "quantile %g: %" PRIu64 ", not %" PRIu64, fractions[i], got, want);
    }
}
