/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* mkostemp() */
#include "cli/explain/held.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"

#define BYTES_MAX  (UINT64_C(512) << 20)
#define COPY_BYTES 65536

/* Where large files go that are soon gone: /tmp may be memory (file-hierarchy(7)). */
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
        setvbuf(file, NULL, _IONBF, 0); /* what is put is large */
    else
        close(fd);
    return file;
}

bool cli_held_put(struct cli_held *held, const struct explain_text *text)
{
    if (held->bytes + text->len > BYTES_MAX)
        return false;
    if (!held->file)
        held->file = open_nameless();
    if (!held->file || fwrite(text->bytes, 1, text->len, held->file) != text->len)
        return false;
    held->bytes += text->len;
    return true;
}

static bool copy(FILE *from, uint64_t bytes, FILE *to)
{
    char chunk[COPY_BYTES];
    rewind(from);
    while (bytes > 0) {
        size_t n = bytes < sizeof chunk ? (size_t)bytes : sizeof chunk;
        if (fread(chunk, 1, n, from) != n || fwrite(chunk, 1, n, to) != n)
            return false;
        bytes -= n;
    }
    return true;
}

bool cli_held_release(struct cli_held *held, FILE *out)
{
    bool is_whole = !held->file || copy(held->file, held->bytes, out);
    int err = errno;
    if (held->file)
        fclose(held->file);
    *held = (struct cli_held){0};
    errno = err;
    return is_whole;
}
