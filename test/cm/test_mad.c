/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "roce/cm/mad.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

#include "net/pcap_file.h"
#include "roce/packet.h"
#include "test/support/tiling.h"
#include "test/support/vectors.h"

static const struct net_header *const headers[] = {
    &roce_cm_req_header,      &roce_cm_mra_header,  &roce_cm_rej_header,  &roce_cm_rep_header,
    &roce_cm_rtu_header,      &roce_cm_dreq_header, &roce_cm_drep_header, &roce_cm_sidr_req_header,
    &roce_cm_sidr_rep_header, &roce_cm_lap_header,  &roce_cm_apr_header,
};
#define HEADER_COUNT array_len(headers)

Test(mad, every_message_is_tiled_by_its_fields)
{
    for (size_t i = 0; i < HEADER_COUNT; i++) {
        test_header_tiles(headers[i]);
        cr_expect_eq(headers[i]->len_bytes, ROCE_MAD_BYTES - ROCE_MAD_HDR_BYTES, "%s", headers[i]->name);
    }
    test_header_tiles(&roce_mad_header);
    test_header_tiles(&roce_cm_path_block_header);
    test_header_tiles(&roce_cm_ip_header);
}

/* First bit and width of every field that section 16.2 places, as byte offset and highest bit of the byte. */
static void expect_at(const struct net_header *header, const char *name, unsigned byte, unsigned high_bit,
                      unsigned width_bits)
{
    for (unsigned i = 0; i < header->field_count; i++) {
        const struct net_field *f = &header->fields[i];
        if (strcmp(f->name, name) != 0)
            continue;
        cr_expect_eq(f->first_bit, byte * 8 + 7 - high_bit, "%s.%s starts at bit %u", header->name, name,
                     f->first_bit);
        cr_expect_eq(f->width_bits, width_bits, "%s.%s", header->name, name);
        return;
    }
    cr_expect_fail("%s has no field %s", header->name, name);
}

