/* SPDX-License-Identifier: BSD-2-Clause */
/* What trains are worth to the engine alone: two devices of one process on the memory port, with trains and
 * without, in one thread. No kernel is below, whose cost a frame is what trains save a real port; here they
 * save what the engine and the port pay for a frame. Time is the processor's, which other work on the machine
 * does not use up. Each repetition measures both, one right after the other; the figures are medians, the
 * ratio that of the pairs.
 */
#define _GNU_SOURCE /* program_invocation_short_name */
#include "bench/pair.h"
#include "net/memory.h"

#define PAIRS          15u
#define RUN_NS         (40 * NS_PER_MS)
#define MEMORY_BYTES   (1u << 20)
#define MTU_BYTES      4200u
#define RING_FRAMES    64u
#define RING_TRAINS    8u /* as many bytes as the frames have, or the trains would leave the cache */
#define TRAIN_BYTES    65553u
#define TRAIN_PKTS     64u
#define ROUNDS_A_CLOCK 16u

static const struct load loads[] = {
    {"WRITE, 1 MiB, path MTU 4096", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_4096, 1u << 20, 4, 1, false},
    {"WRITE, 1 MiB, path MTU 1024", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_1024, 1u << 20, 4, 1, false},
    {"READ, 1 MiB, path MTU 1024", NORNIC_WR_RDMA_READ, NORNIC_MTU_1024, 1u << 20, 4, 1, false},
    {"SEND, 64 KiB, path MTU 1024", NORNIC_WR_SEND, NORNIC_MTU_1024, 65536, 16, 1, false},
    {"SEND, 64 bytes", NORNIC_WR_SEND, NORNIC_MTU_1024, 64, DEPTH_MAX, 1, false},
    {"WRITE, 64 bytes", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_1024, 64, DEPTH_MAX, 1, false},
};

static void open_ports(struct net_port *ends[2], int trains)
{
    const struct net_memory_trains of_trains = {.mtu_bytes = MTU_BYTES,
                                                .ring_frames = RING_TRAINS,
                                                .train_bytes = TRAIN_BYTES,
                                                .train_pkts = TRAIN_PKTS};
    check(trains ? net_memory_pair_trains(&of_trains, ends) : net_memory_pair(MTU_BYTES, RING_FRAMES, ends),
          "memory port");
}

/* Messages a second. */
static double measure(const struct load *load, int trains)
{
    struct net_port *ends[2];
    struct pair p;
    open_ports(ends, trains);
    open_pair(&p, ends, MEMORY_BYTES, load);
    uint64_t start_ns = clock_ns(), now_ns = start_ns, done = 0;
    unsigned rounds = 0;
    for (uint32_t i = 0; i < load->depth; i++)
        post(&p, load);
    while (now_ns - start_ns < RUN_NS) {
        for (int i = 0; i < 2; i++)
            progress(&p.side[i], now_ns);
        uint64_t n = reap(p.side[0].cq);
        reap(p.side[1].cq);
        done += n;
        while (n--)
            post(&p, load);
        if (++rounds % ROUNDS_A_CLOCK == 0)
            now_ns = clock_ns();
    }
    close_pair(&p);
    return (double)done * (double)NS_PER_S / (double)(now_ns - start_ns);
}

int main(void)
{
    printf(
        "Two devices on the memory port, a second of one processor; medians of %u pairs of runs of %u ms\n\n",
        PAIRS, (unsigned)(RUN_NS / NS_PER_MS));
    printf("%-30s  %16s  %16s  %6s\n", "", "single frames", "trains", "ratio");
    for (size_t l = 0; l < array_len(loads); l++) {
        double single[PAIRS], trains[PAIRS], ratio[PAIRS];
        for (unsigned i = 0; i < PAIRS; i++) {
            single[i] = measure(&loads[l], 0);
            trains[i] = measure(&loads[l], 1);
            ratio[i] = trains[i] / single[i];
        }
        int is_rate = loads[l].bytes < 1024;
        double scale = is_rate ? 1e-6 : loads[l].bytes * 8e-9;
        const char *unit = is_rate ? "M/s" : "Gbit/s";
        printf("%-30s  %9.2f %-6s  %9.2f %-6s  %6.2f\n", loads[l].name, median(single, PAIRS) * scale, unit,
               median(trains, PAIRS) * scale, unit, median(ratio, PAIRS));
    }
    return 0;
}
