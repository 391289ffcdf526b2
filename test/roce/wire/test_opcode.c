/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "roce/opcode.h"

#include <criterion/criterion.h>
#include <string.h>

#include "roce/wire.h"

/* Bytes of extended headers by operation for RC, as the table of ROCE-OPC-2 has them; -1: reserved. */
static const int rc_ext[32] = {
    0,  0,     0,  4,  0,  4,      /* SEND: ImmDt */
    16, 0,     0,  4,  16, 16 + 4, /* WRITE: RETH, ImmDt */
    16, 4,     0,  4,  4,          /* READ: RETH; AETH but in the middle */
    4,  4 + 8,                     /* ACK; ATOMIC ACK: AETH, AtomicAckETH */
    28, 28,                        /* AtomicETH */
    -1, 4,     4,                  /* IETH */
    -1, -1,    -1, -1, -1, -1,     -1, -1,
};

static bool is_response(unsigned op)
{
    return op >= 0x0d && op <= 0x12;
}

/* What a service makes of an operation; -1: not defined. */
static int expected_ext(unsigned opcode)
{
    unsigned op = opcode & 0x1f;
    switch (opcode >> 5) {
    case ROCE_SERVICE_RC:
        return rc_ext[op];
    case ROCE_SERVICE_UC:
        return op <= ROCE_OP_WRITE_ONLY_IMM ? rc_ext[op] : -1;
    case ROCE_SERVICE_RD:
        if (op == ROCE_OP_RESYNC)
            return 4 + 8;
        return op > ROCE_OP_RESYNC ? -1 : rc_ext[op] + (is_response(op) ? 4 : 4 + 8);
    case ROCE_SERVICE_UD:
        return op == ROCE_OP_SEND_ONLY ? 8 : op == ROCE_OP_SEND_ONLY_IMM ? 8 + 4 : -1;
    case ROCE_SERVICE_CNP:
        return opcode == 0x81 ? 16 : -1;
    case ROCE_SERVICE_XRC:
        return rc_ext[op] < 0 ? -1 : rc_ext[op] + (is_response(op) ? 0 : 4);
    case ROCE_SERVICE_VENDOR:
        if (op == ROCE_OP_ACK)
            return 4 + 12;
        return op == ROCE_OP_CMP_SWAP || op == ROCE_OP_FETCH_ADD ? 28 + 16 : -1;
    }
    return -1;
}

/* covers: ROCE-OPC-1, ROCE-OPC-2, ROCE-OPC-5, ROCE-OPC-6 */
Test(opcode, ROCE_OPC_6_all_256_have_their_length_or_are_undefined)
{
    unsigned defined = 0;
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        const struct roce_opcode *row = &roce_opcodes[opcode];
        int ext = expected_ext(opcode);
        if (ext < 0) {
            cr_expect_null(row->name, "0x%02x", opcode);
            cr_expect_eq(row->flags, 0, "0x%02x", opcode);
            cr_expect_eq(row->ext_bytes, 0, "0x%02x", opcode);
            continue;
        }
        defined++;
        cr_expect_not_null(row->name, "0x%02x", opcode);
        cr_expect(row->flags & ROCE_PKT_DEFINED, "0x%02x", opcode);
        cr_expect_eq(row->ext_bytes, ext, "0x%02x %s: %d", opcode, row->name, row->ext_bytes);
    }
    cr_expect_eq(defined, 23 + 12 + 22 + 2 + 1 + 23 + 2 + 1);
}

/* The lengths must follow from the headers that are named.
 * covers: ROCE-OPC-2, ROCE-HDR-10 */
Test(opcode, length_is_that_of_the_headers_named)
{
    static const struct {
        uint32_t flag;
        int bytes;
    } headers[] = {
        {ROCE_PKT_RDETH, 4},      {ROCE_PKT_DETH, 8}, {ROCE_PKT_XRCETH, 4},   {ROCE_PKT_RETH, 16},
        {ROCE_PKT_ATOMICETH, 28}, {ROCE_PKT_AETH, 4}, {ROCE_PKT_IMMDT, 4},    {ROCE_PKT_ATOMICACKETH, 8},
        {ROCE_PKT_IETH, 4},       {ROCE_PKT_CNP, 16}, {ROCE_PKT_MASKETH, 16}, {ROCE_PKT_SACKETH, 12},
    };
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        int sum = 0;
        for (size_t i = 0; i < array_len(headers); i++)
            sum += roce_opcodes[opcode].flags & headers[i].flag ? headers[i].bytes : 0;
        cr_expect_eq(sum, roce_opcodes[opcode].ext_bytes, "0x%02x", opcode);
    }
}

