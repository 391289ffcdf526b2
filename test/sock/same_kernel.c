/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "test/sock/same_programs.h"
