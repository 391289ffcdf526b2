/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NORNIC_TEST_SUPPORT_FDS_H
#define NORNIC_TEST_SUPPORT_FDS_H

/* How many file descriptors this process has open, and a few of the count itself, always as many: for tests
 * that none is left. */
unsigned fds_count(void);

#endif
