/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/wire/wire.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "iwarp/wire/crc.h"
#include "iwarp/wire/opcode.h"
#include "iwarp/wire/size.h"
#include "test/support/iwarp_frames.h"
#include "test/support/tiling.h"

static const struct net_header *const headers[] = {
    &iwarp_mpa_frame_header, &iwarp_mpa_enhanced_header, &iwarp_mpa_length_header, &iwarp_marker_header,
    &iwarp_mpa_crc_header,   &iwarp_ctrl_header,         &iwarp_tagged_header,     &iwarp_untagged_header,
    &iwarp_read_req_header,  &iwarp_atomic_req_header,   &iwarp_atomic_rsp_header, &iwarp_imm_header,
    &iwarp_term_header,      &iwarp_term_length_header,
};

Test(wire, every_header_is_tiled_by_its_fields)
{
    for (size_t i = 0; i < array_len(headers); i++)
        test_header_tiles(headers[i]);
}

/* covers: IWARP-GEN-02, IWARP-GEN-03 */
Test(wire, headers_are_as_long_as_the_standards_say)
{
    static const uint16_t lengths[array_len(headers)] = {20, 4, 2, 4, 4, 2, 12, 16, 28, 52, 12, 8, 4, 2};
    for (size_t i = 0; i < array_len(headers); i++)
        cr_expect_eq(headers[i]->len_bytes, lengths[i], "%s", headers[i]->name);
    cr_expect_eq(IWARP_DDP_TAGGED_BYTES, 14);
    cr_expect_eq(IWARP_DDP_UNTAGGED_BYTES, 18);
    cr_expect_eq(IWARP_TERM_MAX_BYTES, 52);
}

Test(wire, queues_atomics_and_layers_have_words)
{
    cr_expect_str_eq(iwarp_queue_name(IWARP_QN_SEND), "Send");
    cr_expect_str_eq(iwarp_queue_name(IWARP_QN_ATOMIC_RSP), "Atomic Response");
    cr_expect_null(iwarp_queue_name(4));
    cr_expect_str_eq(iwarp_atomic_name(IWARP_CMP_SWAP), "CmpSwap");
    cr_expect_null(iwarp_atomic_name(3));
    cr_expect_str_eq(iwarp_opcode_name(IWARP_OP_SEND_INV), "Send with Invalidate");
    cr_expect_str_eq(iwarp_opcode_name(12), "reserved");
}

/* --- the examples, read and written --- */

static void expect_bytes(enum iwarp_example_name name, const uint8_t *made, size_t len)
{
    uint8_t wanted[IWARP_EXAMPLE_MAX_BYTES];
    size_t wanted_len = iwarp_example_bytes(name, wanted);
    cr_assert_eq(len, wanted_len, "%s: %zu octets", iwarp_examples[name].title, len);
    cr_expect_arr_eq(made, wanted, len, "%s", iwarp_examples[name].title);
}

struct mpa_case {
    enum iwarp_example_name name;
    const char *key;
    struct iwarp_mpa_frame frame; /* without the key */
    struct iwarp_mpa_enhanced enhanced;
    const char *ulp_data;
};

static const struct mpa_case mpa_cases[] = {
    {IWARP_EX_REQUEST_1, "MPA ID Req Frame", {.c = 1, .rev = 1, .pd_len = 4}, {0}, "ping"},
    {IWARP_EX_REPLY_1, "MPA ID Rep Frame", {.c = 1, .rev = 1}, {0}, ""},
    {IWARP_EX_REQUEST_2,
     "MPA ID Req Frame",
     {.c = 1, .s = 1, .rev = 2, .pd_len = 8},
     {.a = 1, .c = 1, .d = 1, .ird = 16, .ord = 8},
     "ping"},
    {IWARP_EX_REPLY_2,
     "MPA ID Rep Frame",
     {.c = 1, .s = 1, .rev = 2, .pd_len = 4},
     {.a = 1, .c = 1, .ird = 8, .ord = 16},
     ""},
};

