/* SPDX-License-Identifier: BSD-2-Clause */
/* The fixture of suites with one datagram QP: `s` and `ah`, a handle towards the peer, are made anew for each
 * test from `config` and `type`, which a test may change before it calls renew(). */
#ifndef NORNIC_TEST_SUPPORT_DGRAM_SUITE_H
#define NORNIC_TEST_SUPPORT_DGRAM_SUITE_H

#include <criterion/criterion.h>

#include "test/support/dgram.h"

static struct script *s;
static struct nornic_ah *ah;
static struct script_config config;
static enum nornic_qp_type type;

static inline void teardown(void)
{
    /* A send may still name the handle: its QP goes first, or forgets it. */
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    cr_assert_eq(roce_ah_destroy(ah), 0);
    script_free(s);
    s = NULL;
}

static inline void renew(void)
{
    if (s)
        teardown();
    s = dgram_new(&config, type);
    ah = dgram_ah(s);
}

static inline void setup_type(enum nornic_qp_type t)
{
    config = script_defaults();
    type = t;
    renew();
}

#endif
