/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of a trace, of the worked examples of SMCR section 22. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "smcr/conn/conn.h"
#include "smcr/trace_text.h"
#include "test/support/smcr_examples.h"

static struct smcr_link link = {.number = 2};

static void expect(enum smcr_trace_type type, const char *example, const char *where, const char *text)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    struct smcr_trace trace = {
        .type = type, .link = &link, .message = bytes, .len_bytes = smcr_example(example, bytes)};
    struct smcr_trace_line line;
    smcr_trace_line(&trace, &line);
    cr_assert_str_eq(line.where, where);
    cr_assert_str_eq(line.text, text, "%s: %s", example, line.text);
}

Test(trace_text, clc_messages)
{
    expect(SMCR_TRACE_CLC_TX, "PROP4", "tcp",
           "Proposal, peer 7b0202005e100002, GID 192.0.2.2, subnet 192.0.2.0/24");
    expect(SMCR_TRACE_CLC_TX, "PROP6", "tcp",
           "Proposal, peer 7b0202005e100002, GID fe80::5eff:fe10:2, 2 prefixes");
    expect(SMCR_TRACE_CLC_RX, "ACC_F", "tcp",
           "Accept, first contact, QPN 0x000012, token a1b20001, RMBE 1 of 64 KiB, MTU 1024");
    expect(SMCR_TRACE_CLC_RX, "ACC_S", "tcp",
           "Accept, subsequent contact, QPN 0x000013, token a1b20007, RMBE 7 of 64 KiB, MTU 1024");
    expect(SMCR_TRACE_CLC_TX, "CONF", "tcp",
           "Confirm, QPN 0x000040, token c3d40001, RMBE 1 of 32 KiB, MTU 4096");
    expect(SMCR_TRACE_CLC_RX, "DECL", "tcp", "Decline, no common subnet or prefix");
    expect(SMCR_TRACE_CLC_RX, "DECL_S", "tcp", "Decline, out of sync, out of sync");
}

Test(trace_text, llc_messages)
{
    static const char *const want[][2] = {
        {"CL_REQ", "CONFIRM LINK request, link 1, QPN 0x000012, max 2"},
        {"CL_RSP", "CONFIRM LINK response, link 1, QPN 0x000040, max 2"},
        {"AL_REQ", "ADD LINK request, link 2, QPN 0x000013, GID 192.0.2.3"},
        {"AL_RSP", "ADD LINK response, link 2, QPN 0x000041, GID 192.0.2.4"},
        {"AL_REJ", "ADD LINK rejected, no alternate path"},
        {"ALC_REQ", "ADD LINK CONTINUATION request, link 2, 1 RTokens from here on"},
        {"ALC_RSP1", "ADD LINK CONTINUATION response, link 2, 3 RTokens from here on"},
        {"DL_REQ", "DELETE LINK request, link 1, lost path"},
        {"DL_RSP", "DELETE LINK response, link 1"},
        {"DL_ALL", "DELETE LINK request, all links, orderly, operator"},
        {"DL_UNK", "DELETE LINK response, link 9, unknown link"},
        {"CR_REQ", "CONFIRM RKEY request, RKey 0x000004f1 and on 1 other links"},
        {"CR_NEG", "CONFIRM RKEY response, RKey 0x000004f1 and on 1 other links, refused, try again"},
        {"CRC_REQ", "CONFIRM RKEY CONTINUATION request, 3 links from here on"},
        {"TL_REQ", "TEST LINK request"},
        {"TL_RSP", "TEST LINK response"},
        {"DR_REQ", "DELETE RKEY request, 2 keys"},
        {"DR_NEG", "DELETE RKEY response, 2 keys, some unknown"},
    };
    for (size_t i = 0; i < array_len(want); i++)
        expect(SMCR_TRACE_LLC_TX, want[i][0], "link 2", want[i][1]);
}

Test(trace_text, cdc_messages)
{
    expect(SMCR_TRACE_CDC_RX, "CDC_DATA", "link 2", "CDC a1b20001 seq 1, producer 0:1004, consumer 0:4");
    expect(SMCR_TRACE_CDC_RX, "CDC_FULL", "link 2",
           "CDC a1b20001 seq 3, producer 2:1004, consumer 1:1004, writer blocked");
    expect(SMCR_TRACE_CDC_RX, "CDC_F", "link 2", "CDC a1b20001 seq 41 failover validation");
    expect(SMCR_TRACE_CDC_TX, "CDC_C", "link 2",
           "CDC a1b20001 seq 43, producer 3:2048, consumer 3:4096, closed");
}

Test(trace_text, changes_and_moves)
{
    struct smcr_group group = {.id = 3};
    struct smcr_conn conn = {.token = 0xa1b20001};
    struct smcr_trace_line line;
    smcr_trace_line(&(struct smcr_trace){.type = SMCR_TRACE_LINK,
                                         .group = &group,
                                         .link = &link,
                                         .from = "ACTIVE",
                                         .to = "DOWN",
                                         .cause = "the port is down"},
                    &line);
    cr_assert_eq(line.mark, '*');
    cr_assert_str_eq(line.where, "link 2");
    cr_assert_str_eq(line.text, "ACTIVE -> DOWN: the port is down");
    smcr_trace_line(
        &(struct smcr_trace){.type = SMCR_TRACE_MOVED, .group = &group, .link = &link, .conn = &conn}, &line);
    cr_assert_str_eq(line.where, "conn a1b20001");
    cr_assert_str_eq(line.text, "sends over link 2");
    smcr_trace_line(&(struct smcr_trace){.type = SMCR_TRACE_GROUP, .group = &group, .to = "SYMMETRIC"},
                    &line);
    cr_assert_str_eq(line.where, "group 3");
    cr_assert_str_eq(line.text, "SYMMETRIC");
}

/* What was not taken may be of any length and content: the line stays within its room. */
Test(trace_text, whatever_was_not_taken_has_a_line)
{
    uint8_t bytes[SMCR_EXAMPLE_MAX_BYTES];
    for (unsigned first = 0; first < 256; first++) {
        memset(bytes, 0xff, sizeof bytes);
        bytes[0] = bytes[4] = (uint8_t)first;
        for (size_t len = 0; len <= sizeof bytes; len++) {
            struct smcr_trace trace = {.type = SMCR_TRACE_DROP,
                                       .link = len % 2 ? &link : NULL,
                                       .message = bytes,
                                       .len_bytes = len,
                                       .cause = "it is only a test"};
            struct smcr_trace_line line;
            memset(&line, 0x55, sizeof line);
            smcr_trace_line(&trace, &line);
            cr_assert_eq(line.mark, '!');
            cr_assert_lt(strnlen(line.where, sizeof line.where), sizeof line.where);
            cr_assert_lt(strnlen(line.text, sizeof line.text), sizeof line.text);
            cr_assert_gt(strlen(line.text), 0);
        }
    }
}
