/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "net/pcap_file.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct net_capture {
    pcap_t *pcap;
    char *name; /* for messages */
    uint64_t records;
    int outcome; /* of the last read */
    struct nornic_error failure;
};

static int open_stream(const char *path, FILE **out, struct nornic_error *why)
{
    if (strcmp(path, "-") == 0) {
        *out = stdin;
        return 0;
    }
    FILE *file = fopen(path, "rbe");
    if (!file)
        return net_error_set(why, errno, "cannot open %s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(file);
        return net_error_set(why, EISDIR, "%s is a directory; name a capture file in it", path);
    }
    *out = file;
    return 0;
}

static int check_link_type(pcap_t *pcap, const char *name, struct nornic_error *why)
{
    int type = pcap_datalink(pcap);
    if (type == DLT_EN10MB)
        return 0;
    const char *type_name = pcap_datalink_val_to_name(type);
    return net_error_set(why, EPROTONOSUPPORT,
                         "%s has frames of link type %d (%s), not Ethernet; capture on an Ethernet interface",
                         name, type, type_name ? type_name : "unknown");
}

int net_capture_open(const char *path, struct net_capture **out, struct nornic_error *why)
{
    FILE *file = NULL;
    int err = open_stream(path, &file, why);
    if (err)
        return err;
    const char *name = file == stdin ? "standard input" : path;
    char detail[PCAP_ERRBUF_SIZE] = "";
    pcap_t *pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, detail);
    if (!pcap) {
        if (file != stdin)
            fclose(file);
        return net_error_set(why, EINVAL,
                             "%s is not a capture file that can be read (%s); give a pcap or pcapng file",
                             name, detail);
    }
    err = check_link_type(pcap, name, why);
    if (err)
        goto close_pcap;
    struct net_capture *capture = calloc(1, sizeof *capture);
    char *name_copy = strdup(name);
    if (!capture || !name_copy) {
        err = net_error_set(why, ENOMEM, "no memory to read %s", name);
        goto free_capture;
    }
    *capture = (struct net_capture){.pcap = pcap, .name = name_copy, .outcome = 1};
    *out = capture;
    return 0;

free_capture:
    free(capture);
    free(name_copy);
close_pcap:
    pcap_close(pcap);
    return err;
}

static int read_record(struct net_capture *capture, struct net_capture_record *record)
{
    struct pcap_pkthdr *header;
    const u_char *data;
    int got = pcap_next_ex(capture->pcap, &header, &data);
    if (got == PCAP_ERROR_BREAK) /* in a file: the end */
        return 0;
    if (got != 1)
        return net_error_set(&capture->failure, EIO,
                             "%s is cut off or broken at record %" PRIu64
                             " (%s); what comes before it is sound",
                             capture->name, capture->records + 1, pcap_geterr(capture->pcap));
    capture->records++;
    *record = (struct net_capture_record){
        .data = data,
        .len_bytes = header->caplen,
        /* Some writers leave the original length 0 or short. */
        .wire_bytes = header->len > header->caplen ? header->len : header->caplen,
        /* Opened with nanosecond precision: tv_usec holds nanoseconds. */
        .time_ns = (uint64_t)header->ts.tv_sec * NS_PER_S + (uint64_t)header->ts.tv_usec,
    };
    return 1;
}

int net_capture_next(struct net_capture *capture, struct net_capture_record *record, struct nornic_error *why)
{
    if (capture->outcome == 1)
        capture->outcome = read_record(capture, record);
    if (capture->outcome < 0 && why)
        *why = capture->failure;
    return capture->outcome;
}

void net_capture_close(struct net_capture *capture)
{
    pcap_close(capture->pcap); /* and the stream, unless it is standard input */
    free(capture->name);
    free(capture);
}