Test(wire, mpa_frames_are_written_as_the_examples)
{
    for (const struct mpa_case *c = mpa_cases; c < mpa_cases + array_len(mpa_cases); c++) {
        uint8_t made[IWARP_EXAMPLE_MAX_BYTES] = {0};
        struct iwarp_mpa_frame frame = c->frame;
        memcpy(frame.key, c->key, sizeof frame.key);
        uint8_t *p = iwarp_mpa_frame_put(made, &frame);
        if (frame.s)
            p = iwarp_mpa_enhanced_put(p, &c->enhanced);
        memcpy(p, c->ulp_data, strlen(c->ulp_data));
        expect_bytes(c->name, made, (size_t)(p - made) + strlen(c->ulp_data));
    }
}

Test(wire, mpa_frames_of_the_examples_are_read)
{
    for (const struct mpa_case *c = mpa_cases; c < mpa_cases + array_len(mpa_cases); c++) {
        uint8_t bytes[IWARP_EXAMPLE_MAX_BYTES];
        size_t len = iwarp_example_bytes(c->name, bytes);
        struct iwarp_mpa_frame frame;
        const uint8_t *p = iwarp_mpa_frame_get(&frame, bytes);
        cr_expect_arr_eq(frame.key, c->key, sizeof frame.key);
        cr_expect(frame.m == c->frame.m && frame.c == c->frame.c && frame.r == c->frame.r);
        cr_expect(frame.s == c->frame.s && frame.resv4 == 0 && frame.rev == c->frame.rev);
        cr_assert_eq(frame.pd_len, len - IWARP_MPA_FRAME_BYTES);
        if (frame.s) {
            struct iwarp_mpa_enhanced e;
            p = iwarp_mpa_enhanced_get(&e, p);
            cr_expect(e.a == c->enhanced.a && e.b == c->enhanced.b && e.ird == c->enhanced.ird);
            cr_expect(e.c == c->enhanced.c && e.d == c->enhanced.d && e.ord == c->enhanced.ord);
        }
        cr_expect_arr_eq(p, c->ulp_data, strlen(c->ulp_data));
    }
}

/* A message as its headers; `op` says which of them there are. */
struct fpdu_case {
    enum iwarp_example_name name;
    enum iwarp_op op;
    struct iwarp_tagged tagged;
    struct iwarp_untagged untagged;
    union {
        struct iwarp_read_req read_req;
        struct iwarp_atomic_req atomic_req;
        struct iwarp_atomic_rsp atomic_rsp;
        struct iwarp_imm imm;
        struct iwarp_term term;
    };
    struct {
        uint16_t segment_len;
        enum iwarp_op op;
        struct iwarp_tagged tagged;
        struct iwarp_untagged untagged;
        struct iwarp_read_req read_req;
    } refused; /* what a Terminate copies */
    uint8_t payload_len;
    const char *payload;
};

#define ALL_ONES UINT64_MAX

