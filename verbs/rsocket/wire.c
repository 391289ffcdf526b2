/* SPDX-License-Identifier: BSD-2-Clause */
/* What rsockets write to each other. */
#include <endian.h>
#include <string.h>

#include "net/bytes.h"
#include "verbs/rsocket/rsocket.h"

#define VERSION        1
#define FLAG_BIG       0x01 /* lists are written with the most significant byte first */
#define FLAG_HAS_IOMAP 0x02 /* the list is followed by one of mappings */

static uint8_t *put_sge_be(const struct rs_sge *sge, uint8_t *p)
{
    p = put_be64(p, sge->addr);
    p = put_be32(p, sge->key);
    return put_be32(p, sge->len_bytes);
}

static struct rs_sge get_sge_be(const uint8_t *p)
{
    return (struct rs_sge){.addr = get_be64(p), .key = get_be32(p + 8), .len_bytes = get_be32(p + 12)};
}

void rs_put_conn_data(const struct rs_conn_data *data, uint8_t *p)
{
    p = put_u8(p, VERSION);
    p = put_u8(p, (uint8_t)(FLAG_HAS_IOMAP | (data->is_big_endian ? FLAG_BIG : 0)));
    p = put_be16(p, data->credits);
    p = put_be24(p, 0);
    p = put_u8(p, data->iomaps);
    p = put_sge_be(&data->sgl, p);
    put_sge_be(&data->data, p);
}

bool rs_get_conn_data(const uint8_t *p, size_t len_bytes, struct rs_conn_data *out)
{
    if (!p || len_bytes < RS_CONN_DATA_BYTES || p[0] != VERSION)
        return false;
    bool has_iomap = p[1] & FLAG_HAS_IOMAP;
    *out = (struct rs_conn_data){
        .is_big_endian = p[1] & FLAG_BIG,
        .credits = get_be16(p + 2),
        /* More than 128 are said in another way, of which the first 128 are as good. */
        .iomaps = has_iomap ? (uint8_t)min_u32(p[7], RS_IOMAP_MAX) : 0,
        .sgl = get_sge_be(p + 8),
        .data = get_sge_be(p + 8 + RS_SGE_BYTES),
    };
    return true;
}

void rs_put_sge(const struct rs_sge *sge, bool is_big_endian, uint8_t *out)
{
    const uint64_t addr = is_big_endian ? htobe64(sge->addr) : htole64(sge->addr);
    const uint32_t key = is_big_endian ? htobe32(sge->key) : htole32(sge->key);
    const uint32_t len = is_big_endian ? htobe32(sge->len_bytes) : htole32(sge->len_bytes);
    memcpy(out, &addr, sizeof addr);
    memcpy(out + 8, &key, sizeof key);
    memcpy(out + 12, &len, sizeof len);
}

void rs_put_iomap(const struct rs_iomap *map, bool is_big_endian, uint8_t *out)
{
    const uint64_t offset = is_big_endian ? htobe64(map->offset) : htole64(map->offset);
    memcpy(out, &offset, sizeof offset);
    rs_put_sge(&map->sge, is_big_endian, out + sizeof offset);
}

struct rs_sge rs_get_sge(const uint8_t *bytes)
{
    struct rs_sge sge;
    memcpy(&sge.addr, bytes, sizeof sge.addr);
    memcpy(&sge.key, bytes + 8, sizeof sge.key);
    memcpy(&sge.len_bytes, bytes + 12, sizeof sge.len_bytes);
    return sge;
}

struct rs_iomap rs_get_iomap(const uint8_t *bytes)
{
    struct rs_iomap map;
    memcpy(&map.offset, bytes, sizeof map.offset);
    map.sge = rs_get_sge(bytes + sizeof map.offset);
    return map;
}
