/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/capture/pcapng_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES (1u << 20)

/* Block types and option codes: draft-ietf-opsawg-pcapng, sections 4 and 3.5. Numbers are written in this
 * machine's byte order, which the magic tells a reader. */
#define BLOCK_SECTION      0x0a0d0d0au
#define BLOCK_INTERFACE    0x00000001u
#define BLOCK_PACKET       0x00000006u
#define BYTE_ORDER_MAGIC   0x1a2b3c4du
#define LINKTYPE_ETHERNET  1
#define OPT_END            0
#define OPT_SHB_USERAPPL   4
#define OPT_IF_NAME        2
#define OPT_IF_TSRESOL     9
#define OPT_EPB_FLAGS      2
#define TSRESOL_NANO       9 /* 10 to the minus 9 */
#define SECTION_LEN_NONE   UINT64_MAX
#define IF_NAME_MAX        255
#define PACKET_BLOCK_EXTRA 64 /* more than all of a packet block but its frame */

struct net_pcapng_writer {
    int fd;
    int error;
    uint32_t used;
    uint64_t written_bytes;
    uint8_t buffer[BUFFER_BYTES];
};

static uint8_t *put_u16(uint8_t *p, uint16_t v)
{
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static uint8_t *put_u32(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

static uint8_t *put_u64(uint8_t *p, uint64_t v)
{
    memcpy(p, &v, sizeof v);
    return p + sizeof v;
}

/* Bytes, then zeros up to a multiple of four. */
static uint8_t *put_padded(uint8_t *p, const void *src, uint32_t len_bytes)
{
    memcpy(p, src, len_bytes);
    uint32_t pad_bytes = -len_bytes & 3;
    memset(p + len_bytes, 0, pad_bytes);
    return p + len_bytes + pad_bytes;
}

static uint8_t *put_option(uint8_t *p, uint16_t code, const void *value, uint16_t len_bytes)
{
    p = put_u16(p, code);
    p = put_u16(p, len_bytes);
    return put_padded(p, value, len_bytes);
}

/* Closes the block that began at `block`: its length stands behind the type and once more at the end. */
static void end_block(struct net_pcapng_writer *writer, uint8_t *block, uint8_t *p)
{
    uint32_t len_bytes = (uint32_t)(p + 4 - block);
    put_u32(block + 4, len_bytes);
    put_u32(p, len_bytes);
    writer->used += len_bytes;
}

static void append_section(struct net_pcapng_writer *writer)
{
    static const char application[] = "nornic";
    uint8_t *block = writer->buffer + writer->used;
    uint8_t *p = put_u32(block, BLOCK_SECTION) + 4;
    p = put_u32(p, BYTE_ORDER_MAGIC);
    p = put_u16(p, 1); /* version 1.0 */
    p = put_u16(p, 0);
    p = put_u64(p, SECTION_LEN_NONE);
    p = put_option(p, OPT_SHB_USERAPPL, application, sizeof application - 1);
    p = put_option(p, OPT_END, "", 0);
    end_block(writer, block, p);
}

static void append_interface(struct net_pcapng_writer *writer, const char *if_name)
{
    static const uint8_t resolution = TSRESOL_NANO;
    uint8_t *block = writer->buffer + writer->used;
    uint8_t *p = put_u32(block, BLOCK_INTERFACE) + 4;
    p = put_u16(p, LINKTYPE_ETHERNET);
    p = put_u16(p, 0);
    p = put_u32(p, NET_PCAPNG_SNAP_BYTES);
    p = put_option(p, OPT_IF_NAME, if_name, (uint16_t)strnlen(if_name, IF_NAME_MAX));
    p = put_option(p, OPT_IF_TSRESOL, &resolution, sizeof resolution);
    p = put_option(p, OPT_END, "", 0);
    end_block(writer, block, p);
}

void net_pcapng_append(struct net_pcapng_writer *writer, const uint8_t *frame, uint32_t len_bytes,
                       uint64_t time_ns, enum net_pcapng_direction direction)
{
    net_pcapng_append_cut(writer, frame, len_bytes, len_bytes, time_ns, direction);
}

void net_pcapng_append_cut(struct net_pcapng_writer *writer, const uint8_t *frame, uint32_t len_bytes,
                           uint32_t wire_bytes, uint64_t time_ns, enum net_pcapng_direction direction)
{
    uint32_t kept_bytes = len_bytes < NET_PCAPNG_SNAP_BYTES ? len_bytes : NET_PCAPNG_SNAP_BYTES;
    if (kept_bytes + PACKET_BLOCK_EXTRA > BUFFER_BYTES - writer->used)
        net_pcapng_flush(writer);
    if (writer->error)
        return;
    uint32_t flags = direction;
    uint8_t *block = writer->buffer + writer->used;
    uint8_t *p = put_u32(block, BLOCK_PACKET) + 4;
    p = put_u32(p, 0); /* the first interface */
    p = put_u32(p, (uint32_t)(time_ns >> 32));
    p = put_u32(p, (uint32_t)time_ns);
    p = put_u32(p, kept_bytes);
    p = put_u32(p, wire_bytes);
    p = put_padded(p, frame, kept_bytes);
    p = put_option(p, OPT_EPB_FLAGS, &flags, sizeof flags);
    p = put_option(p, OPT_END, "", 0);
    end_block(writer, block, p);
}

/* After a write that failed behind `done` bytes of the buffer: the file ends with the last whole block of
 * them. A pipe keeps what it took. */
static void end_with_whole_block(struct net_pcapng_writer *writer, uint32_t done)
{
    uint32_t whole = 0, len_bytes;
    while (whole < done) {
        memcpy(&len_bytes, writer->buffer + whole + 4, sizeof len_bytes);
        if (len_bytes > done - whole)
            break;
        whole += len_bytes;
    }
    writer->written_bytes += whole;
    int ignored = ftruncate(writer->fd, (off_t)writer->written_bytes);
    (void)ignored;
}

void net_pcapng_flush(struct net_pcapng_writer *writer)
{
    uint32_t done = 0;
    if (writer->error)
        return;
    while (done < writer->used && !writer->error) {
        ssize_t n = write(writer->fd, writer->buffer + done, writer->used - done);
        if (n >= 0)
            done += (uint32_t)n;
        else if (errno != EINTR)
            writer->error = errno;
    }
    if (writer->error)
        end_with_whole_block(writer, done);
    else
        writer->written_bytes += done;
    writer->used = 0;
}

uint64_t net_pcapng_bytes(const struct net_pcapng_writer *writer)
{
    return writer->written_bytes + writer->used;
}

bool net_pcapng_is_pending(const struct net_pcapng_writer *writer)
{
    return writer->used > 0;
}

int net_pcapng_errno(const struct net_pcapng_writer *writer)
{
    return writer->error;
}

int net_pcapng_create(const char *path, const char *if_name, struct net_pcapng_writer **out,
                      struct nornic_error *why)
{
    struct net_pcapng_writer *writer = malloc(sizeof *writer);
    if (!writer)
        return net_error_set(why, ENOMEM, "no memory to write %s", path);
    writer->error = 0;
    writer->used = 0;
    writer->written_bytes = 0;
    writer->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->fd < 0) {
        int error = errno;
        free(writer);
        return net_error_set(why, error, "cannot write the capture %s: %s", path, strerror(error));
    }
    append_section(writer);
    append_interface(writer, if_name);
    net_pcapng_flush(writer);
    if (writer->error) {
        int error = writer->error;
        net_pcapng_close(writer);
        return net_error_set(why, error, "cannot write the capture %s: %s", path, strerror(error));
    }
    *out = writer;
    return 0;
}

void net_pcapng_close(struct net_pcapng_writer *writer)
{
    net_pcapng_flush(writer);
    close(writer->fd);
    free(writer);
}
