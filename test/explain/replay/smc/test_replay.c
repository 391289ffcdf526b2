/* SPDX-License-Identifier: BSD-2-Clause */
/* SMC-R replayed: what two simulated instances of nornic's own said is what the engine says again in the
 * place of either; and each kind of outcome comes when a message was changed, is missing or is one too
 * many. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "explain/replay/smc/replay.h"
#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "roce/icrc.h"
#include "smcr/wire/cdc.h"
#include "test/explain/smc_wire.h"
#include "test/explain/tape_of.h"

TestSuite(smc_replay, .timeout = 60);

#define TOLD_MAX 64

struct outcome {
    struct explain_smc_replay_result result;
    struct explain_smc_compared told[TOLD_MAX]; /* those that are not equal */
    unsigned told_count;
};

static void keep(void *ctx, const struct explain_smc_compared *c)
{
    struct outcome *o = ctx;
    if (c->outcome != EXPLAIN_SMC_REPLAY_EQUAL && o->told_count < TOLD_MAX)
        o->told[o->told_count++] = *c;
}

static struct outcome replay(const struct explain_tape *tape, const char *as)
{
    struct outcome o = {.told_count = 0};
    struct explain_smc_replay_config config = {.compared = keep, .ctx = &o};
    struct nornic_addr addr;
    struct nornic_error why = {{0}};
    cr_assert_eq(nornic_addr_parse(as, &addr), 0);
    cr_assert_eq(explain_smc_replay(tape, &addr, &config, &o.result, &why), 0, "%s", why.text);
    return o;
}

static void expect_equal(const struct outcome *o, const char *who)
{
    for (unsigned i = 0; i < o->told_count; i++) {
        const struct explain_smc_compared *c = &o->told[i];
        cr_expect_not(explain_smc_replay_outcome_of(c->outcome)->fails,
                      "%s: #%lu after %lu %s: %s %s.%s %s, engine %s", who, (unsigned long)c->number,
                      (unsigned long)c->cause, c->message, explain_smc_replay_outcome_of(c->outcome)->words,
                      c->diff_count ? c->diffs[0].layer : "", c->diff_count ? c->diffs[0].field : "",
                      c->diff_count ? c->diffs[0].recorded : "", c->diff_count ? c->diffs[0].engine : "");
    }
    cr_expect_gt(o->result.outcomes[EXPLAIN_SMC_REPLAY_EQUAL], 0, "%s", who);
}

/* --- golden captures, and one message of theirs changed --- */

static bool has_udp_checksums; /* of what is loaded: soft-RoCE writes none */

static void mend(uint8_t *bytes, uint32_t len_bytes)
{
    if (bytes[23] != 17)
        return;
    put_le32(bytes + len_bytes - 4, roce_icrc(bytes + 14, ROCE_L3_IPV4, len_bytes - 14 - 4));
    if (has_udp_checksums)
        put_be16(bytes + 40, net_checksum_udp(bytes + 14, bytes + 34, len_bytes - 34));
}

static void load(const char *name, tape_edit *change, struct explain_tape *tape)
{
    tape_of(name, change, change || has_udp_checksums ? mend : NULL, tape);
}

static struct outcome replay_file(const char *name, const char *as, tape_edit *change)
{
    struct explain_tape tape;
    load(name, change, &tape);
    struct outcome o = replay(&tape, as);
    explain_tape_free(&tape);
    return o;
}

/* As those of trains do, which several packets share: they fall behind the places on the tape. */
Test(smc_replay, numbers_of_frames_are_no_places_on_the_tape)
{
    struct explain_tape tape;
    load("smcr_failover", NULL, &tape);
    struct outcome as_captured = replay(&tape, "10.77.0.1");
    for (size_t i = 0; i < tape.count; i++)
        tape.packets[i].number = 1 + i / 50;
    struct outcome o = replay(&tape, "10.77.0.1");
    explain_tape_free(&tape);
    expect_equal(&o, "smcr_failover");
    cr_assert_arr_eq(o.result.outcomes, as_captured.result.outcomes, sizeof o.result.outcomes);
}

