/* SPDX-License-Identifier: BSD-2-Clause */
/* States of ids, and the notes about them. Internal to roce/cm/. */
#ifndef NORNIC_ROCE_CM_NOTE_H
#define NORNIC_ROCE_CM_NOTE_H

#include "roce/cm/cm.h"

/* Changes the state of an id, and tells roce_cm_config.note of it. Each change comes by this function. */
void roce_cm_set_state(struct roce_cm_id *id, enum roce_cm_state state);
/* Returns whether the peer of a connection in this state waits for a message. */
bool roce_cm_owes_word(enum roce_cm_state state);

#endif