static const struct fpdu_case fpdu_cases[] = {
    {IWARP_EX_RTR_WRITE, IWARP_OP_WRITE, .tagged = {.stag = 1}},
    {IWARP_EX_RTR_READ, IWARP_OP_READ_REQUEST, .untagged = {.qn = 1, .msn = 1},
     .read_req = {.sink_stag = 1, .src_stag = 1}},
    {IWARP_EX_RTR_READ_RESPONSE, IWARP_OP_READ_RESPONSE, .tagged = {.stag = 1}},
    {IWARP_EX_SEND, IWARP_OP_SEND, .untagged = {.msn = 1}, .payload_len = 5, .payload = "hello"},
    {IWARP_EX_SEND_INV, IWARP_OP_SEND_INV, .untagged = {.inv_stag = 0x12301, .msn = 2}, .payload_len = 4,
     .payload = "bye!"},
    {IWARP_EX_SEND_SE, IWARP_OP_SEND_SE, .untagged = {.msn = 3}, .payload_len = 1, .payload = "\1"},
    {IWARP_EX_SEND_SE_INV, IWARP_OP_SEND_SE_INV, .untagged = {.inv_stag = 0x12402, .msn = 4}},
    {IWARP_EX_WRITE, IWARP_OP_WRITE, .tagged = {.stag = 0xabcd01, .to = 0x1000}, .payload_len = 5,
     .payload = "ABCDE"},
    {IWARP_EX_READ_REQUEST, IWARP_OP_READ_REQUEST, .untagged = {.qn = 1, .msn = 1},
     .read_req = {.sink_stag = 0x112201,
                  .sink_to = 0x7f0000002000,
                  .size = 8,
                  .src_stag = 0xabcd01,
                  .src_to = 0x1000}},
    {IWARP_EX_READ_RESPONSE, IWARP_OP_READ_RESPONSE, .tagged = {.stag = 0x112201, .to = 0x7f0000002000},
     .payload_len = 8, .payload = "ABCDE\0\0\0"},
    {IWARP_EX_FETCH_ADD, IWARP_OP_ATOMIC_REQUEST, .untagged = {.qn = 1, .msn = 2},
     .atomic_req = {.aopcode = IWARP_FETCH_ADD,
                    .request_id = 0xa1,
                    .stag = 0xabcd01,
                    .to = 0x1008,
                    .data = 1,
                    .compare_mask = ALL_ONES}},
    {IWARP_EX_ATOMIC_RESPONSE, IWARP_OP_ATOMIC_RESPONSE, .untagged = {.qn = 3, .msn = 1},
     .atomic_rsp = {.request_id = 0xa1, .original = 41}},
    {IWARP_EX_CMP_SWAP, IWARP_OP_ATOMIC_REQUEST, .untagged = {.qn = 1, .msn = 3},
     .atomic_req = {.aopcode = IWARP_CMP_SWAP,
                    .request_id = 0xa2,
                    .stag = 0xabcd01,
                    .to = 0x1008,
                    .data = 100,
                    .mask = ALL_ONES,
                    .compare = 42,
                    .compare_mask = ALL_ONES}},
    {IWARP_EX_SWAP, IWARP_OP_ATOMIC_REQUEST, .untagged = {.qn = 1, .msn = 4},
     .atomic_req = {.aopcode = IWARP_SWAP,
                    .request_id = 0xa3,
                    .stag = 0xabcd01,
                    .to = 0x1008,
                    .data = 7,
                    .mask = ALL_ONES,
                    .compare_mask = ALL_ONES}},
    {IWARP_EX_IMM, IWARP_OP_IMM, .untagged = {.msn = 5}, .imm = {{1, 2, 3, 4, 5, 6, 7, 8}}},
    {IWARP_EX_IMM_SE, IWARP_OP_IMM_SE, .untagged = {.msn = 6}, .imm = {{0x11, 0x22, 0x33, 0x44}}},
    {IWARP_EX_TERM_MPA, IWARP_OP_TERMINATE, .untagged = {.qn = 2, .msn = 1}, .term = {.layer = 2, .code = 2}},
    {IWARP_EX_TERM_UNTAGGED, IWARP_OP_TERMINATE, .untagged = {.qn = 2, .msn = 1},
     .term = {.layer = 1, .etype = 2, .code = 2, .m = 1, .d = 1},
     .refused = {.segment_len = 23, .op = IWARP_OP_SEND, .untagged = {.msn = 1}}},
    {IWARP_EX_TERM_TAGGED, IWARP_OP_TERMINATE, .untagged = {.qn = 2, .msn = 1},
     .term = {.layer = 1, .etype = 1, .m = 1, .d = 1},
     .refused = {.segment_len = 19, .op = IWARP_OP_WRITE, .tagged = {.stag = 0xdead0001, .to = 0x1000}}},
    {IWARP_EX_TERM_READ, IWARP_OP_TERMINATE, .untagged = {.qn = 2, .msn = 1},
     .term = {.layer = 0, .etype = 1, .code = 1, .m = 1, .d = 1, .r = 1},
     .refused = {.segment_len = 46,
                 .op = IWARP_OP_READ_REQUEST,
                 .untagged = {.qn = 1, .msn = 5},
                 .read_req = {.sink_stag = 0x112201,
                              .sink_to = 0x7f0000002000,
                              .size = 16,
                              .src_stag = 0xabcd01,
                              .src_to = 0x1ff8}}},
    {IWARP_EX_MARKED, IWARP_OP_SEND, .untagged = {.msn = 1}, .payload_len = 5, .payload = "hello"},
};

static uint8_t *put_ddp(uint8_t *p, enum iwarp_op op, const struct iwarp_tagged *tagged,
                        const struct iwarp_untagged *untagged)
{
    uint8_t is_tagged = (iwarp_opcodes[op].flags & IWARP_MSG_TAGGED) != 0;
    struct iwarp_ctrl ctrl = {.t = is_tagged, .l = 1, .dv = 1, .rv = 1, .opcode = (uint8_t)op};
    p = iwarp_ctrl_put(p, &ctrl);
    return is_tagged ? iwarp_tagged_put(p, tagged) : iwarp_untagged_put(p, untagged);
}

