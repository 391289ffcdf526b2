/* SPDX-License-Identifier: BSD-2-Clause */
/* The pcapng files that a long capture is written to: one, or one after the other. */
#ifndef NORNIC_CLI_SNIFF_FILES_H
#define NORNIC_CLI_SNIFF_FILES_H

#include "net/error.h"
#include "net/pcap_file.h"
#include "net/capture/pcapng_writer.h"

struct sniff_files {
    const char *path, *ifname; /* the caller's; `path` as the user gave it */
    uint64_t rotate_bytes;     /* a file grows to this size at most; 0: one file, named `path` */
    uint64_t rotate_count;     /* files kept, the newest; 0: all */
    /* inside */
    struct net_pcapng_writer *writer;
    uint64_t number, removed; /* of the file that is written, from 1; of those that were removed */
};

/* Creates the first file, replacing one of that name. The members above "inside" are set, the others 0. Here
 * and below: 0, or -errno with a sentence that names the file. */
int sniff_files_open(struct sniff_files *files, struct nornic_error *why);

/* Appends a record, in a new file when it would make this one too large. */
int sniff_files_add(struct sniff_files *files, const struct net_capture_record *record,
                    struct nornic_error *why);

/* Writes out what is gathered. After a failure the file holds the whole records before it. */
int sniff_files_flush(struct sniff_files *files, struct nornic_error *why);

/* Writes out and closes; may be called once after any failure but that of sniff_files_open(). */
int sniff_files_close(struct sniff_files *files, struct nornic_error *why);

/* The name of file `number`: with rotation "run.pcapng" becomes "run-00001.pcapng" and so on. `name` has
 * `size` bytes; false: it is too long. */
bool sniff_files_name(const struct sniff_files *files, uint64_t number, char *name, size_t size);

#endif
