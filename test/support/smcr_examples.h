/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NORNIC_TEST_SUPPORT_SMCR_EXAMPLES_H
#define NORNIC_TEST_SUPPORT_SMCR_EXAMPLES_H

struct smcr_example {
    const char *name; /* CLC by "PROP", "ACC", "CONF" or "DECL" at its beginning, else LLC or CDC */
    const char *hex;
};

extern const struct smcr_example smcr_examples[];
extern const unsigned smcr_example_count;

#endif
