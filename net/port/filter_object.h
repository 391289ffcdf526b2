/* SPDX-License-Identifier: BSD-2-Clause */
/* The ELF object of net/port/filter.bpf.c. */
#ifndef NORNIC_NET_FILTER_OBJECT_H
#define NORNIC_NET_FILTER_OBJECT_H

#include "base/embed.h"

BASE_EMBEDDED(net_filter_object);

#endif