Test(smc_replay, golden_captures_are_equal_from_both_ends)
{
    const struct {
        const char *name, *as;
        uint32_t links;
        uint64_t written, read;
    } ends[] = {
        {"smcr_echo", "10.77.0.1", 1, 40000, 40000},    {"smcr_echo", "10.77.0.2", 1, 40000, 40000},
        {"smcr_failover", "10.77.0.1", 3, 18000, 6000}, {"smcr_failover", "10.77.0.2", 3, 6000, 18000},
        {"smcr_failover", "10.77.0.3", 3, 18000, 6000}, /* the client's second port */
        {"smcr_failover", "10.77.0.4", 3, 6000, 18000}};
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        struct outcome o = replay_file(ends[i].name, ends[i].as, NULL);
        expect_equal(&o, ends[i].name);
        cr_expect_eq(o.result.connections, 1);
        cr_expect_eq(o.result.links, ends[i].links);
        cr_expect_eq(o.result.written, ends[i].written);
        cr_expect_eq(o.result.read, ends[i].read);
    }
}

Test(smc_replay, a_capture_without_smc_r_has_nothing_to_compare)
{
    struct outcome o = replay_file("rc_write_1024", "10.77.0.1", NULL);
    static const struct explain_smc_replay_result none;
    cr_expect_arr_eq(o.result.outcomes, none.outcomes, sizeof none.outcomes);
    cr_expect_eq(o.result.fed + o.result.written + o.result.read, 0);
    cr_expect_eq(o.result.connections + o.result.older + o.result.links + o.result.ports, 0);
}

/* Two Linux kernels, version 2: a first contact, later ones, 20 connections in two groups, two links of which
 * one is asymmetric, an end after ten idle minutes; connections that come together, full windows, half
 * closes, aborts and urgent data. */
Test(smc_replay, captures_of_linux_are_equal_from_both_ends)
{
    const struct {
        const char *name;
        uint32_t connections, links;
    } runs[] = {{"smc_first", 3, 1}, {"smc_rkey", 4, 1},     {"smc_maxconn", 20, 2}, {"smc2_first", 1, 2},
                {"smc2_asym", 1, 2}, {"smc_testlink", 1, 1}, {"smc_expire", 1, 1},   {"smc_run", 18, 1}};
    static const char *const ends[] = {"10.77.0.1", "10.77.0.2"};
    for (unsigned i = 0; i < sizeof runs / sizeof runs[0]; i++)
        for (unsigned k = 0; k < 2; k++) {
            struct outcome o = replay_file(runs[i].name, ends[k], NULL);
            expect_equal(&o, runs[i].name);
            cr_expect_eq(o.result.connections, runs[i].connections, "%s", runs[i].name);
            cr_expect_eq(o.result.version_2, runs[i].connections, "%s", runs[i].name);
            cr_expect_eq(o.result.links, runs[i].links, "%s", runs[i].name);
        }
}

/* What the replay changes in a frame, they cover. */
Test(smc_replay, udp_checksums_are_no_obstacle)
{
    has_udp_checksums = true;
    struct outcome o = replay_file("smc_first", "10.77.0.1", NULL);
    expect_equal(&o, "with UDP checksums");
    cr_expect_eq(o.result.outcomes[EXPLAIN_SMC_REPLAY_EQUAL], 53);
}

/* The client's second port, which no CLC message names before its Confirm. */
Test(smc_replay, an_endpoint_of_version_2_is_found_by_any_gid_of_its)
{
    struct outcome o = replay_file("smc2_first", "10.77.0.12", NULL);
    expect_equal(&o, "10.77.0.12");
    cr_expect_eq(o.result.outcomes[EXPLAIN_SMC_REPLAY_EQUAL], 11);
}

enum { AT_MESSAGE = 54, AT_CLC = 54 };

/* #6 of smcr_echo is the CONFIRM LINK response of the client, #2 the Accept of the server. */
static bool other_link(uint64_t number, uint8_t *bytes)
{
    if (number == 6)
        bytes[AT_MESSAGE + 29]++;
    return true;
}

static bool other_reserved(uint64_t number, uint8_t *bytes)
{
    if (number == 2)
        bytes[AT_CLC + 51]++;
    return true;
}

