/* SPDX-License-Identifier: BSD-2-Clause */
/* The fuzzer's bytes as numbers; zeros when they are used up. */
#ifndef NORNIC_TEST_FUZZ_DEVICE_INPUT_H
#define NORNIC_TEST_FUZZ_DEVICE_INPUT_H

#include <stddef.h>
#include <stdint.h>

#define FUZZ_REQUIRE(condition) \
    do {                        \
        if (!(condition))       \
            __builtin_trap();   \
    } while (0)

struct fuzz_input {
    const uint8_t *p;
    size_t left;
};

static inline uint8_t fuzz_u8(struct fuzz_input *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->p++;
}

static inline uint16_t fuzz_u16(struct fuzz_input *in)
{
    uint16_t high = fuzz_u8(in);
    return (uint16_t)(high << 8 | fuzz_u8(in));
}

static inline uint32_t fuzz_u32(struct fuzz_input *in)
{
    uint32_t high = fuzz_u16(in);
    return high << 16 | fuzz_u16(in);
}

#endif
