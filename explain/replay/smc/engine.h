/* SPDX-License-Identifier: BSD-2-Clause */
/* The SMC-R instance and its devices. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_ENGINE_H
#define NORNIC_EXPLAIN_REPLAY_SMC_ENGINE_H

#include "explain/replay/smc/types.h"

int smcplay_engine_open(struct smcplay *s);
void smcplay_engine_close(struct smcplay *s);
/* Lets timers fire until then; the packets that the engine sends are taken. */
void smcplay_engine_advance(struct smcplay *s, uint64_t until_ns);
/* Does all that can be done now. */
void smcplay_engine_work(struct smcplay *s);
/* The next timer fires, if it is due within `most_ns`. False: there is none. */
bool smcplay_engine_jump(struct smcplay *s, uint64_t most_ns);
void smcplay_engine_feed(struct smcplay *s, const struct smcplay_link *l, uint8_t *frame, uint32_t len_bytes);
/* Lets the peer acknowledge the engine's packets up to that PSN. */
void smcplay_engine_ack(struct smcplay *s, struct smcplay_link *l, uint32_t psn);
void smcplay_engine_port(struct smcplay *s, unsigned port, bool is_up);

#endif
