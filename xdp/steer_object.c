/* SPDX-License-Identifier: BSD-2-Clause */
/* The compiled program of xdp/steer.bpf.c. */
#include "base/embed.h"

BASE_EMBED(xdp_steer_object, "xdp/steer.bpf.o");