static const struct explain_smc_compared *first_of(const struct outcome *o,
                                                   enum explain_smc_replay_outcome outcome)
{
    for (unsigned i = 0; i < o->told_count; i++)
        if (o->told[i].outcome == outcome)
            return &o->told[i];
    static const struct explain_smc_compared none;
    cr_expect(false, "nothing has the outcome %s", explain_smc_replay_outcome_of(outcome)->key);
    return &none;
}

static void expect_one_diff(const struct outcome *o, uint64_t number, const char *layer, const char *field)
{
    cr_assert_eq(o->result.outcomes[EXPLAIN_SMC_REPLAY_DIFFERENT], 1);
    const struct explain_smc_compared *c = first_of(o, EXPLAIN_SMC_REPLAY_DIFFERENT);
    cr_expect_eq(c->number, number);
    cr_expect_str_eq(c->diffs[0].layer, layer);
    cr_expect_str_eq(c->diffs[0].field, field);
}

/* Linux has 12 bytes of TCP options. #8 of smc2_first is the client's Confirm, #14 the server's ADD LINK,
 * #16 the client's answer to it. */
static bool other_max_links(uint64_t number, uint8_t *bytes)
{
    if (number == 8)
        bytes[AT_CLC + 12 + 141]--;
    return true;
}

static bool other_direct(uint64_t number, uint8_t *bytes)
{
    if (number == 14)
        bytes[AT_MESSAGE + 44] ^= 0x80;
    return true;
}

static bool fewer_rtokens(uint64_t number, uint8_t *bytes)
{
    if (number == 16)
        bytes[AT_MESSAGE + 70]--;
    return true;
}

Test(smc_replay, a_field_of_version_2_that_differs_is_named)
{
    struct outcome o = replay_file("smc2_first", "10.77.0.2", other_max_links);
    expect_one_diff(&o, 8, "clc2_first_contact", "max_links");
    o = replay_file("smc2_first", "10.77.0.1", other_direct);
    expect_one_diff(&o, 14, "llc2_add_link_ext", "direct");
    o = replay_file("smc2_first", "10.77.0.2", fewer_rtokens);
    expect_one_diff(&o, 16, "llc2_add_link_ext", "rkey_count");
}

/* Before #177 of smc_expire the client has not answered the end of the group; the engine does not at all. */
static bool before_second_end(uint64_t number, uint8_t *bytes)
{
    (void)bytes;
    return number < 177;
}

Test(smc_replay, an_end_that_is_told_again_is_a_freedom)
{
    struct outcome o = replay_file("smc_expire", "10.77.0.2", NULL);
    cr_expect_eq(o.result.outcomes[EXPLAIN_SMC_REPLAY_ENDED], 1);
    o = replay_file("smc_expire", "10.77.0.2", before_second_end);
    cr_expect_eq(o.result.outcomes[EXPLAIN_SMC_REPLAY_ENDED], 0);
    expect_equal(&o, "before #177");
}

Test(smc_replay, a_field_that_differs_is_named)
{
    struct outcome o = replay_file("smcr_echo", "10.77.0.1", other_link);
    expect_one_diff(&o, 6, "llc_confirm_link", "link");
    o = replay_file("smcr_echo", "10.77.0.2", other_reserved);
    expect_one_diff(&o, 2, "clc_accept", "resv8");
}

static bool without_answer(uint64_t number, uint8_t *bytes)
{
    (void)bytes;
    return number != 6;
}

Test(smc_replay, a_message_that_the_capture_lacks_is_the_engines_alone)
{
    struct outcome o = replay_file("smcr_echo", "10.77.0.1", without_answer);
    const struct explain_smc_compared *c = first_of(&o, EXPLAIN_SMC_REPLAY_ONLY_ENGINE);
    cr_expect_str_eq(c->message, "LLC CONFIRM LINK response");
    cr_expect_eq(c->cause, 4, "it is %lu", (unsigned long)c->cause);
}

