/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups, links and connections of SMC-R, found. */
#ifndef NORNIC_EXPLAIN_SMC_WORLD_H
#define NORNIC_EXPLAIN_SMC_WORLD_H

#include "explain/smc/types.h"

/* Appends to the words of the packet. */
void explain_smc_say(struct smc_view *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
struct smc_group *explain_smc_group_of(struct explain_smc *w, uint32_t id);
struct smc_conn *explain_smc_conn_of(struct explain_smc *w, uint32_t id);
/* A new one. NULL: no memory. */
struct smc_group *explain_smc_group_new(struct explain_smc *w);
struct smc_conn *explain_smc_conn_new(struct explain_smc *w);
/* Puts the connection into the index of explain_smc_conn_by_token(). */
void explain_smc_conn_index(struct explain_smc *w, struct smc_conn *c);
/* Returns the newest connection of the group with that token of `side`; NULL: none. */
struct smc_conn *explain_smc_conn_by_token(struct explain_smc *w, uint32_t group, unsigned side,
                                           uint32_t token);
/* A handshake was seen of which the capture lacks messages. */
void explain_smc_note_lack(struct explain_smc *w);
/* Returns whether packets of a side may be missing just now: on some link it goes on behind a gap. */
bool explain_smc_has_gap(const struct smc_group *group, unsigned side);
/* Whether there may be messages of the group that the capture does not show: it is older than the capture, or
 * that lacks packets. */
bool explain_smc_may_lack(const struct smc_group *group);
/* Whether there may be connections or elements in the group that the capture does not show: messages, or a
 * handshake is not at its end. */
bool explain_smc_may_lack_conns(const struct explain_smc *w, const struct smc_group *group);
/* Returns the link that the packet in `v` travels on; false: none is known. A link of another flow, which had
 * the QPNs of this flow before, is none. */
bool explain_smc_link_of(const struct smc_view *v, struct smc_group **group, unsigned *link, unsigned *side);
/* The slot of a link by its number, or of a free one that gets it; SMC_LINKS_MAX: none. */
unsigned explain_smc_link_by_number(const struct smc_group *g, uint8_t number);
unsigned explain_smc_link_free(struct smc_group *g);
/* The slot of the RMB of a side by its R_Key on a link; SMC_RMBS_MAX: there is none. */
unsigned explain_smc_rmb_by_rkey(const struct smc_group *g, unsigned side, unsigned link, uint32_t rkey);
/* The same, made when it is new. */
unsigned explain_smc_rmb_know(struct smc_group *g, unsigned side, unsigned link, uint32_t rkey, uint64_t va);

#endif
