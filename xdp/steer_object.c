/* SPDX-License-Identifier: BSD-2-Clause */
/* The compiled steering program as bytes of this library, so that what is installed needs no further file.
 * The assembler finds the object in the build directory (-I in the Makefile). */
#include "xdp/steer.h"

__asm__(".pushsection .rodata\n"
        ".balign 8\n"
        ".globl xdp_steer_object\n"
        ".hidden xdp_steer_object\n"
        "xdp_steer_object:\n"
        ".incbin \"xdp/steer.bpf.o\"\n"
        ".set xdp_steer_object_end, .\n"
        ".balign 8\n"
        ".globl xdp_steer_object_bytes\n"
        ".hidden xdp_steer_object_bytes\n"
        "xdp_steer_object_bytes:\n"
        ".quad xdp_steer_object_end - xdp_steer_object\n"
        ".popsection\n");