/* A segment without a CLC message: the peer's FIN, once all is over. */
Test(smc_replay, the_fin_of_the_peer_ends_the_connection)
{
    struct explain_tape tape;
    struct explain_taped accept;
    uint8_t fin[54];
    load("smcr_echo", NULL, &tape);
    accept = tape.packets[1];
    memcpy(fin, accept.bytes, sizeof fin);
    put_be16(fin + 16, sizeof fin - 14); /* the length of the IPv4 packet */
    fin[47] |= 1;
    struct net_capture_record record = {.data = fin,
                                        .len_bytes = sizeof fin,
                                        .wire_bytes = sizeof fin,
                                        .time_ns = tape.packets[tape.count - 1].time_ns + 1000};
    cr_assert_eq(explain_tape_add(&tape, &record), 0);
    struct outcome o = replay(&tape, "10.77.0.1");
    explain_tape_free(&tape);
    expect_equal(&o, "with a FIN");
    cr_expect_eq(o.result.outcomes[EXPLAIN_SMC_REPLAY_EQUAL], 19);
}

/* Adds a message once more, as one of another type. */
static void add_clc(struct explain_tape *tape, struct explain_taped t, uint8_t type)
{
    uint8_t bytes[256];
    cr_assert_leq(t.len_bytes, sizeof bytes);
    memcpy(bytes, t.bytes, t.len_bytes);
    bytes[AT_CLC + 4] = type;
    struct net_capture_record record = {.data = bytes,
                                        .len_bytes = t.len_bytes,
                                        .wire_bytes = t.len_bytes,
                                        .time_ns = tape->packets[tape->count - 1].time_ns + 1000};
    cr_assert_eq(explain_tape_add(tape, &record), 0);
}

/* A client that sends an Accept, as a server does, begins no connection. */
Test(smc_replay, messages_of_the_other_role_begin_nothing)
{
    struct explain_tape tape;
    load("smcr_echo", NULL, &tape);
    cr_assert_not_null(tape.packets);
    add_clc(&tape, tape.packets[2], SMCR_CLC_ACCEPT);
    add_clc(&tape, tape.packets[1], SMCR_CLC_CONFIRM);
    struct outcome o = replay(&tape, "10.77.0.2");
    explain_tape_free(&tape);
    cr_expect_eq(o.result.connections, 1, "%u", (unsigned)o.result.connections);
}

/* --- simulated runs, from both ends --- */

static struct run {
    struct pair *pair;
    struct smc_wire wire;
    struct explain_tape tape;
} run;

static void see(void *ctx, const struct pair_end *end, const uint8_t *bytes, size_t n)
{
    struct net_capture_record record = smc_wire_record(&run.wire, end, bytes, n);
    (void)ctx;
    cr_assert_eq(explain_tape_add(&run.tape, &record), 0);
}

static void begin(const struct pair_config *config)
{
    run = (struct run){.pair = pair_new(config)};
    run.wire.pair = run.pair;
    run.pair->on_wire = see;
}

static struct pair_conn *connect_pair(unsigned client)
{
    struct pair_conn *c = pair_connect(run.pair, client);
    cr_assert_not_null(c, "%s", run.pair->failure);
    return c;
}

static void transfer(struct pair_end *from, uint64_t n)
{
    cr_assert(pair_transfer(run.pair, from, n, 60 * PAIR_S), "%s", run.pair->failure);
}

static void close_both(struct pair_conn *c)
{
    pair_close(&c->end[0]);
    pair_close(&c->end[1]);
    cr_assert(pair_settle(run.pair, 60 * PAIR_S), "%s", run.pair->failure);
}

/* The capture is over; either end is played by the engine. What the run itself ends with is not in it. */
static void end(struct outcome o[2])
{
    run.pair->on_wire = NULL;
    const char *failure = pair_free(run.pair);
    cr_expect_null(failure, "%s", failure);
    o[0] = replay(&run.tape, "10.77.0.1");
    o[1] = replay(&run.tape, "10.77.0.2");
    expect_equal(&o[0], "as 10.77.0.1");
    expect_equal(&o[1], "as 10.77.0.2");
    explain_tape_free(&run.tape);
}

Test(smc_replay, half_close)
{
    struct outcome o[2];
    begin(&(struct pair_config){.seed = 11});
    struct pair_conn *c = connect_pair(0);
    transfer(&c->end[0], 9000);
    smcr_conn_shutdown_write(c->end[0].conn, run.pair->now_ns);
    pair_run_for(run.pair, PAIR_MS);
    transfer(&c->end[1], 7000);
    close_both(c);
    end(o);
    cr_expect_eq(o[0].result.written, 9000);
    cr_expect_eq(o[0].result.read, 7000);
}

