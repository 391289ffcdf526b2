/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of the build as bytes of this library, so that an installation needs no further file. */
#ifndef NORNIC_BASE_EMBED_H
#define NORNIC_BASE_EMBED_H

#include <stdint.h>

/* Defines `symbol` as the bytes of `file`, and symbol_bytes as their number (uint64_t). The assembler finds
 * `file`, a string, in the build directory (-I in the Makefile). The symbols are hidden. */
#define BASE_EMBED(symbol, file)                              \
    __asm__(".pushsection .rodata\n"                          \
            ".balign 8\n"                                     \
            ".globl " #symbol "\n"                            \
            ".hidden " #symbol "\n" #symbol ":\n"             \
            ".incbin \"" file "\"\n"                          \
            ".set " #symbol "_end, .\n"                       \
            ".balign 8\n"                                     \
            ".globl " #symbol "_bytes\n"                      \
            ".hidden " #symbol "_bytes\n" #symbol "_bytes:\n" \
            ".quad " #symbol "_end - " #symbol "\n"           \
            ".popsection\n")

/* Declares both symbols. */
#define BASE_EMBEDDED(symbol)      \
    extern const uint8_t symbol[]; \
    extern const uint64_t symbol##_bytes

#endif
