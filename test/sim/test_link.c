/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "test/sim/link.h"

#define FRAMES 20000

static const uint8_t frame[100] = {[12] = 0x08, [14] = 0x45};

/* Sends frames 1 us apart, the number of each in its first bytes, and counts what comes of them. */
struct outcome {
    unsigned came, out_of_order, late, changed;
    uint64_t last_ns;
};

static struct outcome run(struct sim_link *link, unsigned frames, uint64_t late_ns)
{
    struct outcome o = {0};
    uint32_t newest = 0;
    for (uint32_t i = 1; i <= frames; i++) {
        uint8_t bytes[sizeof frame];
        memcpy(bytes, frame, sizeof frame);
        memcpy(bytes, &i, sizeof i);
        sim_link_send(link, bytes, sizeof bytes, i * 1000);
    }
    for (uint64_t now; (now = sim_link_next_ns(link)) != NET_TIME_NONE;) {
        struct net_frame f;
        cr_assert_eq(sim_link_recv(link, &f, 1, now - 1), 0, "nothing comes early");
        cr_assert_eq(sim_link_recv(link, &f, 1, now), 1);
        uint32_t i;
        memcpy(&i, f.data, sizeof i);
        o.came++;
        o.out_of_order += i < newest;
        newest = i > newest ? i : newest;
        o.late += now > i * 1000 + late_ns;
        o.changed += memcmp(f.data + 14, frame + 14, sizeof frame - 14) != 0;
        o.last_ns = now;
        sim_link_release(&f, 1);
    }
    return o;
}

static struct outcome run_config(const struct sim_link_config *config, uint64_t late_ns)
{
    struct sim_link *link = sim_link_create(config, 7);
    struct outcome o = run(link, FRAMES, late_ns);
    sim_link_destroy(link);
    return o;
}

static void assert_near(unsigned got, unsigned want)
{
    cr_assert(got > want - want / 8 && got < want + want / 8, "%u, expected about %u", got, want);
}

Test(sim_link, clean_wire_keeps_order_and_delay)
{
    struct outcome o = run_config(&(struct sim_link_config){.delay_ns = 5000}, 5000);
    cr_assert_eq(o.came, FRAMES);
    cr_assert_eq(o.out_of_order + o.late + o.changed, 0);
    cr_assert_eq(o.last_ns, FRAMES * 1000 + 5000);
}

Test(sim_link, loses_duplicates_holds_and_corrupts_at_the_rates_asked)
{
    assert_near(FRAMES - run_config(&(struct sim_link_config){.loss_ppm = 100000}, 0).came, FRAMES / 10);
    assert_near(run_config(&(struct sim_link_config){.duplicate_ppm = 100000}, 0).came - FRAMES, FRAMES / 10);
    assert_near(run_config(&(struct sim_link_config){.corrupt_ppm = 100000}, 0).changed, FRAMES / 10);
    assert_near(run_config(&(struct sim_link_config){.reorder_ppm = 100000, .hold_ns = 3500}, 0).late,
                FRAMES / 10);
}

Test(sim_link, held_frames_and_jitter_reorder)
{
    cr_assert_gt(
        run_config(&(struct sim_link_config){.reorder_ppm = 100000, .hold_ns = 3500}, 0).out_of_order, 0);
    cr_assert_gt(run_config(&(struct sim_link_config){.jitter_ns = 5000}, 0).out_of_order, 0);
    cr_assert_eq(run_config(&(struct sim_link_config){.jitter_ns = 900}, 0).out_of_order, 0);
}

Test(sim_link, the_rate_spaces_frames_and_a_full_queue_loses_them)
{
    /* 100 bytes at 400 Mbit/s take 2 us, twice the distance of the frames */
    struct outcome o = run_config(&(struct sim_link_config){.bits_per_s = 400000000}, 0);
    cr_assert_eq(o.came, FRAMES);
    cr_assert_eq(o.last_ns, 1000 + FRAMES * 2000);
    o = run_config(&(struct sim_link_config){.bits_per_s = 400000000, .queue_ns = 10000}, 13000);
    assert_near(o.came, FRAMES / 2);
    cr_assert_eq(o.late, 0);
}

Test(sim_link, loses_the_frames_named_and_everything_in_the_dark)
{
    cr_assert_eq(run_config(&(struct sim_link_config){.lose_frame = {3, 5}}, 0).came, FRAMES - 2);
    cr_assert_eq(run_config(&(struct sim_link_config){.dark_from_ns = 10000, .dark_until_ns = 20000}, 0).came,
                 FRAMES - 10);
}

Test(sim_link, one_seed_is_one_history)
{
    struct sim_link_config config = {
        .loss_ppm = 200000, .duplicate_ppm = 100000, .stale_ns = 9000, .jitter_ns = 4000};
    struct outcome a = run_config(&config, 0), b = run_config(&config, 0);
    cr_assert_eq(memcmp(&a, &b, sizeof a), 0);
}

Test(sim_link, marks_and_pads_without_spoiling_the_header)
{
    struct sim_link *link = sim_link_create(&(struct sim_link_config){.ecn_ppm = 1000000, .pad = true}, 1);
    uint8_t ipv4[58] = {[12] = 0x08, [14] = 0x45, [15] = 0x02, [23] = 17, [24] = 0xba, [25] = 0xec};
    struct net_frame f;
    cr_assert_eq(sim_link_send(link, ipv4, sizeof ipv4, 0), SIM_FATE_MARKED);
    cr_assert_eq(sim_link_recv(link, &f, 1, 0), 1);
    cr_assert_eq(f.len_bytes, 60);
    cr_assert_eq(f.data[15], 0x03);
    uint32_t sum = 0;
    for (unsigned i = 14; i < 34; i += 2)
        sum += (uint32_t)(f.data[i] << 8 | f.data[i + 1]);
    cr_assert_eq((sum & 0xffff) + (sum >> 16), 0xffff);
    sim_link_release(&f, 1);
    sim_link_destroy(link);
}
