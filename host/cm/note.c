/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/cm/note.h"

#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"
#include "host/dev/dev.h"
#include "host/keeper/keeper.h"
#include "net/share/share.h"

#define LOOK_NS NS_PER_S /* for a keeper that was killed, and for room for a ledger */

static_assert(sizeof(struct roce_cm_connection) <= NET_LEDGER_ROW_BYTES, "a connection fits a row");

/* Opens the ledger. False: not now, and the peers are left to their timers; the directory may be full, or the
 * process has no descriptor left. A later connection tries again, unless no keeper is wanted. */
static bool open_notes(struct host_cm_notes *notes)
{
    const struct net_share *lease = net_port_lease(notes->port);
    unsigned slot = lease ? net_share_id_prefix(lease) : NET_LEDGER_NO_SLOT;
    uint64_t now_ns = host_now_ns();
    if (now_ns < notes->look_ns)
        return false;
    if (!host_keeper_is_wanted(notes->port->name)) {
        notes->state = HOST_CM_NOTES_CLOSED;
        return false;
    }
    if (net_ledger_create(notes->port->name, slot, &notes->ledger) != 0) {
        notes->look_ns = now_ns + LOOK_NS;
        return false;
    }
    notes->state = HOST_CM_NOTES_OPEN;
    return true;
}

/* Returns a row, or NET_LEDGER_ROWS_MAX: there is none. */
static uint32_t take_row(struct host_cm_notes *notes)
{
    if (notes->free_count > 0)
        return notes->free_rows[--notes->free_count];
    return notes->row_count < NET_LEDGER_ROWS_MAX ? notes->row_count++ : NET_LEDGER_ROWS_MAX;
}

/* Without memory the row is not used again. */
static void release_row(struct host_cm_notes *notes, uint32_t row)
{
    uint32_t *grown = realloc(notes->free_rows, (notes->free_count + 1) * sizeof *grown);
    if (!grown)
        return;
    notes->free_rows = grown;
    notes->free_rows[notes->free_count++] = row;
}

/* Starts a keeper for the first connection, and for a later one if the keeper has been killed meanwhile. */
static void call_keeper(struct host_cm_notes *notes, bool is_first)
{
    uint64_t now_ns = host_now_ns();
    if (!is_first && now_ns < notes->look_ns)
        return;
    notes->look_ns = now_ns + LOOK_NS;
    host_keeper_start();
}

/* roce_cm_config.note; the handle is the row and 1. */
static void note(void *ctx, const struct roce_cm_connection *connection, uint32_t *handle)
{
    struct host_cm_notes *notes = ctx;
    if (notes->state == HOST_CM_NOTES_NONE && (!connection || !open_notes(notes)))
        return;
    if (notes->state == HOST_CM_NOTES_CLOSED || notes->ledger.pid != getpid())
        return;
    bool was_empty = notes->free_count == notes->row_count;
    uint32_t row = *handle ? *handle - 1 : take_row(notes);
    if (row == NET_LEDGER_ROWS_MAX)
        return;
    (void)net_ledger_write(&notes->ledger, row, connection, sizeof *connection);
    if (!connection)
        release_row(notes, row);
    bool is_new = connection && !*handle;
    *handle = connection ? row + 1 : 0;
    if (is_new)
        call_keeper(notes, was_empty);
}

void host_cm_notes_take(struct host_cm_notes *notes, struct net_port *port, struct roce_cm_config *config)
{
    notes->port = port;
    config->note = note;
    config->note_ctx = notes;
}

void host_cm_notes_close(struct host_cm_notes *notes)
{
    if (notes->state == HOST_CM_NOTES_OPEN)
        net_ledger_close(&notes->ledger);
    notes->state = HOST_CM_NOTES_CLOSED;
    free(notes->free_rows);
    notes->free_rows = NULL;
    notes->free_count = notes->row_count = 0;
}
