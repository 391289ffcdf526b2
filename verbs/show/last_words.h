/* SPDX-License-Identifier: BSD-2-Clause */
/* What is done as a process ends. exit() may have been called in a signal handler, while its thread was
 * inside a call and had a lock: what needs that lock would wait for ever. So it is done by a thread of its
 * own, and nobody waits for that longer than said. Internal to verbs/. */
#ifndef NORNIC_VERBS_LAST_WORDS_H
#define NORNIC_VERBS_LAST_WORDS_H

#include <stdint.h>

/* Runs `say` in another thread, and waits until it has returned, `wait_ns` at most. No signal comes to this
 * thread any more. Without a thread nothing is said. */
void verbs_last_words(void *(*say)(void *unused), uint64_t wait_ns);

#endif
