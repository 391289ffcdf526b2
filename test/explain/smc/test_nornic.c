/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic's own SMC-R, version 1, as it leaves two instances: all of it is followed, and nothing is wrong with
 * it. With NORNIC_SMC_CAPTURES=DIRECTORY the runs are kept there as captures (pcaps/smcr_*.pcap). */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/analysis.h"
#include "net/capture/pcapng_writer.h"
#include "test/explain/smc_wire.h"

TestSuite(smc_nornic, .timeout = 60);

static struct watch {
    struct pair *pair;
    struct explain_analysis *analysis;
    struct net_pcapng_writer *writer; /* NULL: the run is not kept */
    uint64_t number, counts[EXPLAIN_FINDING_COUNT];
    char first[400]; /* violation */
    struct smc_wire wire;
} watch;

static void count(const struct explain_finding *f)
{
    watch.counts[f->kind]++;
    if (explain_finding_severity(f->kind) == 2 && !watch.first[0])
        snprintf(watch.first, sizeof watch.first, "#%" PRIu64 " %s: %s (%s)", f->number,
                 explain_finding_key(f->kind), f->words, f->rule);
}

static void feed(const struct net_capture_record *record)
{
    struct explain_packet p;
    struct explain_meaning m;
    explain_dissect(&p, record, ++watch.number);
    explain_analysis_next(watch.analysis, &p, &m);
    for (unsigned i = 0; i < m.remark_count; i++)
        count(&m.remarks[i]);
    if (watch.writer)
        net_pcapng_append(watch.writer, record->data, record->len_bytes, record->time_ns,
                          NET_PCAPNG_ANY_DIRECTION);
}

static void see(void *ctx, const struct pair_end *end, const uint8_t *bytes, size_t n)
{
    struct net_capture_record record = smc_wire_record(&watch.wire, end, bytes, n);
    (void)ctx;
    feed(&record);
}

static struct pair *begin(const char *name, const struct pair_config *config)
{
    const char *directory = getenv("NORNIC_SMC_CAPTURES");
    char path[400];
    struct nornic_error why;
    watch = (struct watch){.pair = pair_new(config),
                           .analysis = explain_analysis_create(&(struct explain_analysis_config){0})};
    watch.wire.pair = watch.pair;
    snprintf(path, sizeof path, "%s/smcr_%s.pcapng", directory ? directory : "", name);
    if (directory)
        cr_assert_eq(net_pcapng_create(path, name, &watch.writer, &why), 0, "%s", why.text);
    watch.pair->on_wire = see;
    return watch.pair;
}

static struct pair_conn *connect_pair(void)
{
    struct pair_conn *c = pair_connect(watch.pair, 0);
    cr_assert_not_null(c, "%s", watch.pair->failure);
    return c;
}

static void transfer(struct pair_end *from, uint64_t n)
{
    cr_assert(pair_transfer(watch.pair, from, n, 60 * PAIR_S), "%s", watch.pair->failure);
}

static void close_both(struct pair_conn *c)
{
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    cr_assert(pair_settle(watch.pair, 60 * PAIR_S), "%s", watch.pair->failure);
}

/* Everything ends; nothing broke a rule. */
static void end(void)
{
    struct explain_finding found[16];
    unsigned n;
    while ((n = explain_analysis_end(watch.analysis, found, 16)) > 0)
        for (unsigned i = 0; i < n; i++)
            count(&found[i]);
    explain_analysis_destroy(watch.analysis);
    if (watch.writer)
        net_pcapng_close(watch.writer);
    watch.pair->on_wire = NULL;
    const char *failure = pair_free(watch.pair);
    cr_expect_null(failure, "%s", failure);
    cr_expect_str_empty(watch.first, "%s", watch.first);
}

static void expect_conn(uint32_t id, uint64_t there, uint64_t back, bool closed)
{
    const struct explain_smc_conn *c = explain_analysis_smc_conn(watch.analysis, id);
    cr_assert_not_null(c);
    cr_expect_eq(c->bytes[0], there, "connection %u: %" PRIu64, id, c->bytes[0]);
    cr_expect_eq(c->bytes[1], back, "connection %u: %" PRIu64, id, c->bytes[1]);
    cr_expect_eq(c->is_closed[0] && c->is_closed[1], closed, "connection %u", id);
}

Test(smc_nornic, echo)
{
    begin("echo", &(struct pair_config){.seed = 1, .rcvbuf_bytes = {10000, 20000}});
    struct pair_conn *c = connect_pair();
    transfer(&c->end[0], 40000);
    transfer(&c->end[1], 40000);
    close_both(c);
    expect_conn(1, 40000, 40000, true);
    const struct explain_smc_conn *seen = explain_analysis_smc_conn(watch.analysis, 1);
    cr_expect_geq(seen->wraps[0], 1);
    cr_expect_geq(seen->wraps[1], 2);
    cr_expect_eq(explain_analysis_smc_group(watch.analysis, 1)->version, 1);
    end();
    cr_expect_eq(watch.counts[EXPLAIN_FIND_SMC_REFUSED], 1, "one RNIC a side: no second link");
}

