/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/capture/pcapng_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base.h"
#include "net/bytes.h"
#include "net/wire/link.h"

#define BLOCK_MAX_BYTES  (16u << 20)
#define INTERFACES_MAX   65536
#define HEAD_BYTES       8  /* of a block: type, length */
#define FRAME_BYTES      12 /* of a block around its body: those, and the length again */
#define BYTE_ORDER_MAGIC 0x1a2b3c4d
#define TSRESOL_USUAL    6 /* microseconds */

enum block_type {
    BLOCK_SECTION = 0x0a0d0d0a,
    BLOCK_INTERFACE = 1,
    BLOCK_PACKET = 2, /* obsolete */
    BLOCK_SIMPLE_PACKET = 3,
    BLOCK_ENHANCED_PACKET = 6,
};

enum interface_option { OPTION_TSRESOL = 9, OPTION_TSOFFSET = 14 };

struct interface {
    uint16_t link_type;
    uint8_t tsresol; /* as the option has it */
    uint32_t snap_bytes;
    int64_t offset_s;
};

struct net_pcapng_reader {
    FILE *in;
    bool is_swapped; /* the section's byte order is not big endian */
    struct interface *interfaces;
    uint32_t interface_count;
    size_t interface_room;
    uint8_t *body; /* of the block that was read last */
    uint32_t body_bytes, body_cap;
    uint64_t last_ns;
};

/* --- numbers in the byte order of the section --- */

static uint16_t get16(const struct net_pcapng_reader *r, const uint8_t *p)
{
    return r->is_swapped ? __builtin_bswap16(get_be16(p)) : get_be16(p);
}

static uint32_t get32(const struct net_pcapng_reader *r, const uint8_t *p)
{
    return r->is_swapped ? __builtin_bswap32(get_be32(p)) : get_be32(p);
}

/* --- blocks --- */

static int broken(struct nornic_error *why, const char *what)
{
    return net_error_set(why, EIO, "%s", what);
}

static bool read_exactly(FILE *in, uint8_t *bytes, size_t n)
{
    return fread(bytes, 1, n, in) == n;
}

static int room_for_body(struct net_pcapng_reader *r, uint32_t bytes)
{
    if (bytes <= r->body_cap)
        return 0;
    uint8_t *grown = realloc(r->body, bytes);
    if (!grown)
        return -ENOMEM;
    r->body = grown;
    r->body_cap = bytes;
    return 0;
}

/* The byte order of a section is told by the first word of its body, behind a length that is in it. */
static int take_byte_order(struct net_pcapng_reader *r, const uint8_t magic[4], struct nornic_error *why)
{
    uint32_t value = get_be32(magic);
    if (value != BYTE_ORDER_MAGIC && value != __builtin_bswap32(BYTE_ORDER_MAGIC))
        return broken(why, "a section header without its byte order");
    r->is_swapped = value != BYTE_ORDER_MAGIC;
    r->interface_count = 0;
    return 0;
}

/* Reads a block: its type into `*type`, what lies between its lengths into body. 1, 0 (the end), or an
 * error. */
static int read_block(struct net_pcapng_reader *r, uint32_t *type, struct nornic_error *why)
{
    uint8_t head[HEAD_BYTES + 4], tail[4];
    uint32_t have = 0;
    size_t got = fread(head, 1, HEAD_BYTES, r->in);
    if (got == 0 && feof(r->in))
        return 0;
    if (got != HEAD_BYTES)
        return broken(why, "the file ends within a block");
    *type = get32(r, head);
    if (*type == BLOCK_SECTION) { /* the same in either byte order */
        have = 4;
        if (!read_exactly(r->in, head + HEAD_BYTES, have))
            return broken(why, "the file ends within a section header");
        int err = take_byte_order(r, head + HEAD_BYTES, why);
        if (err)
            return err;
    }
    uint32_t total = get32(r, head + 4);
    if (total < FRAME_BYTES + have || total % 4 || total > BLOCK_MAX_BYTES)
        return net_error_set(why, EIO, "a block of %u bytes", total);
    r->body_bytes = total - FRAME_BYTES;
    if (room_for_body(r, r->body_bytes) != 0)
        return net_error_set(why, ENOMEM, "no memory for a block of %u bytes", total);
    if (have)
        memcpy(r->body, head + HEAD_BYTES, have);
    if (!read_exactly(r->in, r->body + have, r->body_bytes - have) || !read_exactly(r->in, tail, sizeof tail))
        return broken(why, "the file ends within a block");
    if (get32(r, tail) != total)
        return broken(why, "a block whose two lengths differ");
    return 1;
}

