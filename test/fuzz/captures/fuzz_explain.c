/* SPDX-License-Identifier: BSD-2-Clause */
/* Any packets as a capture: explained as lines, boxes and JSON, one after the other through one analysis. The
 * input is a row of packets: two bytes with the length of the next one (big-endian), a byte that says how the
 * packet is altered (bit 0: its ICRC is made good, so that mutated fields reach what lies behind the parser;
 * bit 1: some milliseconds have passed; bits 2 and 3: so many quarters of it were cut off; bit 7: a byte
 * was), and its bytes. */
#include <stdlib.h>
#include <string.h>

#include "explain/analysis.h"
#include "explain/packet/train.h"
#include "explain/show/boxes.h"
#include "explain/show/json.h"
#include "explain/show/line.h"
#include "net/bytes.h"
#include "test/explain/json_packet.h"

#define PACKETS_MAX      64
#define FRAME_MAX        4400
#define ALTER_ICRC       1
#define ALTER_TIME       2
#define ALTER_CUT_AT     2 /* two bits: quarters */
#define ALTER_LINK_AT    4 /* three bits: enum net_link */
#define FINDINGS_AT_ONCE 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(int holds)
{
    if (!holds)
        abort();
}

/* Every line of text that is made is NUL-terminated, and a finding has words. */
static void judge(const struct explain_meaning *m)
{
    check(memchr(m->words, 0, sizeof m->words) != NULL);
    check(m->remark_count <= EXPLAIN_REMARKS_MAX);
    for (unsigned i = 0; i < m->remark_count; i++)
        check(m->remarks[i].kind < EXPLAIN_FINDING_COUNT && m->remarks[i].words[0] && m->remarks[i].number);
}

static void mend_icrc(uint8_t *frame, uint32_t len)
{
    struct roce_pkt pkt;
    const unsigned flags = ROCE_PARSE_ALLOW_NO_DF | ROCE_PARSE_V1 | ROCE_PARSE_SKIP_ICRC;
    if (roce_pkt_parse(&pkt, frame, len, flags) != ROCE_RX_TAKEN)
        return;
    size_t pad_bytes = pkt.op->flags & ROCE_PKT_DEFINED ? pkt.bth.pad_count : 0;
    size_t at = (size_t)(pkt.payload - frame) + pkt.payload_bytes + pad_bytes;
    check(at + ROCE_ICRC_BYTES <= len);
    put_le32(frame + at, pkt.icrc_expected);
}

static void explain_one(struct explain_analysis *analysis, const struct net_capture_record *record,
                        uint64_t number)
{
    static struct explain_text out;
    struct explain_cutter cutter;
    struct explain_packet packet;
    struct explain_meaning meaning;
    struct explain_line_style style = {.colour = number & 1};
    uint32_t given = 0;
    explain_cutter_begin(&cutter, record, number);
    while (explain_cutter_next(&cutter, &packet)) {
        check(packet.train.packet == (packet.train.of ? ++given : 0) && given <= packet.train.of);
        check(packet.len_bytes <= record->len_bytes);
        for (unsigned i = 0; i < packet.layer_count; i++)
            check(packet.layers[i].offset + packet.layers[i].len_bytes <= packet.len_bytes);
        check((uint64_t)packet.payload_offset + packet.payload_bytes <= packet.len_bytes);
        explain_analysis_next(analysis, &packet, &meaning);
        judge(&meaning);
        explain_line(&out, &packet, &meaning, &style);
        explain_boxes_packet(&out, &packet);
        json_packet(&out, &packet, &meaning);
        check(!out.has_failed && out.len > 0 && out.bytes[out.len] == '\0');
        explain_text_clear(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
    struct explain_analysis_config config = {.max_flow_bytes = 16384, .strict = len_bytes & 1};
    struct explain_analysis *analysis = explain_analysis_create(&config);
    struct explain_finding findings[FINDINGS_AT_ONCE];
    uint64_t time_ns = 0;
    unsigned n;
    check(analysis != NULL);
    for (uint64_t number = 1; number <= PACKETS_MAX && len_bytes >= 3; number++) {
        uint32_t len = get_be16(data) % FRAME_MAX;
        uint8_t alter = data[2];
        data += 3;
        len_bytes -= 3;
        len = len < len_bytes ? len : (uint32_t)len_bytes;
        uint32_t kept = len - len * (alter >> ALTER_CUT_AT & 3) / 4;
        uint8_t *frame = malloc(kept ? kept : 1); /* of exactly that size: a read beyond it is seen */
        check(frame != NULL);
        memcpy(frame, data, kept);
        if (alter & ALTER_ICRC)
            mend_icrc(frame, kept);
        time_ns += alter & ALTER_TIME ? 70000000 : 10000;
        explain_one(analysis,
                    &(struct net_capture_record){
                        .data = frame,
                        .len_bytes = kept,
                        .wire_bytes = len + (alter >> 7),
                        .time_ns = time_ns,
                        .link = (enum net_link)((alter >> ALTER_LINK_AT & 7) % (NET_LINK_OTHER + 1))},
                    number);
        free(frame);
        data += len;
        len_bytes -= len;
    }
    while ((n = explain_analysis_end(analysis, findings, FINDINGS_AT_ONCE)) > 0)
        for (unsigned i = 0; i < n; i++)
            check(findings[i].number && findings[i].words[0]);
    explain_analysis_destroy(analysis);
    return 0;
}
