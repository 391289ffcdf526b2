/* SPDX-License-Identifier: BSD-2-Clause */
/* The compiled filter as bytes of this library, so that what is installed needs no further file.
 * The assembler finds the object in the build directory (-I in the Makefile). */
#include "net/port/packet_socket.h"

__asm__(".pushsection .rodata\n"
        ".balign 8\n"
        ".globl net_filter_object\n"
        ".hidden net_filter_object\n"
        "net_filter_object:\n"
        ".incbin \"net/port/filter.bpf.o\"\n"
        ".set net_filter_object_end, .\n"
        ".balign 8\n"
        ".globl net_filter_object_bytes\n"
        ".hidden net_filter_object_bytes\n"
        "net_filter_object_bytes:\n"
        ".quad net_filter_object_end - net_filter_object\n"
        ".popsection\n");