/* --- interfaces --- */

static void take_option(const struct net_pcapng_reader *r, struct interface *i, uint16_t code,
                        const uint8_t *value, uint16_t bytes)
{
    if (code == OPTION_TSRESOL && bytes == 1)
        i->tsresol = value[0];
    if (code == OPTION_TSOFFSET && bytes == 8) {
        uint64_t offset = get_be64(value);
        i->offset_s = (int64_t)(r->is_swapped ? __builtin_bswap64(offset) : offset);
    }
}

static int take_interface(struct net_pcapng_reader *r, struct nornic_error *why)
{
    if (r->body_bytes < 8)
        return broken(why, "an interface block without its link type");
    if (r->interface_count == INTERFACES_MAX)
        return broken(why, "more interfaces than there can be");
    struct interface *interfaces =
        array_room(r->interfaces, &r->interface_room, r->interface_count + 1, sizeof *interfaces);
    if (!interfaces)
        return net_error_set(why, ENOMEM, "no memory for %u interfaces", r->interface_count + 1);
    r->interfaces = interfaces;
    struct interface *i = &r->interfaces[r->interface_count++];
    *i = (struct interface){
        .link_type = get16(r, r->body), .snap_bytes = get32(r, r->body + 4), .tsresol = TSRESOL_USUAL};
    for (uint32_t at = 8; at + 4 <= r->body_bytes;) {
        uint16_t code = get16(r, r->body + at), bytes = get16(r, r->body + at + 2);
        at += 4;
        if (code == 0 || bytes > r->body_bytes - at)
            break;
        take_option(r, i, code, r->body + at, bytes);
        at += (bytes + 3u) & ~3u;
    }
    return 0;
}

/* --- packets --- */

/* Units of the interface's clock since 1970 (its offset counted in) as nanoseconds. The highest bit of the
 * option tells powers of 2 from powers of 10. Finer ones than both sides can hold count as none. */
static uint64_t time_of(const struct interface *i, uint64_t units)
{
    unsigned exponent = i->tsresol & 0x7f;
    unsigned __int128 ns = (unsigned __int128)units * NS_PER_S;
    if (i->tsresol & 0x80) {
        ns = exponent < 128 ? ns >> exponent : 0;
    } else {
        for (unsigned n = 0; n < exponent && ns; n++)
            ns /= 10;
    }
    return (uint64_t)ns + (uint64_t)i->offset_s * NS_PER_S;
}

static int give(struct net_pcapng_reader *r, struct net_capture_record *record, uint32_t interface,
                uint32_t at, uint32_t captured, uint32_t wire, struct nornic_error *why)
{
    if (at > r->body_bytes || captured > r->body_bytes - at)
        return broken(why, "a packet that is longer than its block");
    *record = (struct net_capture_record){.data = r->body + at,
                                          .len_bytes = captured,
                                          .wire_bytes = max_u32(wire, captured),
                                          .link = net_link_of(r->interfaces[interface].link_type),
                                          .interface = interface};
    return 1;
}

