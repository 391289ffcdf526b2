/* SPDX-License-Identifier: BSD-2-Clause */
/* pcapng of several interfaces, and gzip, as other programs write them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "net/bytes.h"
#include "net/pcap_file.h"
#include "test/net/memfile.h"

/* A pcapng file under construction, in either byte order. */
struct image {
    uint8_t bytes[4096];
    size_t len;
    bool big_endian;
};

static void put32(struct image *f, uint32_t v)
{
    put_be32(f->bytes + f->len, f->big_endian ? v : __builtin_bswap32(v));
    f->len += 4;
}

static void put16(struct image *f, uint16_t v)
{
    put_be16(f->bytes + f->len, f->big_endian ? v : __builtin_bswap16(v));
    f->len += 2;
}

static size_t begin(struct image *f, uint32_t type)
{
    size_t at = f->len;
    put32(f, type);
    put32(f, 0);
    return at;
}

static void end(struct image *f, size_t at)
{
    while (f->len % 4)
        f->bytes[f->len++] = 0;
    uint32_t total = (uint32_t)(f->len + 4 - at);
    put32(f, total);
    size_t len = f->len;
    f->len = at + 4;
    put32(f, total);
    f->len = len;
}

static void section(struct image *f)
{
    size_t at = begin(f, 0x0a0d0d0a);
    put32(f, 0x1a2b3c4d);
    put16(f, 1);
    put16(f, 0);
    put32(f, UINT32_MAX);
    put32(f, UINT32_MAX);
    end(f, at);
}

/* `tsresol` 0: the option is left out; `offset_s` likewise. */
static void interface(struct image *f, uint16_t link_type, uint32_t snap, uint8_t tsresol, uint32_t offset_s)
{
    size_t at = begin(f, 1);
    put16(f, link_type);
    put16(f, 0);
    put32(f, snap);
    if (tsresol) {
        put16(f, 9);
        put16(f, 1);
        f->bytes[f->len++] = tsresol;
        f->len += 3;
    }
    if (offset_s) {
        put16(f, 14);
        put16(f, 8);
        put32(f, f->big_endian ? 0 : offset_s);
        put32(f, f->big_endian ? offset_s : 0);
    }
    if (tsresol || offset_s)
        put32(f, 0);
    end(f, at);
}

static void packet(struct image *f, uint32_t id, uint64_t units, const char *data, uint32_t wire)
{
    size_t at = begin(f, 6);
    put32(f, id);
    put32(f, (uint32_t)(units >> 32));
    put32(f, (uint32_t)units);
    put32(f, (uint32_t)strlen(data));
    put32(f, wire);
    memcpy(f->bytes + f->len, data, strlen(data));
    f->len += strlen(data);
    end(f, at);
}

static void simple_packet(struct image *f, const char *data, uint32_t wire)
{
    size_t at = begin(f, 3);
    put32(f, wire);
    memcpy(f->bytes + f->len, data, strlen(data));
    f->len += strlen(data);
    end(f, at);
}

static struct net_capture *opened(struct memfile *file, const void *bytes, size_t len)
{
    struct net_capture *capture;
    struct nornic_error why;
    *file = memfile_create();
    memfile_set(file, bytes, len);
    cr_assert_eq(net_capture_open(file->path, &capture, &why), 0, "%s", why.text);
    return capture;
}

static void expect_record(struct net_capture *capture, enum net_link link, const char *data, uint32_t wire,
                          uint64_t time_ns)
{
    struct net_capture_record r;
    struct nornic_error why = {""};
    cr_assert_eq(net_capture_next(capture, &r, &why), 1, "%s", why.text);
    cr_expect_eq(r.link, link);
    cr_expect_eq(r.len_bytes, strlen(data));
    cr_expect_arr_eq(r.data, data, strlen(data));
    cr_expect_eq(r.wire_bytes, wire);
    cr_expect_eq(r.time_ns, time_ns, "%llu", (unsigned long long)r.time_ns);
}

static void image_of_many_interfaces(struct image *f)
{
    section(f);
    interface(f, 1, 96, 0, 0);
    interface(f, 276, 65535, 9, 0);
    packet(f, 0, 1700000000000001, "ethernet", 100); /* microseconds */
    interface(f, 101, 0, 0x80 | 10, 1000);           /* 2^-10 s, behind a packet, 1000 s late */
    packet(f, 1, 1700000000000000002, "cooked", 6);
    packet(f, 2, 2048 + 512, "raw", 3);
    interface(f, 249, 0, 3, 0); /* USB: there is nothing to read in it */
    packet(f, 3, 7, "other", 5);
    simple_packet(f, "short", 5);
    section(f); /* begins anew, also with interfaces */
    interface(f, 0, 0, 0, 0);
    packet(f, 0, 3, "loop", 4);
}

