/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "cli/sniff/live.h"

#include <errno.h>
#include <pcap/pcap.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_BYTES (64 << 20) /* 8192 slots of two pages: a frame of SNIFF_SNAP_BYTES takes one */

/* libpcap has no names inside TCP over IPv6, so that its offsets stand here as numbers: 40 bytes of IPv6,
 * then the data offset at byte 12 and the flags at byte 13 of TCP. A SYN counts where it has options; what
 * they are sniff_is_smc_handshake() sees. 0xe2d4c3d9 opens every CLC message of SMC-R. */
const char sniff_live_filter[] = "ether proto 0x8915 or udp dst port 4791"
                                 " or (tcp[13] & 2 != 0 and tcp[12] & 0xf0 > 0x50)"
                                 " or tcp[(tcp[12] & 0xf0) >> 2 : 4] = 0xe2d4c3d9"
                                 " or (ip6[6] = 6 and ip6[53] & 2 != 0 and ip6[52] & 0xf0 > 0x50)"
                                 " or (ip6[6] = 6 and ip6[40 + ((ip6[52] & 0xf0) >> 2) : 4] = 0xe2d4c3d9)";

const char sniff_live_tcp_filter[] = "ether proto 0x8915 or udp dst port 4791 or tcp";

struct sniff_live {
    pcap_t *pcap;
    const char *ifname;
};

static int fail_activate(int status, const char *ifname, const char *detail, struct nornic_error *why)
{
    if (status == PCAP_ERROR_NO_SUCH_DEVICE)
        return net_error_set(why, ENODEV, "there is no interface %s; `ip link` lists those there are",
                             ifname);
    if (status == PCAP_ERROR_PERM_DENIED || status == PCAP_ERROR_PROMISC_PERM_DENIED)
        return net_error_set(why, EPERM, "capturing on %s needs root, or the capability CAP_NET_RAW", ifname);
    if (status == PCAP_ERROR_IFACE_NOT_UP)
        return net_error_set(why, ENETDOWN, "interface %s is down; `ip link set %s up` brings it up", ifname,
                             ifname);
    return net_error_set(why, EIO, "cannot capture on %s: %s", ifname,
                         *detail ? detail : pcap_statustostr(status));
}

static int check_link_type(pcap_t *pcap, const char *ifname, struct nornic_error *why)
{
    if (pcap_datalink(pcap) == DLT_EN10MB)
        return 0;
    const char *name = pcap_datalink_val_to_name(pcap_datalink(pcap));
    return net_error_set(why, EPROTONOSUPPORT,
                         "%s gives frames of link type %s, not Ethernet; name one interface", ifname,
                         name ? name : "unknown");
}

static int set_filter(pcap_t *pcap, const char *ifname, const char *filter, struct nornic_error *why)
{
    struct bpf_program program;
    if (pcap_compile(pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN) != 0)
        return net_error_set(why, EINVAL, "cannot compile the filter for %s: %s", ifname, pcap_geterr(pcap));
    int status = pcap_setfilter(pcap, &program);
    pcap_freecode(&program);
    if (status != 0)
        return net_error_set(why, EIO, "cannot set the filter on %s: %s", ifname, pcap_geterr(pcap));
    return 0;
}

/* Options before the activation cannot fail: the handle is not active. */
static int activate(pcap_t *pcap, const char *ifname, bool promiscuous, const char *filter,
                    unsigned snap_bytes, struct nornic_error *why)
{
    char detail[PCAP_ERRBUF_SIZE] = "";
    pcap_set_snaplen(pcap, (int)snap_bytes);
    pcap_set_promisc(pcap, promiscuous);
    pcap_set_immediate_mode(pcap, 1);
    pcap_set_buffer_size(pcap, BUFFER_BYTES);
    pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO);
    int status = pcap_activate(pcap);
    if (status < 0)
        return fail_activate(status, ifname, pcap_geterr(pcap), why);
    int err = check_link_type(pcap, ifname, why);
    if (!err && filter)
        err = set_filter(pcap, ifname, filter, why);
    if (!err && pcap_setnonblock(pcap, 1, detail) != 0)
        err = net_error_set(why, EIO, "cannot capture on %s: %s", ifname, detail);
    return err;
}

int sniff_live_open(const char *ifname, bool promiscuous, const char *filter, unsigned snap_bytes,
                    struct sniff_live **out, struct nornic_error *why)
{
    char detail[PCAP_ERRBUF_SIZE] = "";
    struct sniff_live *live = calloc(1, sizeof *live);
    if (!live)
        return net_error_set(why, ENOMEM, "no memory to capture on %s", ifname);
    live->ifname = ifname;
    live->pcap = pcap_create(ifname, detail);
    if (!live->pcap) {
        free(live);
        return net_error_set(why, EIO, "cannot capture on %s: %s", ifname, detail);
    }
    int err = activate(live->pcap, ifname, promiscuous, filter, snap_bytes, why);
    if (err) {
        sniff_live_close(live);
        return err;
    }
    *out = live;
    return 0;
}

int sniff_live_fd(const struct sniff_live *live)
{
    return pcap_get_selectable_fd(live->pcap);
}

int sniff_live_next(struct sniff_live *live, struct net_capture_record *record, struct nornic_error *why)
{
    struct pcap_pkthdr *header;
    const u_char *data;
    int got = pcap_next_ex(live->pcap, &header, &data);
    if (got == 0)
        return 0;
    if (got < 0)
        return net_error_set(why, EIO, "the capture on %s ended: %s", live->ifname, pcap_geterr(live->pcap));
    *record = (struct net_capture_record){
        .data = data,
        .len_bytes = header->caplen,
        .wire_bytes = header->len,
        .time_ns = (uint64_t)header->ts.tv_sec * NS_PER_S + (uint64_t)header->ts.tv_usec, /* nanoseconds */
    };
    return 1;
}

uint64_t sniff_live_dropped(struct sniff_live *live)
{
    struct pcap_stat stat;
    return pcap_stats(live->pcap, &stat) == 0 ? stat.ps_drop : 0;
}

void sniff_live_close(struct sniff_live *live)
{
    pcap_close(live->pcap);
    free(live);
}
