/* SPDX-License-Identifier: BSD-2-Clause */
/* The contexts that this process has open. Internal to verbs/. */
#ifndef NORNIC_VERBS_CONTEXT_LIST_H
#define NORNIC_VERBS_CONTEXT_LIST_H

#include "verbs/verbs.h"

/* From now on the handlers of forks are there, which take the locks of contexts and their devices; handlers
 * that are registered later come before them. */
void verbs_context_list_follow_forks(void);

/* Adds one that was opened once. */
void verbs_context_list_add(struct verbs_context_own *own);

/* One user less: true where that was the last; then it is in the list no more. What is not in the list, and
 * may be gone, is left alone: false. */
bool verbs_context_list_drop(struct verbs_context_own *own);

/* The one whose `cmd_fd` is the same file as this descriptor, with one user more; NULL: none. */
struct verbs_context_own *verbs_context_list_find(int cmd_fd);

/* Calls `visit` for each, under the lock of the list. */
void verbs_context_list_each(void (*visit)(struct verbs_context_own *own, const void *arg), const void *arg);

/* Whether there may be one. Does not wait for the list's lock: who has it has one, or will soon. */
bool verbs_context_list_is_any(void);

/* How many contexts were opened before: counts one more. */
unsigned verbs_context_list_count(void);

#endif
