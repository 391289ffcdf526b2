/* SPDX-License-Identifier: BSD-2-Clause */
/* Collectives of Gloo, a C++ library, over its own use of libibverbs (gloo/transport/ibverbs): as many
 * processes as are asked for, each with a rank. Every number is looked at.
 *   gloo STORE-DIRECTORY RANK RANKS
 * Prints "gloo: RANKS ranks, all right" by rank 0, or says what was wrong and ends with 1. */
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/ibverbs/device.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

static int rank, ranks;

/* They are kept until the end: an algorithm whose last send has not completed must not be destroyed, and
 * has no call to wait for that. */
static std::vector<std::unique_ptr<gloo::Algorithm>> algorithms;
static std::vector<std::unique_ptr<std::vector<float>>> arrays;

static std::vector<float> &array(size_t count)
{
    arrays.push_back(std::make_unique<std::vector<float>>(count));
    return *arrays.back();
}

static void check(const char *what, size_t at, float seen, float wanted)
{
    if (seen == wanted)
        return;
    std::fprintf(stderr, "gloo: rank %d: %s: element %zu is %g, not %g\n", rank, what, at, seen, wanted);
    std::exit(1);
}

/* Small enough to be added without being rounded. */
static float number_of(int from, size_t at)
{
    return static_cast<float>((at * 7 + static_cast<size_t>(from) * 13) % 1000);
}

static void fill(std::vector<float> &numbers)
{
    for (size_t at = 0; at < numbers.size(); at++)
        numbers[at] = number_of(rank, at);
}

template <class Algorithm>
static void all_reduce(const char *name, const std::shared_ptr<gloo::Context> &context, size_t count)
{
    std::vector<float> &numbers = array(count);
    std::vector<float *> pointers = {numbers.data()};
    algorithms.push_back(std::make_unique<Algorithm>(context, pointers, static_cast<int>(count)));
    for (int round = 0; round < 5; round++) {
        fill(numbers);
        algorithms.back()->run();
        for (size_t at = 0; at < count; at++) {
            float sum = 0;
            for (int from = 0; from < ranks; from++)
                sum += number_of(from, at);
            check(name, at, numbers[at], sum);
        }
    }
}

static void broadcast(const std::shared_ptr<gloo::Context> &context, size_t count)
{
    std::vector<float> &numbers = array(count);
    std::vector<float *> pointers = {numbers.data()};
    algorithms.push_back(std::make_unique<gloo::BroadcastOneToAll<float>>(context, pointers, static_cast<int>(count),
                                                                          ranks - 1));
    fill(numbers);
    algorithms.back()->run();
    for (size_t at = 0; at < count; at++)
        check("broadcast", at, numbers[at], number_of(ranks - 1, at));
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    rank = std::atoi(argv[2]);
    ranks = std::atoi(argv[3]);
    gloo::transport::ibverbs::attr attr = {gloo::transport::ibverbs::getDeviceNames().at(0), 1, 0};
    auto device = gloo::transport::ibverbs::CreateDevice(attr);
    gloo::rendezvous::FileStore store(argv[1]);
    auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
    context->connectFullMesh(store, device);
    for (size_t count : {1, 1000, 100003}) {
        all_reduce<gloo::AllreduceRingChunked<float>>("allreduce by chunks in a ring", context, count);
        all_reduce<gloo::AllreduceHalvingDoubling<float>>("allreduce by halving and doubling", context, count);
        broadcast(context, count);
    }
    algorithms.push_back(std::make_unique<gloo::BarrierAllToAll>(context));
    algorithms.back()->run();
    std::vector<std::string> ends;
    for (int i = 0; i < ranks; i++)
        ends.push_back("end." + std::to_string(i));
    store.set(ends[static_cast<size_t>(rank)], {1});
    store.wait(ends);
    if (rank == 0)
        std::printf("gloo: %d ranks, all right\n", ranks);
    std::fflush(stdout);
    std::_Exit(0);
}
