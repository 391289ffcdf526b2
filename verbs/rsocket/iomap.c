/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of the program that the peer may write to directly: mapped here, named to the peer by an offset,
 * written with riowrite() there. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "verbs/rsocket/rsocket.h"

/* --- telling --- */

static struct rs_mapping *untold(const struct rsock *s)
{
    struct rs_mapping *mapping;
    for (mapping = LIST_FIRST(&s->mappings); mapping; mapping = LIST_NEXT(mapping, entry))
        if (!mapping->is_told)
            break;
    return mapping;
}

static bool can_tell(const struct rsock *s)
{
    return s->state != RS_CONNECTED || s->is_send_shut ||
           (rs_has_credit(s) && s->send_slots >= rs_places(s, true));
}

int rs_tell_mappings(struct rsock *s, int flags)
{
    struct rs_mapping *mapping;
    int err = 0;
    while (!err && (mapping = untold(s))) {
        err = rs_wait(s, RS_TO_WRITE, flags, can_tell);
        if (err)
            return err;
        err = rs_cannot_send(s);
        if (err)
            return err;
        const struct rs_iomap map = {
            mapping->offset,
            {(uintptr_t)mapping->mr->addr, mapping->mr->rkey, (uint32_t)mapping->mr->length}};
        err = rs_post_iomap(s, (unsigned)mapping->index, &map);
        mapping->is_told = !err;
    }
    return err;
}

/* --- mapping --- */

/* The first entry of the peer's list that is free; -1: none. */
static int free_index(const struct rsock *s)
{
    for (int index = 0; index < s->peer.iomaps; index++) {
        const struct rs_mapping *mapping;
        for (mapping = LIST_FIRST(&s->mappings); mapping; mapping = LIST_NEXT(mapping, entry))
            if (mapping->index == index)
                break;
        if (!mapping)
            return index;
    }
    return -1;
}

static off_t map(struct rsock *s, void *buf, size_t len, int prot, off_t offset)
{
    bool is_remote = prot & PROT_WRITE;
    int index = is_remote ? free_index(s) : -1;
    if (!s->id || !s->id->pd || s->type != SOCK_STREAM || (prot & ~PROT_WRITE) || len > UINT32_MAX)
        return rs_fail(EINVAL,
                       "%zu bytes cannot be mapped with protection 0x%x: it needs a stream that is "
                       "bound or connected, less than 4 GiB and PROT_WRITE or PROT_NONE",
                       len, (unsigned)prot);
    if (is_remote && index < 0)
        return rs_fail(ENOMEM,
                       "all %u mappings that the peer has room for are in use (its option RDMA_IOMAPSIZE)",
                       s->peer.iomaps);
    struct rs_mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping)
        return rs_fail(ENOMEM, "no memory for a mapping");
    mapping->mr =
        ibv_reg_mr(s->id->pd, buf, len, IBV_ACCESS_LOCAL_WRITE | (is_remote ? IBV_ACCESS_REMOTE_WRITE : 0));
    if (!mapping->mr) {
        free(mapping);
        return -1;
    }
    mapping->offset = offset == -1 ? (uintptr_t)buf : (uint64_t)offset;
    mapping->index = index;
    mapping->is_told = !is_remote;
    LIST_INSERT_HEAD(&s->mappings, mapping, entry);
    return (off_t)mapping->offset;
}

off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
    struct rsock *s = rs_need(socket);
    (void)flags; /* none is defined */
    if (!s)
        return -1;
    offset = map(s, buf, len, prot, offset);
    rs_done(s);
    return offset;
}

int riounmap(int socket, void *buf, size_t len)
{
    struct rsock *s = rs_need(socket);
    struct rs_mapping *mapping;
    if (!s)
        return -1;
    for (mapping = LIST_FIRST(&s->mappings); mapping; mapping = LIST_NEXT(mapping, entry))
        if (mapping->mr->addr == buf && mapping->mr->length == len)
            break;
    int err = mapping ? 0 : verbs_fail(EINVAL, "%zu bytes at %p are not mapped", len, buf);
    if (mapping) {
        LIST_REMOVE(mapping, entry);
        ibv_dereg_mr(mapping->mr);
        free(mapping);
    }
    rs_done(s);
    return err ? -1 : 0;
}

/* --- writing --- */

static const struct rs_iomap *find(const struct rsock *s, uint64_t offset)
{
    for (uint32_t i = 0; i < s->own_iomaps; i++) {
        const struct rs_iomap *map = &s->peer_maps[i];
        if (map->sge.len_bytes && offset >= map->offset && offset - map->offset < map->sge.len_bytes)
            return map;
    }
    return NULL;
}

static bool can_put(const struct rsock *s)
{
    return s->state != RS_CONNECTED || s->is_send_shut || rs_send_room(s);
}

/* 0 or an errno value; *done counts. */
static int put(struct rsock *s, const uint8_t *buf, size_t count, uint64_t offset, int flags, size_t *done)
{
    int err = rs_need_connection(s, flags);
    if (!err)
        err = rs_cannot_send(s);
    if (!err)
        err = rs_tell_mappings(s, flags);
    while (!err && *done < count) {
        const struct rs_iomap *map = find(s, offset + *done);
        if (!map)
            return verbs_fail(EINVAL, "the peer has mapped nothing at offset %llu",
                              (unsigned long long)offset + *done);
        err = rs_wait(s, RS_TO_WRITE, flags, can_put);
        if (err)
            return err;
        err = rs_cannot_send(s);
        if (err)
            return err;
        const uint64_t inside = offset + *done - map->offset;
        const uint32_t len = (uint32_t)min_u64(min_u64(count - *done, map->sge.len_bytes - inside),
                                               min_u32(rs_send_room(s), RS_SEND_MAX));
        memcpy(s->send.bytes + s->send_at, buf + *done, len);
        err = rs_post_write(s, len, map->sge.addr + inside, map->sge.key, NULL);
        *done += err ? 0 : len;
    }
    return err;
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
    struct rsock *s = rs_need(socket);
    size_t done = 0;
    if (!s)
        return (size_t)-1;
    int err = s->type == SOCK_STREAM ? put(s, buf, count, (uint64_t)offset, flags, &done) : ENOTSUP;
    if (err && !done)
        done = (size_t)rs_ended(s, __func__, err);
    rs_done(s);
    return done;
}
