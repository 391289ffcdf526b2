/* SPDX-License-Identifier: BSD-2-Clause */
/* Any packets as two captures, laid together. The input is a row of packets: two bytes with the length of the
 * next one (big-endian); a byte that says where it is seen (bit 0: not in the first, bit 1: not in the
 * second, bit 2: twice in the second, bit 3: with a bit flipped there, bit 4: it goes from the second to the
 * first, bits 6 and 7: some time has passed); a byte that says how long it took; and its bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/join/show.h"
#include "explain/tcp/segment.h"
#include "net/bytes.h"

#define PACKETS_MAX 256
#define FRAME_MAX   4400

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(int holds)
{
    if (!holds)
        abort();
}

struct ends {
    struct explain_join *join;
    uint64_t records[2], joined[2];
    bool has_tcp; /* which may come in parts */
};

static void take(struct ends *e, unsigned side, const uint8_t *frame, uint32_t len, uint64_t time_ns)
{
    struct net_capture_record record = {
        .data = frame, .len_bytes = len, .wire_bytes = len, .time_ns = time_ns};
    struct explain_packet p;
    struct explain_segment segment;
    explain_dissect(&p, &record, ++e->records[side]);
    bool is_segment = explain_segment_get(&segment, &p); /* not: a fragment, or a header that ends early */
    e->has_tcp |= p.kind == EXPLAIN_OTHER && is_segment;
    e->joined[side] +=
        p.kind == EXPLAIN_ROCE || p.kind == EXPLAIN_CM || (p.kind == EXPLAIN_SMC_TCP && is_segment);
    check(explain_join_take(e->join, side, &p) == 0);
}

static void read_packets(struct ends *e, const uint8_t *data, size_t len_bytes)
{
    static const uint64_t steps_ns[] = {0, 5 * NS_PER_US, 70 * NS_PER_MS, 3 * NS_PER_S};
    uint64_t now_ns = 1000 * NS_PER_S;
    for (unsigned n = 0; n < PACKETS_MAX && len_bytes >= 4; n++) {
        uint32_t len = get_be16(data) % FRAME_MAX;
        uint8_t how = data[2], frame[FRAME_MAX];
        int64_t took_ns = (int64_t)(data[3] * NS_PER_US) * (how & 16 ? -1 : 1);
        data += 4;
        len_bytes -= 4;
        len = (uint32_t)min_u64(len, len_bytes);
        memcpy(frame, data, len);
        now_ns += steps_ns[how >> 6];
        if (!(how & 1))
            take(e, 0, frame, len, now_ns);
        if (how & 8 && len)
            frame[len - 1 - data[0] % len] ^= 1;
        for (unsigned copies = how & 2 ? 0 : how & 4 ? 2 : 1; copies--;)
            take(e, 1, frame, len, now_ns + 7 * NS_PER_S + (uint64_t)took_ns);
        data += len;
        len_bytes -= len;
    }
}

/* What is told of a packet holds together, and can be written. */
static void check_place(const struct ends *e, const struct explain_join_place *p, struct explain_text *out)
{
    struct explain_packet packet = {.number = p->number, .roce.op = &roce_opcodes[UINT8_MAX]};
    struct explain_meaning meaning;
    check(p->fate < EXPLAIN_FATE_COUNT && p->side < 2 && p->from < 2 && p->record[p->side]);
    check(p->related <= e->records[0] + e->records[1]);
    check(p->fate != EXPLAIN_FATE_COPY || p->related);
    explain_join_copy_meaning(&meaning, p);
    explain_join_remark(&meaning, e->join, p);
    explain_join_line(out, p, &packet, &meaning, &(struct explain_line_style){0});
    explain_join_member(out, p);
    explain_text_clear(out);
}

/* Each packet of each capture is shown once, in the order of its file, but those that it holds twice, and
 * parts of segments of TCP. */
static void walk(struct ends *e)
{
    struct explain_join_place p;
    struct explain_text out = {0};
    uint64_t number = 0, seen[2] = {0, 0}, newest[2] = {0, 0};
    while (explain_join_step(e->join, &p)) {
        check(p.number == ++number);
        check(p.record[p.side] > newest[p.side]);
        newest[p.side] = p.record[p.side];
        seen[0] += p.record[0] != 0;
        seen[1] += p.record[1] != 0;
        check_place(e, &p, &out);
    }
    const struct explain_join_summary *sums = explain_join_summary(e->join);
    for (unsigned side = 0; side < 2; side++) {
        check(e->has_tcp ? seen[side] + sums->twice[side] >= e->joined[side]
                         : seen[side] + sums->twice[side] == e->joined[side]);
        check(seen[side] <= sums->packets[side]);
    }
    explain_join_sums(&out, explain_join_summary(e->join), (const char *const[]){"a", "b"});
    explain_join_sums_json(&out, explain_join_summary(e->join), (const char *const[]){"a", "b"});
    explain_text_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
    struct ends e = {.join = explain_join_create(0)};
    struct nornic_error why;
    check(e.join != NULL);
    read_packets(&e, data, len_bytes);
    int err = explain_join_finish(e.join, &why);
    check(err == 0 || (err == -ENODATA && why.text[0]));
    if (!err)
        walk(&e);
    explain_join_destroy(e.join);
    return 0;
}
