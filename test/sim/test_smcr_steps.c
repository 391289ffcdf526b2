/* SPDX-License-Identifier: BSD-2-Clause */
/* The scene of test/sim/smcr_scene.h again and again, and each time a port dies at another message: after
 * the k-th of every kind, at its sender and at its receiver, either port, with and without the node's
 * noticing. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/sim/seeds.h"
#include "test/sim/smcr_scene.h"

#define CDC_STEP 7 /* of the many CDCs every so-and-so-manieth */

static struct pair_config config_of(enum pair_topology topology, unsigned ports_0, unsigned ports_1)
{
    struct smcr_times times = {.test_link_ns = PAIR_S, .rmb_idle_ns = PAIR_S, .redundancy_ns = PAIR_S};
    struct pair_config config = {.seed = 1,
                                 .topology = topology,
                                 .ports = {ports_0, ports_1},
                                 .smcr = {{.times = times}, {.times = times}}};
    return config;
}

/* The n-th of all moments that the undisturbed scene has; false: there are not so many. */
static bool moment(const struct scene *calm, uint64_t n, struct scene_moment *out)
{
    for (unsigned i = 0; i < 16; i++)
        for (unsigned type = 0; type < 256; type++) {
            struct scene_moment m = {.is_clc = i & 1, .on_rx = i & 2, .response = i & 4, .node = i >> 3};
            unsigned step = type == SMCR_CDC ? CDC_STEP : 1;
            unsigned times = calm->seen[m.is_clc][m.on_rx][m.response][m.node][type] / step;
            if (n >= times) {
                n -= times;
                continue;
            }
            m.type = (uint8_t)type;
            m.k = 1 + (unsigned)n * step;
            *out = m;
            return true;
        }
    return false;
}

static void run_all(const struct pair_config *config)
{
    struct sim_seeds seeds;
    struct scene *calm = malloc(sizeof *calm), *scene = malloc(sizeof *scene);
    cr_assert(calm && scene);
    sim_seeds_init(&seeds, UINT64_C(1) << 32);
    scene_play(calm, config, &(struct scene_harm){0});
    cr_assert_str_empty(calm->failure, "undisturbed: %s", calm->failure);
    for (uint64_t n = seeds.first; sim_seeds_more(&seeds, n); n++) {
        struct scene_harm harm = {.node = n & 1, .noticed = n >> 2 & 1};
        harm.port = (n >> 1 & 1) % config->ports[harm.node];
        harm.restore_ns = n >> 3 & 1 ? 3 * PAIR_S : 20 * PAIR_MS;
        if (!moment(calm, n >> 4, &harm.when))
            break;
        struct pair_config one = *config;
        one.ladder = seeds.ladder;
        sim_seeds_begin(&seeds, n);
        if (one.ladder)
            fprintf(stderr, "port %u of node %u dies%s after %s %02x%s number %u of node %u%s\n", harm.port,
                    harm.node, harm.noticed ? ", noticed," : "", harm.when.is_clc ? "CLC" : "message",
                    harm.when.type, harm.when.response ? " response" : "", harm.when.k, harm.when.node,
                    harm.when.on_rx ? ", taken" : "");
        scene_play(scene, &one, &harm);
        sim_seeds_report(&seeds, n, scene->failure[0] ? scene->failure : NULL);
    }
    free(calm);
    free(scene);
    cr_assert_eq(seeds.failures, 0, "%u of the moments are fatal", seeds.failures);
}

/* covers: SMCR-FOV-01, SMCR-FOV-02, SMCR-FOV-10, SMCR-FOV-18, SMCR-FOV-19, SMCR-REC-02, SMCR-REC-30,
 * SMCR-DLK-03, SMCR-DLK-10, SMCR-RKY-01 */
Test(smcr_steps, SMCR_FOV_01_a_port_dies_at_every_message_of_two_fabrics)
{
    struct pair_config config = config_of(PAIR_CABLES, 2, 2);
    run_all(&config);
}

/* covers: SMCR-FOV-01, SMCR-REC-30 */
Test(smcr_steps, SMCR_FOV_01_a_port_dies_at_every_message_of_a_switch)
{
    struct pair_config config = config_of(PAIR_SWITCH, 2, 2);
    run_all(&config);
}

/* covers: SMCR-ARC-13, SMCR-ARC-16, SMCR-ALK-09 */
Test(smcr_steps, SMCR_ARC_13_a_port_dies_at_every_message_of_asymmetric_groups)
{
    struct pair_config config = config_of(PAIR_SWITCH, 2, 1);
    run_all(&config);
}

/* covers: SMCR-ARC-14, SMCR-ARC-17, SMCR-FOV-17 */
Test(smcr_steps, SMCR_FOV_17_a_port_dies_at_every_message_of_three_fabrics)
{
    struct pair_config config = config_of(PAIR_CABLES, 3, 3);
    config.smcr[0].max_links = config.smcr[1].max_links = 3;
    run_all(&config);
}

/* covers: SMCR-FBK-03, SMCR-FC-22, SMCR-FC-23 */
Test(smcr_steps, SMCR_FC_23_every_allocation_of_the_scene_fails_once)
{
    struct pair_config config = config_of(PAIR_CABLES, 2, 2);
    struct sim_seeds seeds;
    struct scene *scene = malloc(sizeof *scene);
    cr_assert_not_null(scene);
    sim_seeds_init(&seeds, UINT64_C(1) << 32);
    scene_play(scene, &config, &(struct scene_harm){0});
    cr_assert_str_empty(scene->failure, "undisturbed: %s", scene->failure);
    unsigned calls[4];
    for (unsigned i = 0; i < 4; i++)
        calls[i] = scene->calls[i & 1][i >> 1];
    for (uint64_t n = seeds.first; sim_seeds_more(&seeds, n); n++) {
        struct scene_harm harm = {
            .node = n & 1, .in_device = n >> 1 & 1, .no_memory = 1 + (unsigned)(n >> 2)};
        if (n >> 2 >= calls[0] && n >> 2 >= calls[1] && n >> 2 >= calls[2] && n >> 2 >= calls[3])
            break;
        config.ladder = seeds.ladder;
        sim_seeds_begin(&seeds, n);
        scene_play(scene, &config, &harm);
        sim_seeds_report(&seeds, n, scene->failure[0] ? scene->failure : NULL);
    }
    free(scene);
    cr_assert_eq(seeds.failures, 0, "%u of the allocations are fatal", seeds.failures);
}
