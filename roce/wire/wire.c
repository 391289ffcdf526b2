/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables of the transport headers, and the code points of AETH syndromes: ROCE sections 4.1 to 4.3. */
#include "base/base.h"
#include "roce/wire.h"

#include "roce/opcode.h"

NET_HEADER_TABLE(roce_grh, "GRH", ROCE_GRH_BYTES, ROCE_GRH_FIELDS);
NET_HEADER_TABLE(roce_bth, "BTH", ROCE_BTH_BYTES, ROCE_BTH_FIELDS);
NET_HEADER_TABLE(roce_rdeth, "RDETH", ROCE_RDETH_BYTES, ROCE_RDETH_FIELDS);
NET_HEADER_TABLE(roce_deth, "DETH", ROCE_DETH_BYTES, ROCE_DETH_FIELDS);
NET_HEADER_TABLE(roce_xrceth, "XRCETH", ROCE_XRCETH_BYTES, ROCE_XRCETH_FIELDS);
NET_HEADER_TABLE(roce_reth, "RETH", ROCE_RETH_BYTES, ROCE_RETH_FIELDS);
NET_HEADER_TABLE(roce_masketh, "MaskETH", ROCE_MASKETH_BYTES, ROCE_MASKETH_FIELDS);
NET_HEADER_TABLE(roce_sacketh, "SackETH", ROCE_SACKETH_BYTES, ROCE_SACKETH_FIELDS);
NET_HEADER_TABLE(roce_atomiceth, "AtomicETH", ROCE_ATOMICETH_BYTES, ROCE_ATOMICETH_FIELDS);
NET_HEADER_TABLE(roce_aeth, "AETH", ROCE_AETH_BYTES, ROCE_AETH_FIELDS);
NET_HEADER_TABLE(roce_atomicacketh, "AtomicAckETH", ROCE_ATOMICACKETH_BYTES, ROCE_ATOMICACKETH_FIELDS);
NET_HEADER_TABLE(roce_immdt, "ImmDt", ROCE_IMMDT_BYTES, ROCE_IMMDT_FIELDS);
NET_HEADER_TABLE(roce_ieth, "IETH", ROCE_IETH_BYTES, ROCE_IETH_FIELDS);
NET_HEADER_TABLE(roce_cnp, "CNP", ROCE_CNP_BYTES, ROCE_CNP_FIELDS);

#define CODE_MASK 0x1fu /* the low five bits of a syndrome */

/* ROCE-HDR-22: the words in milliseconds, the value in units of 10 us. Code 0 waits longest: HDR-23. */
/* clang-format off */
#define RNR_TIMERS(T) \
    T("655.36", 65536) T("0.01", 1) T("0.02", 2) T("0.03", 3) T("0.04", 4) \
    T("0.06", 6) T("0.08", 8) T("0.12", 12) T("0.16", 16) T("0.24", 24) \
    T("0.32", 32) T("0.48", 48) T("0.64", 64) T("0.96", 96) T("1.28", 128) \
    T("1.92", 192) T("2.56", 256) T("3.84", 384) T("5.12", 512) T("7.68", 768) \
    T("10.24", 1024) T("15.36", 1536) T("20.48", 2048) T("30.72", 3072) T("40.96", 4096) \
    T("61.44", 6144) T("81.92", 8192) T("122.88", 12288) T("163.84", 16384) T("245.76", 24576) \
    T("327.68", 32768) T("491.52", 49152)
/* clang-format on */

static const struct rnr_timer {
    const char *name;
    uint64_t wait_ns;
} rnr_timers[] = {
#define RNR_TIMER_ROW(ms, units) {"RNR NAK " ms " ms", (units)*UINT64_C(10000)},
    RNR_TIMERS(RNR_TIMER_ROW)
#undef RNR_TIMER_ROW
};
_Static_assert(array_len(rnr_timers) == CODE_MASK + 1, "one timer a code");

/* ROCE-HDR-21, codes 0..30. */
static const uint16_t credits_of_code[] = {
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
#define CREDIT_CODES array_len(credits_of_code)
_Static_assert(CREDIT_CODES == ROCE_SYNDROME_ACK_UNLIMITED, "the code after the last says unlimited");

/* Codes 0..3 of a NAK, from ROCE_SYNDROME_NAK_PSN_SEQ on. */
static const char *const nak_names[] = {
    "NAK PSN sequence error",
    "NAK invalid request",
    "NAK remote access error",
    "NAK remote operational error",
};
#define NAK_CODES array_len(nak_names)

enum roce_syndrome_kind roce_syndrome_kind(uint8_t syndrome)
{
    switch (syndrome >> 5) { /* the reserved bit 7 and the type */
    case ROCE_SYNDROME_ACK_UNLIMITED >> 5:
        return ROCE_SYN_ACK;
    case ROCE_SYNDROME_RNR >> 5:
        return ROCE_SYN_RNR;
    case ROCE_SYNDROME_NAK_PSN_SEQ >> 5:
        return (syndrome & CODE_MASK) < NAK_CODES ? ROCE_SYN_NAK : ROCE_SYN_RESERVED;
    default:
        return ROCE_SYN_RESERVED;
    }
}

const char *roce_syndrome_name(uint64_t value)
{
    if (value > UINT8_MAX)
        return "reserved";
    switch (roce_syndrome_kind((uint8_t)value)) {
    case ROCE_SYN_ACK:
        return "ACK";
    case ROCE_SYN_RNR:
        return rnr_timers[value & CODE_MASK].name;
    case ROCE_SYN_NAK:
        return nak_names[value & CODE_MASK];
    case ROCE_SYN_RESERVED:
        break;
    }
    return "reserved";
}

const char *roce_opcode_name(uint64_t value)
{
    static const char *const undefined[8] = {
        "RC reserved",  "UC reserved",  "RD reserved",      "UD reserved",
        "CNP reserved", "XRC reserved", "reserved service", "manufacturer specific",
    };
    uint8_t opcode = (uint8_t)value;
    return roce_opcodes[opcode].name ? roce_opcodes[opcode].name : undefined[opcode >> 5];
}

uint64_t roce_rnr_timer_ns(uint8_t code)
{
    return rnr_timers[code & CODE_MASK].wait_ns;
}

uint32_t roce_credit_count(uint8_t code)
{
    code &= CODE_MASK;
    return code < CREDIT_CODES ? credits_of_code[code] : UINT32_MAX;
}

uint8_t roce_credit_code(uint32_t credits)
{
    uint8_t code = CREDIT_CODES - 1;
    while (credits_of_code[code] > credits)
        code--;
    return code;
}