Test(pcapng_reader, interfaces_that_differ_in_link_type_snap_length_and_clock)
{
    for (int big_endian = 0; big_endian < 2; big_endian++) {
        struct image f = {.big_endian = big_endian};
        struct memfile file;
        struct net_capture_record r;
        image_of_many_interfaces(&f);
        struct net_capture *capture = opened(&file, f.bytes, f.len);
        expect_record(capture, NET_LINK_ETHERNET, "ethernet", 100, UINT64_C(1700000000000001000));
        expect_record(capture, NET_LINK_SLL2, "cooked", 6, UINT64_C(1700000000000000002));
        expect_record(capture, NET_LINK_IP, "raw", 3, UINT64_C(1002500000000));
        expect_record(capture, NET_LINK_OTHER, "other", 5, 7000000);
        expect_record(capture, NET_LINK_ETHERNET, "short", 5, 7000000);
        expect_record(capture, NET_LINK_NULL, "loop", 4, 3000);
        cr_expect_eq(net_capture_next(capture, &r, NULL), 0);
        net_capture_close(capture);
        memfile_close(&file);
    }
}

/* dumpcap writes the interfaces in the order in which they were named: a first one that is not read does not
 * hide the others. Where there is no other before the packets begin, the file is refused. */
Test(pcapng_reader, the_first_interface_may_be_of_a_type_that_is_not_read)
{
    static struct image f;
    struct memfile file;
    struct net_capture *capture;
    struct nornic_error why;
    section(&f);
    interface(&f, 239, 0, 0, 0); /* NFLOG */
    size_t first_end = f.len;
    interface(&f, 1, 0, 0, 0);
    packet(&f, 0, 7, "other", 5);
    packet(&f, 1, 8, "ethernet", 8);
    capture = opened(&file, f.bytes, f.len);
    expect_record(capture, NET_LINK_OTHER, "other", 5, 7000);
    expect_record(capture, NET_LINK_ETHERNET, "ethernet", 8, 8000);
    net_capture_close(capture);
    f.len = first_end;
    for (int has_packet = 0; has_packet < 2; has_packet++) {
        memfile_set(&file, f.bytes, f.len);
        cr_expect_eq(net_capture_open(file.path, &capture, &why), -EPROTONOSUPPORT);
        cr_expect(strstr(why.text, "link type 239"), "%s", why.text);
        packet(&f, 0, 7, "other", 5);
        interface(&f, 1, 0, 0, 0);
    }
    memfile_close(&file);
}

Test(pcapng_reader, a_file_cut_anywhere_gives_what_is_whole_and_says_the_rest)
{
    struct image f = {0};
    image_of_many_interfaces(&f);
    for (size_t len = 0; len <= f.len; len++) {
        struct memfile file = memfile_create();
        struct net_capture *capture;
        struct net_capture_record r;
        struct nornic_error why = {""};
        memfile_set(&file, f.bytes, len);
        int got = net_capture_open(file.path, &capture, &why);
        if (got == 0) {
            while ((got = net_capture_next(capture, &r, &why)) == 1)
                continue;
            net_capture_close(capture);
        }
        cr_expect(got == 0 || (strstr(why.text, file.path) && strstr(why.text, "(")), "%zu: %s", len,
                  why.text);
        if (len == f.len)
            cr_expect_eq(got, 0);
        memfile_close(&file);
    }
}

static int first_read(const struct image *f, struct nornic_error *why)
{
    struct memfile file;
    struct net_capture_record r;
    struct net_capture *capture = opened(&file, f->bytes, f->len);
    int got = net_capture_next(capture, &r, why);
    net_capture_close(capture);
    memfile_close(&file);
    return got;
}

