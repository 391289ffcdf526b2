/* SPDX-License-Identifier: BSD-2-Clause */
/* Any packets as a capture, replayed in the place of each end of its first RoCE packet: the engine gets what
 * is in them, and what it sends is compared. The input is a row of packets: two bytes with the length of the
 * next one (big-endian), a byte that says how the packet is altered (bit 0: its ICRC is made good; bit 1:
 * some milliseconds have passed), and its bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/learn/learn.h"
#include "explain/replay/replay.h"
#include "explain/replay/smc/replay.h"
#include "net/bytes.h"

#define PACKETS_MAX 64
#define FRAME_MAX   4400
#define ALTER_ICRC  1
#define ALTER_TIME  2

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(int holds)
{
    if (!holds)
        abort();
}

/* Makes a field's value one of few: a capture may ask for as much memory as its bounds allow, which costs
 * time and finds nothing. PSNs stay around 0, addresses and lengths below 1 MiB. */
static void narrow(uint8_t *frame, const struct explain_packet *p)
{
    for (unsigned i = 0; i < p->layer_count; i++) {
        const struct net_header *h = p->layers[i].kind->header;
        for (unsigned k = 0; k < h->field_count; k++) {
            const struct net_field *f = &h->fields[k];
            uint64_t value = explain_field_value(p, i, f);
            if (strcmp(f->name, "psn") == 0) /* CLC and LLC messages say where they begin */
                value = (value & 0x800000 ? 0xffff00 : 0) | (value & 0xff);
            else if (strcmp(f->name, "va") == 0 || strcmp(f->name, "dma_len") == 0)
                value &= 0xfffff;
            else
                continue;
            net_bits_put(frame + p->layers[i].offset, f->first_bit, f->width_bits, value);
        }
    }
}

static void mend_icrc(uint8_t *frame, uint32_t len)
{
    struct roce_pkt pkt;
    const unsigned flags = ROCE_PARSE_ALLOW_NO_DF | ROCE_PARSE_V1 | ROCE_PARSE_SKIP_ICRC;
    if (roce_pkt_parse(&pkt, frame, len, flags) != ROCE_RX_TAKEN)
        return;
    struct explain_packet p;
    explain_dissect(&p, &(struct net_capture_record){.data = frame, .len_bytes = len, .wire_bytes = len}, 1);
    check(p.icrc_offset + ROCE_ICRC_BYTES <= len);
    put_le32(frame + p.icrc_offset, pkt.icrc_expected);
}

static void add(struct explain_tape *tape, uint8_t *frame, uint32_t len, uint8_t alter, uint64_t time_ns)
{
    struct net_capture_record record = {
        .data = frame, .len_bytes = len, .wire_bytes = len + (alter >> 7), .time_ns = time_ns};
    struct explain_packet p;
    explain_dissect(&p, &record, 1);
    narrow(frame, &p);
    if (alter & ALTER_ICRC)
        mend_icrc(frame, len);
    check(explain_tape_add(tape, &record) == 0);
}

static void read_tape(struct explain_tape *tape, const uint8_t *data, size_t len_bytes)
{
    uint64_t time_ns = 0;
    for (unsigned n = 0; n < PACKETS_MAX && len_bytes >= 3; n++) {
        uint32_t len = get_be16(data) % FRAME_MAX;
        uint8_t alter = data[2], frame[FRAME_MAX];
        data += 3;
        len_bytes -= 3;
        len = (uint32_t)min_u64(len, len_bytes);
        memcpy(frame, data, len);
        time_ns += alter & ALTER_TIME ? 70 * NS_PER_MS : 10 * NS_PER_US;
        add(tape, frame, len, alter, time_ns);
        data += len;
        len_bytes -= len;
    }
}

/* Either side of a comparison is there, and what differs is named. */
static void compared(void *ctx, const struct explain_compared *c)
{
    uint64_t *count = ctx;
    ++*count;
    check(c->outcome < EXPLAIN_REPLAY_OUTCOME_COUNT && (c->recorded || c->engine));
    check((c->outcome == EXPLAIN_REPLAY_DIFFERENT) <= (c->diff_count > 0));
    for (unsigned i = 0; i < min_u32(c->diff_count, EXPLAIN_DIFFS_MAX); i++)
        check(c->diffs[i].layer && c->diffs[i].field);
}

static void replay(const struct explain_tape *tape, const struct nornic_addr *as)
{
    struct explain_endpoint endpoint;
    struct explain_replay_result result;
    struct nornic_error why = {0};
    uint64_t count = 0, told = 0;
    struct explain_replay_config config = {.compared = compared, .ctx = &count};
    if (explain_learn(tape, as, NULL, &endpoint, &why) == 0 &&
        explain_replay(tape, &endpoint, &config, &result, &why) == 0) {
        for (unsigned i = 0; i < EXPLAIN_REPLAY_OUTCOME_COUNT; i++)
            told += result.outcomes[i];
        check(told == count);
    }
    explain_endpoint_free(&endpoint);
}

static void smc_compared(void *ctx, const struct explain_smc_compared *c)
{
    uint64_t *count = ctx;
    ++*count;
    check(c->outcome < EXPLAIN_SMC_REPLAY_OUTCOME_COUNT && c->message != NULL);
    check((c->outcome == EXPLAIN_SMC_REPLAY_DIFFERENT) <= (c->diff_count > 0));
}

static void replay_smc(const struct explain_tape *tape, const struct nornic_addr *as)
{
    struct explain_smc_replay_result result;
    struct nornic_error why = {0};
    uint64_t count = 0, told = 0;
    struct explain_smc_replay_config config = {.compared = smc_compared, .ctx = &count};
    if (explain_smc_replay(tape, as, &config, &result, &why) != 0)
        return;
    for (unsigned i = 0; i < EXPLAIN_SMC_REPLAY_OUTCOME_COUNT; i++)
        told += result.outcomes[i];
    check(told == count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
    struct explain_tape tape = {0};
    read_tape(&tape, data, len_bytes);
    for (size_t i = 0; i < tape.count; i++) {
        struct explain_packet p;
        explain_tape_packet(&tape, i, &p);
        if (p.verdict != ROCE_RX_TAKEN)
            continue;
        replay(&tape, &p.roce.src);
        replay(&tape, &p.roce.dst);
        replay_smc(&tape, &p.roce.src);
        replay_smc(&tape, &p.roce.dst);
        break;
    }
    explain_tape_free(&tape);
    return 0;
}
