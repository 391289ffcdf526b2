/* SPDX-License-Identifier: BSD-2-Clause */
/* How the clocks of two captures stand to each other, found from the packets that both have. */
#ifndef NORNIC_EXPLAIN_JOIN_CLOCK_H
#define NORNIC_EXPLAIN_JOIN_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPLAIN_CLOCK_PIECES_MAX 64
#define EXPLAIN_DRIFT_MAX        1e-3 /* 1000 ppm: clocks that differ more are none */

/* A packet that both captures have. */
struct explain_clock_point {
    double x; /* ns since explain_clock.epoch_ns by clock 0 */
    double y; /* ns that clock 1 showed more than clock 0, beyond explain_clock.base_ns, transit included */
};

/* From `from_x` on clock 1 is `offset` + `drift` * x ahead, beyond base_ns. */
struct explain_clock_piece {
    double from_x, offset, drift;
};

struct explain_clock {
    uint64_t epoch_ns; /* by clock 0 */
    int64_t base_ns;
    bool may_stray; /* two packets have the same bytes where one is sent again: a few points may be of two */
    struct explain_clock_piece pieces[EXPLAIN_CLOCK_PIECES_MAX]; /* the first begins at minus infinity */
    unsigned piece_count; /* more than 1: the clocks do not run evenly to each other */
    bool is_one_way;      /* packets went one way only: the offset is such that the quickest took no time */
    bool is_inconsistent; /* no clocks are such that every packet came after it left */
    size_t strays; /* points left out, as one line explains all others: pairs that are not the same packet */
    /* The offset is known to plus or minus this from the first point to the last: what other lines are
     * possible, with may_stray also without a few points that lie apart from all others. Before and behind,
     * where nothing holds a slope, it may be farther off. */
    double error_ns;
    uint64_t first_ns;            /* of the first point, by clock 0 */
    double room_ns;               /* that round trip with one piece; negative: one piece does not do */
    double drift_low, drift_high; /* every drift in between is possible */
};

/* Finds the clock from points sorted by x: `out` of packets that went from capture 0 to 1, `back` of the
 * others; not both are empty. epoch_ns, base_ns and may_stray are the caller's. 0, or -ENOMEM. */
int explain_clock_fit(struct explain_clock *clock, const struct explain_clock_point *out, size_t out_count,
                      const struct explain_clock_point *back, size_t back_count);

/* Whether the captures tell how fast clock 1 runs: with one piece, in a range that ends before clocks do. */
bool explain_clock_has_drift(const struct explain_clock *clock);
/* How much clock 1 is ahead when clock 0 shows `time_ns`. */
int64_t explain_clock_ahead_ns(const struct explain_clock *clock, uint64_t time_ns);
/* Returns the time of clock 0 at `time_ns` of clock 1. */
uint64_t explain_clock_to_first(const struct explain_clock *clock, uint64_t time_ns);

#endif