Test(pcapng_reader, lengths_that_lie_are_refused)
{
    struct nornic_error why;
    struct image f = {0};
    section(&f);
    interface(&f, 1, 0, 0, 0);
    size_t at = f.len;
    packet(&f, 0, 0, "12345678", 8);
    put_le32(f.bytes + at + 20, 9); /* captured */
    cr_expect_eq(first_read(&f, &why), -EIO);
    cr_expect(strstr(why.text, "longer than its block"), "%s", why.text);
    put_le32(f.bytes + at + 20, UINT32_MAX);
    cr_expect_eq(first_read(&f, &why), -EIO);
    put_le32(f.bytes + at + 20, 8);
    cr_expect_eq(first_read(&f, &why), 1);
    put_le32(f.bytes + f.len - 4, 44); /* the length behind the block */
    cr_expect_eq(first_read(&f, &why), -EIO);
    cr_expect(strstr(why.text, "two lengths differ"), "%s", why.text);
    put_le32(f.bytes + at + 4, 1u << 30);
    cr_expect_eq(first_read(&f, &why), -EIO);
    cr_expect(strstr(why.text, "a block of 1073741824 bytes"), "%s", why.text);
}

/* --- gzip --- */

static size_t packed(const uint8_t *bytes, size_t len, uint8_t *out, size_t size)
{
    z_stream z = {0};
    cr_assert_eq(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (uint8_t *)(uintptr_t)bytes;
    z.avail_in = (uInt)len;
    z.next_out = out;
    z.avail_out = (uInt)size;
    cr_assert_eq(deflate(&z, Z_FINISH), Z_STREAM_END);
    deflateEnd(&z);
    return size - z.avail_out;
}

Test(capture_gzip, packed_files_read_as_if_they_were_not_also_in_several_members)
{
    struct image f = {0};
    uint8_t gz[8192];
    image_of_many_interfaces(&f);
    for (size_t split = 0; split < f.len; split += 7) {
        struct memfile file;
        struct net_capture_record r;
        size_t n = split ? packed(f.bytes, split, gz, sizeof gz) : 0;
        n += packed(f.bytes + split, f.len - split, gz + n, sizeof gz - n);
        struct net_capture *capture = opened(&file, gz, n);
        unsigned count = 0;
        while (net_capture_next(capture, &r, NULL) == 1)
            count++;
        cr_expect_eq(count, 6, "%zu", split);
        net_capture_close(capture);
        memfile_close(&file);
    }
}

Test(capture_gzip, data_that_end_early_or_are_damaged_are_said_to_be)
{
    struct image f = {0};
    uint8_t gz[8192];
    struct nornic_error why = {""};
    image_of_many_interfaces(&f);
    size_t n = packed(f.bytes, f.len, gz, sizeof gz);
    for (int damaged = 0; damaged < 2; damaged++) {
        struct memfile file = memfile_create();
        struct net_capture *capture;
        struct net_capture_record r;
        gz[n - 6] ^= damaged ? 0xff : 0; /* in the CRC */
        memfile_set(&file, gz, damaged ? n : n - 9);
        int got = net_capture_open(file.path, &capture, &why);
        while (got == 0 && (got = net_capture_next(capture, &r, &why)) == 1)
            got = 0;
        cr_expect_eq(got, -EIO);
        cr_expect(strstr(why.text, damaged ? "the gzip data is damaged" : "the gzip data ends early"), "%s",
                  why.text);
        net_capture_close(capture);
        memfile_close(&file);
    }
}

/* `tcpdump -U -w - | gzip` and the like: each record is there as soon as it was written. */
Test(capture_stream, records_of_a_pipe_are_read_when_they_have_come, .timeout = 20)
{
    for (int gzip = 0; gzip < 2; gzip++) {
        int ends[2];
        char path[32];
        struct image f = {0};
        struct net_capture *capture;
        z_stream z = {0};
        cr_assert_eq(pipe(ends), 0);
        cr_assert_eq(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
        snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
        section(&f);
        interface(&f, 1, 0, 0, 0);
        for (unsigned i = 0; i <= 3; i++) {
            uint8_t out[4096];
            size_t n = f.len;
            memcpy(out, f.bytes, n);
            if (gzip) {
                z.next_in = f.bytes;
                z.avail_in = (uInt)f.len;
                z.next_out = out;
                z.avail_out = sizeof out;
                cr_assert_eq(deflate(&z, Z_SYNC_FLUSH), Z_OK);
                n = sizeof out - z.avail_out;
            }
            cr_assert_eq(write(ends[1], out, n), (ssize_t)n);
            if (i == 0)
                cr_assert_eq(net_capture_open(path, &capture, NULL), 0);
            else
                expect_record(capture, NET_LINK_ETHERNET, "live", 4, i * 1000);
            f.len = 0;
            packet(&f, 0, i + 1, "live", 4);
        }
        deflateEnd(&z);
        close(ends[1]);
        net_capture_close(capture);
        close(ends[0]);
    }
}
