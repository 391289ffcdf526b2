/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/pcap_file.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NS_PER_S 1000000000u

struct net_capture {
    pcap_t *pcap;
    char *name; /* for messages */
    uint64_t records;
    int result; /* of the last read */
    struct net_error failure;
};

static int open_stream(const char *path, FILE **out, struct net_error *err)
{
    if (strcmp(path, "-") == 0) {
        *out = stdin;
        return 0;
    }
    FILE *file = fopen(path, "rbe");
    if (!file)
        return net_error_set(err, errno, "cannot open %s: %s", path, strerror(errno));
    struct stat st;
    if (fstat(fileno(file), &st) == 0 && S_ISDIR(st.st_mode)) {
        fclose(file);
        return net_error_set(err, EISDIR, "%s is a directory; name a capture file in it", path);
    }
    *out = file;
    return 0;
}

static int check_link_type(pcap_t *pcap, const char *name, struct net_error *err)
{
    int type = pcap_datalink(pcap);
    if (type == DLT_EN10MB)
        return 0;
    const char *type_name = pcap_datalink_val_to_name(type);
    return net_error_set(err, EPROTONOSUPPORT,
                         "%s has frames of link type %d (%s), not Ethernet; capture on an Ethernet interface",
                         name, type, type_name ? type_name : "unknown");
}

int net_capture_open(const char *path, struct net_capture **out, struct net_error *err)
{
    FILE *file = NULL;
    int rc = open_stream(path, &file, err);
    if (rc)
        return rc;
    const char *name = file == stdin ? "standard input" : path;
    char why[PCAP_ERRBUF_SIZE] = "";
    pcap_t *pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, why);
    if (!pcap) {
        if (file != stdin)
            fclose(file);
        return net_error_set(err, EINVAL,
                             "%s is not a capture file that can be read (%s); give a pcap or pcapng file",
                             name, why);
    }
    rc = check_link_type(pcap, name, err);
    if (rc)
        goto close_pcap;
    struct net_capture *capture = calloc(1, sizeof *capture);
    char *name_copy = strdup(name);
    if (!capture || !name_copy) {
        rc = net_error_set(err, ENOMEM, "no memory to read %s", name);
        goto free_capture;
    }
    *capture = (struct net_capture){.pcap = pcap, .name = name_copy, .result = 1};
    *out = capture;
    return 0;

free_capture:
    free(capture);
    free(name_copy);
close_pcap:
    pcap_close(pcap);
    return rc;
}

static int read_record(struct net_capture *capture, struct net_capture_record *record)
{
    struct pcap_pkthdr *header;
    const u_char *data;
    int rc = pcap_next_ex(capture->pcap, &header, &data);
    if (rc == PCAP_ERROR_BREAK) /* in a file: the end */
        return 0;
    if (rc != 1)
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

int net_capture_next(struct net_capture *capture, struct net_capture_record *record, struct net_error *err)
{
    if (capture->result == 1)
        capture->result = read_record(capture, record);
    if (capture->result < 0 && err)
        *err = capture->failure;
    return capture->result;
}

void net_capture_close(struct net_capture *capture)
{
    pcap_close(capture->pcap); /* and the stream, unless it is standard input */
    free(capture->name);
    free(capture);
}