static uint8_t *put_terminate(uint8_t *p, const struct fpdu_case *c)
{
    p = iwarp_term_put(p, &c->term);
    if (!c->term.m)
        return p;
    struct iwarp_term_length length = {c->refused.segment_len};
    p = iwarp_term_length_put(p, &length);
    p = put_ddp(p, c->refused.op, &c->refused.tagged, &c->refused.untagged);
    return c->term.r ? iwarp_read_req_put(p, &c->refused.read_req) : p;
}

static uint8_t *put_ulpdu(uint8_t *p, const struct fpdu_case *c)
{
    p = put_ddp(p, c->op, &c->tagged, &c->untagged);
    switch (c->op) {
    case IWARP_OP_READ_REQUEST:
        return iwarp_read_req_put(p, &c->read_req);
    case IWARP_OP_ATOMIC_REQUEST:
        return iwarp_atomic_req_put(p, &c->atomic_req);
    case IWARP_OP_ATOMIC_RESPONSE:
        return iwarp_atomic_rsp_put(p, &c->atomic_rsp);
    case IWARP_OP_IMM:
    case IWARP_OP_IMM_SE:
        return iwarp_imm_put(p, &c->imm);
    case IWARP_OP_TERMINATE:
        return put_terminate(p, c);
    case IWARP_OP_WRITE:
    case IWARP_OP_READ_RESPONSE:
    case IWARP_OP_SEND:
    case IWARP_OP_SEND_INV:
    case IWARP_OP_SEND_SE:
    case IWARP_OP_SEND_SE_INV:
    case IWARP_OP_DEFINED:
        break;
    }
    for (unsigned i = 0; i < c->payload_len; i++)
        *p++ = (uint8_t)c->payload[i];
    return p;
}

/* covers: IWARP-GEN-02, IWARP-GEN-03, IWARP-RDMAP-09, IWARP-RDMAP-29, IWARP-FPDU-07, IWARP-FPDU-08 */
Test(wire, fpdus_are_written_as_the_examples)
{
    for (const struct fpdu_case *c = fpdu_cases; c < fpdu_cases + array_len(fpdu_cases); c++) {
        uint8_t made[IWARP_EXAMPLE_MAX_BYTES] = {0}, *p = made, *ulpdu;
        const struct iwarp_marker marker = {0};
        if (c->name == IWARP_EX_MARKED)
            p = iwarp_marker_put(p, &marker);
        ulpdu = p + IWARP_MPA_LENGTH_BYTES;
        const struct iwarp_mpa_length length = {(uint16_t)(put_ulpdu(ulpdu, c) - ulpdu)};
        p = iwarp_mpa_length_put(p, &length) + length.ulpdu_len + iwarp_pad_bytes(length.ulpdu_len);
        p = iwarp_crc_put(p, iwarp_crc(0, made, (size_t)(p - made)));
        cr_expect_eq(p - ulpdu, iwarp_fpdu_bytes(length.ulpdu_len) - IWARP_MPA_LENGTH_BYTES);
        expect_bytes(c->name, made, (size_t)(p - made));
    }
    cr_expect_eq(array_len(fpdu_cases), IWARP_EX_COUNT - IWARP_EX_FIRST_FPDU, "each example once");
}

