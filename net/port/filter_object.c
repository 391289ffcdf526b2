/* SPDX-License-Identifier: BSD-2-Clause */
/* The compiled program of net/port/filter.bpf.c. */
#include "base/embed.h"

BASE_EMBED(net_filter_object, "net/port/filter.bpf.o");
