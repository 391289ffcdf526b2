/* SPDX-License-Identifier: BSD-2-Clause */
/* An MPI program that looks at every byte: messages between all pairs of ranks, small and large, in
 * flight at one time; collectives; puts, gets and atomics on a window. Built by mpicc of Open MPI and of
 * MPICH, and run over libibverbs by test/verbs/programs/run. Prints one line by rank 0, "mpi: N ranks on
 * H hosts, latency X us, bandwidth Y MB/s, all data right", or says what was wrong and aborts; with an
 * argument, before it a table of latencies and bandwidths of 1 byte to 1 MiB, between rank 0 and the
 * last. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST (1 << 20)
#define FLIGHT  8

static int rank, ranks;
static uint8_t *out, *in; /* FLIGHT messages each */

/* What byte `at` of message `number` from `from` to `to` is. */
static uint8_t byte_of(int from, int to, int number, int at)
{
    return (uint8_t)((uint32_t)(at + 1) * 2654435761u >> 13 ^ (uint32_t)(from * 31 + to * 7 + number));
}

static void wrong(const char *what, long seen, long wanted)
{
    fprintf(stderr, "mpi: rank %d: %s: %ld, not %ld\n", rank, what, seen, wanted);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check(const char *what, long seen, long wanted)
{
    if (seen != wanted)
        wrong(what, seen, wanted);
}

/* Each rank sends FLIGHT messages to the one `step` after it and receives as many from the one before. */
static void around(int step, int bytes)
{
    int to = (rank + step) % ranks, from = (rank + ranks - step) % ranks;
    MPI_Request requests[2 * FLIGHT];
    for (int i = 0; i < FLIGHT; i++) {
        for (int at = 0; at < bytes; at++)
            out[i * LARGEST + at] = byte_of(rank, to, i, at);
        MPI_Irecv(in + i * LARGEST, bytes, MPI_BYTE, from, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(out + i * LARGEST, bytes, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[FLIGHT + i]);
    }
    MPI_Waitall(2 * FLIGHT, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < FLIGHT; i++)
        for (int at = 0; at < bytes; at++)
            check("a byte of a message", in[i * LARGEST + at], byte_of(from, rank, i, at));
}

static void collectives(void)
{
    long sum = 0, *row = malloc(sizeof(long) * (size_t)ranks), *column = malloc(sizeof(long) * (size_t)ranks);
    long mine = rank + 1;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    check("the sum of all ranks", sum, (long)ranks * (ranks + 1) / 2);
    for (int i = 0; i < ranks; i++)
        row[i] = rank * 1000 + i;
    MPI_Alltoall(row, 1, MPI_LONG, column, 1, MPI_LONG, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++)
        check("what all sent to all", column[i], i * 1000 + rank);
    for (int at = 0; at < LARGEST; at++)
        out[at] = rank == 0 ? byte_of(0, 0, 1, at) : 0;
    MPI_Bcast(out, LARGEST, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int at = 0; at < LARGEST; at++)
        check("a byte of a broadcast", out[at], byte_of(0, 0, 1, at));
    free(row);
    free(column);
}

/* Each rank puts its number at its place of rank 0's window and counts there; then each reads all of it. */
static void one_sided(void)
{
    long *window, *seen = malloc(sizeof(long) * (size_t)(ranks + 1)), one = 1, mine = rank * 3 + 5, before;
    MPI_Win handle;
    MPI_Win_allocate((MPI_Aint)(sizeof(long) * (size_t)(ranks + 1)), sizeof(long), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &window, &handle);
    for (int i = 0; i <= ranks; i++)
        window[i] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, handle);
    MPI_Put(&mine, 1, MPI_LONG, 0, rank, 1, MPI_LONG, handle);
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, ranks, MPI_SUM, handle);
    MPI_Win_flush_all(handle);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Get(seen, ranks + 1, MPI_LONG, 0, 0, ranks + 1, MPI_LONG, handle);
    MPI_Win_unlock_all(handle);
    for (int i = 0; i < ranks; i++)
        check("what a rank put", seen[i], i * 3 + 5);
    check("the count of all ranks", seen[ranks], ranks);
    MPI_Win_free(&handle);
    free(seen);
}

