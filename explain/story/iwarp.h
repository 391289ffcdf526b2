/* SPDX-License-Identifier: BSD-2-Clause */
/* What was sent by iWARP, for the first sentence of the story. */
#ifndef NORNIC_EXPLAIN_STORY_IWARP_H
#define NORNIC_EXPLAIN_STORY_IWARP_H

#include "explain/analysis.h"
#include "explain/show/text.h"

/* Appends who sent how much; false, and nothing: there is no connection of iWARP. */
bool explain_story_iwarp(struct explain_text *out, const struct explain_analysis *analysis);
/* Appends the same behind what was said of RoCE; nothing where there is no such connection. */
void explain_story_iwarp_too(struct explain_text *out, const struct explain_analysis *analysis);

#endif
