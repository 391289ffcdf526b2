/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of a requester's packets have arrived, and which are lost: the scoreboard of selective
 * retransmission. Open only while something is missing.
 *
 * Every packet gets a stamp when it is sent, counted on with each, and a new one when it is sent again. The
 * network keeps the order by and large. So when a packet has arrived, whatever was sent before it and has not
 * arrived is lost, a repetition as well as a first transmission: `newest` is the highest stamp known to have
 * arrived, and lost is what has a stamp below it and no mark. A packet that was sent twice tells nothing: who
 * knows which of the two it was. A probe has a stamp too, and its answer brings it back, so what is lost at
 * the very end, or once more, shows within a round trip. Inside roce/ only. */
#ifndef NORNIC_ROCE_BOARD_H
#define NORNIC_ROCE_BOARD_H

#include <stdbool.h>
#include <stdint.h>

struct roce_spare;

struct roce_board {
    uint32_t *slots; /* one for each PSN from `base_psn` on, mod `size`; NULL: closed */
    uint32_t size;
    uint32_t base_psn; /* everything before it is done with */
    uint32_t marks;    /* packets marked as arrived */
    uint32_t stamp;    /* the newest that was given */
    uint32_t newest;   /* the highest that has arrived */
};

/* Opens it with the packets from `base_psn` to `cur_psn` under way and those from there to `hi_psn` lost.
 * False: there is no room. Fine when it is open. And closes it; fine when it is closed. */
bool roce_board_open(struct roce_board *board, struct roce_spare *spare, uint32_t base_psn, uint32_t cur_psn,
                     uint32_t hi_psn);
void roce_board_close(struct roce_board *board, struct roce_spare *spare);

/* `count` PSNs from `psn` on have been sent; `again`: not for the first time. Fine when it is closed. */
void roce_board_sent(struct roce_board *board, uint32_t psn, uint32_t count, bool again);
/* A stamp for a probe. */
uint32_t roce_board_stamp(struct roce_board *board);

/* The packet at `psn` has arrived, out of turn. */
void roce_board_mark(struct roce_board *board, uint32_t psn);
/* The peer waits for the packet at `psn`. If that one had arrived, it has given up what it held since then,
 * as it does with one that it answers with an RNR NAK, which may get lost. No mark is left: the bitmap that
 * came with this makes those anew that are right. */
void roce_board_expects(struct roce_board *board, uint32_t psn);
/* The peer has come as far as the packet at `psn`, which tells of what was sent before it. */
void roce_board_reach(struct roce_board *board, uint32_t psn);
/* The request whose answer has `count` PSNs from `psn` on waits at the peer: the answer is not lost yet. */
void roce_board_renew(struct roce_board *board, uint32_t psn, uint32_t count);
/* A probe with that stamp has arrived. Ignores one that was never given, and 0, which says that none has. */
void roce_board_echo(struct roce_board *board, uint32_t stamp);
/* Everything before `una_psn` is acknowledged. What comes into view by that and was sent, being before
 * `hi_psn`, is taken for sent now: later than it was, so that nothing is lost before its time. */
void roce_board_pass(struct roce_board *board, uint32_t una_psn, uint32_t hi_psn);

/* The board knows of the packet at `psn`. And: it has not arrived, but something that was sent after it. */
bool roce_board_covers(const struct roce_board *board, uint32_t psn);
bool roce_board_is_lost(const struct roce_board *board, uint32_t psn);
/* How many in a row from `psn` on have not arrived, of at most `most`; of none behind its end does it know.
 */
uint32_t roce_board_missing_row(const struct roce_board *board, uint32_t psn, uint32_t most);

#endif
