/* SPDX-License-Identifier: BSD-2-Clause */
/* Pauses and DCBX, by frames whose times and bytes are chosen here: so what is to come out is known. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "explain/analysis.h"
#include "net/bytes.h"
#include "test/explain/pcap.h"

#define SWITCH "\x02\x00\x00\x00\x00\x99"

static struct explain_analysis *analysis;
static uint64_t number;
static struct explain_meaning m;
static uint8_t request[2048], answer[2048]; /* of one flow */
static uint32_t request_bytes, answer_bytes;

static void take(const uint8_t *frame, uint32_t len, uint64_t time_ns)
{
    struct explain_packet p;
    explain_dissect(
        &p,
        &(struct net_capture_record){.data = frame, .len_bytes = len, .wire_bytes = len, .time_ns = time_ns},
        ++number);
    explain_analysis_next(analysis, &p, &m);
}

static void begin(uint64_t link_bps)
{
    struct net_capture_record r;
    struct net_capture *capture = pcap_open("rc_send_256");
    cr_assert_eq(net_capture_next(capture, &r, NULL), 1);
    memcpy(request, r.data, request_bytes = r.len_bytes);
    cr_assert_eq(net_capture_next(capture, &r, NULL), 1);
    memcpy(answer, r.data, answer_bytes = r.len_bytes);
    net_capture_close(capture);
    analysis = explain_analysis_create(&(struct explain_analysis_config){.link_bps = link_bps});
    number = 0;
}

/* A frame of flow control: `quanta` for class 0, and, where `is_pfc`, for class 5. */
static void stop(const void *station, bool is_pfc, uint16_t quanta, uint64_t time_ns)
{
    uint8_t frame[60] = {0x01, 0x80, 0xc2, 0, 0, 0x01};
    memcpy(frame + 6, station, 6);
    put_be16(frame + 12, 0x8808);
    put_be16(frame + 14, is_pfc ? 0x0101 : 0x0001);
    if (is_pfc) {
        put_be16(frame + 16, 0x0021);
        put_be16(frame + 18, quanta);
        put_be16(frame + 28, quanta);
    } else {
        put_be16(frame + 16, quanta);
    }
    take(frame, sizeof frame, time_ns);
}

/* The finding of that kind in the newest meaning, or NULL. */
static const char *found(enum explain_finding_kind kind)
{
    for (unsigned i = 0; i < m.remark_count; i++)
        if (m.remarks[i].kind == kind)
            return m.remarks[i].words;
    return NULL;
}

static void expect_paused(uint64_t link_bps, const void *station, bool is_pfc, const char *words)
{
    begin(link_bps);
    take(request, request_bytes, 1000 * NS_PER_US);
    take(answer, answer_bytes, 1010 * NS_PER_US);
    stop(station, is_pfc, 65535, 1020 * NS_PER_US);
    cr_expect_not_null(found(EXPLAIN_FIND_PAUSE));
    stop(station, is_pfc, 0, 1220 * NS_PER_US);
    take(request, request_bytes, 1230 * NS_PER_US);
    const char *got = found(EXPLAIN_FIND_PAUSED);
    if (words)
        cr_expect_str_eq(got ? got : "(none)", words);
    else
        cr_expect_null(got, "%s", got);
    uint64_t ns = explain_analysis_flow(analysis, 1)->paused_ns[0];
    cr_expect_eq(ns, words ? 200 * NS_PER_US : 0, "%" PRIu64, ns);
    explain_analysis_destroy(analysis);
}

Test(pause, whoever_sends_to_the_station_stood_still_until_the_frame_that_ends_it)
{
    begin(0);
    uint8_t requester[6], responder[6];
    memcpy(responder, request, 6);
    memcpy(requester, request + 6, 6);
    explain_analysis_destroy(analysis);
    expect_paused(0, responder, true, "class 0 stood still for 0.200 ms, as #3 asked");
    expect_paused(0, responder, false, "the link stood still for 0.200 ms, as #3 asked");
    expect_paused(0, requester, true, NULL); /* it stops what comes to it, not what it sends */
    expect_paused(0, SWITCH, true, "most likely class 0 stood still for 0.200 ms, as #3 asked");
}

