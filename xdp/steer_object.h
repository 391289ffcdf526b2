/* SPDX-License-Identifier: BSD-2-Clause */
/* The ELF object of xdp/steer.bpf.c. */
#ifndef NORNIC_XDP_STEER_OBJECT_H
#define NORNIC_XDP_STEER_OBJECT_H

#include "base/embed.h"

BASE_EMBEDDED(xdp_steer_object);

#endif
