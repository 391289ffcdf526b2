/* SPDX-License-Identifier: BSD-2-Clause */
/* The compiled program of sock/rendezvous/option.bpf.c. */
#include "base/embed.h"

BASE_EMBED(smcr_rendezvous_object, "sock/rendezvous/option.bpf.o");
