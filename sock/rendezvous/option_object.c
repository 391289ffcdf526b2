/* SPDX-License-Identifier: BSD-2-Clause */
/* The compiled sock_ops program as bytes of this library, as xdp/steer_object.c has it. */
#include "sock/rendezvous/rendezvous.h"

__asm__(".pushsection .rodata\n"
        ".balign 8\n"
        ".globl smcr_rendezvous_object\n"
        ".hidden smcr_rendezvous_object\n"
        "smcr_rendezvous_object:\n"
        ".incbin \"sock/rendezvous/option.bpf.o\"\n"
        ".set smcr_rendezvous_object_end, .\n"
        ".balign 8\n"
        ".globl smcr_rendezvous_object_bytes\n"
        ".hidden smcr_rendezvous_object_bytes\n"
        "smcr_rendezvous_object_bytes:\n"
        ".quad smcr_rendezvous_object_end - smcr_rendezvous_object\n"
        ".popsection\n");
