/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of the golden captures, and pieces of them, taken apart. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "explain/packet/packet.h"

static unsigned layer_of(const struct explain_packet *p, const char *key)
{
    for (unsigned i = 0; i < p->layer_count; i++)
        if (strcmp(p->layers[i].kind->key, key) == 0)
            return i;
    return EXPLAIN_LAYERS_MAX;
}

static const struct net_field *field_of(const struct explain_packet *p, unsigned layer, const char *name)
{
    const struct net_header *h = p->layers[layer].kind->header;
    for (unsigned i = 0; i < h->field_count; i++)
        if (strcmp(h->fields[i].name, name) == 0)
            return &h->fields[i];
    cr_assert_fail("no field %s", name);
    return NULL;
}

/* "key.name" of a packet as text. */
static const char *text_of(const struct explain_packet *p, const char *key, const char *name)
{
    static char text[256];
    unsigned layer = layer_of(p, key);
    cr_assert_lt(layer, EXPLAIN_LAYERS_MAX, "no layer %s", key);
    return explain_field_text(p, layer, field_of(p, layer, name), text, sizeof text);
}

/* The n-th frame of a capture. */
static struct explain_packet frame_of(const char *path, uint64_t n)
{
    static uint8_t bytes[10000];
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    struct explain_packet p;
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    for (uint64_t i = 0; i < n; i++)
        cr_assert_eq(net_capture_next(capture, &record, &why), 1);
    cr_assert_leq(record.len_bytes, sizeof bytes);
    memcpy(bytes, record.data, record.len_bytes);
    net_capture_close(capture);
    record.data = bytes;
    explain_dissect(&p, &record, n);
    return p;
}

Test(dissect, a_send)
{
    struct explain_packet p = frame_of("pcaps/rc_send_1024.pcap", 3);
    cr_assert_eq(p.kind, EXPLAIN_ROCE);
    cr_assert_eq(p.verdict, ROCE_RX_TAKEN);
    static const char *const keys[] = {"eth", "ip", "udp", "bth"};
    cr_assert_eq(p.layer_count, 4);
    for (unsigned i = 0; i < 4; i++)
        cr_assert_str_eq(p.layers[i].kind->key, keys[i]);
    cr_assert_str_eq(text_of(&p, "ip", "src"), "10.77.0.1");
    cr_assert_str_eq(text_of(&p, "ip", "dst"), "10.77.0.2");
    cr_assert_str_eq(text_of(&p, "udp", "dst_port"), "4791");
    cr_assert_str_eq(text_of(&p, "bth", "pkey"), "0xffff");
    cr_assert_eq(p.payload_offset + p.payload_bytes + p.roce.bth.pad_count + 4, p.len_bytes);
    cr_assert_eq(p.payload_bytes, p.roce.payload_bytes);
}

Test(dissect, a_connection_request)
{
    struct explain_packet p = frame_of("pcaps/cm_rping.pcap", 1);
    for (uint64_t n = 1; p.kind != EXPLAIN_CM; n++)
        p = frame_of("pcaps/cm_rping.pcap", n);
    cr_assert_lt(layer_of(&p, "cm_req"), EXPLAIN_LAYERS_MAX);
    cr_assert_lt(layer_of(&p, "cm_path"), EXPLAIN_LAYERS_MAX);
    cr_assert_eq(layer_of(&p, "cm_alt_path"), EXPLAIN_LAYERS_MAX);
    cr_assert_lt(layer_of(&p, "cm_ip"), EXPLAIN_LAYERS_MAX);
    cr_assert_str_eq(text_of(&p, "mad", "attr_id"), "REQ (0x0010)");
    cr_assert_eq(strncmp(text_of(&p, "cm_path", "local_gid"), "10.77.0.", 8), 0);
}

Test(dissect, a_tag_and_ipv6)
{
    struct explain_packet p = frame_of("pcaps/rc_vlan.pcap", 1);
    cr_assert_lt(layer_of(&p, "vlan"), EXPLAIN_LAYERS_MAX);
    p = frame_of("pcaps/rc_ipv6_send_1024.pcap", 1);
    for (uint64_t n = 2; p.kind != EXPLAIN_ROCE; n++)
        p = frame_of("pcaps/rc_ipv6_send_1024.pcap", n);
    cr_assert_str_eq(p.layers[1].kind->key, "ip6");
    cr_assert_eq(strncmp(text_of(&p, "ip6", "src"), "fd77::", 6), 0);
}

/* Layers lie inside the frame, one after the other, whatever is cut off. */
Test(dissect, every_frame_of_every_capture_at_every_length)
{
    glob_t found;
    cr_assert_eq(glob("pcaps/*.pcap", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct net_capture *capture;
        struct net_capture_record record;
        struct nornic_error why;
        cr_assert_eq(net_capture_open(found.gl_pathv[i], &capture, &why), 0, "%s", why.text);
        for (uint64_t n = 1; net_capture_next(capture, &record, &why) == 1; n++) {
            uint32_t whole = record.len_bytes, step = whole > 400 ? 37 : 3;
            for (uint32_t len = n % step; len <= whole;
                 len += len + step > whole && len < whole ? whole - len : step) {
                struct explain_packet p;
                record.len_bytes = len;
                explain_dissect(&p, &record, n);
                for (unsigned l = 0; l < p.layer_count; l++)
                    cr_assert_leq(p.layers[l].offset + p.layers[l].len_bytes, len);
                cr_assert_leq(p.payload_offset + p.payload_bytes, len);
            }
        }
        net_capture_close(capture);
    }
    globfree(&found);
}