/* Fails unless the fields are those of `wanted`, by what they encode to. */
#define EXPECT_HEADER(prefix, p, wanted, title)                             \
    do {                                                                    \
        uint8_t one_[64] = {0}, other_[64] = {0};                           \
        struct prefix read_;                                                \
        (p) = prefix##_get(&read_, p);                                      \
        prefix##_put(one_, &read_);                                         \
        prefix##_put(other_, wanted);                                       \
        cr_expect_arr_eq(one_, other_, sizeof one_, "%s: " #prefix, title); \
    } while (0)

static const uint8_t *expect_ddp(const uint8_t *p, enum iwarp_op op, const struct iwarp_tagged *tagged,
                                 const struct iwarp_untagged *untagged, const char *title)
{
    struct iwarp_ctrl ctrl;
    p = iwarp_ctrl_get(&ctrl, p);
    cr_expect_eq(ctrl.t, (iwarp_opcodes[op].flags & IWARP_MSG_TAGGED) != 0, "%s", title);
    cr_expect(ctrl.l && ctrl.dv == IWARP_DDP_VERSION && ctrl.rv == IWARP_RDMAP_VERSION, "%s", title);
    cr_expect_eq(ctrl.opcode, op, "%s", title);
    cr_expect(ctrl.resv4 == 0 && ctrl.resv2 == 0, "%s", title);
    if (ctrl.t)
        EXPECT_HEADER(iwarp_tagged, p, tagged, title);
    else
        EXPECT_HEADER(iwarp_untagged, p, untagged, title);
    return p;
}

static const uint8_t *expect_message(const uint8_t *p, const struct fpdu_case *c, const char *title)
{
    const uint8_t *behind = p + iwarp_opcodes[c->op].header_bytes;
    switch (c->op) {
    case IWARP_OP_READ_REQUEST:
        EXPECT_HEADER(iwarp_read_req, p, &c->read_req, title);
        break;
    case IWARP_OP_ATOMIC_REQUEST:
        EXPECT_HEADER(iwarp_atomic_req, p, &c->atomic_req, title);
        break;
    case IWARP_OP_ATOMIC_RESPONSE:
        EXPECT_HEADER(iwarp_atomic_rsp, p, &c->atomic_rsp, title);
        break;
    case IWARP_OP_IMM:
    case IWARP_OP_IMM_SE:
        EXPECT_HEADER(iwarp_imm, p, &c->imm, title);
        break;
    case IWARP_OP_TERMINATE:
        EXPECT_HEADER(iwarp_term, p, &c->term, title);
        break;
    case IWARP_OP_WRITE:
    case IWARP_OP_READ_RESPONSE:
    case IWARP_OP_SEND:
    case IWARP_OP_SEND_INV:
    case IWARP_OP_SEND_SE:
    case IWARP_OP_SEND_SE_INV:
    case IWARP_OP_DEFINED:
        break;
    }
    cr_expect_eq(p, behind, "%s: as the table of opcodes has it", title);
    if (c->op == IWARP_OP_TERMINATE && c->term.m) {
        const struct iwarp_term_length length = {c->refused.segment_len};
        EXPECT_HEADER(iwarp_term_length, p, &length, title);
        p = expect_ddp(p, c->refused.op, &c->refused.tagged, &c->refused.untagged, title);
        if (c->term.r)
            EXPECT_HEADER(iwarp_read_req, p, &c->refused.read_req, title);
    }
    for (unsigned i = 0; i < c->payload_len; i++)
        cr_expect_eq(*p++, (uint8_t)c->payload[i], "%s", title);
    return p;
}

/* covers: IWARP-GEN-02, IWARP-RDMAP-09, IWARP-RDMAP-29, IWARP-FPDU-08 */
Test(wire, fpdus_of_the_examples_are_read)
{
    for (const struct fpdu_case *c = fpdu_cases; c < fpdu_cases + array_len(fpdu_cases); c++) {
        const char *title = iwarp_examples[c->name].title;
        uint8_t bytes[IWARP_EXAMPLE_MAX_BYTES];
        size_t len = iwarp_example_bytes(c->name, bytes);
        const uint8_t *p = bytes;
        struct iwarp_mpa_length length;
        if (c->name == IWARP_EX_MARKED)
            p += IWARP_MARKER_BYTES;
        p = iwarp_mpa_length_get(&length, p);
        const uint8_t *end = expect_message(expect_ddp(p, c->op, &c->tagged, &c->untagged, title), c, title);
        cr_expect_eq(end - p, length.ulpdu_len, "%s", title);
        end += iwarp_pad_bytes(length.ulpdu_len);
        cr_expect_eq(iwarp_crc(0, bytes, (size_t)(end - bytes)), iwarp_crc_get(end), "%s", title);
        cr_expect_eq(end + IWARP_MPA_CRC_BYTES, bytes + len, "%s", title);
    }
}

/* The queues are those that RFC 7306 registers. covers: IWARP-RDMAP-04, IWARP-AMB-18 */
Test(wire, the_opcode_table_is_that_of_the_examples)
{
    for (const struct fpdu_case *c = fpdu_cases; c < fpdu_cases + array_len(fpdu_cases); c++)
        if (!(iwarp_opcodes[c->op].flags & IWARP_MSG_TAGGED))
            cr_expect_eq(iwarp_opcodes[c->op].qn, c->untagged.qn, "%s", iwarp_examples[c->name].title);
}
