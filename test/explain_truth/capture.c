/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain_truth/capture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "net/bytes.h"
#include "test/support/random.h"

#define EPOCH_NS  UINT64_C(1750000000000000000)
#define PPM       1000000
#define PCAP_NANO 0xa1b23c4d

/* A frame as the tap may see it. */
struct sight {
    uint32_t pass;
    bool is_out;
    uint64_t time_ns, order;
};

static int by_time(const void *a, const void *b)
{
    const struct sight *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* A number that belongs to a frame: which side of the tap something happened to it. */
static uint64_t draw_of(const struct truth_tap *tap, uint32_t frame, unsigned what)
{
    struct test_random r = {.state = tap->seed ^ (uint64_t)frame << 8 ^ what};
    test_random_next(&r);
    return test_random_next(&r);
}

static bool see_sent(const struct truth_pass *p, struct sight *s)
{
    s->time_ns = p->sent_ns;
    s->order = p->sent_order;
    s->is_out = false;
    return !p->is_second;
}

static bool see_arriving(const struct truth_pass *p, struct sight *s)
{
    s->time_ns = p->due_ns;
    s->order = p->arrived_order;
    s->is_out = true;
    return p->arrived_order != 0;
}

/* What was lost, doubled or damaged was so before the tap or behind it. */
static bool see_passing(const struct truth_tap *tap, const struct truth_pass *p, struct sight *s)
{
    uint32_t way_ppm = p->node == 0 ? tap->way_ppm : PPM - tap->way_ppm;
    bool is_before = draw_of(tap, p->frame, p->is_second) % PPM < way_ppm;
    s->time_ns = p->sent_ns + p->way_ns * way_ppm / PPM;
    s->order = p->sent_order;
    s->is_out = p->out && is_before;
    return p->out && !p->is_second ? true : p->out ? is_before : !is_before;
}

static bool see(const struct truth_tap *tap, const struct truth_pass *p, struct sight *s)
{
    if (tap->place == TRUTH_BETWEEN)
        return see_passing(tap, p, s);
    bool is_sender = p->node == (tap->place == TRUTH_AT_1);
    return is_sender ? see_sent(p, s) : see_arriving(p, s);
}

static void append(struct truth_capture *c, struct truth_record record)
{
    if (c->count == c->cap) {
        c->cap = c->cap ? 2 * c->cap : 256;
        c->records = realloc(c->records, c->cap * sizeof *c->records);
        if (!c->records)
            abort();
    }
    c->records[c->count++] = record;
}

static void take(struct truth_capture *c, const struct truth_tape *tape, const struct truth_tap *tap,
                 const struct sight *s, uint64_t shift_ns)
{
    const struct truth_pass *p = &tape->passes[s->pass];
    uint32_t wire_bytes = s->is_out ? p->out_bytes : p->sent_bytes;
    uint64_t time_ns = s->time_ns + shift_ns;
    append(c, (struct truth_record){
                  .origin = c->count,
                  .tape = tape,
                  .pass = s->pass,
                  .is_out = s->is_out,
                  .time_ns = tap->resolution_ns ? time_ns - time_ns % tap->resolution_ns : time_ns,
                  .wire_bytes = wire_bytes,
                  .len_bytes = tap->snap_bytes ? min_u32(tap->snap_bytes, wire_bytes) : wire_bytes});
}

void truth_capture_add(struct truth_capture *c, const struct truth_tape *tape, const struct truth_tap *tap,
                       uint64_t after_ns)
{
    struct sight *sights = malloc((tape->pass_count + 1) * sizeof *sights);
    if (!sights)
        abort();
    uint32_t n = 0;
    for (uint32_t i = 0; i < tape->pass_count; i++) {
        sights[n].pass = i;
        n += see(tap, &tape->passes[i], &sights[n]);
    }
    qsort(sights, n, sizeof *sights, by_time);
    uint32_t first = (uint32_t)((uint64_t)n * tap->skip_ppm / PPM);
    uint32_t last = n - (uint32_t)((uint64_t)(n - first) * tap->end_ppm / PPM);
    uint64_t shift_ns =
        c->count ? c->records[c->count - 1].time_ns + after_ns - (n ? sights[0].time_ns : 0) : EPOCH_NS;
    for (uint32_t i = first; i < last; i++)
        if (draw_of(tap, i, 2) % PPM >= tap->drop_ppm)
            take(c, tape, tap, &sights[i], shift_ns);
    free(sights);
}

static int by_record_time(const void *a, const void *b)
{
    const struct truth_record *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->origin < y->origin ? -1 : x->origin > y->origin;
}

void truth_capture_double(struct truth_capture *c, uint64_t least_ns, uint64_t jitter_ns, uint64_t seed)
{
    struct test_random r = {.state = seed};
    uint64_t last_ns = c->count ? c->records[c->count - 1].time_ns : 0, newest_ns = 0;
    for (uint32_t i = 0, once = c->count; i < once; i++) {
        struct truth_record again = c->records[i];
        again.time_ns += test_random_between(&r, least_ns, least_ns + jitter_ns);
        newest_ns = again.time_ns = max_u64(newest_ns, again.time_ns);
        if (again.time_ns <= last_ns)
            append(c, again);
    }
    qsort(c->records, c->count, sizeof *c->records, by_record_time);
}

void truth_capture_deinit(struct truth_capture *c)
{
    free(c->records);
}

struct net_capture_record truth_record_read(const struct truth_record *r)
{
    const struct truth_pass *p = truth_pass_of(r);
    return (struct net_capture_record){.data = r->is_out ? p->out : p->sent,
                                       .len_bytes = r->len_bytes,
                                       .wire_bytes = r->wire_bytes,
                                       .time_ns = r->time_ns};
}

/* --- as a file --- */

static void put_head(FILE *f)
{
    uint8_t head[24] = {0};
    put_le32(head, PCAP_NANO);
    head[4] = 2;
    head[6] = 4;
    put_le32(head + 16, 65535);
    put_le32(head + 20, 1); /* Ethernet */
    fwrite(head, sizeof head, 1, f);
}

int truth_capture_write(const struct truth_capture *c, const char *path)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return -errno;
    put_head(f);
    for (uint32_t i = 0; i < c->count; i++) {
        struct net_capture_record r = truth_record_read(&c->records[i]);
        uint8_t head[16], *at = head;
        at = put_le32(at, (uint32_t)(r.time_ns / NS_PER_S));
        at = put_le32(at, (uint32_t)(r.time_ns % NS_PER_S));
        at = put_le32(at, r.len_bytes);
        put_le32(at, r.wire_bytes);
        fwrite(head, sizeof head, 1, f);
        fwrite(r.data, r.len_bytes, 1, f);
    }
    int err = ferror(f) ? -EIO : 0;
    return fclose(f) ? -errno : err;
}
