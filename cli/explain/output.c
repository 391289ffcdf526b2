/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* mkostemp() */
#include "cli/explain/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/columns.h"

#define OUT_BYTES  65536                 /* gathered before they are written */
#define HELD_BYTES (1u << 20)            /* gathered before a file holds them */
#define FILE_BYTES (UINT64_C(512) << 20) /* the most that the file holds */

#define COLUMNS_LEAST 72
#define COLUMNS_USUAL 110
#define COLUMNS_MOST  200

static bool note(struct cli_output *to, bool is_written)
{
    if (!is_written && !to->error)
        to->error = errno ? errno : EIO;
    return is_written;
}

/* Writes `text`, unless an earlier write failed. */
static bool write_text(struct cli_output *to, const struct explain_text *text)
{
    return !to->error && note(to, !text->len || fwrite(text->bytes, 1, text->len, stdout) == text->len);
}

/* Opens a file for large output of short life. /tmp may be memory (file-hierarchy(7)). */
static FILE *open_nameless(void)
{
    const char *given = getenv("TMPDIR");
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/nornic-XXXXXX", given && *given ? given : "/var/tmp");
    int fd = n < (int)sizeof path ? mkostemp(path, O_CLOEXEC) : -1;
    if (fd < 0)
        return NULL;
    unlink(path);
    FILE *file = fdopen(fd, "w+");
    if (file)
        setvbuf(file, NULL, _IONBF, 0); /* each piece is large */
    else
        close(fd);
    return file;
}

void cli_output_hold(struct cli_output *to)
{
    to->is_held = true;
    to->held = open_nameless();
}

static bool hold(struct cli_output *to, const struct explain_text *text)
{
    if (to->held_bytes + text->len > FILE_BYTES)
        return false;
    if (!to->held || fwrite(text->bytes, 1, text->len, to->held) != text->len)
        return false;
    to->held_bytes += text->len;
    return true;
}

static bool copy(FILE *from, uint64_t bytes)
{
    char chunk[OUT_BYTES];
    rewind(from);
    while (bytes > 0) {
        size_t n = bytes < sizeof chunk ? (size_t)bytes : sizeof chunk;
        if (fread(chunk, 1, n, from) != n || fwrite(chunk, 1, n, stdout) != n)
            return false;
        bytes -= n;
    }
    return true;
}

void cli_output_deinit(struct cli_output *to)
{
    if (to->held)
        fclose(to->held);
}

/* Ends the waiting. */
static bool write_held(struct cli_output *to)
{
    bool is_written = !to->error && note(to, !to->held || copy(to->held, to->held_bytes));
    cli_output_deinit(to);
    to->held = NULL;
    to->is_held = false;
    return is_written;
}

bool cli_output_pass(struct cli_output *to, struct explain_text *gathered)
{
    if (gathered->len <= (to->is_held ? HELD_BYTES : OUT_BYTES))
        return true;
    bool is_done = (to->is_held && hold(to, gathered)) || (write_held(to) && write_text(to, gathered));
    explain_text_clear(gathered);
    return is_done;
}

bool cli_output_flush(struct cli_output *to, struct explain_text *gathered)
{
    if (write_held(to) && write_text(to, gathered))
        note(to, fflush(stdout) == 0);
    explain_text_clear(gathered);
    return !to->error;
}

void cli_output_release(struct cli_output *to, const struct explain_text *above)
{
    if (write_text(to, above))
        write_held(to);
    to->is_held = false;
}

unsigned cli_output_columns(void)
{
    unsigned n = cli_columns(STDOUT_FILENO, COLUMNS_USUAL);
    return n < COLUMNS_LEAST ? COLUMNS_LEAST : n > COLUMNS_MOST ? COLUMNS_MOST : n;
}