/* Both nodes are a client at the same moment, so that each has two queue pairs with the same two numbers:
 * which belong together CLC and LLC say (SMCR-QP-01), and no answer is held against the wrong one. */
Test(smc_nornic, two_first_contacts_at_once)
{
    begin("both", &(struct pair_config){.seed = 9, .topology = PAIR_CABLES, .ports = {2, 2}});
    struct pair_conn *c[2] = {pair_open(watch.pair, 0), pair_open(watch.pair, 1)};
    cr_assert(pair_settle(watch.pair, 60 * PAIR_S), "%s", watch.pair->failure);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert(pair_is_established(c[i]));
        transfer(&c[i]->end[i], 5000);
        transfer(&c[i]->end[!i], 5000);
    }
    close_both(c[0]);
    close_both(c[1]);
    end();
    cr_expect_eq(watch.counts[EXPLAIN_FIND_GHOST_ACK], 0);
    cr_expect_eq(watch.counts[EXPLAIN_FIND_MISSING_ACK], 0);
    cr_expect_eq(watch.counts[EXPLAIN_FIND_PSN_GAP], 0);
}

Test(smc_nornic, many_connections_share_groups)
{
    struct pair_conn *c[40];
    begin("many", &(struct pair_config){.seed = 2, .ports = {2, 2}});
    for (unsigned i = 0; i < 40; i++)
        c[i] = connect_pair();
    for (unsigned i = 0; i < 40; i++) {
        transfer(&c[i]->end[0], 1000 + i);
        transfer(&c[i]->end[1], 500 + i);
    }
    for (unsigned i = 0; i < 40; i++)
        expect_conn(i + 1, 1000 + i, 500 + i, false);
    cr_expect_eq(explain_analysis_smc_group_count(watch.analysis), 1);
    cr_expect_eq(explain_analysis_smc_group(watch.analysis, 1)->links_active, 2);
    for (unsigned i = 0; i < 40; i++)
        close_both(c[i]);
    end();
}

Test(smc_nornic, a_wire_that_loses_and_reorders)
{
    begin("lossy",
          &(struct pair_config){
              .seed = 3,
              .wire = {.delay_ns = 5000, .loss_ppm = 20000, .reorder_ppm = 10000, .hold_ns = 20000}});
    struct pair_conn *c = connect_pair();
    transfer(&c->end[0], 1 << 20);
    transfer(&c->end[1], 1 << 19);
    close_both(c);
    expect_conn(1, 1 << 20, 1 << 19, true);
    end();
    cr_expect_gt(watch.counts[EXPLAIN_FIND_RETRANSMISSION], 0);
}

Test(smc_nornic, failover)
{
    begin("failover", &(struct pair_config){.seed = 4, .ports = {2, 2}});
    struct pair_conn *c = connect_pair();
    transfer(&c->end[1], 1000);
    transfer(&c->end[0], 10000);
    pair_pump(&c->end[0], 3000, 0);
    pair_run_for(watch.pair, 3 * PAIR_US);
    pair_cut(watch.pair, 0, 0, true);
    transfer(&c->end[0], 5000);
    transfer(&c->end[1], 5000);
    close_both(c);
    expect_conn(1, 18000, 6000, true);
    const struct explain_smc_conn *seen = explain_analysis_smc_conn(watch.analysis, 1);
    const struct explain_smc_group *g = explain_analysis_smc_group(watch.analysis, 1);
    cr_expect_geq(seen->moves[0], 1);
    cr_expect_geq(seen->moves[1], 1);
    cr_expect_eq(g->links_gone, 1);
    end();
    cr_expect_gt(watch.counts[EXPLAIN_FIND_SMC_MOVED], 1);
    cr_expect_gt(watch.counts[EXPLAIN_FIND_SMC_LINK_GONE], 0);
}

Test(smc_nornic, abort)
{
    begin("abort", &(struct pair_config){.seed = 5});
    struct pair_conn *c = connect_pair();
    pair_pump(&c->end[0], 1000, 0);
    pair_run_for(watch.pair, PAIR_MS);
    pair_close(&c->end[1]); /* unread data: SMCR-CLS-02 */
    cr_assert(pair_settle(watch.pair, 60 * PAIR_S), "%s", watch.pair->failure);
    end();
    cr_expect_eq(watch.counts[EXPLAIN_FIND_SMC_ABORT], 2);
}