Test(smc_replay, an_abort_with_unread_data)
{
    struct outcome o[2];
    begin(&(struct pair_config){.seed = 12});
    struct pair_conn *c = connect_pair(0);
    pair_pump(&c->end[0], 1000, 0);
    pair_run_for(run.pair, PAIR_MS);
    pair_close(&c->end[1]); /* SMCR-CLS-02 */
    cr_assert(pair_settle(run.pair, 60 * PAIR_S), "%s", run.pair->failure);
    end(o);
}

Test(smc_replay, urgent_data)
{
    struct outcome o[2];
    begin(&(struct pair_config){.seed = 13});
    struct pair_conn *c = connect_pair(0);
    smcr_conn_set_urgent_inline(c->end[1].conn, true);
    transfer(&c->end[0], 100);
    pair_pump(&c->end[0], 10, SMCR_SEND_URGENT);
    pair_run_for(run.pair, PAIR_MS);
    while (c->end[1].rx_pos < 110)
        cr_assert_gt(pair_drain(&c->end[1], 200), 0);
    transfer(&c->end[0], 100);
    close_both(c);
    end(o);
    cr_expect_eq(o[0].result.written, 210);
    cr_expect_eq(o[1].result.read, 210);
}

Test(smc_replay, a_full_window)
{
    struct outcome o[2];
    begin(&(struct pair_config){.seed = 14, .rcvbuf_bytes = {16000, 16000}});
    struct pair_conn *c = connect_pair(0);
    for (unsigned i = 0; i < 4; i++) {
        pair_pump(&c->end[0], 40000, 0);
        pair_run_for(run.pair, PAIR_MS);
        pair_drain(&c->end[1], 5000);
        pair_run_for(run.pair, PAIR_MS);
    }
    transfer(&c->end[0], 10000);
    close_both(c);
    end(o);
}

Test(smc_replay, buffers_of_other_sizes_and_their_keys)
{
    struct outcome o[2];
    begin(&(struct pair_config){.seed = 15, .ports = {2, 2}});
    struct pair_conn *a = connect_pair(0);
    run.pair->config.rcvbuf_bytes[0] = run.pair->config.rcvbuf_bytes[1] = 200000;
    struct pair_conn *b = connect_pair(0); /* CONFIRM RKEY both ways */
    transfer(&a->end[0], 20000);
    transfer(&b->end[0], 30000);
    transfer(&b->end[1], 40000);
    close_both(b);
    pair_run_for(run.pair, 70 * PAIR_S); /* DELETE RKEY, TEST LINK */
    transfer(&a->end[1], 1000);
    close_both(a);
    end(o);
    cr_expect_eq(o[0].result.connections, 2);
    cr_expect_gt(o[0].result.outcomes[EXPLAIN_SMC_REPLAY_TEST], 0);
}

Test(smc_replay, groups_of_either_role)
{
    struct outcome o[2];
    begin(&(struct pair_config){.seed = 16});
    struct pair_conn *a = connect_pair(0), *b = connect_pair(1);
    transfer(&a->end[0], 5000);
    transfer(&b->end[0], 6000);
    transfer(&b->end[1], 7000);
    close_both(a);
    close_both(b);
    end(o);
    cr_expect_eq(o[0].result.connections, 2);
}

Test(smc_replay, many_connections_of_one_group)
{
    struct outcome o[2];
    struct pair_conn *c[20];
    begin(&(struct pair_config){.seed = 17, .ports = {2, 2}});
    for (unsigned i = 0; i < 20; i++)
        c[i] = connect_pair(0);
    for (unsigned i = 0; i < 20; i++) {
        transfer(&c[i]->end[0], 1000 + i);
        transfer(&c[i]->end[1], 500 + i);
    }
    for (unsigned i = 0; i < 20; i++)
        close_both(c[i]);
    end(o);
    cr_expect_eq(o[0].result.connections, 20);
}

/* As a service has it leave: all connections' writes, and then what tells of them. Where they end does not
 * tell whose they are. */