static int take_enhanced(struct net_pcapng_reader *r, struct net_capture_record *record, uint32_t interface,
                         struct nornic_error *why)
{
    if (r->body_bytes < 20)
        return broken(why, "a packet block that is too short");
    if (interface >= r->interface_count)
        return net_error_set(why, EIO, "a packet of interface %u, which the file does not name", interface);
    int got = give(r, record, interface, 20, get32(r, r->body + 12), get32(r, r->body + 16), why);
    uint64_t units = (uint64_t)get32(r, r->body + 4) << 32 | get32(r, r->body + 8);
    record->time_ns = r->last_ns = time_of(&r->interfaces[interface], units);
    return got;
}

/* It has neither interface nor time: it is of the first, and as old as the packet before it. */
static int take_simple(struct net_pcapng_reader *r, struct net_capture_record *record,
                       struct nornic_error *why)
{
    if (r->body_bytes < 4)
        return broken(why, "a packet block that is too short");
    if (r->interface_count == 0)
        return broken(why, "a packet of no interface");
    uint32_t wire = get32(r, r->body), snap = r->interfaces[0].snap_bytes;
    int got = give(r, record, 0, 4, snap ? min_u32(wire, snap) : wire, wire, why);
    record->time_ns = r->last_ns;
    return got;
}

int net_pcapng_next(struct net_pcapng_reader *r, struct net_capture_record *record, struct nornic_error *why)
{
    uint32_t type;
    int got;
    while ((got = read_block(r, &type, why)) == 1) {
        int err = 0;
        switch ((enum block_type)type) {
        case BLOCK_SECTION:
            break;
        case BLOCK_INTERFACE:
            err = take_interface(r, why);
            break;
        case BLOCK_ENHANCED_PACKET:
            return take_enhanced(r, record, r->body_bytes >= 4 ? get32(r, r->body) : 0, why);
        case BLOCK_PACKET:
            return take_enhanced(r, record, r->body_bytes >= 4 ? get16(r, r->body) : 0, why);
        case BLOCK_SIMPLE_PACKET:
            return take_simple(r, record, why);
        }
        if (err)
            return err;
    }
    return got;
}

/* --- the reader --- */

static bool is_packet(uint32_t type)
{
    return type == BLOCK_PACKET || type == BLOCK_SIMPLE_PACKET || type == BLOCK_ENHANCED_PACKET;
}

static const struct interface *first_that_is_read(const struct net_pcapng_reader *r)
{
    for (uint32_t i = 0; i < r->interface_count; i++)
        if (net_link_of(r->interfaces[i].link_type) != NET_LINK_OTHER)
            return &r->interfaces[i];
    return NULL;
}

/* No packet is read, so that none is lost if there is one. */
static int look_for_another(struct net_pcapng_reader *r, struct nornic_error *why)
{
    uint32_t type = 0;
    int err = 0;
    while (!err && !first_that_is_read(r) && read_block(r, &type, why) == 1 && !is_packet(type))
        if (type == BLOCK_INTERFACE)
            err = take_interface(r, why);
    return err;
}

int net_pcapng_reader_create(FILE *in, struct net_pcapng_reader **out, struct nornic_error *why)
{
    struct net_pcapng_reader *r = calloc(1, sizeof *r);
    if (!r)
        return net_error_set(why, ENOMEM, "no memory for it");
    r->in = in;
    uint32_t type = 0;
    int got = read_block(r, &type, why);
    while (got == 1 && type != BLOCK_INTERFACE && !is_packet(type))
        got = read_block(r, &type, why);
    int err = got == 1 && type == BLOCK_INTERFACE ? take_interface(r, why)
              : got < 0                           ? got
                                                  : broken(why, "there is no interface in it");
    err = err ? err : look_for_another(r, why);
    if (err) {
        net_pcapng_reader_destroy(r);
        return err == -ENOMEM ? err : -EINVAL;
    }
    *out = r;
    return 0;
}

int net_pcapng_first_link_type(const struct net_pcapng_reader *r)
{
    const struct interface *read = first_that_is_read(r);
    return (read ? read : &r->interfaces[0])->link_type;
}

void net_pcapng_reader_destroy(struct net_pcapng_reader *r)
{
    free(r->interfaces);
    free(r->body);
    free(r);
}