/* covers: ROCE-RX-23, ROCE-OPC-2 */
Test(opcode, ROCE_RX_23_responses_are_0d_to_12)
{
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        uint32_t flags = roce_opcodes[opcode].flags;
        if (!(flags & ROCE_PKT_DEFINED) || flags & ROCE_PKT_CNP)
            continue;
        cr_expect_eq(!!(flags & ROCE_PKT_RESPONSE), is_response(opcode & 0x1f), "0x%02x", opcode);
        cr_expect_eq(!(flags & ROCE_PKT_REQUEST), is_response(opcode & 0x1f), "0x%02x", opcode);
    }
}

/* The places, kinds and receive-queue effects of ROCE-OPC-2, by operation. F, M, L, O: place; S, W, R, A, r:
 * send, write, read, atomic, read response; t: takes a receive WQE; c: completes one; p: may have payload. */
static const char *const rc_kind[32] = {
    "FSpt", "MSp", "LSpc", "LSpc", "OSptc", "OSptc", "FWp", "MWp", "LWp", "LWptc", "OWp",  "OWptc",
    "OR",   "Frp", "Mrp",  "Lrp",  "Orp",   "O",     "O",   "OA",  "OA",  NULL,    "LSpc", "OSptc",
};

static uint32_t flag_of(char c)
{
    static const struct {
        char c;
        uint32_t flag;
    } letters[] = {
        {'F', ROCE_PKT_FIRST},      {'M', ROCE_PKT_MIDDLE},         {'L', ROCE_PKT_LAST},
        {'O', ROCE_PKT_ONLY},       {'S', ROCE_PKT_SEND},           {'W', ROCE_PKT_WRITE},
        {'R', ROCE_PKT_READ},       {'A', ROCE_PKT_ATOMIC},         {'r', ROCE_PKT_READ_RESP},
        {'t', ROCE_PKT_TAKES_RECV}, {'c', ROCE_PKT_COMPLETES_RECV}, {'p', ROCE_PKT_PAYLOAD},
    };
    for (size_t i = 0; i < array_len(letters); i++)
        if (letters[i].c == c)
            return letters[i].flag;
    return 0;
}

/* covers: ROCE-OPC-2, ROCE-OPC-5 */
Test(opcode, ROCE_OPC_2_kind_and_place_of_every_operation)
{
    const uint32_t mask = ROCE_PKT_FIRST | ROCE_PKT_MIDDLE | ROCE_PKT_LAST | ROCE_PKT_ONLY | ROCE_PKT_SEND |
                          ROCE_PKT_WRITE | ROCE_PKT_READ | ROCE_PKT_ATOMIC | ROCE_PKT_READ_RESP |
                          ROCE_PKT_TAKES_RECV | ROCE_PKT_COMPLETES_RECV | ROCE_PKT_PAYLOAD;
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        unsigned op = opcode & 0x1f;
        if (expected_ext(opcode) < 0 || opcode == 0x81 || op == ROCE_OP_RESYNC)
            continue;
        uint32_t expected = 0;
        for (const char *c = rc_kind[op]; *c; c++)
            expected |= flag_of(*c);
        if (opcode == ROCE_OPCODE_SACK) /* its bitmap */
            expected |= ROCE_PKT_PAYLOAD;
        cr_expect_eq(roce_opcodes[opcode].flags & mask, expected, "0x%02x %s", opcode,
                     roce_opcodes[opcode].name);
    }
}

/* covers: ROCE-OPC-1 */
Test(opcode, ROCE_OPC_1_names_say_the_service)
{
    static const char *const service[8] = {"RC ", "UC ", "RD ", "UD ", "CNP", "XRC ", NULL, NULL};
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        const char *name = roce_opcode_name(opcode);
        cr_assert_not_null(name);
        if (service[opcode >> 5])
            cr_expect_eq(strncmp(name, service[opcode >> 5], strlen(service[opcode >> 5])), 0, "%s", name);
    }
    cr_expect_str_eq(roce_opcode_name(0x04), "RC SEND_ONLY");
    cr_expect_str_eq(roce_opcode_name(0x6b), "UD reserved");
    cr_expect_str_eq(roce_opcode_name(0x81), "CNP");
    cr_expect_str_eq(roce_opcode_name(0x80), "CNP reserved");
    cr_expect_str_eq(roce_opcode_name(0xb3), "XRC CMP_SWAP");
    cr_expect_str_eq(roce_opcode_name(0xc0), "reserved service");
    cr_expect_str_eq(roce_opcode_name(0xf3), "RC MASKED_CMP_SWAP");
    cr_expect_str_eq(roce_opcode_name(0xf1), "RC SELECTIVE_ACK");
    cr_expect_str_eq(roce_opcode_name(0xff), "manufacturer specific");
}
