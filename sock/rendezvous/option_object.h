/* SPDX-License-Identifier: BSD-2-Clause */
/* The ELF object of sock/rendezvous/option.bpf.c. */
#ifndef NORNIC_SMCR_SOCK_OPTION_OBJECT_H
#define NORNIC_SMCR_SOCK_OPTION_OBJECT_H

#include "base/embed.h"

BASE_EMBEDDED(smcr_rendezvous_object);

#endif
