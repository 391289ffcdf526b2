/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/pcap_file.h"

#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "net/capture/stream.h"
#include "net/wire/link.h"
#include "net/capture/pcapng_reader.h"

struct net_capture {
    struct net_capture_stream *stream;
    pcap_t *pcap;                     /* a pcap file, or */
    struct net_pcapng_reader *pcapng; /* a pcapng file */
    enum net_link link;               /* of a pcap file */
    const char *name;                 /* for messages */
    char *path;
    uint64_t records;
    int outcome; /* of the last read */
    struct nornic_error failure;
};

static int check_link_type(int type, const char *name, struct nornic_error *why)
{
    if (net_link_of(type) != NET_LINK_OTHER)
        return 0;
    const char *type_name = pcap_datalink_val_to_name(type);
    return net_error_set(
        why, EPROTONOSUPPORT,
        "%s has frames of link type %d (%s); what is read are Ethernet, Linux cooked captures, raw IP "
        "and BSD loopback",
        name, type, type_name ? type_name : "unknown");
}

static int no_capture(const struct net_capture *c, const char *detail, struct nornic_error *why)
{
    const char *early = net_capture_stream_failure(c->stream);
    return net_error_set(why, EINVAL,
                         "%s is not a capture file that can be read (%s); give a pcap or pcapng file",
                         c->name, early ? early : detail);
}

/* The stream stays ours: libpcap would close it. */
static int open_pcap(struct net_capture *c, struct nornic_error *why)
{
    char detail[PCAP_ERRBUF_SIZE] = "";
    c->pcap = pcap_fopen_offline_with_tstamp_precision(net_capture_stream_file(c->stream),
                                                       PCAP_TSTAMP_PRECISION_NANO, detail);
    if (!c->pcap)
        return no_capture(c, detail, why);
    c->link = net_link_of(pcap_datalink(c->pcap));
    return check_link_type(pcap_datalink(c->pcap), c->name, why);
}

static int open_pcapng(struct net_capture *c, struct nornic_error *why)
{
    struct nornic_error detail = {""};
    int err = net_pcapng_reader_create(net_capture_stream_file(c->stream), &c->pcapng, &detail);
    if (err)
        return no_capture(c, detail.text, why);
    return check_link_type(net_pcapng_first_link_type(c->pcapng), c->name, why);
}

int net_capture_open(const char *path, struct net_capture **out, struct nornic_error *why)
{
    uint8_t magic[4];
    struct net_capture *c = calloc(1, sizeof *c);
    char *path_copy = strdup(path);
    if (!c || !path_copy) {
        free(c);
        free(path_copy);
        return net_error_set(why, ENOMEM, "no memory to read %s", path);
    }
    c->path = path_copy;
    c->name = strcmp(path, "-") == 0 ? "standard input" : path_copy;
    c->outcome = 1;
    int err = net_capture_stream_open(path, &c->stream, why);
    if (!err) {
        size_t n = net_capture_stream_peek(c->stream, magic, sizeof magic);
        bool is_pcapng = n == sizeof magic && memcmp(magic, NET_PCAPNG_MAGIC, sizeof magic) == 0;
        err = is_pcapng ? open_pcapng(c, why) : open_pcap(c, why);
    }
    if (err) {
        net_capture_close(c);
        return err;
    }
    *out = c;
    return 0;
}

static int read_pcap(struct net_capture *c, struct net_capture_record *record, struct nornic_error *detail)
{
    struct pcap_pkthdr *header;
    const u_char *data;
    int got = pcap_next_ex(c->pcap, &header, &data);
    if (got == PCAP_ERROR_BREAK) /* in a file: the end */
        return 0;
    if (got != 1)
        return net_error_set(detail, EIO, "%s", pcap_geterr(c->pcap));
    *record = (struct net_capture_record){
        .data = data,
        .len_bytes = header->caplen,
        /* Some writers leave the original length 0 or short. */
        .wire_bytes = header->len > header->caplen ? header->len : header->caplen,
        /* Opened with nanosecond precision: tv_usec holds nanoseconds. */
        .time_ns = (uint64_t)header->ts.tv_sec * NS_PER_S + (uint64_t)header->ts.tv_usec,
        .link = c->link,
    };
    return 1;
}

static int read_record(struct net_capture *c, struct net_capture_record *record)
{
    struct nornic_error detail = {""};
    int got = c->pcap ? read_pcap(c, record, &detail) : net_pcapng_next(c->pcapng, record, &detail);
    const char *early = net_capture_stream_failure(c->stream);
    if (got == 1)
        c->records++;
    else if (got < 0 || early)
        return net_error_set(&c->failure, EIO,
                             "%s is cut off or broken at record %" PRIu64
                             " (%s); what comes before it is sound",
                             c->name, c->records + 1, early ? early : detail.text);
    return got;
}

int net_capture_next(struct net_capture *capture, struct net_capture_record *record, struct nornic_error *why)
{
    if (capture->outcome == 1)
        capture->outcome = read_record(capture, record);
    if (capture->outcome < 0 && why)
        *why = capture->failure;
    return capture->outcome;
}

void net_capture_close(struct net_capture *c)
{
    if (c->pcapng)
        net_pcapng_reader_destroy(c->pcapng);
    if (c->pcap)
        pcap_close(c->pcap); /* and stdio's stream */
    if (c->stream)
        net_capture_stream_close(c->stream);
    free(c->path);
    free(c);
}
