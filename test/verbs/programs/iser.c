/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies a disk image to a LUN over iSER, or back, by libiscsi: what test/verbs/programs/apps.sh has tgt
 * serve.  iser write | read FILE iser://HOST/TARGET/LUN INITIATOR. Exit status 0: all of it was copied. */
#include <iscsi/iscsi.h>
#include <iscsi/scsi-lowlevel.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 512
#define PIECE_BYTES (128 * 1024)

static struct iscsi_context *iscsi;

static int fail(const char *what)
{
    fprintf(stderr, "iser: %s: %s\n", what, iscsi_get_error(iscsi));
    return 1;
}

/* One piece of `bytes` at block `lba`, either way. */
static bool move(int lun, bool is_write, uint32_t lba, uint8_t *piece, uint32_t bytes)
{
    struct scsi_task *task =
        is_write ? iscsi_write10_sync(iscsi, lun, lba, piece, bytes, BLOCK_BYTES, 0, 0, 0, 0, 0)
                 : iscsi_read10_sync(iscsi, lun, lba, bytes, BLOCK_BYTES, 0, 0, 0, 0, 0);
    bool is_done = task && task->status == SCSI_STATUS_GOOD;
    if (is_done && !is_write) {
        is_done = task->datain.size == (int)bytes;
        if (is_done)
            memcpy(piece, task->datain.data, bytes);
    }
    if (task)
        scsi_free_scsi_task(task);
    return is_done;
}

static int copy(int lun, bool is_write, FILE *file, uint32_t blocks)
{
    static uint8_t piece[PIECE_BYTES];
    for (uint32_t lba = 0; lba < blocks; lba += PIECE_BYTES / BLOCK_BYTES) {
        uint32_t left = (blocks - lba) * BLOCK_BYTES, bytes = left < PIECE_BYTES ? left : PIECE_BYTES;
        if (is_write && fread(piece, 1, bytes, file) != bytes)
            return fail("the file ends early");
        if (!move(lun, is_write, lba, piece, bytes))
            return fail(is_write ? "write" : "read");
        if (!is_write && fwrite(piece, 1, bytes, file) != bytes)
            return fail("the file cannot be written");
    }
    return 0;
}

/* How many blocks the LUN has; 0: it does not say. */
static uint32_t count_blocks(int lun)
{
    struct scsi_task *task = iscsi_readcapacity10_sync(iscsi, lun, 0, 0);
    const struct scsi_readcapacity10 *capacity = task ? scsi_datain_unmarshall(task) : NULL;
    uint32_t blocks = capacity && capacity->block_size == BLOCK_BYTES ? capacity->lba + 1 : 0;
    if (task)
        scsi_free_scsi_task(task);
    return blocks;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    bool is_write = strcmp(argv[1], "write") == 0;
    iscsi = iscsi_create_context(argv[4]);
    struct iscsi_url *url = iscsi_parse_full_url(iscsi, argv[3]);
    FILE *file = fopen(argv[2], is_write ? "rb" : "wb");
    if (!url || !file)
        return fail("the URL or the file");
    iscsi_set_session_type(iscsi, ISCSI_SESSION_NORMAL);
    iscsi_set_header_digest(iscsi, ISCSI_HEADER_DIGEST_NONE);
    if (iscsi_init_transport(iscsi, url->transport) || iscsi_set_targetname(iscsi, url->target) ||
        iscsi_full_connect_sync(iscsi, url->portal, url->lun))
        return fail("connecting");
    uint32_t blocks = count_blocks(url->lun);
    int err = blocks ? copy(url->lun, is_write, file, blocks) : fail("the size of the disk");
    if (fclose(file) || iscsi_logout_sync(iscsi))
        return fail("the end");
    return err;
}
