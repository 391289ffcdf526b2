/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#define NORNIC_CALLS
#include "test/sock/same_programs.h"