#define AT(header, name, byte, high_bit, width) \
    expect_at(&roce_cm_##header##_header, name, byte, high_bit, width)

Test(mad, ROCE_CM_10_req_fields_are_where_the_standard_draws_them)
{
    AT(req, "local_comm_id", 0, 7, 32);
    AT(req, "vendor_id", 5, 7, 24);
    AT(req, "service_id", 8, 7, 64);
    AT(req, "ca_guid", 16, 7, 64);
    AT(req, "qkey", 28, 7, 32);
    AT(req, "qpn", 32, 7, 24);
    AT(req, "responder_resources", 35, 7, 8);
    AT(req, "eecn", 36, 7, 24);
    AT(req, "initiator_depth", 39, 7, 8);
    AT(req, "remote_eecn", 40, 7, 24);
    AT(req, "remote_resp_timeout", 43, 7, 5);
    AT(req, "transport", 43, 2, 2);
    AT(req, "flow_control", 43, 0, 1);
    AT(req, "starting_psn", 44, 7, 24);
    AT(req, "local_resp_timeout", 47, 7, 5);
    AT(req, "retry_count", 47, 2, 3);
    AT(req, "pkey", 48, 7, 16);
    AT(req, "path_mtu", 50, 7, 4);
    AT(req, "rdc_exists", 50, 3, 1);
    AT(req, "rnr_retry_count", 50, 2, 3);
    AT(req, "max_cm_retries", 51, 7, 4);
    AT(req, "srq", 51, 3, 1);
    AT(req, "ext_transport", 51, 2, 3);
    AT(req, "primary", 52, 7, 44 * 8);
    AT(req, "alternate", 96, 7, 44 * 8);
    AT(req, "private_data", 140, 7, 92 * 8);
}

Test(mad, ROCE_CM_11_path_fields_are_where_the_standard_draws_them)
{
    AT(path_block, "local_lid", 0, 7, 16);
    AT(path_block, "remote_lid", 2, 7, 16);
    AT(path_block, "local_gid", 4, 7, 128);
    AT(path_block, "remote_gid", 20, 7, 128);
    AT(path_block, "flow_label", 36, 7, 20);
    AT(path_block, "packet_rate", 39, 5, 6);
    AT(path_block, "traffic_class", 40, 7, 8);
    AT(path_block, "hop_limit", 41, 7, 8);
    AT(path_block, "sl", 42, 7, 4);
    AT(path_block, "subnet_local", 42, 3, 1);
    AT(path_block, "ack_timeout", 43, 7, 5);
    AT(path_block, "sap", 43, 2, 1);
}

Test(mad, ROCE_CM_12_mra_fields_are_where_the_standard_draws_them)
{
    AT(mra, "local_comm_id", 0, 7, 32);
    AT(mra, "remote_comm_id", 4, 7, 32);
    AT(mra, "mraed_message", 8, 7, 2);
    AT(mra, "service_timeout", 9, 7, 5);
    AT(mra, "private_data", 10, 7, 222 * 8);
}

Test(mad, ROCE_CM_13_rej_fields_are_where_the_standard_draws_them)
{
    AT(rej, "local_comm_id", 0, 7, 32);
    AT(rej, "remote_comm_id", 4, 7, 32);
    AT(rej, "rejected_message", 8, 7, 2);
    AT(rej, "info_bytes", 9, 7, 7);
    AT(rej, "reason", 10, 7, 16);
    AT(rej, "info", 12, 7, 72 * 8);
    AT(rej, "private_data", 84, 7, 148 * 8);
}

Test(mad, ROCE_CM_14_rep_fields_are_where_the_standard_draws_them)
{
    AT(rep, "local_comm_id", 0, 7, 32);
    AT(rep, "remote_comm_id", 4, 7, 32);
    AT(rep, "qkey", 8, 7, 32);
    AT(rep, "qpn", 12, 7, 24);
    AT(rep, "vendor_id_high", 15, 7, 8);
    AT(rep, "eecn", 16, 7, 24);
    AT(rep, "vendor_id_mid", 19, 7, 8);
    AT(rep, "starting_psn", 20, 7, 24);
    AT(rep, "vendor_id_low", 23, 7, 8);
    AT(rep, "responder_resources", 24, 7, 8);
    AT(rep, "initiator_depth", 25, 7, 8);
    AT(rep, "target_ack_delay", 26, 7, 5);
    AT(rep, "failover", 26, 2, 2);
    AT(rep, "flow_control", 26, 0, 1);
    AT(rep, "rnr_retry_count", 27, 7, 3);
    AT(rep, "srq", 27, 4, 1);
    AT(rep, "ca_guid", 28, 7, 64);
    AT(rep, "private_data", 36, 7, 196 * 8);
}

/* covers: ROCE-CM-15, ROCE-CM-16, ROCE-CM-17 */
Test(mad, ROCE_CM_15_to_17_rtu_dreq_and_drep_are_where_the_standard_draws_them)
{
    AT(rtu, "local_comm_id", 0, 7, 32);
    AT(rtu, "remote_comm_id", 4, 7, 32);
    AT(rtu, "private_data", 8, 7, 224 * 8);
    AT(dreq, "local_comm_id", 0, 7, 32);
    AT(dreq, "remote_comm_id", 4, 7, 32);
    AT(dreq, "remote_qpn", 8, 7, 24);
    AT(dreq, "private_data", 12, 7, 220 * 8);
    AT(drep, "local_comm_id", 0, 7, 32);
    AT(drep, "remote_comm_id", 4, 7, 32);
    AT(drep, "private_data", 8, 7, 224 * 8);
}

Test(mad, ROCE_CM_18_lap_fields_are_where_the_standard_draws_them)
{
    AT(lap, "local_comm_id", 0, 7, 32);
    AT(lap, "remote_comm_id", 4, 7, 32);
    AT(lap, "remote_qpn", 12, 7, 24);
    AT(lap, "remote_resp_timeout", 15, 7, 5);
    AT(lap, "local_lid", 20, 7, 16);
    AT(lap, "remote_lid", 22, 7, 16);
    AT(lap, "local_gid", 24, 7, 128);
    AT(lap, "remote_gid", 40, 7, 128);
    AT(lap, "flow_label", 56, 7, 20);
    AT(lap, "traffic_class", 59, 7, 8);
    AT(lap, "hop_limit", 60, 7, 8);
    AT(lap, "packet_rate", 61, 5, 6);
    AT(lap, "sl", 62, 7, 4);
    AT(lap, "subnet_local", 62, 3, 1);
    AT(lap, "ack_timeout", 63, 7, 5);
    AT(lap, "private_data", 64, 7, 168 * 8);
}

Test(mad, ROCE_CM_19_apr_fields_are_where_the_standard_draws_them)
{
    AT(apr, "local_comm_id", 0, 7, 32);
    AT(apr, "remote_comm_id", 4, 7, 32);
    AT(apr, "info_bytes", 8, 7, 8);
    AT(apr, "status", 9, 7, 8);
    AT(apr, "info", 12, 7, 72 * 8);
    AT(apr, "private_data", 84, 7, 148 * 8);
}

/* covers: ROCE-CM-20, ROCE-CM-21 */
Test(mad, ROCE_CM_20_to_21_sidr_fields_are_where_the_standard_draws_them)
{
    AT(sidr_req, "request_id", 0, 7, 32);
    AT(sidr_req, "pkey", 4, 7, 16);
    AT(sidr_req, "service_id", 8, 7, 64);
    AT(sidr_req, "private_data", 16, 7, 216 * 8);
    AT(sidr_rep, "request_id", 0, 7, 32);
    AT(sidr_rep, "status", 4, 7, 8);
    AT(sidr_rep, "info_bytes", 5, 7, 8);
    AT(sidr_rep, "vendor_id_high", 6, 7, 16);
    AT(sidr_rep, "qpn", 8, 7, 24);
    AT(sidr_rep, "vendor_id_low", 11, 7, 8);
    AT(sidr_rep, "service_id", 12, 7, 64);
    AT(sidr_rep, "qkey", 20, 7, 32);
    AT(sidr_rep, "info", 24, 7, 72 * 8);
    AT(sidr_rep, "private_data", 96, 7, 136 * 8);
}

Test(mad, ROCE_CM_1_attribute_ids_name_the_messages)
{
    static const char *const names[] = {"REQ",  "MRA",      "REJ",      "REP", "RTU", "DREQ",
                                        "DREP", "SIDR_REQ", "SIDR_REP", "LAP", "APR"};
    struct roce_cm_mad mad;
    uint8_t bytes[ROCE_MAD_BYTES] = {0};
    for (uint16_t id = 0x10; id <= 0x1a; id++) {
        char title[16];
        snprintf(title, sizeof title, "CM %s", names[id - 0x10]);
        cr_expect_str_eq(roce_cm_attr_name(id), names[id - 0x10]);
        cr_expect_str_eq(roce_cm_attr_header(id)->name, title);
    }
    static const uint16_t unknown[] = {0, 0x0f, 0x1b, 0x110, 0xffff};
    for (unsigned i = 0; i < array_len(unknown); i++) {
        bytes[16] = (uint8_t)(unknown[i] >> 8);
        bytes[17] = (uint8_t)unknown[i];
        cr_expect(!roce_cm_mad_get(&mad, bytes));
        cr_expect_null(roce_cm_attr_header(unknown[i]));
        cr_expect_str_eq(roce_cm_attr_name(unknown[i]), "unknown");
    }
}

/* Any bytes under any attribute id. */
Test(mad, what_is_decoded_encodes_to_itself)
{
    for (unsigned id = ROCE_CM_ATTR_FIRST; id <= ROCE_CM_ATTR_LAST; id++) {
        uint8_t in[ROCE_MAD_BYTES], out[ROCE_MAD_BYTES];
        struct roce_cm_mad mad;
        for (unsigned i = 0; i < sizeof in; i++)
            in[i] = (uint8_t)(0x5b + 0x8d * i);
        in[16] = 0;
        in[17] = (uint8_t)id;
        memset(out, 0xa5, sizeof out);
        cr_assert(roce_cm_mad_get(&mad, in));
        roce_cm_mad_put(out, &mad);
        cr_expect_arr_eq(in, out, sizeof in, "%s", roce_cm_attr_name(id));
    }
    uint8_t in[ROCE_CM_PATH_BYTES], out[ROCE_CM_PATH_BYTES];
    struct roce_cm_path_block path;
    struct roce_cm_ip ip;
    for (unsigned i = 0; i < sizeof in; i++)
        in[i] = (uint8_t)(0x77 + 0x1d * i);
    memset(out, 0xa5, sizeof out);
    roce_cm_path_block_get(&path, in);
    roce_cm_path_block_put(out, &path);
    cr_expect_arr_eq(in, out, sizeof in);
    memset(out, 0xa5, sizeof out);
    roce_cm_ip_get(&ip, in);
    roce_cm_ip_put(out, &ip);
    cr_expect_arr_eq(in, out, ROCE_CM_IP_HDR_BYTES);
}

/* Words exist for every code of section 16.7 and for nothing else. */
Test(mad, codes_have_words)
{
    cr_expect_str_eq(roce_cm_rej_name(10), "stale connection");
    cr_expect_str_eq(roce_cm_rej_name(28), "consumer reject");
    cr_expect_str_eq(roce_cm_rej_name(31), "unsupported class version");
    for (unsigned code = 0; code < 300; code++) {
        bool known = code >= 1 && code <= 35 && code != 34;
        cr_expect_eq(strcmp(roce_cm_rej_name(code), "reserved") != 0, known, "REJ %u", code);
        cr_expect_eq(strcmp(roce_cm_apr_status_name(code), "reserved") != 0, code <= 13, "APR %u", code);
        cr_expect_eq(strcmp(roce_cm_sidr_status_name(code), "reserved") != 0, code <= 5, "SIDR_REP %u", code);
        cr_expect_eq(strcmp(roce_cm_message_name(code), "reserved") != 0, code <= 2, "about %u", code);
    }
    cr_expect_str_eq(roce_cm_transport_name(3), "extended");
}

static void hex_at(uint8_t *p, const char *hex)
{
    for (; hex[0] && hex[1]; hex += 2) {
        unsigned byte;
        sscanf(hex, "%2x", &byte);
        *p++ = (uint8_t)byte;
    }
}

static const uint8_t sender[4] = {10, 99, 0, 2}, target[4] = {10, 99, 0, 1};

/* The message of ROCE-CM-90, from its values. */
static struct roce_cm_mad worked_req(void)
{
    struct nornic_addr src = nornic_addr_from_v4(sender), dst = nornic_addr_from_v4(target);
    struct roce_cm_mad mad = {.hdr = {.base_version = 1,
                                      .mgmt_class = ROCE_MAD_CLASS_CM,
                                      .class_version = ROCE_MAD_CM_VERSION,
                                      .method = ROCE_MAD_METHOD_SEND,
                                      .tid = 0x2486568bf,
                                      .attr_id = ROCE_CM_REQ}};
    mad.req = (struct roce_cm_req){
        .local_comm_id = 0xbf686548,
        .service_id = 0x01061c06,
        .ca_guid = 0x505400fffe000002,
        .qpn = 0x2f,
        .responder_resources = 1,
        .initiator_depth = 1,
        .remote_resp_timeout = 20,
        .starting_psn = 0x667a06,
        .local_resp_timeout = 20,
        .retry_count = 7,
        .pkey = 0xffff,
        .path_mtu = 3,
        .rnr_retry_count = 7,
        .max_cm_retries = 15,
    };
    struct roce_cm_path_block path = {
        .local_lid = 0xffff, .remote_lid = 0xffff, .flow_label = 0x2266b, .hop_limit = 64, .ack_timeout = 17};
    memcpy(path.local_gid, src.b, 16);
    memcpy(path.remote_gid, dst.b, 16);
    roce_cm_path_block_put(mad.req.primary, &path);
    struct roce_cm_ip ip = {.ip_version = 4, .src_port = 0x94fb};
    roce_cm_ip_addr_put(ip.src, &src);
    roce_cm_ip_addr_put(ip.dst, &dst);
    roce_cm_ip_put(mad.req.private_data, &ip);
    return mad;
}

/* What the standard's line says, byte by byte. */
static void worked_bytes(uint8_t *mad)
{
    uint8_t *m = mad + ROCE_MAD_HDR_BYTES;
    memset(mad, 0, ROCE_MAD_BYTES);
    hex_at(mad, "010702030000000000000002486568bf0010");
    hex_at(m, "bf686548");
    hex_at(m + 8, "0000000001061c06505400fffe000002");
    hex_at(m + 32, "00002f01");
    m[39] = 1;
    hex_at(m + 43, "a0667a06a7ffff37f0ffffffff");
    hex_at(m + 66, "ffff0a630002");
    hex_at(m + 82, "ffff0a6300012266b000004000880000");
    hex_at(m + 140, "004094fb");
    memcpy(m + 156, sender, 4);
    memcpy(m + 172, target, 4);
}

Test(mad, ROCE_CM_90_worked_req_is_written_byte_for_byte)
{
    uint8_t want[ROCE_MAD_BYTES], have[ROCE_MAD_BYTES];
    struct roce_cm_mad mad = worked_req();
    worked_bytes(want);
    memset(have, 0xa5, sizeof have);
    roce_cm_mad_put(have, &mad);
    cr_expect_arr_eq(have, want, sizeof want);
}

/* Vector V17: the same message as the datagram that Linux sent, down to its ICRC. */
Test(mad, ROCE_CM_90_worked_req_has_the_icrc_of_vector_v17)
{
    const struct vector *v17 = &vectors[VECTOR_COUNT - 1];
    uint8_t frame[VECTOR_MAX_BYTES], bytes[ROCE_MAD_BYTES];
    struct roce_cm_mad mad = worked_req();
    struct roce_pkt pkt;
    cr_assert_str_eq(v17->id, "V17");
    size_t len = vector_frame(v17, -1, frame);
    cr_assert_eq(roce_pkt_parse(&pkt, frame, len, 0), ROCE_RX_TAKEN);
    cr_assert_eq(pkt.payload_bytes, ROCE_MAD_BYTES);
    roce_cm_mad_put(bytes, &mad);
    memcpy(frame + (pkt.payload - frame), bytes, sizeof bytes);
    cr_expect_eq(roce_pkt_parse(&pkt, frame, len, 0), ROCE_RX_TAKEN);
    cr_expect_eq(pkt.icrc_found, pkt.icrc_expected);
}

/* covers: ROCE-CM-61 */
Test(mad, ROCE_CM_61_addresses_of_the_private_data_header)
{
    struct nornic_addr v4 = nornic_addr_from_v4(sender), back;
    uint8_t p[16];
    roce_cm_ip_addr_put(p, &v4);
    cr_expect_arr_eq(p, ((uint8_t[16]){0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 99, 0, 2}), 16);
    cr_expect(roce_cm_ip_addr_get(&back, p, 4));
    cr_expect(nornic_addr_equal(&back, &v4));
    p[3] = 1;
    cr_expect(!roce_cm_ip_addr_get(&back, p, 4), "an IPv4 address with bytes before it");

    struct nornic_addr v6;
    cr_assert_eq(nornic_addr_parse("fd77::2", &v6), 0);
    roce_cm_ip_addr_put(p, &v6);
    cr_expect_arr_eq(p, v6.b, 16);
    cr_expect(roce_cm_ip_addr_get(&back, p, 6));
    cr_expect(nornic_addr_equal(&back, &v6));
    cr_expect(!roce_cm_ip_addr_get(&back, p, 5));
}

/* Calls `each` for every MAD of the captures. */
static unsigned for_each_mad(void (*each)(const char *where, const uint8_t *mad))
{
    glob_t captures;
    unsigned mads = 0;
    cr_assert_eq(glob("pcaps/cm_*.pcap", 0, NULL, &captures), 0,
                 "no captures; run from the root of the project");
    for (size_t i = 0; i < captures.gl_pathc; i++) {
        struct net_capture *capture;
        struct net_capture_record record;
        struct nornic_error why;
        cr_assert_eq(net_capture_open(captures.gl_pathv[i], &capture, &why), 0, "%s", why.text);
        for (unsigned n = 1; net_capture_next(capture, &record, &why) > 0; n++) {
            struct roce_pkt pkt;
            char where[200];
            if (roce_pkt_parse(&pkt, record.data, record.len_bytes, 0) != ROCE_RX_TAKEN ||
                pkt.bth.dest_qpn != 1)
                continue;
            snprintf(where, sizeof where, "%s frame %u", captures.gl_pathv[i], n);
            cr_assert_eq(pkt.payload_bytes, ROCE_MAD_BYTES, "%s", where);
            each(where, pkt.payload);
            mads++;
        }
        net_capture_close(capture);
    }
    globfree(&captures);
    return mads;
}

static unsigned seen[ROCE_CM_ATTR_COUNT];

static void expect_rebuilt(const char *where, const uint8_t *bytes)
{
    struct roce_cm_mad mad;
    uint8_t again[ROCE_MAD_BYTES];
    cr_assert(roce_cm_mad_get(&mad, bytes), "%s", where);
    seen[mad.hdr.attr_id - ROCE_CM_ATTR_FIRST]++;
    cr_expect_eq(mad.hdr.base_version, ROCE_MAD_BASE_VERSION, "%s", where);
    cr_expect_eq(mad.hdr.mgmt_class, ROCE_MAD_CLASS_CM, "%s", where);
    cr_expect_eq(mad.hdr.class_version, ROCE_MAD_CM_VERSION, "%s", where);
    cr_expect_eq(mad.hdr.method, ROCE_MAD_METHOD_SEND, "%s", where);
    memset(again, 0xa5, sizeof again);
    roce_cm_mad_put(again, &mad);
    cr_expect_arr_eq(again, bytes, sizeof again, "%s", where);
}

/* covers: ROCE-CM-1, ROCE-CM-10, ROCE-CM-13, ROCE-CM-14, ROCE-CM-15, ROCE-CM-16, ROCE-CM-17, ROCE-CM-20,
 * ROCE-CM-21 */
Test(mad, real_peers_messages_are_rebuilt_byte_for_byte)
{
    cr_expect_eq(for_each_mad(expect_rebuilt), 65);
    static const unsigned attrs[] = {ROCE_CM_REQ,  ROCE_CM_REJ,  ROCE_CM_REP,      ROCE_CM_RTU,
                                     ROCE_CM_DREQ, ROCE_CM_DREP, ROCE_CM_SIDR_REQ, ROCE_CM_SIDR_REP};
    for (unsigned i = 0; i < array_len(attrs); i++)
        cr_expect_gt(seen[attrs[i] - ROCE_CM_ATTR_FIRST], 0, "no %s in the captures",
                     roce_cm_attr_name(attrs[i]));
}

static void expect_values(const char *where, const uint8_t *bytes)
{
    struct roce_cm_mad mad;
    struct roce_cm_path_block path;
    struct roce_cm_ip ip;
    struct nornic_addr addr;
    cr_assert(roce_cm_mad_get(&mad, bytes));
    if (mad.hdr.attr_id != ROCE_CM_REQ)
        return;
    roce_cm_path_block_get(&path, mad.req.primary);
    roce_cm_ip_get(&ip, mad.req.private_data);
    cr_expect_eq(mad.req.service_id >> 16, 0x0106, "%s", where);
    cr_expect_eq(mad.req.remote_resp_timeout, 20, "%s", where);
    cr_expect_eq(mad.req.local_resp_timeout, 20, "%s", where);
    cr_expect_eq(mad.req.max_cm_retries, 15, "%s", where);
    cr_expect_eq(path.local_lid, 0xffff, "%s: LIDs are not used", where);
    cr_expect_eq(path.hop_limit, 64, "%s", where);
    cr_expect_eq(path.ack_timeout, 17, "%s", where);
    cr_expect(roce_cm_ip_addr_get(&addr, ip.src, ip.ip_version), "%s", where);
    cr_expect_arr_eq(addr.b, path.local_gid, 16, "%s", where);
    cr_expect(roce_cm_ip_addr_get(&addr, ip.dst, ip.ip_version), "%s", where);
    cr_expect_arr_eq(addr.b, path.remote_gid, 16, "%s", where);
}

/* covers: ROCE-CM-11, ROCE-CM-60, ROCE-CM-61 */
Test(mad, real_peers_requests_hold_what_rdma_cm_writes)
{
    for_each_mad(expect_values);
}
