/* SPDX-License-Identifier: BSD-2-Clause */
/* The version, written down here and nowhere else. Before 1.0 a new minor number may change any
 * interface, a new patch number changes none. */
#ifndef NORNIC_VERSION_H
#define NORNIC_VERSION_H

#include "nornic/decls.h"

#define NORNIC_VERSION_MAJOR 0
#define NORNIC_VERSION_MINOR 1
#define NORNIC_VERSION_PATCH 0

#define NORNIC_VERSION_TEXT__(x) #x
#define NORNIC_VERSION_TEXT_(x)  NORNIC_VERSION_TEXT__(x)

/* Of these headers, as text: "0.1.0". */
#define NORNIC_VERSION                         \
    NORNIC_VERSION_TEXT_(NORNIC_VERSION_MAJOR) \
    "." NORNIC_VERSION_TEXT_(NORNIC_VERSION_MINOR) "." NORNIC_VERSION_TEXT_(NORNIC_VERSION_PATCH)

/* Of these headers, as a number that grows: 0x000100 is 0.1.0. For #if. */
#define NORNIC_VERSION_NUMBER (NORNIC_VERSION_MAJOR << 16 | NORNIC_VERSION_MINOR << 8 | NORNIC_VERSION_PATCH)

NORNIC_BEGIN_DECLS

/* Of the library that runs, as text and as a number; static. */
const char *nornic_version(void);
unsigned nornic_version_number(void);

NORNIC_END_DECLS

#endif
