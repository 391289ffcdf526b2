/* SPDX-License-Identifier: BSD-2-Clause */
/* Exercises about captures: docs/exercises.txt, which travels inside the library. An exercise holds no
 * answer, but how to find it: which packets to look for, as a filter (explain/show/filter.h), and what to say
 * of them. The answer is made by reading the capture, so that it cannot disagree with what explain says. */
#ifndef NORNIC_EXPLAIN_SHOW_EXERCISE_H
#define NORNIC_EXPLAIN_SHOW_EXERCISE_H

#include "explain/analysis.h"
#include "explain/show/text.h"
#include "net/error.h"

/* An entry of the file; each string ends with a NUL. */
struct explain_exercise {
    char name[32];    /* "loss-2": a topic, and a number in it */
    char capture[48]; /* the name of a file in pcaps/ */
    char ask[400];    /* the question */
    char answer[240]; /* how the answer is found: explain_answer_parse() */
    char hint[240], because[400];
};

/* Goes through the exercises in their order: the entry at *place, which begins as NULL and becomes the next
 * one's. False: there are no more. */
bool explain_exercise_next(const char **place, struct explain_exercise *exercise);

struct explain_answer;

/* How to find an answer, of one of these forms:
 *   packet FILTER                 the number of the first packet that matches
 *   packets FILTER                the numbers of all that match
 *   count FILTER                  how many match
 *   field LAYER.FIELD of FILTER   the value of that field in the first one
 *   time FILTER then FILTER       milliseconds from the first packet that matches the first filter to the
 *                                 next one that matches the second
 * NULL, with a sentence in `why`: it is none of these, or a filter is wrong. */
struct explain_answer *explain_answer_parse(const char *spec, struct nornic_error *why);
void explain_answer_free(struct explain_answer *answer);

/* Takes the packets of the capture, in their order. */
void explain_answer_packet(struct explain_answer *answer, const struct explain_packet *packet,
                           const struct explain_meaning *meaning);

/* Whether the capture has one. A count always has; 0 is one. */
bool explain_answer_is_found(const struct explain_answer *answer);

/* Appends the answer as one would type it: "15", "16 17 18", "0x3001", "13.4 ms". */
void explain_answer_text(const struct explain_answer *answer, struct explain_text *out);

/* Whether what was typed is the answer: numbers in decimal or 0x..., of packets with or without #, in any
 * order; one number may have a word behind it that is no unit ("2452 bytes"); the word for a value as filters
 * take it; a time within five per cent, in ms or with its unit. */
bool explain_answer_is_right(const struct explain_answer *answer, const char *typed);

#endif