/* How many hosts the ranks are on, by their names. */
static int hosts(void)
{
    char mine[MPI_MAX_PROCESSOR_NAME] = "", *all = malloc((size_t)ranks * sizeof mine);
    int length, count = 0;
    MPI_Get_processor_name(mine, &length);
    MPI_Allgather(mine, sizeof mine, MPI_CHAR, all, sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0, before; i < ranks; i++) {
        for (before = 0;
             before < i && strcmp(all + (size_t)before * sizeof mine, all + (size_t)i * sizeof mine);)
            before++;
        count += before == i;
    }
    free(all);
    return count;
}

/* The bytes that `count` messages of a measurement from `from` to `to` have, into `out`. */
static void fill(int from, int to, int count, int bytes)
{
    for (int i = 0; i < count; i++)
        for (int at = 0; at < bytes; at++)
            out[i * LARGEST + at] = byte_of(from, to, i, at);
}

/* That they are what came, into `in`. */
static void compare(int from, int to, int count, int bytes)
{
    for (int i = 0; i < count; i++)
        for (int at = 0; at < bytes; at++)
            check("a byte of a measurement", in[i * LARGEST + at], byte_of(from, to, i, at));
}

/* Between ranks 0 and the last: half of a round trip of `bytes`, in microseconds. */
static double latency(int bytes, int rounds)
{
    int last = ranks - 1, peer = rank == 0 ? last : 0;
    if (rank == 0 || rank == last)
        fill(rank, peer, 1, bytes);
    memset(in, 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < rounds; i++) {
        if (rank == 0)
            MPI_Send(out, bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD);
        if (rank == 0 || rank == last)
            MPI_Recv(in, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == last)
            MPI_Send(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    double microseconds = (MPI_Wtime() - begin) * 1e6 / rounds / 2;
    if (rank == 0 || rank == last)
        compare(peer, rank, 1, bytes);
    return microseconds;
}

/* From rank 0 to the last, FLIGHT messages of `bytes` at a time, in MB/s. */
static double bandwidth(int bytes, int rounds)
{
    int last = ranks - 1;
    MPI_Request requests[FLIGHT];
    fill(0, last, FLIGHT, bytes);
    memset(in, 0, (size_t)FLIGHT * LARGEST);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int round = 0; round < rounds && (rank == 0 || rank == last); round++) {
        for (int i = 0; i < FLIGHT; i++)
            if (rank == 0)
                MPI_Isend(out + i * LARGEST, bytes, MPI_BYTE, last, i, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Irecv(in + i * LARGEST, bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(FLIGHT, requests, MPI_STATUSES_IGNORE);
    }
    char word = 0; /* that all has come */
    if (rank == 0)
        MPI_Recv(&word, 1, MPI_BYTE, last, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == last)
        MPI_Send(&word, 1, MPI_BYTE, 0, 99, MPI_COMM_WORLD);
    double mb_per_s = (double)rounds * FLIGHT * bytes / (MPI_Wtime() - begin) / 1e6;
    if (rank == last)
        compare(0, last, FLIGHT, bytes);
    return mb_per_s;
}

/* Latency and bandwidth of each size. */
static void table(void)
{
    if (rank == 0)
        printf("%8s %10s %10s\n", "bytes", "us", "MB/s");
    for (int bytes = 1; bytes <= LARGEST; bytes *= 4) {
        double microseconds = latency(bytes, 500), mb_per_s = bandwidth(bytes, 50);
        if (rank == 0)
            printf("%8d %10.1f %10.1f\n", bytes, microseconds, mb_per_s);
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {0, 1, 8, 255, 1000, 4096, 4097, 20000, 65536, 300001, LARGEST};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    out = malloc((size_t)FLIGHT * LARGEST);
    in = malloc((size_t)FLIGHT * LARGEST);
    if (!out || !in)
        wrong("no memory", 0, 1);
    check("ranks, of which there must be two or more", ranks < 2, 0);
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int step = 1; step < ranks; step++)
            around(step, sizes[i]);
    collectives();
    one_sided();
    if (argc > 1)
        table();
    int on_hosts = hosts();
    double microseconds = latency(8, 200), mb_per_s = bandwidth(LARGEST, 4);
    if (rank == 0)
        printf("mpi: %d ranks on %d host%s, latency %.1f us, bandwidth %.0f MB/s, all data right\n", ranks,
               on_hosts, on_hosts == 1 ? "" : "s", microseconds, mb_per_s);
    MPI_Finalize();
    return 0;
}