Test(pause, a_pause_that_no_frame_ends_is_over_when_its_time_is_up_at_the_speed_of_the_link)
{
    static const struct {
        uint64_t link_bps, paused_ns;
        const char *end;
    } rows[] = {{UINT64_C(25000000000), 512 * NS_PER_US, "as #2 asked"},
                {UINT64_C(100000000000), 128 * NS_PER_US, "as #2 asked"},
                {0, 128 * NS_PER_US, "as #2 asked, if the link has the speed assumed"}};
    for (unsigned i = 0; i < array_len(rows); i++) {
        begin(rows[i].link_bps);
        take(request, request_bytes, 1000 * NS_PER_US);
        stop(request, false, 25000, 1000 * NS_PER_US);
        take(request, request_bytes, 9000 * NS_PER_US);
        const char *got = found(EXPLAIN_FIND_PAUSED);
        cr_assert_not_null(got);
        cr_expect_str_eq(strstr(got, "as #"), rows[i].end);
        cr_expect_eq(explain_analysis_flow(analysis, 1)->paused_ns[0], rows[i].paused_ns);
        cr_expect_eq(explain_analysis_flow(analysis, 1)->pauses[0], 1);
        explain_analysis_destroy(analysis);
    }
}

Test(pause, another_class_and_a_packet_that_goes_on_sending_are_not_paused)
{
    begin(0);
    request[15] = 5 << 5; /* DSCP 40: class 5; the ICRC does not cover it */
    put_be16(request + 24,
             (uint16_t)(get_be16(request + 24) - (5 << 5))); /* nor what it does to the checksum */
    take(request, request_bytes, 1000 * NS_PER_US);
    stop(request, true, 65535, 1010 * NS_PER_US);
    take(request, request_bytes, 1200 * NS_PER_US);
    cr_expect(found(EXPLAIN_FIND_PAUSED) && strstr(found(EXPLAIN_FIND_PAUSED), "class 5"));
    explain_analysis_destroy(analysis);
    begin(0);
    request[15] = 4 << 5;
    put_be16(request + 24, (uint16_t)(get_be16(request + 24) - (4 << 5)));
    take(request, request_bytes, 1000 * NS_PER_US);
    stop(request, true, 65535, 1010 * NS_PER_US);
    take(request, request_bytes, 1200 * NS_PER_US);
    cr_expect_null(found(EXPLAIN_FIND_PAUSED));
    explain_analysis_destroy(analysis);
}

Test(pause, words_of_the_frames)
{
    begin(UINT64_C(25000000000));
    stop(SWITCH, true, 1000, 0);
    cr_expect_str_eq(m.words,
                     "PFC: class 0 stops for 1000 quanta (20.5 us at 25 Gbit/s), class 5 stops for 1000 "
                     "quanta (20.5 us at 25 Gbit/s)");
    stop(SWITCH, true, 0, 10);
    cr_expect_str_eq(m.words, "PFC: class 0 may send again, class 5 may send again");
    stop(SWITCH, false, 1, 20);
    cr_expect_str_eq(m.words, "PAUSE: the link stops for 1 quanta (0.0 us at 25 Gbit/s)");
    explain_analysis_destroy(analysis);
}

/* --- DCBX --- */

static uint8_t *tlv(uint8_t *at, uint8_t type, const void *value, uint16_t n)
{
    at = put_be16(at, (uint16_t)(type << 9 | n));
    return put_bytes(at, value, n);
}

static void take_lldp(uint8_t lossless, uint8_t priority)
{
    uint8_t frame[256] = {0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 0x99, 0x88, 0xcc};
    const uint8_t pfc[] = {0, 0x80, 0xc2, 11, 0x88, lossless};
    const uint8_t app[] = {0, 0x80, 0xc2, 12, 0, (uint8_t)(priority << 5 | 3), 0x12, 0xb7, 3 << 5 | 5, 0, 26};
    uint8_t *at = tlv(frame + 14, 1, "\4\2\0\0\0\0\x99", 7);
    at = tlv(at, 2, "\5Ethernet1", 10);
    at = tlv(at, 3, "\0\x78", 2);
    at = tlv(at, 127, pfc, sizeof pfc);
    at = tlv(at, 127, app, sizeof app);
    at = tlv(at, 0, "", 0);
    take(frame, (uint32_t)(at - frame), 0);
}

Test(pause, dcbx_that_gives_roce_a_priority_without_pfc_is_named)
{
    begin(0);
    take_lldp(1 << 3, 3);
    cr_expect_str_eq(m.words,
                     "LLDP; lossless (PFC): 3; RoCEv2 (UDP port 4791): priority 3; DSCP 26: priority 3");
    cr_expect_null(found(EXPLAIN_FIND_DCBX));
    take_lldp(1 << 3, 5);
    cr_expect_not_null(found(EXPLAIN_FIND_DCBX));
    explain_analysis_destroy(analysis);
}
