/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* memfd_create */
#include "test/net/memfile.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/bytes.h"

struct memfile memfile_create(void)
{
    struct memfile file = {.fd = memfd_create("capture", MFD_CLOEXEC)};
    cr_assert_geq(file.fd, 0);
    snprintf(file.path, sizeof file.path, "/proc/%d/fd/%d", (int)getpid(), file.fd);
    return file;
}

void memfile_close(struct memfile *file)
{
    close(file->fd);
}

void memfile_set(struct memfile *file, const void *bytes, size_t len_bytes)
{
    cr_assert_eq(ftruncate(file->fd, 0), 0);
    cr_assert_eq(pwrite(file->fd, bytes, len_bytes, 0), (ssize_t)len_bytes);
}

size_t memfile_size(const struct memfile *file)
{
    struct stat st;
    cr_assert_eq(fstat(file->fd, &st), 0);
    return (size_t)st.st_size;
}

static void add_u16(struct pcap_image *image, uint16_t v)
{
    uint8_t *p = image->bytes + image->len_bytes;
    put_be16(p, image->big_endian ? v : (uint16_t)(v << 8 | v >> 8));
    image->len_bytes += 2;
}

static void add_u32(struct pcap_image *image, uint32_t v)
{
    uint8_t *p = image->bytes + image->len_bytes;
    if (image->big_endian)
        put_be32(p, v);
    else
        put_le32(p, v);
    image->len_bytes += 4;
}

void pcap_image_init(struct pcap_image *image, int big_endian, int nano, uint32_t link_type)
{
    image->len_bytes = 0;
    image->big_endian = big_endian;
    image->nano = nano;
    add_u32(image, nano ? 0xa1b23c4d : 0xa1b2c3d4);
    add_u16(image, 2);
    add_u16(image, 4);
    add_u32(image, 0);
    add_u32(image, 0);
    add_u32(image, 262144);
    add_u32(image, link_type);
}

void pcap_image_add(struct pcap_image *image, uint64_t time_ns, const uint8_t *frame, uint32_t len_bytes,
                    uint32_t wire_bytes)
{
    cr_assert_leq(image->len_bytes + 16 + len_bytes, sizeof image->bytes);
    add_u32(image, (uint32_t)(time_ns / 1000000000));
    add_u32(image, (uint32_t)(time_ns % 1000000000) / (image->nano ? 1 : 1000));
    add_u32(image, len_bytes);
    add_u32(image, wire_bytes);
    memcpy(image->bytes + image->len_bytes, frame, len_bytes);
    image->len_bytes += len_bytes;
}
