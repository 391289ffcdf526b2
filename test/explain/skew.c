/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain/skew.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "test/explain/pcap.h"

#define RECORDS_MAX 512
#define FRAME_BYTES 4400
#define SWAPPED_NS  (600 * NS_PER_US)

struct kept {
    uint64_t time_ns, number;
    uint32_t len_bytes;
    bool is_first_sender;
    uint8_t frame[FRAME_BYTES];
};

static unsigned load(const char *name, struct kept *kept)
{
    struct net_capture_record record;
    struct nornic_error why;
    unsigned n = 0;
    struct net_capture *capture = pcap_open(name);
    for (; net_capture_next(capture, &record, &why) == 1; n++) {
        cr_assert_lt(n, RECORDS_MAX);
        cr_assert_leq(record.len_bytes, FRAME_BYTES);
        kept[n] = (struct kept){.time_ns = record.time_ns, .number = n + 1, .len_bytes = record.len_bytes};
        memcpy(kept[n].frame, record.data, record.len_bytes);
        kept[n].is_first_sender = memcmp(kept[n].frame + 6, kept[0].frame + 6, 6) == 0;
    }
    net_capture_close(capture);
    return n;
}

static int by_time(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static void count(struct skew_result *result, const struct explain_finding *f)
{
    result->findings[f->kind]++;
    if (f->kind == EXPLAIN_FIND_CLOCKS)
        result->clocks_related = f->related;
}

static struct skew_result explain(const struct kept *kept, unsigned n)
{
    struct skew_result result = {0};
    struct explain_packet packet;
    struct explain_meaning meaning;
    struct explain_finding left[4];
    struct explain_analysis *analysis =
        explain_analysis_create(&(struct explain_analysis_config){.strict = true});
    for (unsigned i = 0; i < n; i++) {
        struct net_capture_record record = {.data = kept[i].frame,
                                            .len_bytes = kept[i].len_bytes,
                                            .wire_bytes = kept[i].len_bytes,
                                            .time_ns = kept[i].time_ns};
        explain_dissect(&packet, &record, i + 1);
        explain_analysis_next(analysis, &packet, &meaning);
        for (unsigned k = 0; k < meaning.remark_count; k++)
            count(&result, &meaning.remarks[k]);
    }
    for (unsigned found; (found = explain_analysis_end(analysis, left, 4)) > 0;)
        for (unsigned i = 0; i < found; i++)
            count(&result, &left[i]);
    result.flow = *explain_analysis_flow(analysis, 1);
    explain_analysis_destroy(analysis);
    return result;
}

struct skew_result skew_explain(const char *capture, uint64_t ahead_ns)
{
    struct kept *kept = malloc(RECORDS_MAX * sizeof *kept);
    unsigned n = load(capture, kept);
    for (unsigned i = 0; i < n; i++)
        kept[i].time_ns += kept[i].is_first_sender ? ahead_ns : 0;
    qsort(kept, n, sizeof *kept, by_time);
    struct skew_result result = explain(kept, n);
    free(kept);
    return result;
}

struct skew_result skew_swap(const char *capture, uint64_t number)
{
    struct kept *kept = malloc(RECORDS_MAX * sizeof *kept);
    unsigned n = load(capture, kept);
    cr_assert(number > 1 && number <= n);
    kept[number - 1].time_ns = kept[number - 2].time_ns - SWAPPED_NS;
    struct kept moved = kept[number - 1];
    kept[number - 1] = kept[number - 2];
    kept[number - 2] = moved;
    struct skew_result result = explain(kept, n);
    free(kept);
    return result;
}
