/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes of the connections of a CM, in the ledger of its device (net/share/ledger.h). The keeper reads them
 * after the death of the process (host/keeper/keeper.h). A CM without connections has no ledger, and a
 * process without a ledger has no keeper. All calls come under the device's lock. Internal to host/cm/. */
#ifndef NORNIC_HOST_CM_NOTE_H
#define NORNIC_HOST_CM_NOTE_H

#include "net/port.h"
#include "net/share/ledger.h"
#include "roce/cm/estate.h"

struct host_cm_notes {
    enum { HOST_CM_NOTES_NONE, HOST_CM_NOTES_OPEN, HOST_CM_NOTES_CLOSED } state;
    struct net_port *port; /* of the device */
    struct net_ledger ledger;
    uint32_t *free_rows; /* `free_count` of the `row_count` rows that were written */
    uint32_t free_count, row_count;
    uint64_t look_ns; /* the time of the next try to open the ledger, or of the next look for the keeper */
};

/* Has the engine tell `notes`, which is zero, of its connections on `port`. The port is borrowed. */
void host_cm_notes_take(struct host_cm_notes *notes, struct net_port *port, struct roce_cm_config *config);
/* Removes the notes, as nothing is owed any more. Later connections get none. */
void host_cm_notes_close(struct host_cm_notes *notes);

#endif
