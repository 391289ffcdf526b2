/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture of a simulated run, taken at one end or between them: which of the frames that passed it holds,
 * in which order, at what times, how much of each. */
#ifndef NORNIC_TEST_EXPLAIN_TRUTH_CAPTURE_H
#define NORNIC_TEST_EXPLAIN_TRUTH_CAPTURE_H

#include "net/pcap_file.h"
#include "test/explain_truth/tape.h"

enum truth_place { TRUTH_AT_0, TRUTH_AT_1, TRUTH_BETWEEN };

/* Where and how it is taken. All 0: at node 0, everything, to the nanosecond. */
struct truth_tap {
    enum truth_place place;
    uint64_t seed;    /* between: on which side of the tap each frame was lost or doubled; what is dropped */
    uint32_t way_ppm; /* between: how far from node 0 */
    uint32_t snap_bytes;    /* 0: whole frames */
    uint32_t skip_ppm;      /* so much of the run has passed when it begins, */
    uint32_t end_ppm;       /* and so much of it is left when it ends */
    uint32_t drop_ppm;      /* of the frames that pass, the capture itself drops */
    uint64_t resolution_ns; /* of its clock; 0: 1 */
};

struct truth_record {
    const struct truth_tape *tape;
    uint32_t pass;
    bool is_out; /* the frame as it came out, not as it was sent */
    uint64_t time_ns;
    uint32_t len_bytes, wire_bytes;
    uint32_t origin; /* its place in the capture before truth_capture_double() */
};

struct truth_capture {
    struct truth_record *records;
    uint32_t count, cap;
};

/* Appends what the tap saw of a run, `after_ns` behind what the capture holds already. */
void truth_capture_add(struct truth_capture *capture, const struct truth_tape *tape,
                       const struct truth_tap *tap, uint64_t after_ns);
/* As a tap has it that sees each packet at two places: a second record `least_ns` to `least_ns` + `jitter_ns`
 * behind each, or more where one would overtake another, until the capture ends. */
void truth_capture_double(struct truth_capture *capture, uint64_t least_ns, uint64_t jitter_ns,
                          uint64_t seed);
void truth_capture_deinit(struct truth_capture *capture);

static inline const struct truth_pass *truth_pass_of(const struct truth_record *record)
{
    return &record->tape->passes[record->pass];
}

/* As explain reads it. The bytes are the tape's. */
struct net_capture_record truth_record_read(const struct truth_record *record);

/* 0, or -errno of writing it as a pcap file with nanoseconds. */
int truth_capture_write(const struct truth_capture *capture, const char *path);

#endif
