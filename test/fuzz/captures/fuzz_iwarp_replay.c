/* SPDX-License-Identifier: BSD-2-Clause */
/* Any TCP connection as a capture, replayed in the place of each of its ends with the engine of iwarp/. The
 * input is a row of segments: an octet (bit 0: which end sends it; bit 1: FIN; bit 2: RST), two with the
 * length of its data (big-endian), and the data. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/iwarp/replay.h"
#include "net/bytes.h"

#define SEGMENTS_MAX  64
#define DATA_MAX      1500
#define HEADERS_BYTES (14 + 20 + 20)
enum { FROM_SERVER = 1, HAS_FIN = 2, HAS_RST = 4 };
enum { TCP_FIN = 1, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(int holds)
{
    if (!holds)
        abort();
}

static const uint8_t ends[2][4] = {{10, 0, 0, 1}, {10, 0, 0, 2}};

struct line {
    struct explain_tape tape;
    uint32_t seq[2];
    uint64_t time_ns;
};

static void send_segment(struct line *l, unsigned side, uint8_t flags, const uint8_t *data, uint32_t len)
{
    uint8_t frame[HEADERS_BYTES + DATA_MAX] = {0}, *p = frame + 12;
    p = put_be16(p, 0x0800);
    p = put_be16(p, 0x4500);
    p = put_be16(p, (uint16_t)(40 + len));
    p = put_be32(p, 0);
    p = put_be32(p, 0x40060000); /* TTL, TCP, no checksum */
    p = put_bytes(p, ends[side], 4);
    p = put_bytes(p, ends[!side], 4);
    p = put_be16(p, side ? 5000 : 4000);
    p = put_be16(p, side ? 4000 : 5000);
    p = put_be32(p, l->seq[side]);
    p = put_be32(p, l->seq[!side]);
    p = put_be16(p, (uint16_t)(0x5000 | flags));
    p = put_be16(p, 0xffff);
    p = put_be32(p, 0);
    if (len)
        memcpy(p, data, len);
    const struct net_capture_record record = {.data = frame,
                                              .len_bytes = HEADERS_BYTES + len,
                                              .wire_bytes = HEADERS_BYTES + len,
                                              .time_ns = l->time_ns += NS_PER_MS};
    check(explain_tape_add(&l->tape, &record) == 0);
    l->seq[side] += len + (flags & (TCP_SYN | TCP_FIN) ? 1 : 0);
}

static void read_line(struct line *l, const uint8_t *data, size_t len_bytes)
{
    send_segment(l, 0, TCP_SYN, NULL, 0);
    send_segment(l, 1, TCP_SYN | TCP_ACK, NULL, 0);
    for (unsigned n = 0; n < SEGMENTS_MAX && len_bytes >= 3; n++) {
        uint32_t len = (uint32_t)min_u64(get_be16(data + 1) % DATA_MAX, len_bytes - 3);
        uint8_t flags = TCP_ACK;
        flags |= data[0] & HAS_FIN ? TCP_FIN : 0;
        flags |= data[0] & HAS_RST ? TCP_RST : 0;
        send_segment(l, data[0] & FROM_SERVER, flags, data + 3, len);
        data += 3 + len;
        len_bytes -= 3 + len;
    }
}

static void compared(void *ctx, const struct explain_iwarp_compared *c)
{
    uint64_t *count = ctx;
    ++*count;
    check(c->outcome < EXPLAIN_IWARP_REPLAY_OUTCOME_COUNT && c->message != NULL && c->connection == 1);
}

static void replay(const struct explain_tape *tape, const char *as)
{
    struct explain_iwarp_replay_result result;
    struct nornic_error why = {0};
    struct nornic_addr addr;
    uint64_t count = 0, told = 0;
    const struct explain_iwarp_replay_config config = {.compared = compared, .ctx = &count};
    check(nornic_addr_parse(as, &addr) == 0);
    if (explain_iwarp_replay(tape, &addr, &config, &result, &why) != 0)
        return;
    for (unsigned i = 0; i < EXPLAIN_IWARP_REPLAY_OUTCOME_COUNT; i++)
        told += result.outcomes[i];
    check(told == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
    struct line line = {.seq = {1000, 2000}};
    read_line(&line, data, len_bytes);
    replay(&line.tape, "10.0.0.1");
    replay(&line.tape, "10.0.0.2");
    explain_tape_free(&line.tape);
    return 0;
}
