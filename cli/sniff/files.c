/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/sniff/files.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A packet block around its frame: type, two lengths, interface, time, two frame lengths, padding, the option
 * with the direction and the end of the options. */
#define RECORD_EXTRA_BYTES 44

bool sniff_files_name(const struct sniff_files *files, uint64_t number, char *name, size_t size)
{
    const char *slash = strrchr(files->path, '/'), *dot = strrchr(files->path, '.');
    size_t stem_bytes = strlen(files->path);
    if (dot && dot > (slash ? slash + 1 : files->path)) /* a leading dot makes no ending */
        stem_bytes = (size_t)(dot - files->path);
    int n;
    if (files->rotate_bytes)
        n = snprintf(name, size, "%.*s-%05" PRIu64 "%s", (int)stem_bytes, files->path, number,
                     files->path + stem_bytes);
    else
        n = snprintf(name, size, "%s", files->path);
    return n >= 0 && (size_t)n < size;
}

static int open_next(struct sniff_files *files, struct nornic_error *why)
{
    char name[PATH_MAX];
    if (!sniff_files_name(files, files->number + 1, name, sizeof name))
        return net_error_set(why, ENAMETOOLONG, "the name of the capture file is too long: %.80s...",
                             files->path);
    int err = net_pcapng_create(name, files->ifname, &files->writer, why);
    if (err)
        return err;
    files->number++;
    if (!files->rotate_count || files->number - files->removed <= files->rotate_count)
        return 0;
    /* A file that somebody took away is not missed. */
    if (sniff_files_name(files, ++files->removed, name, sizeof name) && unlink(name) != 0 && errno != ENOENT)
        return net_error_set(why, errno, "cannot remove %s: %s", name, strerror(errno));
    return 0;
}

int sniff_files_open(struct sniff_files *files, struct nornic_error *why)
{
    return open_next(files, why);
}

static int check(const struct sniff_files *files, struct nornic_error *why)
{
    char name[PATH_MAX];
    int error = net_pcapng_errno(files->writer);
    if (error == 0)
        return 0;
    sniff_files_name(files, files->number, name, sizeof name);
    return net_error_set(why, error, "cannot write %s: %s; what it holds is whole", name, strerror(error));
}

int sniff_files_add(struct sniff_files *files, const struct net_capture_record *record,
                    struct nornic_error *why)
{
    uint64_t record_bytes = (record->len_bytes + 3u) / 4 * 4 + RECORD_EXTRA_BYTES;
    if (files->rotate_bytes && net_pcapng_bytes(files->writer) + record_bytes > files->rotate_bytes) {
        int err = sniff_files_close(files, why);
        if (!err)
            err = open_next(files, why);
        if (err)
            return err;
    }
    net_pcapng_append_cut(files->writer, record->data, record->len_bytes, record->wire_bytes, record->time_ns,
                          NET_PCAPNG_ANY_DIRECTION);
    return check(files, why);
}

int sniff_files_flush(struct sniff_files *files, struct nornic_error *why)
{
    net_pcapng_flush(files->writer);
    return check(files, why);
}

int sniff_files_close(struct sniff_files *files, struct nornic_error *why)
{
    if (!files->writer)
        return 0;
    int err = sniff_files_flush(files, why);
    net_pcapng_close(files->writer);
    files->writer = NULL;
    return err;
}
