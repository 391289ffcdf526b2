/* SPDX-License-Identifier: BSD-2-Clause */
/* The fixture of suites with one scripted peer: `s` is made anew for each test from `config`, which a test
 * may change before it calls renew(). TestSuite(name, .init = setup, .fini = teardown). */
#ifndef NORNIC_TEST_SUPPORT_SCRIPT_SUITE_H
#define NORNIC_TEST_SUPPORT_SCRIPT_SUITE_H

#include "test/support/script.h"

static struct script *s;
static struct script_config config;

static inline void renew(void)
{
    if (s)
        script_free(s);
    s = script_new(&config);
}

static inline void setup(void)
{
    config = script_defaults();
    renew();
}

static inline void teardown(void)
{
    script_free(s);
    s = NULL;
}

/* The peer acknowledges the i-th PSN of our send queue, and all before it. */
static inline void ack(uint32_t i, uint32_t msn)
{
    script_ack(s, script_sq(s, i), ROCE_SYNDROME_ACK_UNLIMITED, msn);
}

#endif