static void send_held(struct pair_conn *const *c, unsigned n, const size_t *len_bytes)
{
    smcr_hold(run.pair->node[0].smcr);
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(pair_pump(&c[i]->end[0], len_bytes[i], SMCR_SEND_NODELAY), (ssize_t)len_bytes[i]);
    smcr_release(run.pair->node[0].smcr);
    cr_assert(pair_settle(run.pair, 60 * PAIR_S), "%s", run.pair->failure);
    for (unsigned i = 0; i < n; i++)
        cr_assert_eq(pair_drain(&c[i]->end[1], 100000), (ssize_t)len_bytes[i]);
}

Test(smc_replay, writes_of_many_connections_before_what_tells_of_them)
{
    enum { N = 6 };
    static const size_t len_bytes[][N] = {{100, 100, 100, 100, 100, 100},
                                          {1, 2, 3, 4, 5, 6},
                                          {3000, 1, 5000, 700, 20, 9000},
                                          {1, 1, 1, 1, 1, 1}};
    struct outcome o[2];
    struct pair_conn *c[N];
    uint64_t sum = 0;
    begin(&(struct pair_config){.seed = 23});
    for (unsigned i = 0; i < N; i++)
        c[i] = connect_pair(0);
    for (unsigned round = 0; round < 40; round++) {
        send_held(c, N, len_bytes[round % 4]);
        for (unsigned i = 0; i < N; i++)
            sum += len_bytes[round % 4][i];
    }
    for (unsigned i = 0; i < N; i++)
        close_both(c[i]);
    end(o);
    cr_expect_eq(o[0].result.written, sum);
    cr_expect_eq(o[0].result.outcomes[EXPLAIN_SMC_REPLAY_UNKNOWN], 0);
}

/* Where the elements lie on a link that came later only messages of LLC tell, each version its own. */
static void move_many(bool is_version_2)
{
    enum { N = 6 };
    static const size_t len_bytes[][N] = {
        {3000, 1, 5000, 700, 20, 9000}, {100, 100, 100, 100, 100, 100}, {1, 2, 3, 4, 5, 6}};
    struct pair_config config = {.seed = 24, .ports = {2, 2}};
    struct outcome o[2];
    struct pair_conn *c[N];
    for (unsigned i = 0; i < 2 && is_version_2; i++) {
        cr_assert_eq(smcr_eid_parse("NORNIC", config.smcr[i].eids[0]), 0);
        config.smcr[i].num_eids = 1;
    }
    begin(&config);
    for (unsigned i = 0; i < N; i++)
        c[i] = connect_pair(0);
    for (unsigned round = 0; round < 6; round++)
        send_held(c, N, len_bytes[round % 3]);
    pair_cut(run.pair, 0, 0, true);
    for (unsigned round = 0; round < 12; round++)
        send_held(c, N, len_bytes[round % 3]);
    for (unsigned i = 0; i < N; i++)
        close_both(c[i]);
    end(o);
    for (unsigned i = 0; i < 2; i++) {
        cr_expect_eq(o[i].result.outcomes[EXPLAIN_SMC_REPLAY_UNKNOWN], 0);
        cr_expect_eq(o[i].result.version_2, is_version_2 ? N : 0);
        cr_expect_geq(o[i].result.links, 2);
    }
}

Test(smc_replay, writes_of_many_connections_on_another_link)
{
    move_many(false);
    move_many(true);
}

Test(smc_replay, a_link_dies_unnoticed)
{
    struct outcome o[2];
    begin(&(struct pair_config){.seed = 18, .ports = {2, 2}});
    struct pair_conn *c = connect_pair(0);
    transfer(&c->end[0], 10000);
    pair_cut(run.pair, 0, 0, false);
    transfer(&c->end[0], 5000);
    transfer(&c->end[1], 5000);
    pair_restore(run.pair, 0, 0);
    pair_run_for(run.pair, 20 * PAIR_S);
    close_both(c);
    end(o);
}

Test(smc_replay, a_wire_that_loses)
{
    struct outcome o[2];
    begin(&(struct pair_config){.seed = 19, .wire = {.delay_ns = 5000, .loss_ppm = 10000, .hold_ns = 20000}});
    struct pair_conn *c = connect_pair(0);
    transfer(&c->end[0], 1 << 18);
    transfer(&c->end[1], 1 << 17);
    close_both(c);
    end(o);
}
